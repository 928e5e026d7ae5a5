"""Runs that are killed with SIGKILL, and go on: every row is there once, and nothing is done twice."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import StoreError
from sgi.store.database import open_database
from sgi.store.run_queries import list_runs
from sgi.store.stored_batches import read_answers
from support.command import sgi
from support.target_server import TargetReply, TargetServer

KILLS = 3
ROWS = 1800  # of half as many questions
PATIENCE = 120.0
TRIGGER = """
    CREATE TABLE written (key BLOB);
    CREATE TRIGGER note AFTER INSERT ON entries BEGIN INSERT INTO written VALUES (new.key); END;
"""

# PostgreSQL takes the same path here; tests/unit/engine/test_runner.py resumes on both in every run.
slow_on_postgresql = pytest.mark.parametrize(
    "database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)


def command(folder, url, *words):
    environment = os.environ | {"SGI_CACHE_DIR": str(folder / "cache"), "SGI_DATABASE_URL": url}
    return subprocess.Popen(
        [sys.executable, "-m", "sgi", "run", "-q", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def committed(url):
    """How many rows of the only run are committed, seen from outside."""
    try:
        with open_database(url, create=False) as database:
            return next((record.scored for record in list_runs(database)), 0)
    except StoreError:  # it is just being made
        return 0


def kill_after(process, url, rows, wait):
    """SIGKILL the process some time after it has committed so many rows."""
    until = time.monotonic() + PATIENCE
    while committed(url) < rows:
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def watch_cache(folder):
    """Have the vector cache note each vector that is written, beyond the life of any process."""
    from sgi.store.cache import SqliteCache

    path = folder / "cache" / "vectors.db"
    SqliteCache(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TRIGGER)
    return path


@pytest.mark.slow
def test_a_run_killed_three_times_has_every_row_once_and_embeds_no_text_twice(
    tmp_path, data_folder, database_url
):
    whole = (data_folder / "halueval_qa.jsonl").read_bytes().splitlines(keepends=True)
    data = tmp_path / "rows.jsonl"
    data.write_bytes(b"".join(whole[: ROWS // 2]))
    cache = watch_cache(tmp_path)
    chance = random.Random(17)
    moments = sorted(chance.sample(range(256, ROWS - 512, 256), KILLS))
    words = (str(data), "-m", "theta_rq,squad_em")
    for rows in moments:
        kill_after(command(tmp_path, database_url, *words), database_url, rows, chance.uniform(0, 0.3))
        words = ("--resume", "last")
        assert rows <= committed(database_url) < ROWS
    last = command(tmp_path, database_url, *words, "-o", "scores.jsonl", "--json")
    out, err = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, err.decode()
    with open_database(database_url, create=False) as database:
        (record,) = list_runs(database)
        run = read_run(database, record)
    assert record.finished
    assert record.stopped is None
    assert (record.scored, record.rows, len(set(run.ids))) == (ROWS, ROWS, ROWS)
    assert all(column.ok.all() for column in run.metrics.values())
    summary = json.loads(out)
    assert [entry["ok"] for entry in summary["metrics"]] == [ROWS, ROWS]
    lines = (tmp_path / "scores.jsonl").read_bytes().splitlines()
    written = [json.loads(line)["id"] for line in lines]
    assert tuple(written) == run.ids
    with closing(sqlite3.connect(cache)) as connection:
        total, distinct = connection.execute("SELECT count(*), count(DISTINCT key) FROM written").fetchone()
        kept = connection.execute("SELECT count(*) FROM entries").fetchone()[0]
    assert total == distinct == kept > ROWS


@pytest.mark.slow
def test_an_uninterrupted_run_gives_the_same_bits(tmp_path, database_url):
    rows = [
        {"id": str(n), "question": f"Question {n % 70}?", "response": f"It is {n}.", "reference": str(n)}
        for n in range(600)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    first = command(tmp_path, database_url, "rows.jsonl", "-m", "theta_rq,rouge_l", "--json")
    kill_after(first, database_url, 256, 0.0)
    places = {"SGI_CACHE_DIR": str(tmp_path / "cache"), "SGI_DATABASE_URL": database_url}
    words = ("run", "-q", "--resume", "last", "-o", "resumed.jsonl", "--json")
    resumed = sgi(tmp_path, *words, **places)
    words = ("run", "-q", "rows.jsonl", "-m", "theta_rq,rouge_l", "--no-store", "-o", "whole.jsonl", "--json")
    whole = sgi(tmp_path, *words, **places)
    assert resumed.json["metrics"] == whole.json["metrics"]
    assert (tmp_path / "resumed.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def kept_answers(url):
    """The positions whose answers are in the store."""
    with open_database(url, create=False) as database, database.reading() as connection:
        (record,) = list_runs(database)
        return {n for n, entry in read_answers(connection, record.id, 0, 10_000).items() if entry.response}


@pytest.mark.parametrize(
    ("database_url", "kills"),
    [
        ("sqlite", 1),
        pytest.param("sqlite", KILLS, marks=pytest.mark.slow),
        pytest.param("postgresql", KILLS, marks=pytest.mark.slow),
    ],
    indirect=["database_url"],
)
def test_no_stored_answer_is_requested_again(tmp_path, database_url, kills):
    rows = [{"id": str(n), "question": f"question {n}", "reference": f"question {n}"} for n in range(600)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with TargetServer([TargetReply(delay=0.005)] * 2000) as server:
        words = ("rows.jsonl", "-m", "rouge_l", "--target", server.url)
        kept: set[int] = set()
        before = 0
        for kill in range(kills):
            process = command(tmp_path, database_url, *words)
            while len(server.requests) < 150 * (kill + 1):
                assert process.poll() is None, process.stderr.read().decode()
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            time.sleep(0.1)  # requests that were under way arrive
            assert not kept.intersection(numbers(server)[before:])
            kept, before = kept_answers(database_url), len(server.requests)
            assert len(kept) > 100 * (kill + 1)
            words = ("--resume", "last", "--trust-target")
        last = sgi(tmp_path, "run", "-q", *words, "--json", SGI_DATABASE_URL=database_url)
        assert last.json["metrics"][0]["mean"] == 1.0
        assert not kept.intersection(numbers(server)[before:])
        assert set(numbers(server)) == set(range(600))


def numbers(server):
    """What was asked, in order."""
    return [int(request.body["question"].split()[1]) for request in list(server.requests)]


@pytest.mark.slow
def test_two_runs_write_to_one_database_at_once(tmp_path, database_url):
    rows = [{"id": str(n), "response": f"it is {n}", "reference": str(n)} for n in range(1500)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    both = [command(tmp_path, database_url, "rows.jsonl", "-m", "rouge_l", "--name", name) for name in "ab"]
    for process in both:
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err.decode()
    with open_database(database_url, create=False) as database:
        runs = [read_run(database, record) for record in list_runs(database)]
    assert [len(run.ids) for run in runs] == [1500, 1500]
    assert runs[0].metrics["rouge_l"].values.tolist() == runs[1].metrics["rouge_l"].values.tolist()
