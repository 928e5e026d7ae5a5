"""Assertions that compare a response with texts and regular expressions, and its length."""

import sys
from unittest.mock import patch

import pytest

import sgi
from sgi.kernel.errors import MissingExtraError
from sgi.kernel.registry import metric
from sgi.metrics import ContainsAll, ContainsAny, Length, Matches, NotContains, NotMatches
from sgi.metrics.assertions.lengths import measured_length


def outcome(text, response, **fields):
    """The value and the details of an assertion about one response."""
    one = metric(text)
    row = sgi.types.Sample(id="1", response=response, **fields)
    score = sgi.evaluate([row], [one], cache=False)[one.canonical].row(0)
    return score.value, score.details


@pytest.mark.parametrize(
    ("text", "response", "passes"),
    [
        ('contains(text="1889")', "In 1889.", True),
        ('contains(text="1889")', "In 1 889.", False),
        ('contains(text="paris")', "Paris", False),
        ('contains(text="straße", ignore_case=true)', "STRASSE 5", True),
        ('contains(text="café")', "a cafe\u0301", True),
        ('contains(text="secret")', "se\u200bcret", False),
        ('contains(text="a")', "\u0430", False),
        ('contains(text="a")', "", False),
        ('not_contains(text="cheap")', "It is dear.", True),
        ('not_contains(text="cheap")', "cheaper", False),
        ('contains_all(texts=["a", "b"])', "b a", True),
        ('contains_all(texts=["a", "b"])', "a", False),
        ('contains_any(texts=["a", "b"])', "b", True),
        ('contains_any(texts=["a", "b"])', "", False),
        ('matches(pattern="[0-9]{4}", whole=true)', "In 1889.", False),
        ('matches(pattern="[0-9]{4}", whole=true)', "1889", True),
        ('not_matches(pattern="as an AI")', "", True),
        ('not_matches(pattern="as an AI")', "Well, as an AI I", False),
        ("length", "", False),
        ("length(low=2, high=3)", "two words", True),
        ('length(low=2, unit="sentences")', "One. Two.", True),
        ('length(high=3, unit="characters")', "abcd", False),
    ],
)
def test_an_assertion_is_1_or_0_and_says_why(text, response, passes):
    value, details = outcome(text, response)
    assert value == float(passes)
    assert bool(details.get("failure")) is not passes


@pytest.mark.parametrize(
    ("text", "response", "passes"),
    [
        ("equals", "Paris", True),
        ("equals", " Roma\n", True),
        ("equals", "paris", False),
        ("equals(ignore_case=true)", "paris", True),
        ("equals", "Paris.", False),
        ("equals", "", False),
    ],
)
def test_a_response_is_equal_to_any_of_its_references(text, response, passes):
    assert outcome(text, response, reference=["Paris", "Roma"])[0] == float(passes)


def test_the_details_name_what_is_absent_and_where_a_match_is():
    row = sgi.types.Sample(id="1", response="Well: it is cheap.")
    assert ContainsAll(("it", "x", "y")).failure(row).details == {"absent": ["x", "y"]}
    assert ContainsAny(("x", "y")).failure(row).reason == "the response does not contain 'x', 'y'"
    assert NotContains("cheap").failure(row).details == {"start": 12}
    assert NotMatches("c[a-z]+").failure(row).details == {"start": 12}
    assert Length(high=2).failure(row).details == {"length": 4}
    assert Length(low=3, unit="sentences").failure(row).reason == "the response has 1 sentence, fewer than 3"


def test_a_row_without_a_response_is_missing():
    rows = [{"id": "1", "question": "q"}, {"id": "2", "response": "a"}]
    score = sgi.evaluate(rows, "length", cache=False)["length"].row(0)
    assert (score.value, score.status, score.reason) == (None, "missing", "the sample has no response")


def test_a_pattern_that_stops_other_engines_takes_linear_time():
    row = sgi.types.Sample(id="1", response="a" * 200_000 + "!")
    assert Matches("(a+)+b").failure(row)


def test_a_pattern_needs_its_extra():
    with patch.dict(sys.modules, {"re2": None}), pytest.raises(MissingExtraError, match="patterns"):
        metric('matches(pattern="[a-f]+[0-9]")')


@pytest.mark.parametrize(
    ("text", "unit", "length"),
    [("東京は日本", "words", 5), ("l'été 12,5", "words", 4), ("é", "characters", 1), (" ", "sentences", 0)],
)
def test_lengths_of_many_scripts(text, unit, length):
    assert measured_length(text, unit) == length


def test_an_answer_below_the_limit_passes():
    times = [0, 1999.5, 2000, 5000.0]
    rows = [{"id": str(n), "response": "a", "latency_ms": time} for n, time in enumerate(times)]
    rows.append({"id": "none", "response": "a", "latency_ms": None})
    (result,) = sgi.evaluate(rows, "latency_below(ms=2000)", cache=False).values()
    scores = [result.row(number) for number in range(5)]
    assert [score.value for score in scores] == [1, 1, 0, 0, None]
    assert scores[2].details == {"failure": "the answer took 2000.0 ms, not less than 2000"}
    assert (scores[4].status, scores[4].reason) == ("missing", "the sample has no latency_ms")


def test_equal_limits_have_one_canonical_string():
    texts = ("latency_below(ms=2000.0)", "latency_below(ms=2e3)", "latency_below(ms=0.5)")
    assert [metric(text).canonical for text in texts] == [
        "latency_below(ms=2000)",
        "latency_below(ms=2000)",
        "latency_below(ms=0.5)",
    ]
