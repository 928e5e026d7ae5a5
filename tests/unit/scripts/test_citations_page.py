"""Planted citations, on a small set made by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sgi.text.cited_text import split_cited_text
from support.scripts import load_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("Ada Stone", "Mira Oduya", "Tom Brandt", "Lea Novak", "Ivo Petrov", "Ann Kerr")


@pytest.fixture(scope="module")
def script() -> Iterator[Any]:
    with load_script("citations_page") as module:
        yield module


@pytest.fixture(scope="module")
def rows(script: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder: Path = tmp_path_factory.mktemp("data")
    lines = [
        {
            "question": f"Who built bridge {number}?",
            "context": f"{name} built bridge {number} in {1900 + number}. It crosses river {number}.",
            "response": f"{name} built bridge {number}. It was built in {1900 + number}. It crosses a river.",
            "label": int(number % 3 > 0),
            "meta": {},
        }
        for number, name in enumerate(NAMES * 3)
    ]
    (folder / "begin.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    planted: list[Any] = script.plant("BEGIN", folder)
    return planted


def test_every_statement_has_its_planted_citations(script: Any, rows: list[Any]) -> None:
    plans = set()
    for row in rows:
        assert len(row.sample.contexts) == 3
        statements = split_cited_text(row.sample.response).statements
        assert [len(each.markers) for each in statements] == [len(each.verdicts) for each in row.statements]
        plans |= {each.plan for each in row.statements}
    assert plans == set(script.PLANS)


def test_unsupported_answers_have_no_right_citation(rows: list[Any]) -> None:
    for number, row in enumerate(rows):
        verdicts = {verdict for statement in row.statements for verdict in statement.verdicts}
        assert number % 3 or "right" not in verdicts


def test_scores_are_matched_with_planted_verdicts(script: Any, rows: list[Any]) -> None:
    scored = script.score_set(rows)
    invalid = [pair for pair in scored.pairs if pair.expected == "invalid"]
    assert invalid
    assert all(pair.verdict == "invalid" for pair in invalid)
    assert 0 < script.choose_threshold([scored]) < 1
