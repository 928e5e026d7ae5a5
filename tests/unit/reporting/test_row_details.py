"""What rows were made of, as pages tell it."""

from __future__ import annotations

import pytest

from sgi.reporting.html import fit_to_budget
from sgi.reporting.row_details import as_tree, passages, response_parts, row_maps
from support.evidence_maps import CONTEXTS, RESPONSE, TALL, details, fact, hostile_details, sentence, view_of
from support.views import sample, score


def cells(rows, key):
    made = as_tree(rows)
    return [row[made.columns.index(key)] for row in made.rows]


def test_verdicts_are_yes_or_no_where_all_are_zero_or_one():
    rows = [{"text": "a", "verdict": 1}, {"text": "b", "verdict": 0.0}, {"text": "c", "verdict": None}]
    assert cells(rows, "verdict") == ["yes", "no", "–"]
    assert cells([*rows, {"verdict": 0.5}], "verdict") == ["1", "0.0000", "–", "0.5000"]


@pytest.mark.parametrize(("key", "value", "expected"), [("count", 1, "1"), ("found", True, "yes")])
def test_other_columns_say_what_they_hold(key, value, expected):
    assert cells([{key: value}], key) == [expected]


def test_what_is_no_table_stays_what_it_is():
    assert as_tree([{"a": [1]}, {}]) == [{"a": ["1"]}, {}]
    assert as_tree([]) == []


def test_the_places_of_passages_in_an_evidence_map_are_no_values():
    contexts = (CONTEXTS[0], CONTEXTS[2])
    made = score(0.1, details=details(passages=(0, 1)))
    row = sample(0, contexts=contexts, scores={"grounding": made, "sgi": score(1.0)})
    assert [part.values for part in passages(row)] == [(), ()]
    assert [number for number, _ in row_maps(row)["grounding"].view.unused] == [1]
    assert row_maps(row)["sgi"].view is None


@pytest.mark.parametrize(
    ("response", "verdicts"),
    [
        (RESPONSE, ["contradicted", None, "unsupported", None, "supported"]),
        (f"So: {RESPONSE} Yes.", [None, "contradicted", None, "unsupported", None, "supported", None]),
        ("Another text.", [None]),
    ],
)
def test_the_parts_of_a_response_are_the_response_with_its_verdicts(response, verdicts):
    made = score(0.1, details=details())
    row = sample(0, contexts=CONTEXTS, response=response, scores={"sgi": score(1.0), "grounding": made})
    parts = response_parts(row.response, row_maps(row).values())
    assert "".join(part.text for part in parts) == response
    assert [part.sentence and part.sentence.verdict for part in parts] == verdicts


def test_an_evidence_map_of_empty_sentences_marks_nothing():
    made = score(0.1, details=hostile_details(""))
    row = sample(0, contexts=CONTEXTS, response=RESPONSE, scores={"grounding": made})
    assert [(part.text, part.sentence) for part in response_parts(row.response, row_maps(row).values())] == [
        (RESPONSE, None)
    ]


def test_passages_of_the_metric_within_a_calibration_are_no_values_of_it():
    body = {"passages": [1.5, 0.5], "passage": 0, "score": 1.5, "threshold": 1.0, "verdict": "passed"}
    within = {name: body[name] for name in ("passages", "passage")}
    scores = {"calibrated": score(0.9, details=body), "sgi": score(1.5, details=within)}
    row = sample(0, contexts=("a", "b"), scores=scores)
    assert [[value.metric for value in part.values] for part in passages(row)] == [["sgi"], ["sgi"]]
    assert {name: maps.further for name, maps in row_maps(row).items()} == {"calibrated": body, "sgi": {}}


MANY = 450


def row(body, response=RESPONSE):
    return sample(0, contexts=CONTEXTS, response=response, scores={"grounding": score(0.1, details=body)})


def cut(body, **parts):
    (found,) = fit_to_budget([row(body)], **parts)
    return found.scores["grounding"].details


def large():
    full = sentence(TALL, checks=(fact("Spanish"),) * MANY, unbacked=((0, 1),) * MANY)
    many = (full, *[sentence(TALL)] * MANY)
    return details(sentences=many, passages=tuple(range(MANY)), unused=tuple(range(MANY)))


def test_a_map_of_many_parts_stays_one():
    whole = large()
    assert view_of(cut(whole)) == view_of(whole)


@pytest.mark.parametrize("budget", [1, 2_000, 100_000])
def test_a_map_whose_texts_are_cut_stays_one(budget):
    long = sentence("x" * 90_000, beside="y" * 90_000)
    view = view_of(cut(details(sentences=(long, long)), budget=budget))
    assert " characters)" in view.sentences[0].text
    assert len(view.sentences[1].text) < 90_000


def test_what_stands_beside_a_map_is_cut_as_ever():
    shortened = cut(details() | {"verdict": "flagged", "words": list(range(MANY))})
    assert shortened["verdict"] == "flagged"
    assert shortened["words"][-1] == "… [250 more items omitted]"
    assert view_of(shortened) == view_of(details())


def test_lists_that_are_no_map_are_cut():
    shortened = cut({"sentences": [{"text": "a"}] * MANY})
    assert len(shortened["sentences"]) == 201
    assert shortened["sentences"][-1] == "… [250 more items omitted]"


def test_a_row_is_cut_once_and_the_given_one_stays():
    whole = large()
    before = row(whole)
    assert fit_to_budget([before])[0].response == RESPONSE
    assert before.scores["grounding"].details == large()
