"""Rows cut to what one file can hold."""

from __future__ import annotations

import pytest

from sgi.reporting.html import fit_to_budget
from support.evidence_maps import CONTEXTS, RESPONSE, TALL, details, fact, sentence, view_of
from support.views import sample, score

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
