from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.text.overlap import is_verbatim, token_precision

if TYPE_CHECKING:
    from pathlib import Path


def test_the_share_of_distinct_words_is_taken_over_all_passages() -> None:
    assert token_precision("Paris and ROME and Oslo", ["rome, paris", "And so on"]) == 0.75


def test_a_word_is_whole() -> None:
    assert token_precision("art", ["an artist"]) == 0.0


def test_a_response_without_words_rests_on_nothing() -> None:
    assert token_precision("", ["a"]) == token_precision("…!", ["…!"]) == 0.0
    assert token_precision("a", []) == 0.0


def test_passages_may_be_any_iterable() -> None:
    assert token_precision("a b", iter(["a", "b"])) == 1.0


def test_a_verbatim_copy_stands_whole_in_one_passage_but_for_case_and_white_space() -> None:
    assert is_verbatim("STRASSE", ["Die Straße endet hier."])
    assert is_verbatim("b\u00a0 c", iter(["x", "a b\n\tc d"]))
    assert is_verbatim("art", ["an artist"])
    assert not is_verbatim("a b", ["a", "b"])
    assert not is_verbatim("", ["anything"])
    assert not is_verbatim(" \n", [" \n"])
    assert not is_verbatim("a", [])


@given(st.text(min_size=1), st.text(), st.text())
def test_every_part_of_a_passage_is_verbatim(middle: str, before: str, after: str) -> None:
    # Spaces keep a letter from folding with its neighbour into another.
    assert is_verbatim(middle, [f"{before} {middle} {after}"]) == bool(middle.split())


def test_it_separates_halueval_as_published_for_word_overlap(data_folder: Path) -> None:
    with (data_folder / "halueval_qa.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    right, wrong = (
        np.array([token_precision(row[key], [row["knowledge"]]) for row in rows])
        for key in ("right_answer", "hallucinated_answer")
    )
    auroc = np.mean((right[:, None] > wrong) + 0.5 * (right[:, None] == wrong))
    assert auroc == pytest.approx(0.91, abs=0.005)
