"""Metrics of a run by groups of rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sgi.analysis.groups import group_by
from sgi.engine.stored_runs import grouped_run
from sgi.engine.summarise import class_keys
from sgi.kernel.clusters import Weighting  # noqa: TC001 - stored views are read by the types of the fields
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import metric_label, short_repr
from sgi.store.row_query import column_reader, group_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.groups import Group
    from sgi.reporting.views.headline import ScoredRows
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

MAX_GROUPS = 20
"""Columns with more distinct values are not used for groups."""


@dataclass(frozen=True)
class GroupTable:
    """A run grouped by one column of its data, largest group first.

    ``weighting`` describes the weights of the rows in its means.
    """

    by: str
    groups: tuple[Group, ...]
    weighting: Weighting | None = None

    __repr__ = short_repr


def group_tables(columns: ScoredRows) -> tuple[GroupTable, ...]:
    """Return the groups by label and by each metadata column with 2 to ``MAX_GROUPS`` values.

    Columns of lists or objects, and columns in which each value occurs once, are not used.
    """
    return tuple(
        GroupTable(by, group_by(columns.run, values, classes=columns.classes), columns.run.weighting)
        for by, values in _group_columns(columns)
    )


def group_table(database: Database, record: RunRecord, by: str) -> GroupTable:
    """Return the groups by a metadata column, or by ``label`` (the label, unless a column has this name).

    Raises:
        UnknownNameError: no row has such a column; the message lists the columns.
    """
    run, values, classes = grouped_run(database, record, by, class_keys(record.metrics))
    named = {metric: list(map(group_name, values_of_rows)) for metric, values_of_rows in classes.items()}
    groups = group_by(run, list(map(group_name, values)), classes=named)
    return GroupTable(by, groups, run.weighting)


def sorted_groups(table: GroupTable, metric: str | None) -> GroupTable:
    """Sort groups by the mean of a metric, worst first; groups without a mean come last.

    Raises:
        UnknownNameError: no metric has this name (with or without parameters), or several have it.
    """
    if metric is None or not table.groups:
        return table
    names = [summary.metric for summary in table.groups[0].metrics]
    matches = [name for name in names if name == metric] or [
        name for name in names if metric_name(name) == metric
    ]
    if len(matches) != 1:
        raise UnknownNameError(
            "metric of the run", metric, hint=f"It has: {', '.join(map(metric_label, names))}."
        )
    place = names.index(matches[0])

    def mean(group: Group) -> tuple[bool, float]:
        summary = group.metrics[place]
        if summary.mean is None:
            return True, 0.0
        return False, summary.mean if summary.higher_is_better else -summary.mean

    return replace(table, groups=tuple(sorted(table.groups, key=mean)))


def _group_columns(columns: ScoredRows) -> Iterator[tuple[str, list[str | None]]]:
    distinct = list({id(row): row for row in columns.metadata}.values())
    places = {id(row): place for place, row in enumerate(distinct)}
    codes = [places[id(row)] for row in columns.metadata]
    for name in dict.fromkeys(["label", *(key for row in distinct for key in row)]):
        value = column_reader(name, distinct)
        if name == "label" and not any(name in row for row in distinct):
            named_labels = {
                code: group_name(value(None, None if code < 0 else bool(code))) for code in (-1, 0, 1)
            }
            values = [named_labels[code] for code in columns.labels.tolist()]
        else:
            raw = [value(row, None) for row in distinct]
            named = [group_name(item) for item in raw]
            if len(set(named)) > MAX_GROUPS or any(isinstance(item, (list, dict)) for item in raw):
                continue
            values = [named[code] for code in codes]
        counts = Counter(values)
        known = max((count for item, count in counts.items() if item is not None), default=0)
        if 1 < len(counts) <= MAX_GROUPS and known > 1:
            yield name, values
