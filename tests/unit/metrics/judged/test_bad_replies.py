"""What a judge can get wrong, reply by reply: none of it becomes a score, all of it becomes a reason."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import JudgeRefusedError
from sgi.kernel.registry import metric
from sgi.metrics.judged.faithfulness import Faithfulness
from support.example_metrics import example_metrics
from support.scripted import ROW, ask_metric, claims, outcome

FIVE = claims(*[f"Claim {number}." for number in range(1, 6)])
CITED = ROW.model_copy(update={"response": f"{ROW.response[:-1]} [1]."})
JUDGED = [text for text in example_metrics().values() if hasattr(metric(text), "ask")]


def verdict(index, **changes):
    return {"index": index, "reason": "So it reads.", "supported": 1, "passage": 1} | changes


def five(**changes):
    return {"verdicts": [verdict(index, **changes) for index in range(1, 6)]}


BAD = {
    "a list cut to one": {"verdicts": [verdict(1)]},
    "an empty list": {"verdicts": []},
    "a list of six": {"verdicts": [verdict(index) for index in range(1, 7)]},
    "words outside the vocabulary": five(supported="yes"),
    "minus one": five(supported=-1),
    "two": five(supported=2),
    "a half": five(supported=0.5),
    "true": five(supported=True),
    "one as a fraction": five(supported=1.0),
    "one as a text": five(supported="1"),
    "null": five(supported=None),
    "one of five wrong": {"verdicts": [*five()["verdicts"][:4], verdict(5, supported=2)]},
    "an index twice": {"verdicts": [verdict(index) for index in (1, 2, 3, 4, 4)]},
    "an index out of range": {"verdicts": [verdict(index) for index in (1, 2, 3, 4, 6)]},
    "counted from nought": {"verdicts": [verdict(index) for index in range(5)]},
    "an index as a text": {"verdicts": [verdict(str(index)) for index in range(1, 6)]},
    "no reason": five(reason=""),
    "no JSON at all": "All five claims are fully supported.",
    "nothing": "",
    "null itself": "null",
    "cut JSON": json.dumps(five())[:-9],
    "JSON in a fence": f"```json\n{json.dumps(five())}\n```",
    "another shape": [1, 1, 1, 1, 1],
    "NaN": '{"verdicts": NaN}',
    "a number for all": {"score": 1.0},
}


@pytest.mark.parametrize("reply", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("name", ["faithfulness", "ragas_faithfulness", "faithfulness(empty=full)"])
def test_a_bad_list_of_verdicts_never_becomes_a_score(name, reply):
    value, status, reason = outcome(metric(name), ROW, {"claims.extract": FIVE, "claims.verify": reply})
    assert (value, status) == (None, "failed")
    assert reason.startswith("The judge's reply does not match the schema:")


@pytest.mark.parametrize(
    "reply",
    [
        {"claims": None},
        {"claims": "A."},
        {"claims": [1]},
        {"claims": [""]},
        {"claims": ["A.", " "]},
        {},
        "[]",
        claims(*["A."] * 101),
        claims("x" * 3000),
    ],
    ids=range(9),
)
def test_a_bad_list_of_claims_never_becomes_a_score(reply):
    value, status, reason = outcome(Faithfulness(empty="full"), ROW, {"claims.extract": reply})
    assert (value, status) == (None, "failed")
    assert reason


def test_verdicts_in_another_order_are_put_in_place():
    reply = {"verdicts": [verdict(index, supported=int(index == 2)) for index in (3, 1, 5, 4, 2)]}
    evidence, _ = ask_metric(Faithfulness(), ROW, {"claims.extract": FIVE, "claims.verify": reply})
    assert [claim.supported for claim in evidence.claims] == [0, 1, 0, 0, 0]


@pytest.mark.parametrize("name", JUDGED)
def test_a_judge_that_says_nonsense_gives_no_metric_a_value(name):
    value, status, reason = outcome(metric(name), CITED, lambda *_: {"verdict": "CORRECT, 100 %"})
    assert (value, status) == (None, "failed")
    assert "does not match the schema" in reason


@pytest.mark.parametrize("name", JUDGED)
def test_a_judge_that_declines_gives_no_metric_a_value(name):
    def declining(inquiry, schema):
        raise JudgeRefusedError("The judge declined: I'd rather not.")

    value, status, reason = outcome(metric(name), CITED, declining)
    assert (value, status) == (None, "failed")
    assert "declined" in reason


@given(st.data())
def test_any_json_at_all_is_a_full_reply_or_no_score(data):
    """Replies that are nearly right: whatever is taken has one verdict in the vocabulary for each claim."""
    values = (
        st.none() | st.booleans() | st.integers(-1, 3) | st.floats(0, 1) | st.sampled_from(["1", "yes", ""])
    )
    entry = st.fixed_dictionaries(
        {"index": st.integers(0, 4) | values, "reason": st.just("r") | values, "supported": values},
        optional={"passage": st.integers(-1, 3) | values},
    )
    reply = {"verdicts": data.draw(st.lists(entry, max_size=4))}
    script = {"claims.extract": claims("A.", "B."), "claims.verify": reply}
    value, status, reason = outcome(Faithfulness(), ROW, script)
    if status == "failed":
        assert (value, bool(reason)) == (None, True)
        return
    found = {found["index"]: found["supported"] for found in reply["verdicts"]}
    assert len(reply["verdicts"]) == 2
    assert sorted(found) == [1, 2]
    assert all(type(one) is int and one in {0, 1} for one in found.values())
    assert value == sum(found.values()) / 2
