from __future__ import annotations

import sqlite3
import subprocess
import sys
import tracemalloc

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.reporting.formatting import format_mean
from sgi.reporting.views.group_view import group_table
from sgi.reporting.views.headline import headline
from sgi.store import legacy_import, schema
from sgi.store.database import open_database
from sgi.store.evals_table import METRICS
from sgi.store.legacy_import import EvalsImport, import_evals
from sgi.store.run_queries import find_run
from sgi.store.samples import sample_of
from support.runs import add_run, contents

FIRST = """
CREATE TABLE evals (
    id TEXT PRIMARY KEY, test_run_id TEXT NOT NULL, qa_pair_id TEXT NOT NULL,
    bleu REAL, rouge_l REAL, rouge_l_precision REAL, rouge_l_recall REAL, squad_em REAL, squad_token_f1 REAL,
    content_f1 REAL, lexical_aggregate REAL,
    answer_relevance REAL, context_relevance REAL, groundedness REAL, llm_judged_overall REAL,
    answer TEXT, answer_relevance_reasoning TEXT, context_relevance_reasoning TEXT,
    groundedness_reasoning TEXT,
    latency_ms INTEGER, created_at TEXT
)
"""
SECOND = "ALTER TABLE evals ADD COLUMN semantic_similarity REAL"
ROWS = [
    {"id": "e1", "test_run_id": "monday", "qa_pair_id": "q1", "bleu": 0.25, "rouge_l": 1, "answer": "A"},
    {"id": "e2", "test_run_id": "monday", "qa_pair_id": "q2", "bleu": None, "answer": None, "latency_ms": 12},
    {
        "id": "e3",
        "test_run_id": "tuesday",
        "qa_pair_id": "q1",
        "answer": "",
        "groundedness": 1.5,
        "groundedness_reasoning": "because",
        "created_at": "2025-01-01",
    },
]


def fill(path, statements, rows=(), mode="delete"):
    old = sqlite3.connect(path)
    old.execute(f"PRAGMA journal_mode = {mode}")
    for statement in [statements] if isinstance(statements, str) else statements:
        old.execute(statement)
    for row in rows:
        marks = ", ".join("?" * len(row))
        old.execute(f"INSERT INTO evals ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    old.commit()
    old.close()
    return path


def rows_of(database):
    """What the view tells of the imported rows, without what is NULL."""
    with database.reading() as connection:
        found = connection.exec_driver_sql("SELECT * FROM evals ORDER BY test_run_id, qa_pair_id").mappings()
        return [
            {name: value for name, value in row.items() if value is not None and name != "id"}
            for row in found
        ]


def samples_of(database):
    with database.reading() as connection:
        query = sa.select(schema.samples).order_by(schema.samples.c.dataset, schema.samples.c.position)
        return [sample_of(row) for row in connection.execute(query).mappings()]


def scores_of(database, metric):
    with database.reading() as connection:
        s, m = schema.scores.c, schema.run_metrics.c
        query = sa.select(s.value, s.status, s.reason).join(schema.run_metrics, m.id == s.metric)
        return [
            tuple(row) for row in connection.execute(query.where(m.metric == metric).order_by(s.position))
        ]


@pytest.mark.parametrize("version", [1, 2])
def test_every_row_of_either_version_is_kept(database, tmp_path, version):
    similar = [{**row, "semantic_similarity": 0.5 + k / 8} for k, row in enumerate(ROWS)]
    path = fill(tmp_path / "old.db", [FIRST, SECOND][:version], similar if version == 2 else ROWS)
    imported = import_evals(database, path)
    assert imported == EvalsImport(("monday", "tuesday"), 3, 0, ("id", "latency_ms", "created_at"))
    expected = [
        {"test_run_id": "monday", "qa_pair_id": "q1", "bleu": 0.25, "rouge_l": 1.0, "answer": "A"},
        {"test_run_id": "monday", "qa_pair_id": "q2"},
        {
            "test_run_id": "tuesday",
            "qa_pair_id": "q1",
            "answer": "",
            "groundedness": 1.5,
            "groundedness_reasoning": "because",
        },
    ]
    for k, row in enumerate(expected if version == 2 else ()):
        row["semantic_similarity"] = 0.5 + k / 8
    assert rows_of(database) == expected
    found = {(one.id, one.metadata["id"]): one.metadata for one in samples_of(database)}
    assert found["q2", "e2"] == {"id": "e2", "latency_ms": 12, "created_at": None}
    assert found["q1", "e3"]["created_at"] == "2025-01-01"


def test_the_runs_are_finished_and_say_where_they_came_from(database, tmp_path):
    import_evals(database, fill(tmp_path / "old.db", FIRST, ROWS))
    with database.reading() as connection:
        runs = connection.execute(sa.select(schema.runs).order_by(schema.runs.c.name)).all()
        metrics = connection.execute(sa.select(schema.run_metrics)).all()
    assert [run.spec for run in runs] == [{"imported_from": "old.db"}] * 2
    assert all(run.finished_at for run in runs)
    ranges = {metric.metric: (metric.low, metric.high, metric.version) for metric in metrics}
    shares = {"bleu", "rouge_l"}  # the others have no number, or one that is no share
    assert ranges == {name: (0.0, 1.0, 0) if name in shares else (None, None, 0) for name in ranges}
    assert {metric.metric for metric in metrics} == set(METRICS) - {"semantic_similarity"}


def test_ratings_from_1_to_5_are_never_percent(database, tmp_path):
    """Also in a run, or a group, all of whose ratings happen to be 1."""
    rows = [
        {"id": k, "test_run_id": run, "qa_pair_id": k, "groundedness": rating, "bleu": 0.5, "squad_em": 1}
        for k, (run, rating) in enumerate([("low", 1), ("low", 1), ("high", 3), ("high", 5)])
    ]
    import_evals(database, fill(tmp_path / "old.db", FIRST, rows))
    shown = {}
    for name in ("low", "high"):
        for made in headline(database, find_run(database, name)).metrics:
            shown[name, made.metric] = format_mean(made)
    assert (shown["low", "groundedness"], shown["high", "groundedness"]) == ("1.0000", "4.0000")
    assert shown["low", "bleu"] == "50.00 %"
    (group,) = group_table(database, find_run(database, "low"), "latency_ms").groups
    assert {made.metric: made.is_share for made in group.metrics}["groundedness"] is False


def test_no_value_and_no_number_are_told_apart(database, tmp_path):
    table = "CREATE TABLE evals (id, qa_pair_id, bleu, sgi REAL, rouge_l TEXT)"
    values = [0.5, None, "0.5", "x" * 100, b"\xff", float("inf"), -float("inf"), -3, 2**62, "a\0\ufdd0"]
    rows = [{"id": k, "qa_pair_id": k, "bleu": value} for k, value in enumerate(values)]
    import_evals(database, fill(tmp_path / "old.db", table, rows))
    found = scores_of(database, "bleu")
    assert [value for value, *_ in found if value is not None] == [0.5, -3.0, 2.0**62]
    assert [status for _, status, _ in found] == [
        "ok", "missing", "failed", "failed", "failed", "failed", "failed", "ok", "ok", "failed",
    ]  # fmt: skip
    assert [reason for *_, reason in found[1:7]] == [
        "the old database has no value",
        "the old database has no number here: '0.5'",
        f"the old database has no number here: '{'x' * 59}…'",
        "the old database has no number here: 'ff'",
        "the old database has no number here: 'inf'",
        "the old database has no number here: '-inf'",
    ]
    assert {status for _, status, _ in scores_of(database, "sgi")} == {"missing"}


def test_hostile_content_is_kept(database, tmp_path):
    columns = "ID TEXT, Test_Run_Id TEXT, QA_pair_id TEXT, answer TEXT, question, reference, odd"
    table = f"CREATE TABLE evals ({columns})"
    path = fill(tmp_path / "o'ld %?#.db", table)
    old = sqlite3.connect(path)
    insert = "INSERT INTO evals VALUES (?, ?, ?, CAST(? AS TEXT), ?, ?, ?)"
    bad = b"caf\xe9 \xed\xa0\x80"
    nul = "a\0b'\"; DROP TABLE evals; --"
    old.execute(insert, (nul, "last", nul, bad, "x" * 3_000_000, 7, b"\0\xff"))
    old.execute(insert, (2, "", "\ufdd0", b"", None, b"\1", float("inf")))
    old.execute(insert, (None, None, None, None, None, None, 2**62))
    old.commit()
    old.close()
    imported = import_evals(database, path)
    assert sorted(imported.runs) == ["o'ld %?#", "o'ld %?#-2", "run last"]
    found = {one.id: one for one in samples_of(database)}
    assert set(found) == {nul, "\ufdd0", "0"}
    assert found[nul].response.encode("utf-8", "surrogateescape") == bad
    assert (len(found[nul].question), found[nul].reference) == (3_000_000, "7")
    assert found[nul].metadata == {"id": nul, "odd": "00ff"}
    assert (found["\ufdd0"].response, found["\ufdd0"].reference) == ("", "01")
    assert found["\ufdd0"].metadata["odd"] == "inf"
    assert found["0"].model_fields_set == {"id", "metadata"}


def test_repeated_pairs_in_a_run_are_all_kept(database, tmp_path):
    rows = [{"id": f"e{k}", "test_run_id": "r", "qa_pair_id": "q"} for k in range(3)]
    rows += [{"id": "e4", "test_run_id": "r", "qa_pair_id": "q#e1"}]
    import_evals(database, fill(tmp_path / "old.db", FIRST, rows))
    assert [one.id for one in samples_of(database)] == ["q", "q#e1", "q#e2", "q#e1#e4"]


def test_an_import_again_brings_nothing_twice(database, tmp_path):
    path = fill(tmp_path / "old.db", FIRST, ROWS)
    import_evals(database, path)
    before = contents(database)
    assert import_evals(database, path) == EvalsImport((), 0, 2, ())
    assert contents(database) == before
    fill(path, "SELECT 1", [{"id": "e9", "test_run_id": "tuesday", "qa_pair_id": "q9"}])
    assert import_evals(database, path).runs == ("tuesday-2",)


def test_a_name_that_is_taken_gets_a_number(database, tmp_path):
    add_run(database, name="monday")
    imported = import_evals(database, fill(tmp_path / "old.db", FIRST, ROWS))
    assert imported.runs == ("monday-2", "tuesday")


def test_without_run_ids_the_file_names_the_run(database, tmp_path):
    table = "CREATE TABLE evals (qa_pair_id INTEGER, answer TEXT)"
    rows = [{"qa_pair_id": 2, "answer": "b"}, {"qa_pair_id": 1, "answer": "a"}]
    assert import_evals(database, fill(tmp_path / "june.db", table, rows)).runs == ("june",)
    assert [(one.id, one.response) for one in samples_of(database)] == [("1", "a"), ("2", "b")]


def test_an_empty_table_brings_nothing(database, tmp_path):
    assert import_evals(database, fill(tmp_path / "old.db", FIRST)).runs == ()
    assert import_evals(database, fill(tmp_path / "odd.db", "CREATE TABLE evals (id)")).rows == 0


def test_ids_that_differ_only_in_case_are_different_runs(database, tmp_path):
    table = "CREATE TABLE evals (id, test_run_id TEXT COLLATE NOCASE, qa_pair_id)"
    rows = [{"id": k, "test_run_id": "aA"[k % 2], "qa_pair_id": k} for k in range(6)]
    imported = import_evals(database, fill(tmp_path / "old.db", table, rows))
    assert (imported.runs, imported.rows) == (("A", "a"), 6)


def snapshot(folder):
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


@pytest.mark.parametrize("mode", ["delete", "wal", "truncate", "persist"])
def test_the_old_file_is_never_changed(database, tmp_path, mode):
    folder = tmp_path / "old"
    folder.mkdir()
    path = fill(folder / "old.db", FIRST, ROWS, mode)
    before = snapshot(folder)
    assert import_evals(database, path).rows == 3
    assert snapshot(folder) == before


CRASH = """
import os, sqlite3, sys
old = sqlite3.connect(sys.argv[1], isolation_level=None)
old.execute("PRAGMA wal_autocheckpoint = 0")
old.execute("INSERT INTO evals (id, test_run_id, qa_pair_id) VALUES ('e9', 'monday', 'q9')")
if sys.argv[2] == "half":
    old.execute("PRAGMA cache_size = 1")
    old.execute("BEGIN")
    old.execute("UPDATE evals SET answer = hex(zeroblob(100000))")
os._exit(0)
"""


@pytest.mark.parametrize(("mode", "how"), [("wal", "whole"), ("delete", "half")])
@pytest.mark.parametrize("shm", [True, False])
def test_what_a_crash_left_is_read_and_left(database, tmp_path, mode, how, shm):
    folder = tmp_path / "old"
    folder.mkdir()
    path = fill(folder / "old.db", FIRST, ROWS, mode)
    subprocess.run([sys.executable, "-c", CRASH, str(path), how], check=True)
    if not shm:
        path.with_name("old.db-shm").unlink(missing_ok=True)
    before = snapshot(folder)
    assert set(before) > {"old.db"}
    assert import_evals(database, path).rows == 4
    assert all(row.get("answer", "A") in {"A", ""} for row in rows_of(database))
    after = snapshot(folder)
    assert [after[name] for name in after if not name.endswith("-shm")] == [
        before[name] for name in before if not name.endswith("-shm")
    ]
    assert set(after) == set(before)


def test_an_application_that_is_still_writing(database, tmp_path):
    path = fill(tmp_path / "old.db", FIRST, ROWS, "wal")
    running = sqlite3.connect(path, isolation_level=None)
    running.execute("INSERT INTO evals (id, test_run_id, qa_pair_id) VALUES ('e9', 'monday', 'q9')")
    running.execute("BEGIN IMMEDIATE")
    running.execute("DELETE FROM evals")
    assert import_evals(database, path).rows == 4
    running.close()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no table `evals`"),
        (b"id,test_run_id\n" * 100, "not a database"),
        (None, "No such file"),
    ],
)
def test_what_is_no_old_database(database, tmp_path, content, problem):
    path = tmp_path / "old.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreError, match=problem) as caught:
        import_evals(database, path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert path.exists() == (content is not None)


@pytest.mark.parametrize("table", ["CREATE TABLE other (id)", "CREATE VIEW evals AS SELECT 1 AS id"])
def test_a_database_without_the_table(database, tmp_path, table):
    with pytest.raises(StoreError, match="`evals`"):
        import_evals(database, fill(tmp_path / "old.db", table))


def test_a_table_without_ids(database, tmp_path):
    with pytest.raises(StoreError, match=r"`id`.*`qa_pair_id`"):
        import_evals(database, fill(tmp_path / "old.db", "CREATE TABLE evals (bleu)"))


def test_a_damaged_file_brings_nothing(database, tmp_path):
    rows = [
        {"id": f"e{k}", "test_run_id": f"r{k % 3}", "qa_pair_id": "q", "answer": "x" * 500}
        for k in range(999)
    ]
    path = fill(tmp_path / "old.db", FIRST, rows)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4096 * 9] = b"\xff" * (4096 * 9)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"old\.db.*malformed"):
        import_evals(database, path)
    assert contents(database)["runs"] == []


def test_all_or_nothing(database, tmp_path, monkeypatch):
    path = fill(tmp_path / "old.db", FIRST, ROWS)
    write = legacy_import._write

    def fails_later(connection, table, run, *rest):
        if run.name == "tuesday":
            raise OSError("no power")
        write(connection, table, run, *rest)

    monkeypatch.setattr(legacy_import, "_write", fails_later)
    with pytest.raises(OSError, match="power"):
        import_evals(database, path)
    assert not any(contents(database).values())


@pytest.mark.slow
def test_twenty_thousand_rows_in_little_memory(tmp_path):
    path = tmp_path / "old.db"
    old = sqlite3.connect(path)
    old.execute(FIRST)
    old.execute(SECOND)
    row = (0.5,) * 12 + ("An answer of usual length. " * 10, "why", "why", "why", 7, "now", 0.5)
    rows = ((f"e{k}", f"run {k % 4}", f"q{k // 4}", *row) for k in range(20_000))
    old.executemany(f"INSERT INTO evals VALUES ({', '.join('?' * 22)})", rows)
    old.commit()
    old.close()
    with open_database(tmp_path / "sgi.db") as database:
        assert import_evals(database, path).rows == 20_000
        tracemalloc.start()
        assert import_evals(database, path).skipped == 4
        assert tracemalloc.get_traced_memory()[1] < 25e6
        tracemalloc.stop()
