"""How many calls a row costs, where equal inquiries in flight are one, as the real judge has it."""

import anyio
import pytest

from sgi.kernel.registry import metric
from sgi.testing import ScriptedJudge
from sgi.testing.judging import typical_judge
from support.example_metrics import example_metrics
from support.scripted import ROW, claims

JUDGED = [one for one in map(metric, example_metrics().values()) if hasattr(one, "ask")]
RAGAS = ("faithfulness", "context_precision", "context_recall", "answer_relevance")
RATED = ("answer_relevance_rated", "context_relevance", "groundedness", "llm_judged_overall")


def own_claims(inquiry, schema):
    """What is typical, but that each text has claims of its own."""
    if inquiry.prompt.name == "claims.extract":
        return claims(f"Claim {inquiry.text}")
    return typical_judge().reply(inquiry, schema)


def calls(*metrics, sample=ROW):
    """Distinct calls for one row."""
    judge = ScriptedJudge(own_claims)
    for one in metrics:
        anyio.run(one.ask, sample, judge)
    return len({(inquiry.prompt.digest, inquiry.text) for inquiry in judge.inquiries})


@pytest.mark.parametrize(
    ("names", "most"),
    [
        (["faithfulness"], 2),
        (["context_precision"], 1),
        (["answer_classification", "correct_answers", "wrong_answers", "dont_know_answers"], 1),
        (["answerable", "needless_refusal_judged", "correct_refusal_judged"], 1),
        (RAGAS, 6),
        ([*RAGAS, "ragas_score"], 6),
        (["context_recall", "completeness_judged"], 3),  # one extraction of the reference's claims
        (["ragas_faithfulness", "faithfulness"], 2),
    ],
)
def test_calls_a_row(names, most):
    assert calls(*map(metric, names)) == most


def test_all_judged_metrics_together_need_thirteen_calls_a_row():
    assert len(JUDGED) == 31
    assert calls(*JUDGED) == 13


def test_a_reference_equal_to_the_response_spares_two():
    assert calls(*JUDGED, sample=ROW.model_copy(update={"reference": ROW.response})) == 11


def test_prompts_are_declared_and_have_names_of_their_own():
    prompts = {prompt.digest: prompt.name for one in JUDGED for prompt in one.prompts}
    assert len(set(prompts.values())) == len(prompts) == 14


def test_every_prompt_wants_the_reason_before_the_verdict():
    for prompt in {prompt.name: prompt for one in JUDGED for prompt in one.prompts}.values():
        for example in prompt.examples:
            text = example.reply.model_dump_json()
            verdicts = ("supported", "relevant", "noncommittal", "rating", "verdict", "score", "answerable")
            places = [text.find(f'"{word}":') for word in verdicts if f'"{word}":' in text]
            assert prompt.name == "claims.extract" or text.find('"reason') < min(places)
