"""Importers as functions of bytes: each returns, or raises an `SgiError`. Anything else is a bug.

`SEEDS` makes a valid input for each. The folder of a run on a cluster is one input: ``run.json``, and then the
records of its Parquet file as lines.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from unittest.mock import patch

import anyio
import pyarrow as pa
import sqlalchemy as sa
from pyarrow import parquet

from sgi.analysis.import_runs import import_runs
from sgi.engine.run_options import RunOptions
from sgi.engine.runner import start_run
from sgi.io.parquet import arrow_rows
from sgi.io.raw_rows import RawRow
from sgi.store import schema
from sgi.store.database import Database, open_database
from sgi.store.transfer import export
from sgi_cluster import result_folder
from support.cluster_runs import score_here
from support.kept_runs import rows, write_rows

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
        call = {"db": folder / "a.db", "cache": False}
        anyio.run(start_run, RunOptions(data=data, metrics=METRICS, name="nightly", **call))
        with open_database(folder / "a.db") as database:
            export(database, folder / "runs.jsonl")
        return (folder / "runs.jsonl").read_bytes()


def import_export(data: bytes) -> None:
    """``sgi runs db import FILE``."""
    path = _home() / "runs.jsonl"
    path.write_bytes(data)
    with _emptied() as database:
        import_runs(database, path)


@cache
def folder_seed() -> bytes:
    """The folder of a run on a cluster."""
    folder = _home() / "made"
    data = write_rows(_home() / "rows.jsonl", rows(2))
    score_here(RunOptions.of({"data": data, "out": folder, "metrics": ["rouge_l"]}))
    records = parquet.read_table(folder / "scores.parquet")["record"].to_pylist()
    return (folder / "run.json").read_bytes() + "".join(records).encode()


def import_folder(data: bytes) -> None:
    """``sgi runs db import FOLDER``, its Parquet file decoded in this process, which takes no time to start."""
    manifest, _, records = data.partition(b"\n")
    decoded_here = patch.object(result_folder, "parquet_rows", _rows_here)
    with TemporaryDirectory(dir=_home()) as place, _emptied() as database, decoded_here:
        Path(place, "run.json").write_bytes(manifest)
        texts = records.decode("utf-8", "replace").splitlines()
        parquet.write_table(pa.table({"record": pa.array(texts, pa.string())}), f"{place}/scores.parquet")
        result_folder.import_folder(database, place)


def _rows_here(path: Path, *, mapping: None) -> Iterator[RawRow]:
    table = parquet.read_table(path)
    return arrow_rows(table.to_batches(), table.column_names, mapping=mapping, file=str(path))


SEEDS = {import_export: export_seed, import_folder: folder_seed}
