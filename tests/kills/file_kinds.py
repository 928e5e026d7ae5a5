"""Kinds of the campaign that kill imports and commands that write a file."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

from kills.trial import Kind, Trial, answers, wait_for
from sgi.engine.run_options import RunOptions
from sgi.store.database import open_database
from sgi.store.run_queries import list_runs
from support.cluster_runs import score_here

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import Popen

METRICS = "grounding,rouge_l,squad_em"
ROWS = 1500
_KEPT_SECONDS = 120
"""More than the age at which a part file of a killed process is removed."""
_REJECTED = 3
"""The exit code if rows were rejected."""


class KilledImport(Kind):
    """An import is killed, and repeated: nothing is there twice."""

    def __init__(self, name: str, source: str, *words: str) -> None:
        self.name = name
        self._source, self._words = source, (*words, source)
        self._seconds = 0.0

    def prepare(self, trial: Trial) -> None:
        """Make the source, and import it without a kill."""
        make = {"runs.jsonl": _make_export, "old.db": _make_evals, "scores": _make_folder}
        make[self._source](trial)
        self._folder = trial.folder
        process = trial.start(*self._words)
        wait_for((trial.folder / "sgi.db").exists, process)
        begin = time.monotonic()
        code, _, err = trial.end(process)
        assert code == 0, err
        self._seconds = time.monotonic() - begin
        self._whole = self._content(trial)

    def attempt(self, trial: Trial) -> None:
        """Kill the import once or twice, and import again."""
        (trial.folder / self._source).symlink_to(self._folder / self._source)
        if self._source == "scores":  # a link is refused
            (trial.folder / self._source).unlink()
            shutil.copytree(self._folder / self._source, trial.folder / self._source)
        for _ in range(trial.chance.randint(1, 2)):
            process = trial.start(*self._words)
            trial.kill_when(process, (trial.folder / "sgi.db").exists, 1.05 * self._seconds)
            trial.check_database()
            assert trial.runs() == 0 or self._content(trial) == self._whole, "a part of the import is there"
        again = trial.start(*self._words)
        code, _, err = trial.end(again)
        if self._source == "scores" and code == 2:
            assert "is in the database already" in err, err
        else:
            assert code == 0, err
        trial.check_database()
        assert self._content(trial) == self._whole, "the second import differs from an undisturbed one"

    def _content(self, trial: Trial) -> object:
        """Return the names of the runs, and their rows with values, statuses, reasons and details."""
        with open_database(trial.database) as database:
            records = sorted(list_runs(database), key=lambda record: record.name or "")
        return [(record.name, record.metrics, trial.result(record.id)) for record in records]


def _make_export(trial: Trial) -> None:
    trial.database = str(trial.folder / "source.db")
    answers(trial.folder, ROWS)
    for name in ("one", "two"):
        trial.complete("run", "-q", "rows.jsonl", "-m", "grounding,rouge_l", "--name", name)
    trial.complete("runs", "db", "export", "runs.jsonl")
    trial.database = str(trial.folder / "sgi.db")


def _make_evals(trial: Trial) -> None:
    with closing(sqlite3.connect(trial.folder / "old.db")) as old:
        old.execute("CREATE TABLE evals (id TEXT PRIMARY KEY, test_run_id TEXT, qa_pair_id TEXT, "
                    "bleu REAL, rouge_l REAL, answer TEXT, latency_ms INTEGER)")  # fmt: skip
        rows = (
            (f"e{n}", f"run {n % 3}", f"q{n // 3}", n % 7 / 7, n % 5 / 5, f"It is {n}.", n)
            for n in range(18 * ROWS)
        )
        old.executemany("INSERT INTO evals VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        old.commit()


def _make_folder(trial: Trial) -> None:
    data = answers(trial.folder, ROWS)
    score_here(RunOptions.of({"data": data, "out": trial.folder / "scores", "metrics": ["rouge_l"]}))


class KilledWriter(Kind):
    """A command that replaces files is killed: each file is the old one or the new one, and complete."""

    def __init__(self, name: str, files: tuple[str, ...], *words: str, stores: bool = False) -> None:
        self.name = name
        self._files, self._words, self._stores = files, words, stores
        self._seconds = (0.0, 0.0)
        self._code = _REJECTED if stores else 0

    def prepare(self, trial: Trial) -> None:
        """Make the database, and the files without a kill."""
        self._folder, folder = trial.folder, trial.folder
        data = answers(folder, ROWS)
        with data.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps({"id": f"bad-{n}", "response": n}) + "\n" for n in range(20))
        if not self._stores:
            assert trial.end(trial.start(*_SCORE))[0] == _REJECTED
        process = trial.start(*self._words)
        begin = time.monotonic()
        wait_for(lambda: bool(_parts(folder)), process)
        opened = time.monotonic()
        code, _, err = trial.end(process)
        assert code == self._code, err
        self._seconds = (opened - begin, time.monotonic() - opened)
        self._new = {file: (folder / file).read_bytes() for file in self._files}
        if not self._stores:
            with closing(sqlite3.connect(trial.database)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def attempt(self, trial: Trial) -> None:
        """Kill the command, compare the files, and run it again."""
        (trial.folder / "rows.jsonl").symlink_to(self._folder / "rows.jsonl")
        if not self._stores:
            shutil.copy(self._folder / "sgi.db", trial.folder / "sgi.db")
        old = dict.fromkeys(self._files, b"old\n")
        for file, content in old.items():
            (trial.folder / file).write_bytes(content)
        process = trial.start(*self._words)
        self._kill(trial, process)
        trial.check_database()
        for file in self._files:
            content = (trial.folder / file).read_bytes()
            assert content in {old[file], self._new[file]}, f"{file} is incomplete: {len(content)} bytes"
        known = {"rows.jsonl", "sgi.db", "sgi.db-wal", "sgi.db-shm", "tmp", "cache", *self._files}
        left = {path for path in trial.folder.iterdir() if path.name not in known}
        assert left == set(_parts(trial.folder)), left
        for path in left:  # as if the next command came minutes later
            os.utime(path, (time.time() - _KEPT_SECONDS,) * 2)
        words = self._words
        if self._stores and trial.runs():
            words = ("run", "-q", "--resume", "last", *self._words[-4:])
        code, _, err = trial.end(trial.start(*words))
        assert code == self._code, err
        assert _parts(trial.folder) == [], "the part file of the killed process is still there"
        whole = f"{self._folder}/".encode()  # a resumed run names the data by its whole path
        for file in self._files:
            content = (trial.folder / file).read_bytes()
            assert content.replace(whole, b"") == self._new[file].replace(whole, b""), f"{file} differs"

    def _kill(self, trial: Trial, process: Popen[bytes]) -> None:
        """Kill while a part file exists, or, in a quarter of the attempts, at any moment."""
        before, during = self._seconds
        if trial.chance.random() < 0.25:
            trial.kill_when(process, lambda: True, 1.02 * (before + during))
        else:
            trial.kill_when(process, lambda: bool(_parts(trial.folder)), during)


def _parts(folder: Path) -> list[Path]:
    return [*folder.glob(".sgi-*.part")]


_SCORE = ("run", "-q", "rows.jsonl", "-m", METRICS, "--on-error", "skip")


def kinds() -> list[Kind]:
    """Return the kinds of this file."""
    written = [
        KilledWriter(
            f"sgi run -o, {suffix}",
            (f"scores.{suffix}", "rejects.jsonl"),
            *_SCORE, "-o", f"scores.{suffix}", "--rejects", "rejects.jsonl",
            stores=True,
        )
        for suffix in ("jsonl", "csv", "parquet")
    ]  # fmt: skip
    return [
        KilledImport("sgi runs db import, file", "runs.jsonl", "runs", "db", "import"),
        KilledImport("sgi runs db import, folder", "scores", "runs", "db", "import"),
        KilledImport("sgi runs db import-evals", "old.db", "runs", "db", "import-evals"),
        *written,
        KilledWriter("sgi runs export -o", ("all.csv",), "runs", "export", "last", "-o", "all.csv"),
        KilledWriter("sgi runs db export", ("all.jsonl.gz",), "runs", "db", "export", "all.jsonl.gz"),
        KilledWriter("sgi report -o", ("all.html",), "report", "last", "-q", "-o", "all.html"),
    ]
