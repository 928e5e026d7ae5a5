"""Import a SQLite table ``evals`` of an application, one wide row per result, as runs.

The view ``evals`` of our own database shows the same table: ``id``, ``test_run_id``, ``qa_pair_id``, the
answer, a column for each metric, and ``*_reasoning`` for some.
"""

from __future__ import annotations

import math
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.kernel.metric import MetricSpec, Status
from sgi.kernel.names import MAX_NAME, as_name
from sgi.kernel.parsing import PARSER_ERRORS, reason
from sgi.kernel.sample import Sample
from sgi.kernel.short_text import shorten
from sgi.kernel.signature import package_version
from sgi.store import schema
from sgi.store.bulk_rows import CHUNK, chunks, free_name
from sgi.store.evals_table import METRICS, REASONING
from sgi.store.run_inserts import (
    RunStart,
    ScoreRow,
    insert_batch,
    insert_metric,
    insert_run,
    insert_samples,
    insert_scores,
)
from sgi.store.run_names import is_run_name
from sgi.store.sqlite_file import readable_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from sgi.store.database import Database

_METRICS = (*METRICS, "sgi")
"""Columns that are metrics; any of them may be missing."""

_RUN, _PAIR, _ID = "test_run_id", "qa_pair_id", "id"
_TEXTS = {"question": "question", "reference": "reference", "answer": "response"}
_NO_VALUE = "the old database has no value"
_WAY_OUT = "Name a SQLite file that has a table `evals`."
_NUMBERED = "run -99999"
"""Space for a suffix of a name."""
_UNKNOWN = MetricSpec("", 0, frozenset(), -math.inf, math.inf)
"""Version 0: the formula of the old numbers is unknown."""
_SHARE = replace(_UNKNOWN, low=0.0, high=1.0)
_Cell = str | bytes | int | float | None
_Row = dict[str, _Cell]


@dataclass(frozen=True)
class EvalsImport:
    """Result of an import: names of the new runs, number of rows and of skipped runs, metadata columns."""

    runs: tuple[str, ...]
    rows: int
    skipped: int
    metadata: tuple[str, ...]


@dataclass(frozen=True)
class _Table:
    """The columns of the imported table: which are metrics, and which become metadata."""

    columns: tuple[str, ...]

    @cached_property
    def metrics(self) -> list[str]:
        return [name for name in _METRICS if name in self.columns]

    @cached_property
    def metadata(self) -> list[str]:
        known = {_RUN, _PAIR, *_TEXTS, *self.metrics, *(f"{name}{REASONING}" for name in self.metrics)}
        return [name for name in self.columns if name not in known]


@dataclass
class _OldRun:
    """The facts of the rows of one ``test_run_id``, from a first reading of the table."""

    base_name: str
    rows: int
    content: str
    name: str = ""


@dataclass
class _Ids:
    """Makes sample ids that are unique in a run, even if the imported table repeats an id."""

    seen: set[str] = field(default_factory=set)

    def of(self, row: _Row, position: int) -> str:
        own = _text(row.get(_ID)) or str(position)
        pair = _text(row.get(_PAIR)) or own
        sample_id = pair if pair not in self.seen else free_name(f"{pair}#{own}", self.seen)
        self.seen.add(sample_id)
        return sample_id


def import_evals(database: Database, path: str | Path) -> EvalsImport:
    """Import every row of the table ``evals`` of a SQLite file, which is not changed.

    Each ``test_run_id`` becomes a finished run of that name (numbered if the name is taken). Each row becomes
    a sample with the ``qa_pair_id`` as its id; if a run repeats one, ``#`` and the row's own id follow it. An
    absent value gets the status ``missing``, a value that is not a finite number gets ``failed``; numbers
    stay as they are. A metric is a share from 0 to 1 only if all its numbers in the file are in that range;
    others have no known range and are never printed as percent. Other columns become metadata. The import is
    one transaction and skips runs that were imported before.

    Raises StoreError if the file cannot be read or has no such table, or the database cannot be written.
    """
    file = Path(path)
    with _open_file(file) as old:
        table = _Table(_columns(old, file))
        runs = [_old_run(key, rows, file) for key, rows in _by_run(old, table, file)]
        shares = _shares(old, table, file)
        with database.writing() as connection:
            new = _name_runs(connection, runs)
            for (_, rows), run in zip(_by_run(old, table, file), runs, strict=True):
                if run.name:
                    _write(connection, table, run, rows, shares, file)
    names = tuple(run.name for run in new)
    skipped = sum(run.rows > 0 for run in runs) - len(new)
    return EvalsImport(names, sum(run.rows for run in new), skipped, tuple(table.metadata) if new else ())


def require_evals(path: str | Path) -> None:
    """Raise a StoreError unless `import_evals` can read the file."""
    with _open_file(Path(path)) as old:
        _columns(old, Path(path))


@contextmanager
def _translate_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, *PARSER_ERRORS) as error:
        problem = getattr(error, "strerror", None) or reason(error)
        raise StoreError(f"{file} cannot be read: {problem}.", hint=_WAY_OUT) from error


@contextmanager
def _open_file(file: Path) -> Iterator[sqlite3.Connection]:
    """Context manager that connects to one snapshot, and changes neither the file nor its folder."""
    with TemporaryDirectory(prefix="sgi-") as folder:
        with _translate_errors(file):
            old = sqlite3.connect(
                readable_address(file, Path(folder)), uri=True, timeout=30, isolation_level=None
            )
        try:
            old.text_factory = _decode
            old.execute("BEGIN")
            yield old
        finally:
            old.close()


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _columns(old: sqlite3.Connection, file: Path) -> tuple[str, ...]:
    there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND lower(name) = 'evals'"
    with _translate_errors(file):
        if not old.execute(there).fetchone():
            raise StoreError(f"{file} has no table `evals`.", hint=_WAY_OUT)
        names = tuple(column[0].lower() for column in old.execute("SELECT * FROM evals LIMIT 0").description)
    if not {_ID, _PAIR}.intersection(names):
        raise StoreError(f"The table `evals` of {file} has neither `{_ID}` nor `{_PAIR}`.", hint=_WAY_OUT)
    return names


def _shares(old: sqlite3.Connection, table: _Table, file: Path) -> frozenset[str]:
    ranges = {}
    with _translate_errors(file):
        for name in filter(METRICS.__contains__, table.metrics):
            finite = f"typeof({name}) IN ('integer', 'real') AND abs({name}) < 9e999"
            query = f"SELECT min({name}), max({name}) FROM evals WHERE {finite}"  # noqa: S608 - our own names
            ranges[name] = old.execute(query).fetchone()
    return frozenset(
        name for name, (low, high) in ranges.items() if low is not None and 0 <= low <= high <= 1
    )


def _by_run(old: sqlite3.Connection, table: _Table, file: Path) -> Iterator[tuple[_Cell, Iterator[_Row]]]:
    """Yield the rows of each run, in an order that depends on the rows alone."""
    key = _ID if _ID in table.columns else _PAIR
    if _RUN not in table.columns:
        yield None, _rows(old, table, key, file)
        return
    rows = _rows(old, table, f"{_RUN} COLLATE BINARY, {key}", file)
    yield from groupby(rows, key=lambda row: row[_RUN])


def _rows(old: sqlite3.Connection, table: _Table, order: str, file: Path) -> Iterator[_Row]:
    with _translate_errors(file):
        for row in old.execute(f"SELECT * FROM evals ORDER BY {order}"):  # noqa: S608 - our own names
            yield dict(zip(table.columns, row, strict=True))


def _old_run(key: _Cell, rows: Iterator[_Row], file: Path) -> _OldRun:
    state, number = blake2b(repr(key).encode(), digest_size=16), 0
    for number, row in enumerate(rows, 1):  # noqa: B007 - the last number is how many there are
        state.update(repr(tuple(row.values())).encode())
    return _OldRun(_run_name(key, file), number, state.hexdigest())


def _run_name(key: _Cell, file: Path) -> str:
    name = as_name(_text(key).strip() or file.stem, longest=MAX_NAME - len(_NUMBERED))
    return name if is_run_name(name) else f"run {name}"


def _name_runs(connection: sa.Connection, runs: list[_OldRun]) -> list[_OldRun]:
    there = connection.execute(sa.select(schema.runs.c.spec_hash, schema.runs.c.name)).all()
    taken = {name for _, name in there}
    imported = {content for content, _ in there}
    new = [run for run in runs if run.rows and run.content not in imported]
    for run in new:
        run.name = free_name(run.base_name, taken)
        taken.add(run.name)
    return new


def _write(
    connection: sa.Connection,
    table: _Table,
    run: _OldRun,
    rows: Iterator[_Row],
    shares: frozenset[str],
    file: Path,
) -> None:
    moment = datetime.now(UTC)
    now, ids = moment.isoformat(timespec="milliseconds"), _Ids()
    key = f"{moment:%Y%m%d-%H%M%S}-{run.content[:12]}"
    start = RunStart(
        dataset=run.content,
        dataset_name=file.name,
        rows=run.rows,
        spec={"imported_from": file.name},
        spec_hash=run.content,
        signature=f"imported|n:{run.rows}",
        versions={"sgi": package_version()},
        name=run.name,
    )
    insert_run(connection, key, start, now, finished_at=now)
    metrics = {
        name: insert_metric(connection, key, k, name, _SHARE if name in shares else _UNKNOWN)
        for k, name in enumerate(table.metrics)
    }
    for number, some in enumerate(chunks(rows)):
        first = number * CHUNK
        insert_batch(connection, key, first, len(some))
        samples = [_sample(table, row, ids.of(row, first + n)) for n, row in enumerate(some)]
        insert_samples(connection, run.content, first, samples)
        for name, metric in metrics.items():
            rows_of_metric = (_score(name, metric, n, row) for n, row in enumerate(some, first))
            insert_scores(connection, rows_of_metric)


def _sample(table: _Table, row: _Row, name: str) -> Sample:
    texts = {ours: _text(row[theirs]) for theirs, ours in _TEXTS.items() if row.get(theirs) is not None}
    metadata = {column: _json(row[column]) for column in table.metadata}
    return Sample.model_validate({"id": name, **texts, "metadata": metadata})


def _score(name: str, metric: int, position: int, row: _Row) -> ScoreRow:
    value, text = row[name], row.get(f"{name}{REASONING}")
    reasoning = None if text is None else {"reasoning": _text(text)}
    if value is None:
        return ScoreRow(metric, position, None, Status.MISSING.value, _NO_VALUE, None, reasoning)
    if isinstance(value, int | float) and math.isfinite(value):
        return ScoreRow(metric, position, float(value), Status.OK.value, "", None, reasoning)
    reason = f"the old database has no number here: {shorten(_text(value))!r}"
    return ScoreRow(metric, position, None, Status.FAILED.value, reason, None, reasoning)


def _text(value: _Cell) -> str:
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else str(value)


def _json(value: _Cell) -> JsonValue:
    """Convert a value for metadata; values without a JSON form become text."""
    if isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
        return _text(value)
    return value
