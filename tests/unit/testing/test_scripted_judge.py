import anyio
import pytest

from sgi.kernel.errors import JudgeMalformedError, JudgeUnavailableError, UsageError
from sgi.kernel.prompts import Example, Prompt, Verdict, Verdicts
from sgi.kernel.protocols import Judge, Usage, usage_of
from sgi.testing import ScriptedJudge

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
