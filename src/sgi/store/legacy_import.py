"""Import a SQLite table ``evals`` of an application, one wide row per result, as runs.

The view ``evals`` of our own database shows the same table: ``id``, ``test_run_id``, ``qa_pair_id``, the
answer, a column for each metric, and ``*_reasoning`` for some.
"""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.kernel.metric import MetricSpec, Scores, Status
from sgi.kernel.parsing import PARSER_ERRORS, reason
from sgi.kernel.sample import Sample
from sgi.kernel.short_text import MAX_NAME, as_name, shorten
from sgi.kernel.signature import package_version
from sgi.store import schema
from sgi.store.bulk_rows import CHUNK, chunks
from sgi.store.evals_table import METRICS, REASONING
from sgi.store.run_names import free_name, is_run_name
from sgi.store.sqlite_file import readable_address
from sgi.store.writer import Setup, create_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


class _Metric(NamedTuple):
    canonical: str
    spec: MetricSpec


class _OldTable:
    """The imported table, read from one snapshot: which columns are metrics, and which become metadata."""

    def __init__(self, connection: sqlite3.Connection, file: Path) -> None:
        self._connection, self.file = connection, file
        there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND lower(name) = 'evals'"
        if not list(self._select(there)):
            raise StoreError(f"{file} has no table `evals`.", hint=_WAY_OUT)
        names = "SELECT name FROM pragma_table_xinfo('evals') ORDER BY cid"
        self.columns = [name.lower() for (name,) in self._select(names)]
        if not {_ID, _PAIR}.intersection(self.columns):
            message = f"The table `evals` of {file} has neither `{_ID}` nor `{_PAIR}`."
            raise StoreError(message, hint=_WAY_OUT)
        self._metrics = [name for name in _METRICS if name in self.columns]
        known = {_RUN, _PAIR, *_TEXTS, *self._metrics, *(f"{name}{REASONING}" for name in self._metrics)}
        self.metadata = [name for name in self.columns if name not in known]

    def runs(self) -> Iterator[tuple[_Cell, Iterator[_Row]]]:
        """Yield the rows of each run, in an order that depends on the rows alone."""
        key = _ID if _ID in self.columns else _PAIR
        order = f"{_RUN} COLLATE BINARY, {key}" if _RUN in self.columns else key
        cells = self._select(f"SELECT * FROM evals ORDER BY {order}")  # noqa: S608 - our own names
        rows = (dict(zip(self.columns, row, strict=True)) for row in cells)
        return groupby(rows, key=lambda row: row.get(_RUN))

    def metrics(self) -> list[_Metric]:
        """Return the metrics of the table; a metric with all values from 0 to 1 counts as a share."""
        metrics = []
        for name in self._metrics:
            finite = f"typeof({name}) IN ('integer', 'real') AND abs({name}) < 9e999"
            query = f"SELECT min({name}), max({name}) FROM evals WHERE {finite}"  # noqa: S608 - our own names
            ((low, high),) = self._select(query)
            is_share = name in METRICS and low is not None and 0 <= low <= high <= 1
            metrics.append(_Metric(name, _SHARE if is_share else _UNKNOWN))
        return metrics

    def _select(self, query: str) -> Iterator[tuple[Any, ...]]:
        with _translate_errors(self.file):
            for row in self._connection.execute(query):  # noqa: UP028 - it closes the cursor, maybe too late
                yield row


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
    with _open_table(path) as table:
        metrics = table.metrics()
        found = [_setup(key, rows, table.file, metrics) for key, rows in table.runs()]
        with database.transaction() as view:
            new = _name_new_runs(view, found)
            for (_, rows), setup in zip(table.runs(), found, strict=True):
                if setup.dataset in new:
                    _write(view, table, new[setup.dataset], rows)
    names, rows_of_new = tuple(str(run.name) for run in new.values()), sum(run.rows for run in new.values())
    return EvalsImport(names, rows_of_new, len(found) - len(new), tuple(table.metadata) if new else ())


def require_evals(path: str | Path) -> None:
    """Raise a StoreError unless `import_evals` can read the file."""
    with _open_table(path):
        pass


@contextmanager
def _translate_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, *PARSER_ERRORS) as error:
        problem = getattr(error, "strerror", None) or reason(error)
        raise StoreError(f"{file} cannot be read: {problem}.", hint=_WAY_OUT) from error


@contextmanager
def _open_table(path: str | Path) -> Iterator[_OldTable]:
    """Context manager that opens one snapshot, and changes neither the file nor its folder."""
    file = Path(path)
    with TemporaryDirectory(prefix="sgi-") as folder:
        with _translate_errors(file):
            address = readable_address(file, Path(folder))
            old = sqlite3.connect(address, uri=True, timeout=30, isolation_level=None)
        with closing(old):
            old.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            old.execute("BEGIN")
            yield _OldTable(old, file)


def _setup(key: _Cell, rows: Iterator[_Row], file: Path, metrics: Sequence[_Metric]) -> Setup:
    state, number = blake2b(repr(key).encode(), digest_size=16), 0
    for number, row in enumerate(rows, 1):  # noqa: B007 - the last number is how many there are
        state.update(repr(tuple(row.values())).encode())
    name = as_name(_text(key).strip() or file.stem, longest=MAX_NAME - len(_NUMBERED))
    content = state.hexdigest()
    return Setup(
        dataset=content,
        dataset_name=file.name,
        rows=number,
        spec={"imported_from": file.name},
        spec_hash=content,
        signature=f"imported|n:{number}",
        versions={"sgi": package_version()},
        metrics=metrics,
        name=name if is_run_name(name) else f"run {name}",
    )


def _name_new_runs(database: Database, found: list[Setup]) -> dict[str, Setup]:
    """Return the runs that were not imported before, with names that are free, by their content."""
    with database.reading() as connection:
        there = connection.execute(sa.select(schema.runs.c.spec_hash, schema.runs.c.name)).all()
    taken, imported = {name for _, name in there}, {content for content, _ in there}
    new: dict[str, Setup] = {}
    for run in found:
        if run.dataset not in imported:
            name = free_name(str(run.name), taken)
            new[run.dataset] = replace(run, name=name)
            taken.add(name)
    return new


def _write(database: Database, table: _OldTable, setup: Setup, rows: Iterator[_Row]) -> None:
    key, ids = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{setup.dataset[:12]}", set[str]()
    writer = create_run(database, setup, run=key)
    for number, some in enumerate(chunks(rows)):
        first = number * CHUNK
        samples = [_sample(table, row, _sample_id(row, first + n, ids)) for n, row in enumerate(some)]
        scores = {name: _scores(row[name] for row in some) for name in writer.metric_ids}
        judgements = {name: [_reasoning(row.get(f"{name}{REASONING}")) for row in some] for name in scores}
        writer.put(first, samples, scores, judgements=judgements)
    writer.finish(None)


def _sample_id(row: _Row, position: int, taken: set[str]) -> str:
    """Return an id that no other row of the run has, and add it to ``taken``."""
    own = _text(row.get(_ID)) or str(position)
    pair = _text(row.get(_PAIR)) or own
    sample_id = pair if pair not in taken else free_name(f"{pair}#{own}", taken)
    taken.add(sample_id)
    return sample_id


def _sample(table: _OldTable, row: _Row, name: str) -> Sample:
    texts = {ours: _text(row[theirs]) for theirs, ours in _TEXTS.items() if row.get(theirs) is not None}
    metadata = {column: _json(row[column]) for column in table.metadata}
    return Sample.model_validate({"id": name, **texts, "metadata": metadata})


def _scores(cells: Iterable[_Cell]) -> Scores:
    values, status, reasons = zip(*map(_score, cells), strict=True)
    return Scores(np.array(values), np.array(status), reasons, ({},) * len(reasons))


def _score(cell: _Cell) -> tuple[float, str, str]:
    """Return value, status and reason."""
    if cell is None:
        return math.nan, Status.MISSING.value, _NO_VALUE
    if isinstance(cell, int | float) and math.isfinite(cell):
        return float(cell), Status.OK.value, ""
    return math.nan, Status.FAILED.value, f"the old database has no number here: {shorten(_text(cell))!r}"


def _reasoning(cell: _Cell) -> dict[str, JsonValue] | None:
    return None if cell is None else {"reasoning": _text(cell)}


def _text(value: _Cell) -> str:
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else str(value)


def _json(value: _Cell) -> JsonValue:
    """Convert a value for metadata; values without a JSON form become text."""
    if isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
        return _text(value)
    return value
