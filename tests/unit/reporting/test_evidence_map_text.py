"""The evidence map on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.reporting.evidence_map_text import evidence_map_lines
from sgi.reporting.views.evidence_map_view import (
    MAX_FACTS,
    MAX_SENTENCES,
    MOST_PASSAGES,
    SIGNAL_MEANINGS,
    evidence_map_view,
)
from support.evidence_maps import CONTEXTS, TALL, details, fact, hostile_details, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence


def lines(body: dict[str, Any], contexts: Sequence[str] = CONTEXTS) -> list[str]:
    view = evidence_map_view(body, contexts)
    assert view is not None
    return [line.plain for line in evidence_map_lines(view)]


def test_an_evidence_map_as_lines() -> None:
    around = (
        "…the river that the city has its name of. The tower is [330 m] tall. It opened in 1889, which was"
    )
    assert lines(details()) == [
        "Sentence 1 of 3 is contradicted. Sentence 2 of 3 is unsupported.",
        "",
        " 1  0.11  It is [312 m] tall.",
        "          contradicted",
        "          passage 3: The tower is 330 m tall.",
        f"          ✗ number 312 m: passage 3 has 330 m (other value): {around} a hundred years after…",
        "",
        " 2  0.02  It was [sold to Spanish investors].",
        "          unsupported",
        "          passage 3: The tower is 330 m tall.",
        "          ? name Spanish: in no passage",
        "",
        " 3  0.99  It opened in 1889.",
        "          passage 3: The tower is 330 m tall.",
        "          ✓ date 1889: passage 3 (equal)",
        "",
        "Passage 1 supports no sentence: Bananas are yellow.",
        "",
        "contribution of each signal to the score, in log odds: numbers -2.08, known +0.25",
    ]


def test_a_sentence_that_claims_nothing_needs_no_passage() -> None:
    silent = sentence(TALL, score=None)
    absent = sentence(TALL, score=None, about_passages=True)
    result = lines(details(sentences=(silent, absent)))
    assert result[2:4] == [" 1     –  It is 312 m tall.", "          claims nothing"]
    assert result[6] == "          says that something is not in the passages"


@pytest.mark.parametrize(
    ("against", "expected"), [(0.8, "entailed 0.10, contradicted 0.80"), (None, "entailed 0.10")]
)
def test_the_map_shows_entailment_values(against: float | None, expected: str) -> None:
    asked = sentence(TALL, entailment=0.1, contradiction=against)
    assert lines(details(sentences=(asked,)))[4] == f"          {expected}"
    assert "entailed" not in "".join(lines(details()))


def test_an_unsupported_sentence_without_a_mark_has_its_reasons() -> None:
    weak = sentence(TALL, score=0.3, contributions={"known": -1.0, "copied": -0.5})
    result = lines(details(sentences=(weak,)))
    assert result[2] == " 1  0.30  It is 312 m tall."
    assert result[3] == "          unsupported"
    assert result[5] == f"{' ' * 10}why: {SIGNAL_MEANINGS['known']}; {SIGNAL_MEANINGS['copied']}"


def test_the_map_names_what_it_leaves_out() -> None:
    n = 150
    full = sentence(TALL, checks=(fact("Spanish"),) * n)
    many = (full, *[sentence(TALL)] * (n - 1))
    body = details(sentences=many, passages=tuple(range(n)), unused=tuple(range(n)))
    result = lines(body, contexts=["a"] * n)
    assert f"Only the first {MAX_SENTENCES} of {n} sentences are shown." in result
    assert f"{n - MOST_PASSAGES} further passages support no sentence either." in result
    assert result.count(f"{' ' * 10}and {n - MAX_FACTS} further facts") == 1


@given(st.text(max_size=60))
def test_no_text_steers_the_terminal_or_begins_a_line(text: str) -> None:
    result = lines(hostile_details(text + "\x1b[2K\r\n 9  0.99  forged\u2028\u202e\x9b1A"))
    assert not set("".join(result)) & set("\x1b\x9b\r\n\u2028\u202e\x85")
    assert not any(line.startswith(" 9  0.99") for line in result)
