"""Simple systems on GraphRAG-Bench have the letters that their answers deserve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sgi.io.dataset import open_dataset
from support.scripts import load_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTIONS = 100


@pytest.fixture
def script() -> Iterator[Any]:
    with load_script("leaderboard_page") as module:
        yield module


def test_letters_of_systems_on_100_questions(script: Any, data_folder: Path, tmp_path: Path) -> None:
    samples = list(open_dataset(data_folder / "graphrag_bench.jsonl").samples())[:QUESTIONS]
    systems = script.simple_systems(samples)
    del systems["vectors"]  # slow
    view = script.simple_board(samples, systems, tmp_path, ["rouge_l"])
    quality, latency = view.leaderboard.metrics
    assert {score.system: score.letters for score in quality.systems} == {
        "question": "a",
        "bm25": "b",
        "random": "c",
    }
    assert latency.units == QUESTIONS
    parts = script.simple_parts(view)
    assert "| ▲ " in parts["simple systems by type"]
    assert "| question | surely on the front |" in parts["simple systems by cost"]
