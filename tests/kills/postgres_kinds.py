"""Kinds of the campaign on PostgreSQL: `sgi run`, a process of the server, or the whole server is killed."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack

import psycopg

from kills.run_kinds import METRICS, KilledRun
from kills.trial import Kind, Trial, answers, wait_for
from support.postgres import Server, running_server

_OURS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'sgi' AND datname = current_database()"


class _OnPostgres(KilledRun):
    """A kind with a server of its own, which waits for its disk."""

    def prepare(self, trial: Trial) -> None:
        """Start the server, and score the rows on it without a kill."""
        self._stack = ExitStack()
        self._server: Server = self._stack.enter_context(running_server(durable=True))
        trial.database = self._stack.enter_context(self._server.database())
        super().prepare(trial)

    def attempt(self, trial: Trial) -> None:
        """Make the attempt in an empty database."""
        with self._server.database() as trial.database:
            self._attempt(trial)

    def _attempt(self, trial: Trial) -> None:
        super().attempt(trial)

    def close(self) -> None:
        """Stop the server."""
        self._stack.close()


class KilledRunOnPostgres(_OnPostgres):
    """`sgi run` is killed."""

    name = "sgi run, PostgreSQL"


class _Outage(_OnPostgres):
    """The server fails during a run, which ends with an error or continues."""

    def _attempt(self, trial: Trial) -> None:
        answers(trial.folder, self.rows)
        words: tuple[str, ...] = ("run", "-q", "rows.jsonl", "-m", METRICS)
        for _ in range(trial.chance.randint(1, 2)):
            target = trial.stored() + trial.chance.choice((1, 257, 513))
            process = trial.start(*words)
            wait_for(lambda target=target: trial.stored() >= target, process)
            time.sleep(trial.chance.uniform(0.0, 0.4))
            before = trial.stored()
            self._fail(trial)
            code, _, err = trial.end(process)
            self._wait(trial)
            assert trial.stored() >= before, "committed rows are lost"
            assert code in {0, 2}, err
            trial.notes["stopped with an error"] += bool(code)
            assert code == 0 or "cannot be used" in err, err
            words = ("run", "-q", "--resume", "last") if trial.runs() else words
        trial.complete(*words)
        assert trial.runs() == 1
        assert trial.result() == self.whole, "the resumed run differs from an undisturbed one"

    def _fail(self, trial: Trial) -> None:
        raise NotImplementedError

    def _wait(self, trial: Trial) -> None:
        """Wait until the server takes connections again."""

        def is_up() -> bool:
            try:
                trial.stored()
            except psycopg.OperationalError:
                return False
            return True

        wait_for(is_up)


class KilledBackend(_Outage):
    """The process of the server that serves the run is killed, so that PostgreSQL recovers from a crash."""

    name = "process of PostgreSQL"

    def _fail(self, trial: Trial) -> None:
        with psycopg.connect(trial.database, application_name="campaign", autocommit=True) as connection:
            processes = [pid for (pid,) in connection.execute(_OURS)]
        if processes:
            os.kill(trial.chance.choice(processes), signal.SIGKILL)
            trial.kills += 1


class RestartedServer(_Outage):
    """PostgreSQL is restarted with open connections."""

    name = "restart of PostgreSQL"

    def _fail(self, trial: Trial) -> None:
        self._server.restart()
        trial.faults += 1


def kinds() -> list[Kind]:
    """Return the kinds of this file."""
    return [KilledRunOnPostgres(), KilledBackend(), RestartedServer()]
