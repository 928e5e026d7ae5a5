from __future__ import annotations

import pytest

from sgi.kernel.sample import Batch, Sample
from sgi.metrics.references import best_reference


def rows(*pairs: tuple[str, list[str]]) -> Batch:
    return Batch.of([Sample(id=str(i), response=r, reference=g) for i, (r, g) in enumerate(pairs)])


def longer_share(response: list[str], reference: list[str]) -> float:
    return min(len(response), len(reference)) / max(len(response), len(reference))


def test_the_best_comparison_of_each_row_is_kept() -> None:
    batch = rows(("a b", ["a", "a b c", ""]), ("a", ["a b c d"]))
    assert best_reference(batch, str.split, longer_share, empty="none").values.tolist() == [2 / 3, 0.25]


def test_empty_sides_are_never_compared() -> None:
    batch = rows(("", ["a"]), ("a", ["", "?"]), ("?", ["a"]))
    scores = best_reference(
        batch, lambda text: text.strip("?"), lambda *_: pytest.fail("compared") or 0.0, empty="nothing left"
    )
    assert scores.status.tolist() == ["ok", "undefined", "ok"]
    assert scores.values[[0, 2]].tolist() == [0.0, 0.0]


def test_a_blank_reference_and_an_empty_one_have_their_own_reasons() -> None:
    batch = rows(("a", [" ", ""]), ("a", ["?", " "]), ("", ["?"]))
    scores = best_reference(batch, lambda text: text.strip("? "), lambda *_: 1.0, empty="nothing left")
    assert scores.reasons == ("the reference is blank", "nothing left", "nothing left")
