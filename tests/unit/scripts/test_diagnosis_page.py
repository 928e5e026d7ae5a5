"""The figures of docs/results/diagnosis.md are those of the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.scripts import load_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIN_RIGHT = 0.85


@pytest.fixture(scope="module")
def script() -> Iterator[Any]:
    with load_script("diagnosis_page") as module:
        yield module


def test_figures_of_the_sample_are_on_the_page(script: Any) -> None:
    page = script.PAGE.read_text(encoding="utf-8")
    assert f"<!-- sample: begin -->\n\n{script.sample_part()}\n\n<!-- sample: end -->" in page


@pytest.mark.slow
def test_causes_of_the_held_half(script: Any, data_folder: Path) -> None:
    found = script.diagnose(script.xquad_rows(data_folder, script.HELD))
    assert found.right.mean() >= MIN_RIGHT
    assert script.confusion(found) in script.PAGE.read_text(encoding="utf-8")
