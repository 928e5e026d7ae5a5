"""Importers as functions of bytes: each returns, or raises an `SgiError`. Anything else is a bug.

`SEEDS` makes a valid input for each. A folder of partitions is one input: its files one after the other, each
behind a line with its name.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING

import anyio
import sqlalchemy as sa

from sgi.analysis.import_runs import import_runs
from sgi.distributed.driver import ClusterConfig
from sgi.distributed.import_run import import_partitions
from sgi.engine.runner import RunContext, start_run
from sgi.engine.spec import RunSpec
from sgi.store import schema
from sgi.store.database import open_database
from sgi.store.transfer import export
from support.kept_runs import rows, write_rows
from support.partition_folders import score_partitions, write_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.store.database import Database

_MARK = b"\n=== "
METRICS = ("rouge_l", "grounding")


@cache
def _home() -> Path:
    return Path(mkdtemp(prefix="sgi-fuzz-"))


@cache
def _database() -> Database:
    """One for all inputs, since opening costs more than an import."""
    return open_database(_home() / "into.db").__enter__()


@contextmanager
def _emptied() -> Iterator[Database]:
    database = _database()
    yield database
    with database.writing() as connection:
        for table in (schema.gates, schema.runs, schema.samples, schema.datasets):
            connection.execute(sa.delete(table))


@cache
def export_seed() -> bytes:
    """An export of a run of two rows, with everything that such a run has."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        data = write_rows(folder / "rows.jsonl", rows(2))
        around = RunContext(database=folder / "a.db", cache=False)
        anyio.run(start_run, RunSpec(data=data, metrics=METRICS, name="nightly"), around)
        with open_database(folder / "a.db") as database:
            export(database, folder / "runs.jsonl")
        return (folder / "runs.jsonl").read_bytes()


def import_export(data: bytes) -> None:
    """``sgi db import FILE``."""
    path = _home() / "runs.jsonl"
    path.write_bytes(data)
    with _emptied() as database:
        import_runs(database, path)


@cache
def folder_seed() -> bytes:
    """A folder of partitions."""
    folder = _home() / "made"
    data = write_data(_home() / "rows.jsonl")
    score_partitions(RunSpec.of({"data": data, "out": folder, "metrics": ["rouge_l"]}), ClusterConfig(), 300)
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return b"".join(_MARK + path.name.encode() + b"\n" + path.read_bytes() for path in files)


def import_folder(data: bytes) -> None:
    """``sgi db import FOLDER --data DATA``."""
    folder_seed()
    with TemporaryDirectory(dir=_home()) as place, _emptied() as database:
        for part in data.split(_MARK)[1:]:
            name, _, content = part.partition(b"\n")
            known = name.decode("ascii", "replace")
            if known == "run.json" or (known.startswith("part-") and "/" not in known and "\0" not in known):
                Path(place, known[:100]).write_bytes(content)
        import_partitions(database, place, data=_home() / "rows.jsonl", incomplete=True)


SEEDS = {import_export: export_seed, import_folder: folder_seed}
