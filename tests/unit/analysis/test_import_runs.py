"""Imported runs: every value is checked, and summaries are computed from the rows."""

from __future__ import annotations

import json
from functools import partial

import anyio
import pytest

from sgi.analysis.import_runs import import_runs
from sgi.analysis.rescore import rescore
from sgi.kernel.errors import StoreError
from sgi.store import schema
from sgi.store.database import open_database
from sgi.store.run_queries import find_run, list_runs
from sgi.store.transfer import export
from support.answers import write_jsonl
from support.command import sgi
from support.judged_metrics import judged_run, register_metrics
from support.kept_runs import METRICS, rows, store_run
from support.runs import contents


@pytest.fixture
def database(tmp_path):
    with open_database(tmp_path / "one.db") as opened:
        yield opened


@pytest.fixture
def other(tmp_path):
    with open_database(tmp_path / "two.db") as opened:
        yield opened


def lines_of(database, tmp_path):
    export(database, tmp_path / "runs.jsonl")
    return [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]


def import_lines(other, tmp_path, lines):
    path = tmp_path / "changed.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return import_runs(other, path)


def row_of(lines, table):
    return next(line for line in lines if isinstance(line, list) and line[0] == table)


SUMMARY = [column.name for column in schema.runs.columns].index("summary") + 1


def test_an_honest_summary_comes_through_to_the_bit(database, other, tmp_path):
    store_run(
        tmp_path / "one.db", tmp_path, rows(), name="plain", metrics=(*METRICS, "grounding", "squad_em")
    )
    store_run(tmp_path / "one.db", tmp_path, rows(answer="All {topic}."), name="again")
    assert sgi(
        tmp_path, "run", "plain.jsonl", "-m", "sgi,theta_rq", "--cluster", "contexts", "--db", "one.db"
    )
    before = contents(database)
    export(database, tmp_path / "runs.jsonl")
    assert import_runs(other, tmp_path / "runs.jsonl").runs == 3
    assert contents(other) == before


def test_likewise_of_judged_and_rescored_runs(database, other, tmp_path, monkeypatch):
    register_metrics(monkeypatch)
    made = [
        {"id": f"q{k}", "question": "Who?", "response": f"Please, {k}.", "reference": "R"} for k in range(4)
    ]
    judged_run(
        database, write_jsonl(tmp_path / "a.jsonl", made), ["politeness", "echo", "squad_em"], name="judged"
    )
    anyio.run(partial(rescore, database, find_run(database, "judged"), name="rescored"))
    before = contents(database)
    export(database, tmp_path / "runs.jsonl")
    assert import_runs(other, tmp_path / "runs.jsonl").runs == 2
    assert contents(other) == before


@pytest.mark.parametrize(
    "summary", [{}, {"metrics": "x"}, {"metrics": [{"metric": "sgi", "mean": 9e9}]}, {"n": [1]}]
)
def test_a_summary_in_the_file_is_not_believed(database, other, tmp_path, summary):
    store_run(tmp_path / "one.db", tmp_path, rows(), name="plain")
    lines = lines_of(database, tmp_path)
    honest = row_of(lines, "runs")[SUMMARY]
    row_of(lines, "runs")[SUMMARY] = summary or {"a": 1}
    import_lines(other, tmp_path, lines)
    assert json.loads(json.dumps(find_run(other, "plain").summary)) == honest


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("runs", "id", "\x1b[2J"),
        ("runs", "spec", []),
        ("runs", "created_at", "yesterday"),
        ("runs", "rejected", -1),
        ("runs", "summary", "a text"),
        ("run_metrics", "provenance", {"models": "minilm"}),
        ("run_metrics", "position", 10**30),
        ("samples", "contexts", {"a": 1}),
        ("batches", "truncated", {"response": "many"}),
        ("scores", "position", 99),
        ("scores", "value", "1.0"),
        ("scores", "status", "fine"),
        ("datasets", "rows", 3),
    ],
)
def test_what_no_run_holds_is_told_with_its_line(database, other, tmp_path, table, column, value):
    store_run(tmp_path / "one.db", tmp_path, rows(), name="plain")
    lines = lines_of(database, tmp_path)
    number = [one.name for one in schema.metadata.tables[table].columns].index(column) + 1
    row_of(lines, table)[number] = value
    with pytest.raises(StoreError):
        import_lines(other, tmp_path, lines)
    assert list_runs(other) == []


@pytest.mark.parametrize("strange", ["[" * 5000 + "]" * 5000, '{"a":' * 300 + "1" + "}" * 300, '"'])
def test_values_that_cannot_be_stored_are_told_with_their_line(database, other, tmp_path, strange):
    store_run(tmp_path / "one.db", tmp_path, rows(), name="plain")
    export(database, tmp_path / "runs.jsonl")
    changed = tmp_path / "changed.jsonl"
    text = (tmp_path / "runs.jsonl").read_text()
    changed.write_text(text.replace('"topic":"bridges"', f'"topic":{strange}', 1))
    with pytest.raises(StoreError):
        import_runs(other, changed)


def test_rows_that_are_not_there_are_told(database, other, tmp_path):
    store_run(tmp_path / "one.db", tmp_path, rows(), name="plain")
    lines = lines_of(database, tmp_path)
    for table in ("scores", "batches", "samples"):
        fewer = [line for line in lines if line is not row_of(lines, table)]
        fewer[-1] = {"rows": len(fewer) - 2}
        with pytest.raises(StoreError):
            import_lines(other, tmp_path, fewer)
    assert list_runs(other) == []
