"""The evidence map in a Markdown page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from sgi.reporting.evidence_map_markdown import evidence_map_markdown
from sgi.reporting.run_markdown import run_markdown
from sgi.reporting.views.evidence_map_view import (
    MAX_FACTS,
    MAX_SENTENCES,
    MOST_PASSAGES,
    SIGNAL_MEANINGS,
    evidence_map_view,
)
from sgi.reporting.views.row_view import LowestRows
from support.evidence_maps import CONTEXTS, RESPONSE, TALL, details, fact, hostile_details, sentence
from support.views import HOSTILE, bare_view, sample, score

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sgi.reporting.views.row_view import SampleView


def lines(body: Mapping[str, Any], longest: int = 200) -> list[str]:
    view = evidence_map_view(body, CONTEXTS)
    assert view is not None
    return list(evidence_map_markdown(view, longest=longest))


def worst(metric: str, row: SampleView) -> LowestRows:
    return LowestRows(metric, higher_is_better=True, samples=(row,))


def test_only_sentences_that_are_unsupported_or_marked_are_shown() -> None:
    around = "…the river that the city has its name of. The tower is **330 m** tall. It opened in 1889,"
    around += " which was a hundred years after…"
    assert lines(details()) == [
        "  - Sentence 1 of 3 is contradicted. Sentence 2 of 3 is unsupported.",
        "  - sentence 1 (contradicted, support score 0.11): It is **312 m** tall.",
        f"    - number 312 m: passage 3 has 330 m (other value): “{around}”",
        "  - sentence 2 (unsupported, support score 0.02): It was **sold to Spanish investors**.",
        "    - name Spanish: in no passage",
        "  - passage 1 supports no sentence: Bananas are yellow.",
    ]


@pytest.mark.parametrize(
    ("verdict", "words"), [("unsupported", "unsupported"), ("partly", "partly supported")]
)
def test_a_sentence_without_a_mark_that_is_not_supported_has_its_reasons(verdict: str, words: str) -> None:
    weak = sentence(TALL, score=0.3, verdict=verdict, contributions={"known": -1.0, "copied": -0.5})
    contents = lines(details(sentences=(weak,), unused=()))
    assert contents[1:] == [
        f"  - sentence 1 ({words}, support score 0.30): It is 312 m tall.",
        f"    - why: {SIGNAL_MEANINGS['known']}; {SIGNAL_MEANINGS['copied']}",
    ]


def test_what_is_left_out_is_told() -> None:
    many = (sentence(TALL),) * (MAX_SENTENCES + 1)
    contents = lines(details(sentences=many, unused=tuple(range(MOST_PASSAGES + 2))))
    assert contents[1] == f"  - Only the first {MAX_SENTENCES} of {MAX_SENTENCES + 1} sentences are shown."
    assert contents[-1] == "  - 2 more passages support no sentence"


def test_a_long_sentence_is_cut_and_its_marks_with_it() -> None:
    assert (
        lines(details(), longest=8)[1] == "  - sentence 1 (contradicted, support score 0.11): It is **31** …"
    )
    assert lines(details(), longest=17)[1].endswith("tall.")


def test_a_cut_before_a_mark_leaves_no_stars() -> None:
    first_lines = [lines(details(), longest=longest)[1] for longest in range(1, 20)]
    assert first_lines[5] == "  - sentence 1 (contradicted, support score 0.11): It is …"
    assert not [line for line in first_lines if "****" in line]


def test_facts_beyond_the_most_are_counted() -> None:
    many = sentence(TALL, checks=tuple(fact(str(number)) for number in range(MAX_FACTS + 3)))
    contents = lines(details(sentences=(many,), unused=()))
    assert "    - and 3 more facts" in contents


def test_stars_stand_at_words() -> None:
    edged = sentence("It was sold to Spanish investors. ", unbacked=((24, 33),), checks=(fact(" Spanish "),))
    assert "It was **sold to Spanish** investors." in lines(details(sentences=(edged,)))[1]


@pytest.mark.parametrize("text", [HOSTILE, "a\n- b\n# c", "**x** | _y_ ~~z~~ <b>", "1. a"])
def test_no_text_is_markup_or_begins_a_line(text: str) -> None:
    contents = lines(hostile_details(text))
    assert all(re.match(r" {2,4}- ", line) for line in contents)
    assert not set("".join(contents)) & set("\n\x00\x07\u202e\u2028")
    assert not re.search(r"(?<!\\)<", "".join(contents))


def test_a_worst_row_has_its_map_and_only_under_its_metric() -> None:
    scores = {"grounding": score(0.01, details=details()), "sgi": score(0.9)}
    row = sample(1, contexts=CONTEXTS, response=RESPONSE, scores=scores)
    view = bare_view(worst=(worst("sgi", row), worst("grounding", row)))
    before, after = run_markdown(view).split("## Rows with the lowest grounding")
    assert "support score" not in before
    assert "contradicted" not in before
    assert "- sentence 1 (contradicted, support score 0.11): It is **312 m** tall." in after


def test_a_map_that_cannot_be_read_is_left_out() -> None:
    row = sample(1, scores={"grounding": score(0.01, details=details() | {"unused": "none"})})
    view = bare_view(worst=(worst("grounding", row),))
    assert "contradicted" not in run_markdown(view)
