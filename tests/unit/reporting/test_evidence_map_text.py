"""The evidence map on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.reporting.evidence_map_text import evidence_map_lines
from sgi.reporting.views.evidence_map import (
    MAX_FACTS,
    MAX_SENTENCES,
    MOST_PASSAGES,
    SIGNAL_MEANINGS,
    evidence_map_view,
)
from support.evidence_maps import CONTEXTS, OPENED, TALL, details, fact, hostile_details, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence


def lines(body: dict[str, Any], width: int = 100, contexts: Sequence[str] = CONTEXTS) -> list[str]:
    view = evidence_map_view(body, contexts)
    assert view is not None
    return [line.plain for line in evidence_map_lines(view, width=width)]


def test_an_evidence_map_as_lines() -> None:
    around = (
        "…the river that the city has its name of. The tower is [330 m] tall. It opened in 1889, which was"
    )
    assert lines(details()) == [
        "Sentence 1 of 3 is contradicted. Sentence 2 of 3 is unsupported.",
        "",
        " 1  0.11  It is [312 m] tall.",
        "          contradicted",
        "          passage 3, similarity 0.60: The tower is 330 m tall.",
        f"          ✗ number 312 m: passage 3 has 330 m (other value): {around} a hundred years after…",
        "",
        " 2  0.02  It was [sold to Spanish investors].",
        "          unsupported",
        "          passage 3, similarity 0.60: The tower is 330 m tall.",
        "          ? name Spanish: in no passage",
        "",
        " 3  0.99  It opened in 1889.",
        "          passage 3, similarity 1.00: The tower is 330 m tall.",
        "          ✓ date 1889: passage 3 (equal)",
        "",
        "similarity to passages (* best passage, – not compared)",
        "             p1      p3",
        " 1         0.03    0.60*",
        " 2         0.03    0.60*",
        " 3        -0.10    1.00*",
        "",
        "Passage 1 supports no sentence: Bananas are yellow.",
        "",
        "contribution of each signal to the score, in log odds: numbers -2.08, known +0.25",
    ]


def test_only_compared_sentences_are_in_the_table_of_similarities() -> None:
    none, some = sentence(TALL, similarity=(None, None)), sentence(OPENED, similarity=(0.4, None))
    result = lines(details(sentences=(none, some)))
    assert "          passage 3: The tower is 330 m tall." in result
    table = result[result.index("similarity to passages (* best passage, – not compared)") + 1 :]
    assert table[:3] == ["             p1      p3", " 2         0.40       –*", ""]
    assert not any("similarity" in line for line in lines(details(sentences=(none,))))


def test_many_passages_are_folded_to_the_width_and_none_is_lost() -> None:
    wide = sentence(TALL, passage=29, similarity=tuple(at / 100 for at in range(30)))
    body = details(sentences=(wide,), passages=tuple(range(30)), unused=(), signals={})
    result = lines(body, width=60, contexts=["x"] * 30)
    table = result[result.index("similarity to passages (* best passage, – not compared)") + 1 :]
    assert max(map(len, table)) <= 60
    assert [word for line in table[::2] for word in line.split()] == [f"p{n}" for n in range(1, 31)]
    values = [word for line in table[1::2] for word in line.split()[1:]]
    assert values == [*(f"{at / 100:.2f}" for at in range(29)), "0.29*"]
    assert lines(body, width=1, contexts=["x"] * 30)[-1].endswith("0.29*")


def test_one_passage_needs_no_table() -> None:
    body = details(
        sentences=(sentence(OPENED, similarity=(1.0,), passage=0),), passages=(0,), unused=(), signals={}
    )
    assert lines(body) == [
        "No sentence is unsupported.",
        "",
        " 1  0.99  It opened in 1889.",
        "          passage 1, similarity 1.00: The tower is 330 m tall.",
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
    sentences, passages = f"the first {MAX_SENTENCES} of {n}", f"the first {MOST_PASSAGES} of {n}"
    assert f"Only {sentences} sentences and {passages} passages are shown." in result
    assert f"{n - MOST_PASSAGES} further passages support no sentence either." in result
    assert result.count(f"{' ' * 10}and {n - MAX_FACTS} further facts") == 1


@given(st.text(max_size=60), st.integers(-5, 200))
def test_no_text_steers_the_terminal_or_begins_a_line(text: str, width: int) -> None:
    result = lines(hostile_details(text + "\x1b[2K\r\n 9  0.99  forged\u2028\u202e\x9b1A"), width)
    assert not set("".join(result)) & set("\x1b\x9b\r\n\u2028\u202e\x85")
    assert not any(line.startswith(" 9  0.99") for line in result)
