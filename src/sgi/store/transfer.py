"""Export a database as JSON lines and import it: between SQLite and PostgreSQL, or as an archive.

The first line is the header: ``{"sgi_database": 1, "schema": "0016"}``. Each further line is a row: a list
of the table's name and the values in column order. The last line, ``{"rows": N}``, shows that the file is
complete.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, ProgrammingError

from sgi.kernel.durable_files import replacing_file
from sgi.kernel.errors import SchemaVersionError, SgiError, StoreError
from sgi.kernel.input_limits import how_to_raise, input_limits, size_text
from sgi.store import schema
from sgi.store.bulk_rows import CHUNK, chunks, decode_json, decode_text, encode_json, insert_rows
from sgi.store.database import Database, OneTransaction
from sgi.store.database_location import damaged_error
from sgi.store.growing_runs import GROWING
from sgi.store.run_names import free_name
from sgi.store.run_queries import RunRecord, find_run
from sgi.store.schema import SCHEMA_VERSION
from sgi.store.transfer_columns import column_reader
from sgi.store.writer import insert_metric_row, update_run

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

FORMAT = 1
"""Format version. Raise it when the format of the lines changes; the schema has its own version."""

_TABLES = (  # each after those it refers to; computed tables stay in their database
    schema.datasets,
    schema.samples,
    schema.runs,
    schema.run_tags,
    schema.gates,
    schema.audits,
    schema.human_labels,
    schema.trend_annotations,
    schema.run_metrics,
    schema.batches,
    schema.answers,
    schema.scores,
    schema.details,
    schema.evidence,
    schema.usage,
)
_SHARED = {
    schema.datasets,
    schema.samples,
    schema.gates,
    schema.audits,
    schema.human_labels,
    schema.trend_annotations,
}
"""Tables that may hold a row of the file already."""
_REFUSED = (IntegrityError, DataError, ProgrammingError, InterfaceError, UnicodeError, ArithmeticError)
"""The errors that databases and drivers raise for a bad value."""
_SUFFIXES = (".jsonl", ".jsonl.gz")
_ANOTHER_COPY = "Nothing was changed. Take another copy of the file, or export it again."


@dataclass(frozen=True)
class ImportResult:
    """Result of an import: numbers of new and of skipped runs, and ``renamed`` (old name → new name)."""

    runs: int
    skipped: int
    renamed: dict[str, str]


@dataclass(frozen=True)
class _Line:
    number: int
    value: Any


@dataclass
class _Importer:
    """The new runs of the file, and the numbers of their metrics in this database."""

    connection: sa.Connection
    file: Path
    there: set[str]
    names: set[str]
    new: dict[str, int] = field(default_factory=dict)
    """New runs, and the line of the file that holds each."""
    skipped: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    metrics: dict[int, int | None] = field(default_factory=dict)
    """Number in the file → number here; None if the run is skipped."""

    def insert(self, table: sa.Table, lines: Sequence[_Line]) -> None:
        """Insert the rows of new runs, and the rows of shared tables that the database lacks."""
        readers = [(column.name, column_reader(column)) for column in table.columns]
        placed = [self._read(table, readers, line) for line in lines]
        rows = (tuple(row.values()) for row in placed if row is not None)
        try:
            insert_rows(self.connection, table, rows, unless_there=table in _SHARED)
        except _REFUSED as error:
            reason = str(getattr(error, "orig", error))
            reason = f"a value in the lines to {lines[-1].number} cannot be stored: {reason}".splitlines()[0]
            raise _damaged_error(self.file, lines[0].number, reason) from error

    def _read(
        self, table: sa.Table, readers: Sequence[tuple[str, Callable[[Any], Any]]], line: _Line
    ) -> dict[str, Any] | None:
        name, row = "", {}
        try:
            for (name, read), value in zip(readers, line.value[1:], strict=True):
                row[name] = read(value)
            name = ""
            return self._convert(table, row, line.number)
        except (SgiError, ValueError, LookupError, TypeError, RecursionError, *_REFUSED) as error:
            place = f"{table.name}.{name}: {error}" if name else f"not a row of the table {table.name}"
            raise _damaged_error(self.file, line.number, place.splitlines()[0]) from error

    def _convert(self, table: sa.Table, row: dict[str, Any], line: int) -> dict[str, Any] | None:
        """Convert a row: None if its run is skipped, KeyError if the file has no such run."""
        if table is schema.runs:
            return self._run(row, line)
        if table is schema.run_metrics:
            self._add_metric(row)
            return None
        if table in {schema.datasets, schema.samples}:
            return self._data(row)
        if "run" in row:  # a gated run that was deleted still counts
            return row if table in {schema.gates, schema.audits} or self._is_new(row["run"]) else None
        if "metric" in row:
            number = self.metrics[row["metric"]]
            return None if number is None else row | {"metric": number}
        return row

    def _data(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """Merge data of equal content, except the data of a growing run, which belongs to that run only."""
        data: str = row["hash"] if "hash" in row else row["dataset"]
        if not data.startswith(GROWING):
            return row
        if data.removeprefix(GROWING) in self.there:
            return None
        if "hash" in row:  # left by a deleted run; the data in the file is complete
            datasets, runs = schema.datasets, schema.runs
            unused = ~sa.exists().where(runs.c.dataset == datasets.c.hash)
            self.connection.execute(sa.delete(datasets).where(datasets.c.hash == data, unused))
        return row

    def _is_new(self, run: str) -> bool:
        if run not in self.new and run not in self.skipped:
            raise KeyError(run)
        return run in self.new

    def _run(self, row: dict[str, Any], line: int) -> dict[str, Any] | None:
        if row["id"] in self.there:
            self.skipped.add(row["id"])
            return None
        if row["id"] in self.new:
            raise ValueError("the file contains the run twice")
        self.new[row["id"]] = line
        if row["name"] is None:
            return row
        name = free_name(row["name"], self.names)
        self.names.add(name)
        if name != row["name"]:
            self.renamed[row["name"]] = name
        return row | {"name": name}

    def _add_metric(self, row: dict[str, Any]) -> None:
        """Write a metric alone, because the database assigns its number."""
        number, provenance = row.pop("id"), row["provenance"]
        row["provenance"] = None if provenance is None else decode_json(provenance)
        self.metrics[number] = None
        if self._is_new(row["run"]):
            self.metrics[number] = insert_metric_row(self.connection, row)


def export(database: Database, path: str | Path) -> int:
    """Export the whole database into ``path``, and return the number of rows.

    The path ends in ``.jsonl`` or ``.jsonl.gz``. Only the user can read the file. The export is one snapshot,
    written atomically; equal databases give equal bytes. Raises StoreError if reading or writing fails.
    """
    file = Path(path)
    _check_suffix(file)
    with database.reading() as connection, _open_export(file) as stream:
        stream.write(_line({"sgi_database": FORMAT, "schema": SCHEMA_VERSION}))
        rows = 0
        for rows, row in enumerate(_rows(connection), 1):  # noqa: B007 - the last number is their count
            stream.write(_row_line(row))
        stream.write(_line({"rows": rows}))
    return rows


def import_(
    database: Database,
    path: str | Path,
    *,
    recompute: Callable[[Database, RunRecord], Mapping[str, Any] | None],
) -> ImportResult:
    """Import the runs of an exported file in one transaction.

    A run whose id exists is skipped; so are samples that an application added to such a run row by row. If
    another run has the same name, the new run gets a number after its name. Summaries are not imported:
    ``recompute`` computes the summary of a new run from its rows, or returns None for a run without a
    summary; if it raises, the file is damaged.

    Raises StoreError if the file is damaged (with the line), incomplete or not an export, or the database
    cannot be written (nothing is changed); SchemaVersionError if it has another schema version.
    """
    file = Path(path)
    _check_suffix(file)
    with database.writing() as connection:
        there = connection.execute(sa.select(schema.runs.c.id, schema.runs.c.name)).all()
        names = {name for _, name in there if name is not None}
        importer = _Importer(connection, file, {run for run, _ in there}, names)
        order = iter(_TABLES)
        for name, lines in groupby(_check_lines(_read(file), file), key=_table_name):
            table = next((table for table in order if table.name == name), None)
            for some in chunks(lines):
                if table is None:
                    reason = "the table is not known, or the order of the tables is wrong"
                    raise _damaged_error(file, some[0].number, reason)
                importer.insert(table, some)
        view = OneTransaction(database, connection)
        for run, line in importer.new.items():
            try:
                summary = recompute(view, find_run(view, run))
            except SgiError as error:
                reason = f"the rows of this run cannot be summarised: {error.message}"
                raise _damaged_error(file, line, reason) from error
            except Exception as error:
                reason = f"the rows of this run are inconsistent ({type(error).__name__})"
                raise _damaged_error(file, line, reason) from error
            update_run(connection, run, summary=summary)
    return ImportResult(len(importer.new), len(importer.skipped), importer.renamed)


def require_export(path: str | Path) -> None:
    """Check that the file begins as an export of this version. Raises StoreError or SchemaVersionError."""
    file = Path(path)
    _check_suffix(file)
    with closing(_read(file)) as lines:
        _check_head(next(lines, _Line(1, None)).value, file)


def _rows(connection: sa.Connection) -> Iterator[list[Any]]:
    for table in _TABLES:
        texts = [isinstance(column.type, sa.Text) for column in table.columns]
        query = sa.select(table).order_by(*table.primary_key).execution_options(yield_per=CHUNK)
        for row in connection.execute(query):
            cells = zip(row, texts, strict=True)
            yield [
                table.name,
                *(decode_text(cell) if text and cell is not None else cell for cell, text in cells),
            ]


def _row_line(row: list[Any]) -> bytes:
    try:
        return _line(row)
    except TypeError as error:  # bytes, which SQLite lets any column hold
        raise damaged_error(
            f"a row of the table {row[0]} holds a value that its column cannot hold"
        ) from error


def _line(value: Any) -> bytes:
    return encode_json(value).encode() + b"\n"


def _check_suffix(file: Path) -> None:
    if not file.name.endswith(_SUFFIXES):
        raise StoreError(
            f"{file} does not have the suffix of an export.",
            hint=f"Use a name that ends in {' or '.join(_SUFFIXES)}.",
        )


@contextmanager
def _open_export(file: Path) -> Iterator[IO[bytes]]:
    try:
        with replacing_file(file, 0o600) as raw:
            if file.name.endswith(".gz"):
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                    yield packed  # type: ignore[misc]  # it writes bytes as any stream does
            else:
                yield raw
    except OSError as error:
        hint = "Check that the folder exists, has free space and can be written."
        raise StoreError(f"{file} cannot be written: {error.strerror or error}.", hint=hint) from error


def _read(file: Path) -> Generator[_Line]:
    number, most = 0, input_limits().row
    try:
        with gzip.open(file) if file.name.endswith(".gz") else file.open("rb") as stream:
            for number, raw in enumerate(iter(partial(stream.readline, most + 1), b""), 1):
                if len(raw) > most:
                    message = f"{file}:{number}: the line is larger than {size_text(most)}"
                    raise StoreError(message, hint=how_to_raise("row"))
                yield _Line(number, decode_json(raw.decode()))
    except (ValueError, RecursionError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged_error(
            file, number + isinstance(error, EOFError), "it is not a line of JSON"
        ) from error
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror or error}.", hint=_ANOTHER_COPY) from error


def _damaged_error(file: Path, line: int, reason: str) -> StoreError:
    return StoreError(f"{file}:{line}: the file is damaged: {reason}.", hint=_ANOTHER_COPY)


def _check_lines(lines: Iterator[_Line], file: Path) -> Iterator[_Line]:
    line = next(lines, _Line(1, None))
    _check_head(line.value, file)
    for line in lines:
        if isinstance(line.value, dict):
            break
        yield line
    if line.value != {"rows": line.number - 2}:
        raise _damaged_error(file, line.number, "lines are missing at or before this line")
    for more in lines:
        raise _damaged_error(file, more.number, "there are lines after the last line of the export")


def _check_head(first: Any, file: Path) -> None:
    if not isinstance(first, dict) or "sgi_database" not in first:
        raise StoreError(f"{file} is not an export of SGI.", hint="Make one with `sgi runs db export`.")
    if first != {"sgi_database": FORMAT, "schema": SCHEMA_VERSION}:
        version = first.get("schema") if first["sgi_database"] == FORMAT else None
        found = version if isinstance(version, str) else "unknown"
        hint = "Import it with the version of SGI that wrote it."
        raise SchemaVersionError(str(file), found, SCHEMA_VERSION, hint=hint)


def _table_name(line: _Line) -> Any:
    return line.value[0] if isinstance(line.value, list) and line.value else None
