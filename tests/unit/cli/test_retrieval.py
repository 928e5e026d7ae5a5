"""Qrels from a file to scores, gates, the page of a row, and an export that is read again."""

from __future__ import annotations

import csv
from io import StringIO

import pytest

from support.answers import write_jsonl

ROWS = [
    {
        "id": f"q{number}",
        "question": f"Who is number {number}?",
        "retrieved_ids": ["a", "b", "c"],
        "retrieval_scores": [3, 2.5, 1],
        "qrels": {"abcd"[number % 4]: 2},
    }
    for number in range(40)
]
RUN = ("run", "qrels.jsonl", "-m", "recall@2,mrr,ndcg@10,recall@1", "-q")


@pytest.fixture
def stored(sgi, tmp_path):
    write_jsonl(tmp_path / "qrels.jsonl", ROWS)
    result = sgi(*RUN)
    assert result.code == 0
    return sgi


def test_metrics_are_shown_in_the_given_order(stored):
    lines = stored("show", "last").out.splitlines()
    shown = [line.split()[0] for line in lines if line.startswith(("recall", "mrr", "ndcg"))]
    assert shown[:4] == ["recall@2", "mrr", "ndcg@10", "recall@1"]


def test_gates_know_names_with_a_cut(stored):
    assert stored("gate", "last", "recall@2>=0.2", "mrr<0.9").code == 0
    assert stored("gate", "last", "recall@2>=0.9").code == 4


def test_a_row_shows_its_ids_and_hits(stored):
    out = stored("show", "last", "--sample", "q1").out
    assert "context_ids\n  1. a\n  2. b\n  3. c" in out
    assert "relevance\n  b: 2" in out
    assert "match" in out


def test_an_exported_table_gives_the_same_scores(stored, tmp_path):
    assert stored("runs", "export", "last", "-o", "rows.csv", "--inputs").code == 0
    assert stored("run", "rows.csv", "-m", "mrr", "-q", "-o", "again.csv", "--map", "label=").code == 0
    texts = ((tmp_path / name).read_text() for name in ("rows.csv", "again.csv"))
    before, after = (list(csv.DictReader(StringIO(text))) for text in texts)
    assert before[0]["context_ids"] == '["a", "b", "c"]'
    assert [row["mrr"] for row in before] == [row["mrr"] for row in after]


def test_a_duplicate_id_names_the_row(sgi, tmp_path):
    write_jsonl(tmp_path / "qrels.jsonl", [*ROWS[:2], {**ROWS[2], "retrieved_ids": ["a", "b", "a"]}])
    result = sgi(*RUN)
    assert result.code == 2
    assert "qrels.jsonl:3: id 'q2': field 'context_ids': the id 'a' occurs twice" in result.err


def test_the_page_of_a_metric_is_found_with_a_cut(sgi):
    assert sgi("metrics", "recall@5").out == sgi("metrics", "recall").out
