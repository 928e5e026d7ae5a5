"""The evidence map on a terminal and in a Markdown page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.reporting.evidence_lines import evidence_markdown, map_lines
from sgi.reporting.run_markdown import run_markdown
from sgi.reporting.views.evidence_view import MAX_CHECKS, MAX_SENTENCES, MAX_UNUSED, SIGNAL_MEANINGS
from sgi.reporting.views.row_view import LowestRows
from support.evidence_maps import CONTEXTS, RESPONSE, TALL, details, fact, hostile_details, sentence, view_of
from support.views import HOSTILE, bare_view, sample, score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.reporting.views.row_view import SampleView


def lines(body: dict[str, Any], contexts: Sequence[str] = CONTEXTS) -> list[str]:
    return [line.plain for line in map_lines(view_of(body, contexts))]


def markdown(body: Mapping[str, Any], longest: int = 200) -> list[str]:
    return list(evidence_markdown(view_of(body), longest=longest))


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
    assert f"{n - MAX_UNUSED} more passages support no sentence" in result
    assert result.count(f"{' ' * 10}and {n - MAX_CHECKS} more facts") == 1


@given(st.text(max_size=60))
def test_no_text_steers_the_terminal_or_begins_a_line(text: str) -> None:
    result = lines(hostile_details(text + "\x1b[2K\r\n 9  0.99  forged\u2028\u202e\x9b1A"))
    assert not set("".join(result)) & set("\x1b\x9b\r\n\u2028\u202e\x85")
    assert not any(line.startswith(" 9  0.99") for line in result)


def worst(metric: str, row: SampleView) -> LowestRows:
    return LowestRows(metric, higher_is_better=True, samples=(row,))


def test_only_sentences_that_are_unsupported_or_marked_are_shown() -> None:
    around = "…the river that the city has its name of. The tower is **330 m** tall. It opened in 1889,"
    around += " which was a hundred years after…"
    assert markdown(details()) == [
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
    contents = markdown(details(sentences=(weak,), unused=()))
    assert contents[1:] == [
        f"  - sentence 1 ({words}, support score 0.30): It is 312 m tall.",
        f"    - why: {SIGNAL_MEANINGS['known']}; {SIGNAL_MEANINGS['copied']}",
    ]


def test_what_is_left_out_is_told() -> None:
    many = (sentence(TALL),) * (MAX_SENTENCES + 1)
    contents = markdown(details(sentences=many, unused=tuple(range(MAX_UNUSED + 1))))
    assert contents[1] == f"  - Only the first {MAX_SENTENCES} of {MAX_SENTENCES + 1} sentences are shown."
    assert contents[-1] == "  - 1 more passage supports no sentence"


def test_a_long_sentence_is_cut_and_its_marks_with_it() -> None:
    assert (
        markdown(details(), longest=8)[1]
        == "  - sentence 1 (contradicted, support score 0.11): It is **31** …"
    )
    assert markdown(details(), longest=17)[1].endswith("tall.")


def test_a_cut_before_a_mark_leaves_no_stars() -> None:
    first_lines = [markdown(details(), longest=longest)[1] for longest in range(1, 20)]
    assert first_lines[5] == "  - sentence 1 (contradicted, support score 0.11): It is …"
    assert not [line for line in first_lines if "****" in line]


def test_facts_beyond_the_most_are_counted() -> None:
    many = sentence(TALL, checks=tuple(fact(str(number)) for number in range(MAX_CHECKS + 1)))
    contents = markdown(details(sentences=(many,), unused=()))
    assert "    - and 1 more fact" in contents


def test_stars_stand_at_words() -> None:
    edged = sentence("It was sold to Spanish investors. ", unbacked=((24, 33),), checks=(fact(" Spanish "),))
    assert "It was **sold to Spanish** investors." in markdown(details(sentences=(edged,)))[1]


@pytest.mark.parametrize("text", [HOSTILE, "a\n- b\n# c", "**x** | _y_ ~~z~~ <b>", "1. a"])
def test_no_text_is_markup_or_begins_a_line(text: str) -> None:
    contents = markdown(hostile_details(text))
    assert all(re.match(r" {2,4}- ", line) for line in contents)
    assert not set("".join(contents)) & set("\n\x00\x07\u202e\u2028")
    assert not re.search(r"(?<!\\)<", "".join(contents))


def test_a_worst_row_has_its_map_and_only_under_its_metric() -> None:
    scores = {"grounding": score(0.01, details=details()), "sgi": score(0.9)}
    row = sample(1, contexts=CONTEXTS, response=RESPONSE, scores=scores)
    view = bare_view(worst=(worst("sgi", row), worst("grounding", row)))
    before, after = run_markdown(view).split("## Rows to check by grounding, flagged rows first")
    assert "support score" not in before
    assert "contradicted" not in before
    assert "- sentence 1 (contradicted, support score 0.11): It is **312 m** tall." in after


def test_a_map_that_cannot_be_read_is_left_out() -> None:
    row = sample(1, scores={"grounding": score(0.01, details=details() | {"unused": "none"})})
    view = bare_view(worst=(worst("grounding", row),))
    assert "contradicted" not in run_markdown(view)
