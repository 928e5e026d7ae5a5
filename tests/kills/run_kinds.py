"""Kinds of the campaign that kill `sgi run`, alone and beside another writer."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from contextlib import closing
from hashlib import blake2b

from kills.trial import Kind, Trial, answers, wait_for
from support.batch_server import BatchServer, Creation
from support.judge_server import JudgeServer, Request, ServerReply

METRICS = "grounding,rouge_l"
AT_ONCE = 8


class KilledRun(Kind):
    """`sgi run` with offline metrics, killed once to three times, then resumed."""

    name = "sgi run, SQLite"
    rows = 1500

    def prepare(self, trial: Trial) -> None:
        """Score the rows without a kill."""
        answers(trial.folder, self.rows)
        trial.complete("run", "-q", "rows.jsonl", "-m", METRICS)
        self.whole = trial.result()

    def attempt(self, trial: Trial) -> None:
        """Kill the run, and resume it."""
        answers(trial.folder, self.rows)
        words: tuple[str, ...] = ("run", "-q", "rows.jsonl", "-m", METRICS)
        before: set[tuple[object, ...]] = set()
        for _ in range(trial.chance.randint(1, 3)):
            target = trial.stored() + trial.chance.choice((0, 1, 257, 513))
            process = trial.start(*words)
            trial.kill_when(process, lambda target=target: trial.stored() >= target, 0.5)
            trial.check_database()
            words = ("run", "-q", "--resume", "last") if trial.runs() else words
            now = trial.score_rows() if trial.runs() else set()
            assert before <= now, "committed scores are lost or changed"
            before = now
        trial.complete(*words)
        trial.check_database()
        assert before <= trial.score_rows(), "committed scores were computed again"
        assert trial.runs() == 1
        assert trial.result() == self.whole, "the resumed run differs from an undisturbed one"


def _reply(request: Request) -> ServerReply:
    """Reply by the content of the request, so that a reply to another request changes a score."""
    body = json.dumps(request.body)
    if "verdicts" not in body:
        return ServerReply(json.dumps({"claims": ["It is so.", "It was so."]}), delay=0.05)
    number = blake2b(request.text.encode(), digest_size=1).digest()[0]
    verdicts = [
        {"index": n, "reason": "So it says.", "supported": number >> n & 1, "passage": 1} for n in (1, 2)
    ]
    return ServerReply(json.dumps({"verdicts": verdicts}), delay=0.05)


class KilledJudge(Kind):
    """`sgi run` with a judge over HTTP: a reply that was received is not requested again."""

    name = "sgi run with a judge"
    rows = 100

    def _words(self, server: JudgeServer) -> tuple[str, ...]:
        judge = ("--judge", f"openai:m@{server.url}", "--judge-concurrency", str(AT_ONCE))
        return ("run", "-q", "rows.jsonl", "-m", "faithfulness", *judge)

    def prepare(self, trial: Trial) -> None:
        """Judge the rows without a kill."""
        answers(trial.folder, self.rows)
        with JudgeServer(replies=_reply) as server:
            trial.complete(*self._words(server))
            assert len(server.requests) == 2 * self.rows
        self.whole = trial.result()

    def attempt(self, trial: Trial) -> None:
        """Kill the run at some of its requests, and resume it."""
        answers(trial.folder, self.rows)
        with JudgeServer(replies=_reply) as server:
            words = self._words(server)
            for _ in range(trial.chance.randint(1, 3)):
                wanted = len(server.requests) + trial.chance.randint(1, self.rows // 2)
                process = trial.start(*words)
                trial.kill_when(process, lambda wanted=wanted: len(server.requests) >= wanted, 0.05)
                trial.check_database()
                words = ("run", "-q", "--resume", "last", "--trust-target")
            trial.complete(*words)
            asked = Counter(json.dumps(request.body) for request in server.requests)
        assert len(asked) == 2 * self.rows
        again = asked.total() - len(asked)
        trial.notes["requests sent"] += asked.total()
        trial.notes["sent again"] += again
        assert again <= AT_ONCE * trial.kills, f"{again} replies were paid twice after {trial.kills} kills"
        assert trial.result() == self.whole, "the resumed run differs from an undisturbed one"


class KilledBatches(Kind):
    """`sgi run --batch`, killed five times: each request is in one batch, and each reply is read."""

    name = "sgi run with a judge in batches"
    rows = 200
    _kills = 5

    def _words(self, server: BatchServer) -> tuple[str, ...]:
        judge = ("--judge", f"openai:m@{server.url}", "--batch")
        return ("run", "-q", "rows.jsonl", "-m", "faithfulness", *judge)

    def prepare(self, trial: Trial) -> None:
        """Judge the rows in batches without a kill."""
        answers(trial.folder, self.rows)
        with BatchServer(_reply) as server:
            trial.complete(*self._words(server))
            assert (len(server.batches), set(server.billed.values())) == (2, {1})
        self.whole = trial.result()

    def attempt(self, trial: Trial) -> None:
        """Kill the run before and after uploads, creations, polls and downloads, and resume it."""
        answers(trial.folder, self.rows)
        slow = [Creation(delay=trial.chance.uniform(0.0, 0.5)) for _ in range(20)]
        with BatchServer(_reply, takes=5.0, plan=slow) as server:
            words = self._words(server)
            for _ in range(self._kills):
                seen = {"uploads": len(server.files), "creations": len(server.batches), "polls": server.polls}
                what = trial.chance.choice(["start", "polls"] if server.batches else ["start", *seen])
                counts = {
                    "start": lambda: True,
                    "uploads": lambda seen=seen: len(server.files) > seen["uploads"],
                    "creations": lambda seen=seen: len(server.batches) > seen["creations"],
                    "polls": lambda seen=seen: server.polls > seen["polls"] + 1,
                }
                process = trial.start(*words)
                trial.kill_when(process, counts[what], 3.0 if what == "start" else 0.6)
                trial.check_database()
                words = ("run", "-q", "--resume", "last", "--trust-target") if trial.runs() else words
            trial.complete(*words)
            trial.notes["requests paid"] += server.billed.total()
            trial.notes["batches"] += len(server.batches)
            assert len(server.billed) == 2 * self.rows
            assert set(server.billed.values()) == {1}, "a request is in two batches"
            assert server.direct == 0
        assert trial.result() == self.whole, "the resumed run differs from an undisturbed one"


class TwoWriters(KilledRun):
    """Two `sgi run` on one SQLite file, one of which is killed."""

    name = "two sgi run on one SQLite file"
    rows = 800

    def attempt(self, trial: Trial) -> None:
        """Kill one writer; the other one ends, and the killed one is resumed."""
        answers(trial.folder, self.rows)
        words = ("run", "-q", "rows.jsonl", "-m", METRICS, "--name")
        names = ["a", "b"]
        both = {name: trial.start(*words, name) for name in names}
        victim = trial.chance.choice(names)
        target = trial.chance.randint(0, self.rows)
        wait_for(lambda: trial.stored() >= target, both[victim])
        time.sleep(trial.chance.uniform(0.0, 0.3))
        trial.kill(both[victim])
        (other,) = set(names) - {victim}
        code, _, err = trial.end(both[other])
        assert code == 0, err
        trial.check_database()
        there = {name for name in names if name in _run_names(trial)}
        trial.complete(*(("run", "-q", "--resume", victim) if victim in there else (*words, victim)))
        trial.check_database()
        assert trial.runs() == 2
        assert [trial.result(name) for name in names] == [self.whole] * 2


def _run_names(trial: Trial) -> set[str]:
    with closing(sqlite3.connect(trial.database)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM runs")}


class LockedDatabase(KilledRun):
    """Another process holds the write lock of the SQLite file, for a moment or for longer than SGI waits."""

    name = "locked SQLite file"

    def attempt(self, trial: Trial) -> None:
        """Lock the file in the middle of a run, then resume the run."""
        answers(trial.folder, self.rows)
        process = trial.start("run", "-q", "rows.jsonl", "-m", METRICS)
        target = trial.chance.choice((1, 257, 513, 1025))
        wait_for(lambda: trial.stored() >= target, process)
        long = trial.chance.random() < 0.5
        with closing(sqlite3.connect(trial.database, isolation_level=None, timeout=20)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            trial.faults += process.poll() is None
            wait_for(lambda: False, process) if long else time.sleep(trial.chance.uniform(0.5, 5.0))
            holder.execute("ROLLBACK")
        code, _, err = trial.end(process)
        trial.notes["stopped with an error"] += bool(code)
        if code:
            assert (code, long) == (2, True), err
            assert "locked" in err, err
            trial.complete("run", "-q", "--resume", "last")
        trial.check_database()
        assert trial.runs() == 1
        assert trial.result() == self.whole, "the run differs from an undisturbed one"


def kinds() -> list[Kind]:
    """Return the kinds of this file."""
    return [KilledRun(), KilledJudge(), KilledBatches(), TwoWriters(), LockedDatabase()]
