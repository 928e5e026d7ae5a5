"""Views that need all rows of a run; computed once and stored until the rows change."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import orjson

from sgi.engine.review import FINDING, FINDINGS_FIRST
from sgi.engine.summarise import class_keys
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.signature import canonical_json, digest, package_version
from sgi.reporting.views.correlation_view import Correlation, correlation
from sgi.reporting.views.disagreement import Disagreement, disagreeing_ids
from sgi.reporting.views.distribution import Distribution, distributions
from sgi.reporting.views.group_view import GroupTable, group_tables
from sgi.reporting.views.label_metrics import LabelMetrics, label_metrics
from sgi.reporting.views.lowest import LowestRows, lowest_ids
from sgi.reporting.views.run_columns import run_columns
from sgi.reporting.views.scatter import Scatter, scatter
from sgi.reporting.views.to_json import as_json, from_json
from sgi.store.angle_plane import Plane, plane
from sgi.store.row_query import RowQuery, row_page, worst_first
from sgi.store.run_queries import find_run
from sgi.store.scored_runs import Reason, reasons
from sgi.store.view_cache import MANY_ROWS, load_view, save_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgi.reporting.views.run_columns import RunColumns
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

T = TypeVar("T")
MAX_POINTS = 10_000
"""Maximum points of the angle plane and of the scatter plot; evenly spaced rows are shown of a larger run."""
LOWEST_ROWS = 10
"""Number of worst rows of each metric that a report shows in full."""
_REASONS = 20
_FORMAT = 4
"""Version of the stored views; increase it when the content of a view changes."""


@dataclass(frozen=True)
class RunTables:
    """Groups, correlation, distributions, and the most frequent reasons for missing values."""

    groups: tuple[GroupTable, ...]
    correlation: Correlation | None
    distributions: tuple[Distribution, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class RunPoints:
    """Rows in the angle plane and the scatter plot, each None if no metric provides it."""

    plane: Plane | None
    scatter: Scatter | None


@dataclass(frozen=True)
class RunExtremes:
    """Ids of the rows that a report shows in full: the worst, and those where two metrics disagree most."""

    worst: tuple[LowestRows[str], ...]
    gaps: Disagreement[str] | None


class RunViews:
    """Views of a run that need all its rows (from ``read``); each is loaded or computed on first use."""

    def __init__(
        self, database: Database, record: RunRecord, read: Callable[[], RunColumns] | None = None
    ) -> None:
        self._database = database
        self._record = record
        self._read = read or (lambda: run_columns(database, record))

    @cached_property
    def columns(self) -> RunColumns:
        """The rows as columns."""
        return self._read()

    @cached_property
    def tables(self) -> RunTables:
        """Groups, correlation, distributions, and reasons for missing values."""
        return self._load_or_compute("tables", RunTables, self._tables)

    @cached_property
    def points(self) -> RunPoints:
        """Points of the plane and the scatter plot, at most ``MAX_POINTS`` each."""
        return self._load_or_compute("points", RunPoints, lambda: self.some_points(MAX_POINTS))

    @cached_property
    def labelled(self) -> tuple[LabelMetrics, ...]:
        """The metrics compared with the labels."""
        metrics = tuple[LabelMetrics, ...]
        return self._load_or_compute("labelled", metrics, lambda: label_metrics(self.columns))

    @cached_property
    def extremes(self) -> RunExtremes:
        """The ``LOWEST_ROWS`` worst rows of each metric, and as many with the largest disagreement."""
        return self._load_or_compute("extremes", RunExtremes, lambda: self.some_extremes(LOWEST_ROWS))

    def some_points(self, most: int) -> RunPoints:
        """Return the same as `points`, with another limit; the result is not stored."""
        return RunPoints(plane(self._database, self._record, most=most), scatter(self.columns, most=most))

    def some_extremes(self, most: int) -> RunExtremes:
        """Return the same as `extremes`, with another limit; the result is not stored."""
        return RunExtremes(lowest_ids(self.columns, most=most), disagreeing_ids(self.columns, most=most))

    def make_all(self) -> None:
        """Compute and store each view that is not stored yet, and the orders with the worst rows first."""
        _ = self.tables, self.points, self.labelled, self.extremes
        keys = class_keys(self._record.metrics)
        for name, column in self.columns.run.metrics.items():
            sort = worst_first(higher_is_better=column.higher_is_better)
            for first in [(), FINDINGS_FIRST] if keys.get(name) == FINDING else [()]:
                row_page(self._database, self._record, RowQuery(metric=name, sort=sort, first=first))

    def _tables(self) -> RunTables:
        return RunTables(
            group_tables(self.columns),
            correlation(self.columns),
            distributions(self.columns),
            tuple(reasons(self._database, self._record, most=_REASONS)),
        )

    def _load_or_compute(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        """Load the view if it is stored for this state of the run, otherwise compute and store it."""
        if not self._is_cacheable:
            return make()
        body = load_view(self._database, self._record.id, name, self._state)
        if body is not None:
            with suppress(KeyError, TypeError, ValueError):  # damaged: compute it again
                return cast("T", from_json(kind, orjson.loads(body)))
        view = make()
        save_view(self._database, self._record.id, name, self._state, orjson.dumps(as_json(view)))
        return view

    @property
    def _is_cacheable(self) -> bool:
        """Return whether the run is finished and uses its own clusters, without weights.

        Other views are rarely used twice.
        """
        record = self._record
        own = record.spec.get("cluster", BY_QUESTION)
        return record.finished and record.cluster == own and record.weights is None

    @cached_property
    def _state(self) -> str:
        """Return everything that determines the content of the views."""
        record = self._record
        known = class_keys(record.metrics)
        facts = [_FORMAT, package_version(), record.scored, record.changes, record.finished_at, known]
        return digest(canonical_json(facts)).hex()


def make_views(database: Database, run: str) -> None:
    """Compute and store the views of a finished run, if it has ``MANY_ROWS``.

    Raises:
        SgiError: the database cannot be read, or the run was deleted.
    """
    record = find_run(database, run)
    if record.finished and record.scored >= MANY_ROWS:
        RunViews(database, record).make_all()
