import subprocess
import sys

import anyio
import numpy as np
import pytest
from hypothesis import Phase, find, given, settings

from sgi.kernel.errors import JudgeMalformedError, JudgeUnavailableError, UsageError
from sgi.kernel.prompts import Example, Prompt, Verdict, Verdicts
from sgi.kernel.protocols import Embedder, Judge, Usage, embedder_name, usage_of
from sgi.kernel.sample import Field, Sample
from sgi.testing import HashEmbedder, HashEntailment, ScriptedJudge, check_entailment_model
from sgi.testing.strategies import samples, texts


def test_golden_rows_never_change():
    """Numbers in tests of users hang on these."""
    rows = HashEmbedder(dimension=3).embed(["", "Paris", "東京"])
    expected = [
        [0.6901290, -0.7228519, 0.0347433],
        [0.7260879, -0.5670667, -0.3888852],
        [0.5864727, 0.5799431, 0.5654342],
    ]
    np.testing.assert_allclose(rows, expected, atol=1e-7)


def test_it_is_an_embedder_with_a_name():
    embedder = HashEmbedder(dimension=5, name="mine")
    assert isinstance(embedder, Embedder)
    assert embedder_name(embedder) == "mine"
    assert embedder.fingerprint == "mine@1,5d,unlimited,fp32"


@pytest.mark.parametrize("dimension", [1, 2, 16, 17, 64, 1000])
def test_rows_are_unit_float32_of_the_dimension(dimension):
    rows = HashEmbedder(dimension).embed(["a", "b", "", "\ud800", "x" * 100_000])
    assert rows.dtype == np.float32
    assert rows.shape == (5, dimension)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_texts_are_strangers_to_one_another():
    rows = HashEmbedder(dimension=256).embed([f"text {n}" for n in range(300)])
    others = (rows @ rows.T)[~np.eye(300, dtype=bool)]
    assert abs(others.mean()) < 0.002
    assert others.std() == pytest.approx(1 / 16, rel=0.05)
    assert np.abs(others).max() < 0.4


def test_it_counts_its_work():
    embedder = HashEmbedder()
    assert (embedder.calls, embedder.texts_seen) == (0, [])
    embedder.embed(["a", "b"])
    embedder.embed([])
    embedder.embed(("a",))
    assert (embedder.calls, embedder.texts_seen) == (3, ["a", "b", "a"])


def test_a_dimension_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        HashEmbedder(dimension=0)


def test_the_entailment_model_keeps_every_promise_and_counts_its_work():
    check_entailment_model(HashEntailment())
    model = HashEntailment()
    result = model.entail([("a", "b"), ("a", "b"), ("\ud800", "")])
    assert model.pairs_seen == [("a", "b"), ("a", "b"), ("\ud800", "")]
    assert model.fingerprint == "entailment:hash@1,unlimited,fp64"
    assert (result.entailment + result.contradiction < 1).all()


def test_golden_probabilities_never_change():
    """Numbers in tests of users hang on these."""
    result = HashEntailment().entail([("Paris is big.", "Paris."), ("", "")])
    np.testing.assert_allclose(result.entailment, [0.5948135, 0.0298662], atol=1e-7)
    np.testing.assert_allclose(result.contradiction, [0.1273111, 0.05478], atol=1e-7)


def test_pairs_are_strangers_to_one_another():
    result = HashEntailment().entail([(f"premise {n}", "it") for n in range(500)])
    assert result.entailment.mean() == pytest.approx(0.5, abs=0.05)
    assert len(set(result.entailment.tolist())) == 500


PROMPT = Prompt(
    "test.mark",
    "Mark.",
    (Example({"entries": ("a",)}, Verdicts[Verdict](verdicts=(Verdict(index=1),))),),
    items="entries",
)


def ask(script, *entries):
    judge = ScriptedJudge(script)
    return anyio.run(judge.ask, PROMPT.about(entries=entries or ("a", "b")), Verdicts[Verdict]), judge


BOTH = {"verdicts": [{"index": 1}, {"index": 2}]}


@pytest.mark.parametrize(
    "reply", [BOTH, '{"verdicts": [{"index": 2}, {"index": 1}]}', Verdicts[Verdict].model_validate(BOTH)]
)
def test_a_reply_is_json_a_text_or_a_model(reply):
    found, judge = ask({"test.mark": reply})
    assert [verdict.index for verdict in found.verdicts] == [1, 2]
    assert [inquiry.prompt.name for inquiry in judge.inquiries] == ["test.mark"]


def test_a_script_may_be_a_function_of_inquiry_and_schema():
    def script(inquiry, schema):
        assert schema is Verdicts[Verdict]
        return {"verdicts": [{"index": index} for index in range(1, inquiry.items + 1)]}

    found, _ = ask(script, "a", "b", "c")
    assert len(found.verdicts) == 3


@pytest.mark.parametrize(
    "reply",
    [
        {"verdicts": [{"index": 1}]},
        {"verdicts": [{"index": "1"}, {"index": 2}]},
        "no JSON",
        "",
        None,
        [],
        1,
        "NaN",
    ],
)
def test_a_reply_that_is_not_what_was_asked_is_malformed(reply):
    with pytest.raises(JudgeMalformedError) as caught:
        ask({"test.mark": reply})
    assert isinstance(caught.value.text, str)


def test_a_failed_attempt_is_counted_and_an_error_of_the_script_raised():
    def away(inquiry, schema):
        raise JudgeUnavailableError("Away.")

    judge = ScriptedJudge(away)
    with pytest.raises(JudgeUnavailableError):
        anyio.run(judge.ask, PROMPT.about(entries=("a",)), Verdicts[Verdict])
    assert len(judge.inquiries) == 1


def test_a_prompt_the_script_does_not_know_is_told():
    with pytest.raises(UsageError):
        ask({"other": BOTH})


def test_it_is_a_judge_that_pays_nothing():
    judge = ScriptedJudge({}, budget=7)
    assert isinstance(judge, Judge)
    assert (judge.fingerprint, judge.budget, usage_of(judge)) == ("scripted", 7, Usage())


@given(texts())
def test_texts_can_be_written_as_utf8(text):
    assert text.encode("utf-8").decode("utf-8") == text


@settings(max_examples=50)
@given(samples(complete=True))
def test_complete_samples_have_every_field(sample):
    assert isinstance(sample, Sample)
    assert all(sample.has(field) for field in Field)


def test_samples_reach_the_odd_corners():
    for corner in (
        lambda sample: sample.model_fields_set == {"id"},
        lambda sample: len(sample.contexts) > 2,
        lambda sample: sample.has(Field.RESPONSE) and not sample.response,
        lambda sample: len(sample.references) > 1,
        lambda sample: sample.label is False,
    ):
        many = settings(phases=[Phase.generate], database=None, max_examples=1000)
        assert corner(find(samples(), corner, settings=many))


def test_without_hypothesis_there_is_a_clear_error_and_the_rest_works():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import sgi.testing\n"
        "from sgi.kernel.errors import UsageError\n"
        "try:\n    import sgi.testing.strategies\n"
        "except UsageError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "sgi.testing.strategies needs hypothesis. Install it: pip install hypothesis"
