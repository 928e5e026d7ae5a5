"""A power cut at any point of a run loses nothing that was reported as stored; see `support.power_cut`."""

import json
import random
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sgi.llm.calls import decode_completion
from sgi.llm.cassette import _read
from support import marked_run
from support.judged_runs import CountingServer, rows_file
from support.power_cut import Disk, record

ROWS = 24
CUTS = 60
KEPT = (0.0, 0.5, 0.9)
"""The probability that a write that was not synced is on the disk all the same."""

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")


class Reported:
    """What the process has reported as stored so far."""

    def __init__(self) -> None:
        self.replies: set[bytes] = set()
        self.calls: set[str] = set()
        self.batches: set[int] = set()
        self.sent = 0
        self.finished = False
        self.exited = False

    def add(self, line: bytes) -> None:
        fact = json.loads(line)
        if fact.get("cache") == "replies.db":
            self.replies.update(map(bytes.fromhex, fact["keys"]))
        elif "batch" in fact:
            self.batches.add(fact["batch"])
        elif "call" in fact:
            self.calls.add(fact["call"])
        self.sent += fact.get("sent", 0)
        self.finished |= "finished" in fact
        self.exited |= fact.get("exit") == 0


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """The folder of a run with a judge and a cassette, and what was done in it."""
    folder = tmp_path_factory.mktemp("power") / "run"
    folder.mkdir()
    rows_file(folder, ROWS)
    places = {"SGI_CACHE_DIR": str(folder / "cache"), "SGI_DATABASE_URL": str(folder / "runs.db")}
    with CountingServer(0.005) as server:
        judge = ["-m", "faithfulness,theta_rq", "--judge", f"openai:m@{server.url}", "-q"]
        run = ["judge", "record", "calls.jsonl", "rows.jsonl", *judge, "-o", "scores.jsonl"]
        command = [sys.executable, marked_run.__file__, *run]
        events = record(command, folder, environment=places | {"NO_PROXY": "127.0.0.1"})
    return folder, events


def states(folder, events, place, seed, cuts):
    """For each of some cuts: what was reported before it, and a folder as the cut left it."""
    chance = random.Random(seed)
    moments = set(chance.sample(range(len(events)), min(cuts, len(events))))
    disk, reported = Disk(folder), Reported()
    for number, event in enumerate(events):
        if number in moments:
            for entry in KEPT:
                copy = place / f"{number}-{entry}"
                copy.mkdir()
                disk.cut(copy, chance, entry)
                yield reported, copy
                shutil.rmtree(copy)
        if Path(event.path).name == marked_run.MARKERS:
            for line in event.data.splitlines():
                reported.add(line)
        else:
            disk.apply(event)


def losses(reported: Reported, folder: Path) -> list[str]:
    """What is lost or damaged in a folder, of that which was reported."""
    lost = []
    for name in ("runs.db", "cache/replies.db", "cache/vectors.db"):
        if (folder / name).exists():
            with closing(sqlite3.connect(folder / name)) as connection:
                if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                    lost.append(f"{name} is damaged")
    lost += _lost_replies(reported, folder) + _lost_rows(reported, folder)
    if reported.calls:
        lost += ["a call of the cassette"] * len(
            reported.calls - {key.hex() for key in _read(folder / "calls.jsonl")[1]}
        )
    scores = folder / "scores.jsonl"
    if reported.exited or scores.exists():
        rows = len(scores.read_bytes().splitlines()) if scores.exists() else 0
        lost += [f"{ROWS - rows} rows of the output"] if rows != ROWS else []
    return lost


def _lost_replies(reported: Reported, folder: Path) -> list[str]:
    if not reported.replies:
        return []
    if not (folder / "cache" / "replies.db").exists():
        return ["the cache of replies"]
    with closing(sqlite3.connect(folder / "cache" / "replies.db")) as connection:
        stored = dict(connection.execute("SELECT key, value FROM entries"))
    for value in stored.values():
        decode_completion(value)
    return ["a reply"] * len(reported.replies - stored.keys())


def _lost_rows(reported: Reported, folder: Path) -> list[str]:
    if not reported.sent:
        return []
    if not (folder / "runs.db").exists():
        return ["the database"]
    with closing(sqlite3.connect(folder / "runs.db")) as connection:
        starts = {start for (start,) in connection.execute("SELECT start FROM batches")}
        counts = connection.execute("SELECT count(*) FROM scores GROUP BY metric").fetchall()
        ((used,),) = connection.execute("SELECT coalesce(sum(calls + unanswered), 0) FROM usage").fetchall()
        (finished,) = connection.execute("SELECT finished_at FROM runs").fetchone() or (None,)
    lost = ["a batch"] * len(reported.batches - starts)
    lost += ["a score"] if reported.batches and counts != [(ROWS,)] * 2 else []
    lost += [f"the usage of {reported.sent - used} requests"] if used < reported.sent else []
    return lost + (["the end of the run"] if reported.finished and finished is None else [])


@pytest.mark.slow
def test_a_power_cut_loses_nothing_that_was_reported(recording, tmp_path):
    folder, events = recording
    assert sum(event.kind == "sync" for event in events) > 2 * ROWS / 16
    found = [
        (copy.name, lost)
        for reported, copy in states(folder, events, tmp_path, 1, CUTS)
        if (lost := losses(reported, copy))
    ]
    assert found == []
