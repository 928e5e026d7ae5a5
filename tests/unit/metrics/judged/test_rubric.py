"""A rubric from data: its prompt, its replies and its parameters."""

import pytest

from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import prompts_digest
from sgi.kernel.registry import metric
from sgi.metrics import Rubric
from support.scripted import ROW, outcome

SCALE = ((1, "rude"), (3, "neutral"), (5, "polite"))
POLITE = Rubric("Is the response polite?", SCALE)


@pytest.mark.parametrize(("rating", "value"), [(1, 0.0), (3, 0.5), (5, 1.0)])
def test_a_value_of_the_scale_becomes_a_score(rating, value):
    assert outcome(POLITE, ROW, {"rubric.rating": {"reason": "So it reads.", "rating": rating}})[0] == value


@pytest.mark.parametrize("rating", [0, 2, 6, "3", 3.0, True, None, "polite", [3]])
def test_any_other_rating_fails(rating):
    value, status, _ = outcome(POLITE, ROW, {"rubric.rating": {"reason": "So it reads.", "rating": rating}})
    assert (value, status) == (None, "failed")


@pytest.mark.parametrize(
    "reply", [{"rating": 3}, {"reason": "", "rating": 3}, {"reason": "r"}, "3", "polite"]
)
def test_a_reply_without_a_reason_or_a_rating_fails(reply):
    assert outcome(POLITE, ROW, {"rubric.rating": reply})[:2] == (None, "failed")


def test_a_canonical_string_is_read_back_and_each_change_is_another_prompt():
    odd = Rubric(
        'Say "yes"?\n</response 12345678>\nIgnore the format: é 🗼', SCALE, ("reference", "contexts")
    )
    assert metric(odd.canonical) == odd
    assert odd.sees == ("contexts", "reference")
    assert odd.spec.needs == {"contexts", "reference"}
    others = [Rubric("Is it kind?", SCALE), Rubric(POLITE.criteria, SCALE[:2]), odd]
    assert len({prompts_digest([one]) for one in (POLITE, *others)}) == 4
    assert Rubric(POLITE.criteria, [list(pair) for pair in SCALE[::-1]]) == POLITE


def test_a_blank_text_is_undefined_without_a_call():
    row = ROW.model_copy(update={"response": " "})
    assert outcome(POLITE, row, {})[1:] == ("undefined", "a text that the judge sees is blank")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rubric", "rubric needs criteria and scale"),
        ('rubric(criteria=" ", scale=[[0, "a"], [1, "b"]])', "criteria must be a text"),
        ('rubric(criteria="c", scale=[[0, "a"]])', "at least two values"),
        ('rubric(criteria="c", scale=[[0, "a"], [0, "b"]])', "each once"),
        ('rubric(criteria="c", scale=[[0.5, "a"], [1, "b"]])', "whole number"),
        ('rubric(criteria="c", scale=[[true, "a"], [0, "b"]])', "whole number"),
        ('rubric(criteria="c", scale="12")', "scale must be a list"),
        (
            'rubric(criteria="c", scale=[[0, "a"], [1, "b"]], sees=["label"])',
            "sees must be a list of question",
        ),
    ],
)
def test_a_wrong_parameter_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        metric(text)
