"""Scores and labels of a run as arrays, by which rows are filtered and sorted without SQL.

For a large finished run they are stored in ``run_columns``, so that a new process need not read all scores.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.store import schema
from sgi.store.bulk_rows import driver_rows
from sgi.store.run_inserts import upsert
from sgi.store.run_queries import run_metrics, select_committed
from sgi.store.scored_runs import class_values, read_column
from sgi.store.view_cache import MANY_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from sgi.kernel.metric_column import MetricColumn
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

T = TypeVar("T")
_VALUE, _CODE, _PLACE = np.dtype("<f8"), np.dtype("i1"), np.dtype("<i4")
_LABELS = "label"
_METRIC = "metric "
_log = logging.getLogger("sgi.store")


class Cached(Protocol):
    """Returns the value of a key, from a cache or from ``make``."""

    def __call__(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value."""
        ...


def no_cache(key: Hashable, make: Callable[[], T]) -> T:
    """Call ``make``; the default of `RowColumns`."""
    del key
    return make()


@dataclass(frozen=True, eq=False)
class SortedColumn:
    """The scores of a metric, one for each committed row.

    Attributes:
        values: the values; NaN if there is none.
        codes: the status of each row, as its place in `STATUSES`.
        ascending: the rows from the lowest to the highest value; equal values by position, NaN last.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int8]
    ascending: NDArray[np.int32]

    def descending(self) -> NDArray[np.int32]:
        """Return the rows from the highest to the lowest value; equal values by position, NaN last."""
        ordered = self.values[self.ascending]
        valued = len(ordered) - int(np.isnan(ordered).sum())
        starts = np.flatnonzero(np.r_[True, ordered[1:valued] != ordered[: valued - 1]][:valued])
        sizes = np.diff(np.r_[starts, valued])[::-1]
        firsts = np.repeat(starts[::-1], sizes)
        inside = np.arange(valued) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.concatenate([self.ascending[firsts + inside], self.ascending[valued:]])


def class_ranks(values: Sequence[str | None], classes: Sequence[str]) -> NDArray[np.int8]:
    """Return the place of each value among the classes, which is their number for other values.

    >>> class_ranks(["b", None, "a"], ["a", "b"]).tolist()
    [1, 2, 0]
    """
    places = {name: place for place, name in enumerate(classes)}
    return np.array([places.get(value or "", len(places)) for value in values], dtype=_CODE)


def _rank_name(metric: str, first: Sequence[str]) -> str:
    return f"ranks {' > '.join(first)} {metric}"


class RowColumns:
    """The columns of a run; ``cached`` keeps them in memory."""

    def __init__(self, database: Database, record: RunRecord, cached: Cached = no_cache) -> None:
        self._database = database
        self._record = record
        self.cached = cached
        self._state = f"1 {record.scored} {record.changes} {record.finished_at}"
        self._unsaved: dict[str, bytes] = {}

    def positions(self, connection: Connection) -> NDArray[np.int64]:
        """Return the positions of the committed rows, in order."""
        return self.cached("positions", lambda: self._positions(connection))

    def metric(self, connection: Connection, metric: str) -> SortedColumn:
        """Return the scores of a metric by its canonical name."""
        return self.cached(("column", metric), lambda: self._metric(connection, metric))

    def order(self, connection: Connection, metric: str, sort: str) -> NDArray[np.int32]:
        """Return the rows, the lowest or the highest value first."""
        column = self.metric(connection, metric)
        if sort == "lowest":
            return column.ascending
        return self.cached(("descending", metric), column.descending)

    def labels(self, connection: Connection) -> NDArray[np.int8]:
        """Return the labels 1 and 0; −1 for a row without one."""
        return self.cached("labels", lambda: self._labels(connection))

    def ranks(
        self, connection: Connection, metric: str, number: int, first: Sequence[str]
    ) -> NDArray[np.int8]:
        """Return the place of each row's class among those of ``first``, which begins with the key."""
        return self.cached(("ranks", metric, first), lambda: self._ranks(connection, metric, number, first))

    def _ranks(
        self, connection: Connection, metric: str, number: int, first: Sequence[str]
    ) -> NDArray[np.int8]:
        key, *classes = first
        name, n = _rank_name(metric, first), len(self.positions(connection))
        body = self._load(connection, name, n)
        if body is not None:
            return np.frombuffer(body, _CODE)
        values = class_values(connection, self._record, number, key) or [None] * n
        ranks = class_ranks(values, classes)
        self._keep(name, ranks)
        return ranks

    def store(
        self,
        metrics: Iterable[MetricColumn],
        labels: NDArray[np.int8],
        classes: Mapping[str, Sequence[str | None]],
        first: Sequence[str],
    ) -> None:
        """Store the columns of a large finished run whose rows were read already.

        Args:
            metrics: the scores.
            labels: 1, 0, or −1 if unknown.
            classes: the classes of the rows by metric.
            first: the key of a class, then the classes that come first, as in a query.
        """
        for metric in metrics:
            self._sort(metric)
        for name, values in classes.items():
            ranks = class_ranks(values, first[1:])
            if (ranks < len(first) - 1).any():
                self._keep(_rank_name(name, first), ranks)
        self._keep(_LABELS, labels)
        self.save()

    def save(self) -> None:
        """Store the columns that were read from the scores. Call it after the transaction that read them.

        Errors are only logged, since a column can be read again.
        """
        run = self._record.id
        unsaved, self._unsaved = self._unsaved, {}
        if not unsaved:
            return
        try:
            with self._database.writing() as connection:
                for name, body in unsaved.items():
                    values = {"run": run, "name": name, "state": self._state, "body": body}
                    upsert(connection, schema.run_columns, values)
        except StoreError as error:  # also where the run was deleted meanwhile
            _log.info("columns of the run %s are not stored: %s", run, error)

    def _positions(self, connection: Connection) -> NDArray[np.int64]:
        batches = schema.batches
        query = sa.select(batches.c.start, batches.c.rows).where(batches.c.run == self._record.id)
        parts = [
            np.arange(start, start + rows, dtype=np.int64)
            for start, rows in driver_rows(connection, query.order_by(batches.c.start))
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *parts])

    def _metric(self, connection: Connection, metric: str) -> SortedColumn:
        n = len(self.positions(connection))
        size = n * (_VALUE.itemsize + _CODE.itemsize + _PLACE.itemsize)
        body = self._load(connection, _METRIC + metric, size)
        if body is not None:
            codes_at = n * _VALUE.itemsize
            return SortedColumn(
                np.frombuffer(body, _VALUE, n),
                np.frombuffer(body, _CODE, n, codes_at),
                np.frombuffer(body, _PLACE, n, codes_at + n),
            )
        row = connection.execute(
            run_metrics(self._record.id).where(schema.run_metrics.c.metric == metric)
        ).one()
        return self._sort(read_column(connection, row, self.positions(connection)))

    def _sort(self, metric: MetricColumn) -> SortedColumn:
        order = np.argsort(metric.values, kind="stable").astype(_PLACE)
        self._keep(_METRIC + metric.metric, metric.values.astype(_VALUE), metric.codes, order)
        return SortedColumn(metric.values, metric.codes, order)

    def _labels(self, connection: Connection) -> NDArray[np.int8]:
        body = self._load(connection, _LABELS, len(self.positions(connection)))
        if body is not None:
            return np.frombuffer(body, _CODE)
        label = sa.func.coalesce(sa.cast(schema.samples.c.label, sa.Integer), -1)
        rows = driver_rows(connection, select_committed(self._record, label))
        labels = np.fromiter((row[0] for row in rows), dtype=_CODE)
        self._keep(_LABELS, labels)
        return labels

    @property
    def _is_stored(self) -> bool:
        return self._record.finished and self._record.scored >= MANY_ROWS

    def _load(self, connection: Connection, name: str, size: int) -> bytes | None:
        """Load a column that is stored for this state of the run; None if there is none."""
        if not self._is_stored:
            return None
        table = schema.run_columns
        query = sa.select(table.c.body).where(
            table.c.run == self._record.id, table.c.name == name, table.c.state == self._state
        )
        body: Any = connection.execute(query).scalar()
        return body if body is not None and len(body) == size else None

    def _keep(self, name: str, *parts: NDArray[Any]) -> None:
        if self._is_stored:
            self._unsaved[name] = b"".join(part.tobytes() for part in parts)
