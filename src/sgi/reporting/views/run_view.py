"""All views of a run; those that need all its rows are computed once and stored until the rows change."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import orjson

from sgi.analysis.audit.audited_means import audited_means
from sgi.analysis.changes import MetricChange, metric_changes
from sgi.engine.review import FINDING, FINDINGS_FIRST
from sgi.engine.stored_runs import read_run
from sgi.engine.summarise import class_keys
from sgi.engine.summary import Summary
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import DataError, UnknownNameError
from sgi.kernel.signature import canonical_json, digest, package_version
from sgi.reporting.views.group_view import GroupTable, group_tables
from sgi.reporting.views.headline import headline, scored_rows
from sgi.reporting.views.metric_pairs import (
    Correlation,
    Disagreement,
    Scatter,
    correlation,
    disagreeing_ids,
    disagreement,
    scatter,
)
from sgi.reporting.views.metric_values import Distribution, LabelMetrics, distributions, label_metrics
from sgi.reporting.views.row_view import LowestRows, at_most_to_check, lowest_ids, lowest_rows
from sgi.reporting.views.to_json import as_json, from_json
from sgi.store.angle_plane import Plane, plane
from sgi.store.row_query import RowQuery, row_page, worst_first
from sgi.store.run_queries import find_run, run_before, run_usage
from sgi.store.scored_runs import Reason, reasons
from sgi.store.view_cache import MANY_ROWS, load_view, save_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sgi.analysis.audit.audited_means import AuditedMean
    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.kernel.protocols import Usage
    from sgi.reporting.views.headline import Headline, ScoredRows
    from sgi.reporting.views.row_view import SampleView
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

T = TypeVar("T")
MAX_COMPARED = 20_000
"""Maximum rows of a run that is compared with the run before; of larger ones the means are subtracted."""
MAX_POINTS = 10_000
"""Maximum points of the angle plane and of the scatter plot; evenly spaced rows are shown of a larger run."""
LOWEST_ROWS = 10
"""Number of worst rows of each metric that a report shows in full."""
_REASONS = 20
_FORMAT = 5
"""Version of the stored views; increase it when the content of a view changes."""
_STORED = (
    *("distributions", "plane", "groups", "correlation", "scatter", "disagreement", "worst_ids"),
    *("labelled", "reasons"),
)
"""The views that need all rows."""
_PARTS = (
    *("headline", "distributions", "plane", "groups", "correlation", "scatter", "disagreement", "worst"),
    *("labelled", "audits", "reasons", "usage", "diagnosis", "earlier"),
)


class Earlier(NamedTuple):
    """An earlier run with data of the same name, and the changes since it by canonical metric."""

    id: str
    label: str
    changes: Mapping[str, MetricChange]


class RunView:
    """The views of a run, each loaded or computed on first use. A view is None if the run lacks its metrics.

    ``worst`` is the number of rows of each metric that are shown in full. ``read`` returns the rows; None
    reads them from the database.
    """

    diagnosis: Diagnosis | None = None

    def __init__(
        self,
        database: Database,
        record: RunRecord,
        *,
        worst: int = LOWEST_ROWS,
        read: Callable[[], ScoredRows] | None = None,
    ) -> None:
        self.record = record
        self._database, self._most = database, worst
        self._read = read or (lambda: scored_rows(database, record))

    @cached_property
    def columns(self) -> ScoredRows:
        """The rows as columns."""
        return self._read()

    @cached_property
    def headline(self) -> Headline:
        """The stored summary, or one computed from the rows."""
        return headline(self._database, self.record, lambda: self.columns)

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """The distribution of each metric."""
        kind = tuple[Distribution, ...]
        return self._stored("distributions", kind, lambda: distributions(self.columns))

    @cached_property
    def groups(self) -> tuple[GroupTable, ...]:
        """The metrics by groups of rows."""
        return self._stored("groups", tuple[GroupTable, ...], lambda: group_tables(self.columns))

    @cached_property
    def correlation(self) -> Correlation | None:
        """The rank correlation of the metrics."""
        return self._stored("correlation", Correlation | None, lambda: correlation(self.columns))

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """The most frequent reasons for missing values."""
        found = partial(reasons, self._database, self.record, most=_REASONS)
        return self._stored("reasons", tuple[Reason, ...], lambda: tuple(found()))

    @cached_property
    def plane(self) -> Plane | None:
        """The angles of at most ``MAX_POINTS`` rows."""
        return self._stored(
            "plane", Plane | None, lambda: plane(self._database, self.record, most=MAX_POINTS)
        )

    @cached_property
    def scatter(self) -> Scatter | None:
        """A semantic against a lexical metric, for at most ``MAX_POINTS`` rows."""
        return self._stored("scatter", Scatter | None, lambda: scatter(self.columns, most=MAX_POINTS))

    @cached_property
    def labelled(self) -> tuple[LabelMetrics, ...]:
        """The metrics compared with the labels."""
        return self._stored("labelled", tuple[LabelMetrics, ...], lambda: label_metrics(self.columns))

    @cached_property
    def worst_ids(self) -> tuple[LowestRows[str], ...]:
        """The ids of the worst rows of each metric."""
        kind = tuple[LowestRows[str], ...]
        return self._stored("worst", kind, lambda: lowest_ids(self.columns, most=self._most))

    @cached_property
    def worst(self) -> tuple[LowestRows[SampleView], ...]:
        """The worst rows of each metric with their texts; with findings, at most those to check."""
        found = at_most_to_check(self.worst_ids, self.headline.metrics)
        return lowest_rows(self._database, self.record, found)

    @cached_property
    def disagreement(self) -> Disagreement[SampleView] | None:
        """The rows on which a semantic and a lexical metric disagree most, with their texts."""
        kind = Disagreement[str] | None
        ids = self._stored("gaps", kind, lambda: disagreeing_ids(self.columns, most=self._most))
        return disagreement(self._database, self.record, ids)

    @cached_property
    def usage(self) -> Mapping[str, Usage]:
        """The usage of each judge."""
        return run_usage(self._database, self.record.id)

    @cached_property
    def audits(self) -> tuple[AuditedMean, ...]:
        """The metrics that have an audit, with their corrected means, and the judges without one."""
        means = audited_means(self._database, self.record)
        return means if any(mean.verdict for mean in means) else ()

    @cached_property
    def earlier(self) -> Earlier | None:
        """The changes since the earlier run of the same data."""
        return earlier_run(self._database, self.record)

    def parts(self) -> dict[str, object]:
        """Return the run and all its views by name, for JSON."""
        return {"head": self.record} | {name: getattr(self, name) for name in _PARTS}

    def make_all(self) -> None:
        """Compute and store each view that is not stored yet, and the orders with the worst rows first."""
        for name in _STORED:
            getattr(self, name)
        keys = class_keys(self.record.metrics)
        for name, column in self.columns.run.metrics.items():
            sort = worst_first(higher_is_better=column.higher_is_better)
            for first in [(), FINDINGS_FIRST] if keys.get(name) == FINDING else [()]:
                row_page(self._database, self.record, RowQuery(metric=name, sort=sort, first=first))

    def _stored(self, name: str, kind: object, make: Callable[[], T]) -> T:
        """Return the view as it is stored for this state of the run, otherwise compute and store it.

        Views with another number of rows, another cluster rule or weights are rarely used twice.
        """
        if not self._is_usual or (self._most != LOWEST_ROWS and name in {"worst", "gaps"}):
            return make()
        body = load_view(self._database, self.record.id, name, self._state)
        if body is not None:
            with suppress(KeyError, TypeError, ValueError):  # damaged: compute it again
                return cast("T", from_json(kind, orjson.loads(body)))
        view = make()
        save_view(self._database, self.record.id, name, self._state, orjson.dumps(as_json(view)))
        return view

    @cached_property
    def _is_usual(self) -> bool:
        record = self.record
        own = record.spec.get("cluster", BY_QUESTION)
        return record.finished and record.cluster == own and record.weights is None

    @cached_property
    def _state(self) -> str:
        """Return everything that determines the content of the views."""
        record = self.record
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
        RunView(database, record).make_all()


def earlier_run(database: Database, record: RunRecord) -> Earlier | None:
    """Return the last finished run before a run, with data of the same name; None if there is none."""
    before = run_before(database, record)
    if before is None or record.weights is None:
        return None if before is None else changes_since(database, before, record)
    with suppress(UnknownNameError, DataError):  # the earlier run has no such weights
        if max(before.rows, record.rows) <= MAX_COMPARED:
            return changes_since(database, before.with_weights(record.weights), record)
    return None


def changes_since(database: Database, before: RunRecord, record: RunRecord) -> Earlier:
    """Return what changed in a run since an earlier one; see `metric_changes`."""
    if max(before.rows, record.rows) > MAX_COMPARED:
        return Earlier(before.id, before.label, _mean_differences(before, record))
    changes = metric_changes(read_run(database, before), read_run(database, record))
    return Earlier(before.id, before.label, changes)


def _mean_differences(before: RunRecord, record: RunRecord) -> dict[str, MetricChange]:
    """Subtract the means of the stored summaries."""
    summaries = (Summary.from_dict(run.summary).metrics if run.summary else () for run in (before, record))
    old, new = ({one.metric: one.mean for one in metrics} for metrics in summaries)
    pairs = ((name, old.get(name), mean) for name, mean in new.items())
    return {
        name: MetricChange(mean - earlier)
        for name, earlier, mean in pairs
        if earlier is not None and mean is not None
    }
