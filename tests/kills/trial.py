"""One attempt of the campaign: starts processes, kills them at random moments, and checks what they left."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.store.database import open_database
from sgi.store.run_queries import find_run, list_runs
from support.command import sgi
from support.kept_runs import write_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

PATIENCE = 120.0
_ROWS_STORED = "SELECT COALESCE(SUM(rows), 0) FROM batches"


class Kind:
    """One kind of kill; ``name`` is its name in the table."""

    name: str

    def prepare(self, trial: Trial) -> None:
        """Compute the result without a kill, in a folder that stays until the last attempt."""

    def attempt(self, trial: Trial) -> None:
        """Kill and continue; raise if something acknowledged is lost, doubled or changed."""

    def close(self) -> None:
        """Release what `prepare` opened."""


@dataclass
class Trial:
    """An attempt in a folder of its own.

    Attributes:
        chance: the random moments; the seed of the campaign, the kind and the number of the attempt fix them.
        database: the database of its commands.
        kills: processes that were alive when they were killed.
        faults: faults of another kind, such as a lock.
        notes: counts to print, by what they count.
    """

    folder: Path
    chance: Random
    database: str = ""
    kills: int = 0
    faults: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.database = self.database or str(self.folder / "sgi.db")

    def start(self, *words: object) -> subprocess.Popen[bytes]:
        """Start ``sgi WORDS``."""
        places = {"SGI_CACHE_DIR": str(self.folder / "cache"), "SGI_DATABASE_URL": self.database}
        process = subprocess.Popen(
            [sys.executable, "-m", "sgi", *map(str, words)],
            cwd=self.folder,
            env=os.environ | places | {"NO_PROXY": "127.0.0.1", "TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    @property
    def temporary(self) -> Path:
        """The folder of temporary files of the processes."""
        place = self.folder / "tmp"
        place.mkdir(exist_ok=True)
        return place

    def complete(self, *words: object) -> str:
        """Run ``sgi WORDS`` to its end, and return what it prints."""
        code, out, err = self.end(self.start(*words))
        assert code == 0, f"sgi {' '.join(map(str, words))} ended with {code}: {err}"
        return out

    def end(self, process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
        """Wait for the end of a process; return its exit code, output and messages."""
        out, err = (text.decode() for text in process.communicate(timeout=PATIENCE))
        assert "Traceback" not in err, err
        return process.returncode, out, err

    def kill(self, process: subprocess.Popen[bytes]) -> bool:
        """Kill a process with SIGKILL; return False if it had ended before."""
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate()
        assert b"Traceback" not in err, err.decode()
        killed = process.returncode == -signal.SIGKILL
        assert killed or process.returncode in {0, 3}, err.decode()
        self.kills += killed
        return killed

    def kill_when(
        self, process: subprocess.Popen[bytes], condition: Callable[[], bool], pause: float = 0.0
    ) -> bool:
        """Kill a process up to ``pause`` seconds after the condition holds, or when it has ended."""
        wait_for(condition, process)
        time.sleep(self.chance.uniform(0.0, pause))
        return self.kill(process)

    def close(self) -> None:
        """Kill the processes that are left."""
        for process in self.processes:
            process.kill()
            process.communicate()

    def check_database(self) -> None:
        """Check that the database and the caches open, and that SQLite finds no damage."""
        files = [*(self.folder / "cache").glob("*.db"), self.folder / "sgi.db"]
        for file in filter(Path.exists, files):
            with closing(sqlite3.connect(file)) as connection:
                problems = [text for (text,) in connection.execute("PRAGMA integrity_check")]
                problems += map(str, connection.execute("PRAGMA foreign_key_check"))
            assert problems == ["ok"], (file, problems)
        if "://" not in self.database and not files[-1].exists():
            return
        with open_database(self.database) as database:
            for record in list_runs(database):
                assert record.finished <= (record.scored == record.rows), record

    def stored(self) -> int:
        """Return the number of committed rows of all runs, seen from outside; 0 without tables."""
        if "://" in self.database:
            import psycopg

            with psycopg.connect(self.database, application_name="campaign") as connection:
                try:
                    return int(connection.execute(_ROWS_STORED).fetchone()[0])
                except psycopg.errors.UndefinedTable:
                    return 0
        try:
            with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
                return int(connection.execute(_ROWS_STORED).fetchone()[0])
        except sqlite3.OperationalError:
            return 0

    def score_rows(self) -> set[tuple[Any, ...]]:
        """Return every stored score of the newest run: position, metric, value and status."""
        query = sa.text(
            "SELECT m.metric, s.position, s.value, s.status FROM scores s "
            "JOIN run_metrics m ON m.id = s.metric WHERE m.run = :run"
        )
        with open_database(self.database) as database, database.reading() as connection:
            run = find_run(database, "last").id
            return {tuple(row) for row in connection.execute(query, {"run": run})}

    def result(self, run: str = "last") -> bytes:
        """Return the exported rows of a finished run: values, statuses, reasons and details."""
        with open_database(self.database) as database:
            record = find_run(database, run)
            assert record.finished, f"the run {run} is not finished: {record.stopped}"
        file = self.folder / "exported.jsonl"
        outcome = sgi(self.folder, "runs", "export", run, "-o", file, SGI_DATABASE_URL=self.database)
        assert outcome.code == 0, outcome.err
        return file.read_bytes()

    def runs(self) -> int:
        """Return the number of runs."""
        with open_database(self.database) as database:
            return len(list_runs(database))


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until the condition holds, or the process has ended."""
    until = time.monotonic() + PATIENCE
    while not condition() and (process is None or process.poll() is None):
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.002)


def answers(folder: Path, rows: int, name: str = "rows.jsonl") -> Path:
    """Write a file of answers whose scores differ."""
    return write_rows(
        folder / name,
        (
            {
                "id": f"row-{n}",
                "question": f"How long is bridge {n}?",
                "contexts": [f"Bridge {n} is {n} metres long.", "It is old."],
                "response": f"Bridge {n} is {n if n % 3 else n + 1} metres long.",
                "reference": f"{n} metres",
            }
            for n in range(rows)
        ),
    )
