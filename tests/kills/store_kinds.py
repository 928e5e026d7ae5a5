"""Kinds of the campaign in which the database fails under `sgi serve`, which is killed at the end."""

from __future__ import annotations

import http.client
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from urllib.error import HTTPError

import httpx2

from kills.server_kinds import KilledReceiver, export_spans, form_key, serve, trace_scores, wait_for_traces
from kills.trial import Kind, Trial, answers
from sgi.store.database import open_database
from sgi.store.evaluations import read_evaluations
from sgi.store.human_labels import run_labels
from sgi.store.label_consensus import text_version
from sgi.store.run_queries import find_run
from support.postgres import Server, running_server

_VALUES = {"yes": True, "no": False, "skip": None}
_LOCK_SECONDS = 34.0
"""Longer than a writer of SQLite waits."""


class _Outage(Kind):
    """People label answers and traces arrive while the database fails, and until the server is killed.

    What was not acknowledged is sent again.
    """

    rows = 300

    def prepare(self, trial: Trial) -> None:
        """Score the traces without an outage."""
        self._receiver = KilledReceiver()
        self._receiver.prepare(trial)

    def attempt(self, trial: Trial) -> None:
        """Let the database fail, kill the server, and look for what it acknowledged."""
        answers(trial.folder, self.rows)
        trial.complete("run", "-q", "rows.jsonl", "-m", "squad_em", "--name", "answers")
        with open_database(trial.database) as database:
            rows = [*read_evaluations(database, find_run(database, "answers").id)]
        versions = {row.sample.id: text_version(row.sample) for row in rows}
        values = {name: trial.chance.choice([*_VALUES]) for name in versions}
        process, address = serve(trial, *self._receiver.words)
        labelled, accepted = set[str](), set[int]()
        with ThreadPoolExecutor(2) as pool:
            clients = (
                pool.submit(_label, address, versions, values, labelled),
                pool.submit(_send, address, self._receiver, accepted),
            )
            time.sleep(trial.chance.uniform(0.2, 1.0))
            self._fail(trial)
            time.sleep(trial.chance.uniform(0.5, 2.0))
            trial.kill(process)
            for client in clients:
                client.result()
        trial.check_database()
        trial.notes["labels acknowledged"] += len(labelled)
        trial.notes["traces accepted"] += len(accepted)
        with open_database(trial.database) as database:
            labels = run_labels(database, find_run(database, "answers")).current
        assert labelled <= labels.keys(), f"{len(labelled - labels.keys())} acknowledged labels are lost"
        for name, given in labels.items():
            assert [label.value for label in given] == [_VALUES[values[name]]], (name, given)
        _, address = serve(trial, *self._receiver.words)
        wait_for_traces(address)
        found = trace_scores(trial)
        ids = {self._receiver.traces[number][0].trace_id.hex() for number in accepted}
        assert ids <= found.keys(), f"{len(ids - found.keys())} accepted traces are lost"
        assert all(found[name] == self._receiver.whole[name] for name in ids), "a score differs"
        trial.check_database()

    def _fail(self, trial: Trial) -> None:
        raise NotImplementedError


def _label(address: str, versions: dict[str, str], values: dict[str, str], done: set[str]) -> None:
    """Label rows until the server is gone; a row is sent again until it is acknowledged."""
    waiting = [*versions]
    try:
        with httpx2.Client(base_url=address, timeout=60) as client:
            key = form_key(client, "/runs/answers/label")
            while waiting:
                form = {"form_key": key, "row": waiting[0], "version": versions[waiting[0]]}
                answer = client.post("/runs/answers/label", data=form | {"answer": values[waiting[0]]})
                if answer.status_code == 303:
                    done.add(waiting.pop(0))
                    time.sleep(0.01)
                else:
                    assert answer.status_code >= 500, answer.text
                    assert "Traceback" not in answer.text
                    time.sleep(0.05)
    except httpx2.TransportError:
        pass


def _send(address: str, receiver: KilledReceiver, done: set[int]) -> None:
    """Send traces until the server is gone; a trace is sent again until it is accepted."""
    waiting = [*receiver.traces]
    try:
        while waiting:
            try:
                assert export_spans(address, receiver.traces[waiting[0]]) == 200
                done.add(waiting.pop(0))
            except HTTPError as error:
                if error.code != 503:
                    raise AssertionError(error.read().decode()) from error
            time.sleep(0.02)
    except (OSError, http.client.HTTPException):
        pass


class LockedServer(_Outage):
    """Another process holds the write lock of the SQLite file, for a moment or for longer than SGI waits."""

    name = "sgi serve, locked SQLite file"

    def _fail(self, trial: Trial) -> None:
        seconds = trial.chance.choice((trial.chance.uniform(0.5, 3.0), _LOCK_SECONDS))
        with closing(sqlite3.connect(trial.database, isolation_level=None, timeout=20)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            trial.faults += 1
            time.sleep(seconds)
            holder.execute("ROLLBACK")


class RestartedStore(_Outage):
    """PostgreSQL is restarted with open connections."""

    name = "sgi serve, restart of PostgreSQL"

    def prepare(self, trial: Trial) -> None:
        """Start the server of the database."""
        self._stack = ExitStack()
        self._server: Server = self._stack.enter_context(running_server(durable=True))
        super().prepare(trial)

    def attempt(self, trial: Trial) -> None:
        """Make the attempt in an empty database."""
        with self._server.database() as trial.database:
            super().attempt(trial)

    def _fail(self, trial: Trial) -> None:
        for _ in range(trial.chance.randint(1, 2)):
            self._server.restart()
            trial.faults += 1

    def close(self) -> None:
        """Stop the server of the database."""
        self._stack.close()


def kinds() -> list[Kind]:
    """Return the kinds of this file."""
    return [LockedServer(), RestartedStore()]
