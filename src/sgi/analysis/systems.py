"""Several systems over the same questions, as columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.compare import common_metrics
from sgi.analysis.groups import NO_GROUP
from sgi.analysis.pairing import pair_rows, pairing_notes, read_samples
from sgi.analysis.run_differences import find_differences, part_differences, unknown_origin
from sgi.engine.summarise import on_mean_scale, ratio_interval, with_range
from sgi.kernel.clusters import unknown_column
from sgi.kernel.errors import NotComparableError, UnknownNameError, UsageError
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import metric_label, pluralize, pluralize_part, short_repr
from sgi.stats.intervals import Interval, NoInterval, ratio_of
from sgi.stats.letters import MAX_SYSTEMS
from sgi.stats.means import mean_interval
from sgi.store.row_query import group_name
from sgi.store.scored_runs import system_name

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.run_differences import Difference
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn
    from sgi.kernel.sample import Sample

MIN_SYSTEMS = 2
MAX_GROUPS = 50
"""A column with more values than this does not group the questions."""
SEVERAL_GROUPS = "(differs between systems)"
"""The group of the questions for which the systems have different values of a column."""


@dataclass(frozen=True, eq=False)
class Systems:
    """The values of several systems for the same units: rows of several runs, or questions of one run.

    Attributes:
        names: the systems, k of them.
        unit: what one value belongs to: ``row`` or ``question``.
        clusters: the cluster number of each unit, shape (n,).
        columns: for each metric a column of the first system, for its range, unit and direction.
        values: for each metric the values on the scale of its mean, NaN without value, shape (n, k).
        runs: the run with the answers of each system.
        rows: the row of each unit in the run of each system, the first one of several; −1 if it has none;
            shape (n, k).
        answers: unit, system and row of every answer, also of the further ones of a unit, shape (m, 3).
        apart: for each composite metric the systems whose values have other parts, so that they are not
            compared, each with a note.
        notes: assumptions, and units that not all systems have.
    """

    names: tuple[str, ...]
    unit: str
    clusters: NDArray[np.int64]
    columns: Mapping[str, MetricColumn]
    values: Mapping[str, NDArray[np.float64]]
    runs: tuple[Run, ...]
    rows: NDArray[np.int64]
    answers: NDArray[np.int64]
    apart: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    def samples(self, system: int, *, last: bool = False) -> list[Sample | None]:
        """Return the sample of each unit of one system; None for a unit without an answer of the system.

        Of several answers it is the first one, or the last one. The list is empty if the texts are not
        available.
        """
        rows = self.rows[:, system]
        if last:
            unit, _, row = self.answers[self.answers[:, 1] == system].T
            rows = np.full(len(self.rows), -1, dtype=np.int64)
            np.maximum.at(rows, unit, row)
        known = np.flatnonzero(rows >= 0)
        found = dict(zip(known.tolist(), read_samples(self.runs[system], rows[known]), strict=False))
        return [found.get(unit) for unit in range(len(rows))] if found else []

    def answers_of(self, system: int, units: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the rows of all answers of one system to some units; ``units`` is a mask, shape (n,)."""
        unit, of, row = self.answers.T
        rows: NDArray[np.int64] = row[(of == system) & units[unit]]
        return rows

    def groups(self, column: str) -> dict[str, NDArray[np.bool_]]:
        """Return the units of each value of a metadata column as masks, in the order of appearance.

        Units for which the rows of the systems have different values are a group of their own.

        Raises:
            UnknownNameError: no unit has the column.
            UsageError: the column has more than 50 values.
        """
        of_run = {id(run): [values for (values,) in run.fields("metadata")] for run in self.runs}
        places = [[*zip(self.runs, rows, strict=True)] for rows in self.rows.tolist()]
        metadata = [
            [values[row] for run, row in of_unit if row >= 0 and (values := of_run[id(run)])]
            for of_unit in places
        ]
        known = dict.fromkeys(name for of_unit in metadata for values in of_unit for name in values)
        if column not in known:
            hint = f"The data has: {', '.join(known) or 'no columns'}."
            raise UnknownNameError("column", column, hint=hint)
        names = [_group_of([values.get(column) for values in of_unit]) for of_unit in metadata]
        distinct = [*dict.fromkeys(names)]
        if len(distinct) > MAX_GROUPS:
            raise UsageError(
                f"The column {column} has {len(distinct):,} values; at most {MAX_GROUPS} can be compared."
            )
        return {group: np.array([name == group for name in names], dtype=np.bool_) for group in distinct}


def _group_of(values: Iterable[object]) -> str:
    """Return the group of a unit from the values of its systems; absent values do not count."""
    names = {*filter(None, map(group_name, values))}
    return SEVERAL_GROUPS if len(names) > 1 else next(iter(names), NO_GROUP)


def compared_systems(
    runs: Sequence[Run],
    by: str | None = None,
    *,
    metrics: Collection[str] = (),
    allow_different: bool = False,
) -> Systems:
    """Return the systems to compare: the values of the column ``by`` in one run, or several runs.

    Runs may differ in metrics that are not in ``metrics``, unless it is empty.

    Raises:
        UsageError: the number of runs is wrong; and as `systems_in_run` and `systems_of_runs`.
    """
    if by is None:
        return systems_of_runs(runs, metrics=metrics, allow_different=allow_different)
    if len(runs) != 1:
        hint = "Give one run and the column, or several runs without a column."
        raise UsageError(
            f"The column {by} names the systems of one run; {len(runs)} runs are given.", hint=hint
        )
    return systems_in_run(runs[0], by, metrics=metrics, allow_different=allow_different)


def systems_of_runs(
    runs: Sequence[Run], *, metrics: Collection[str] = (), allow_different: bool = False
) -> Systems:
    """Align the rows of several runs; each run is a system.

    The rows of every run are paired with the rows of the first run by `pair_rows`. Rows that a run lacks are
    left out, and a note counts them. A metric is compared if two runs have it. Runs may differ in metrics
    that are not in ``metrics`` (with or without parameters), unless it is empty.

    Raises:
        NotComparableError: a run differs from the first one in more than its responses.
        UsageError: the runs have no row or metric in common, or two of them have one name.
    """
    names = [run.name for run in runs]
    _check_names(names)
    first = runs[0]
    pairs = [pair_rows(first, run) for run in runs[1:]]
    rows = reduce(np.intersect1d, (pair.first for pair in pairs))
    common = {name for pair in combinations(runs, 2) for name in common_metrics(*pair)}
    columns: dict[str, MetricColumn] = {}
    for run in runs:  # the first run that has a metric gives its range and direction
        columns |= {name: run.metrics[name] for name in run.metrics if name in common - columns.keys()}
    shared = [*columns]
    selected = {name for name in shared if {name, metric_name(name)} & {*metrics}} or {*shared}
    if not len(rows):
        raise UsageError(f"{', '.join(names)} have no row in common.")
    notes = []
    for run, pair in zip(runs[1:], pairs, strict=True):
        differences = [one for one in find_differences(first, run, pair) if one.concerns(selected)]
        notes += _accepted(first.name, run.name, differences, allow_different=allow_different)
        notes += [*pairing_notes(first, run, pair), *unknown_origin(first, run)]
    aligned = [rows, *(pair.second[np.searchsorted(pair.first, rows)] for pair in pairs)]
    parts = [run.take(of_run) for run, of_run in zip(runs, aligned, strict=True)]
    most = max(len(run.ids) for run in runs)
    if len(rows) < most:
        notes.append(
            f"{pluralize(len(rows), 'row is', 'rows are')} in all runs; the largest run has {most:,}."
        )
    return Systems(
        names=tuple(names),
        unit="row",
        clusters=parts[0].clusters,
        columns={name: with_range(column) for name, column in columns.items()},
        values={name: np.column_stack([_values(part, name) for part in parts]) for name in columns},
        runs=tuple(runs),
        rows=np.column_stack(aligned),
        answers=np.vstack(
            [
                np.column_stack([np.arange(len(rows)), np.full(len(rows), system), of_run])
                for system, of_run in enumerate(aligned)
            ]
        ),
        notes=tuple(dict.fromkeys([*notes, *first.clustering.notes(len(first.ids))])),
    )


def systems_in_run(
    run: Run, by: str, *, metrics: Collection[str] = (), allow_different: bool = False
) -> Systems:
    """Take the rows of each value of a metadata column as a system; rows without a value are left out.

    The values of a system for one question are averaged. Rows without a question are paired by contexts, and
    without these by reference; rows without any of them are left out. A system whose values of a composite
    metric have other parts than those of most systems is not compared on it, unless ``allow_different``.

    Raises:
        UnknownNameError: no row has the column.
        UsageError: there are not 2 to 26 systems, or no question has answers of two systems.
    """
    keys = run.row_keys
    if keys is None:
        raise UsageError(f"{run.name} has no texts, so its rows cannot be paired by question.")
    metadata = [values for (values,) in run.fields("metadata")]
    if metadata and not any(by in values for values in metadata):
        raise unknown_column(run.name, by, {name for values in metadata for name in values})
    groups = [system_name(values, by) for values in metadata]
    named = np.array([bool(group) for group in groups], dtype=np.bool_)
    known = np.flatnonzero(named & keys.identified)
    system_of = _numbers(groups[row] for row in known)
    identity = keys.identity
    unit_of = _numbers(identity[row] for row in known)
    names = [*dict.fromkeys(groups[row] for row in known)]
    if named.any() and not len(known):
        raise UsageError(f"No row of {run.name} has a question, contexts or a reference to pair it by.")
    _check_names(names)
    rows = np.full((int(unit_of.max()) + 1, len(names)), -1, dtype=np.int64)
    cells = unit_of * len(names) + system_of
    filled, first_in_cell = np.unique(cells, return_index=True)
    rows.flat[filled] = known[first_in_cell]
    if not ((rows >= 0).sum(axis=1) > 1).any():
        hint = "Give a column whose values are the systems, where each question has a row for each system."
        raise UsageError(f"No question of {run.name} has answers of two systems.", hint=hint)
    columns = {name: with_range(column) for name, column in run.metrics.items()}
    return Systems(
        names=tuple(names),
        unit="question",
        clusters=run.clusters[np.where(rows >= 0, rows, len(groups)).min(axis=1)],
        columns=columns,
        values={
            name: _cell_means(on_mean_scale(column).values[known], cells, rows.shape)
            for name, column in columns.items()
        },
        runs=(run,) * len(names),
        rows=rows,
        answers=np.column_stack([unit_of, system_of, known]),
        apart={} if allow_different else _apart(run, names, rows, metrics),
        notes=(
            *_unbalanced(rows, cells, (~named).sum(), (named & ~keys.identified).sum()),
            *run.clustering.notes(len(run.ids)),
        ),
    )


def _values(run: Run, metric: str) -> NDArray[np.float64]:
    """Return the values of a metric on the scale of its mean; NaN if the run does not have the metric."""
    if metric not in run.metrics:
        return np.full(len(run.ids), np.nan)
    return on_mean_scale(with_range(run.metrics[metric])).values


def _apart(
    run: Run, names: Sequence[str], rows: NDArray[np.int64], metrics: Collection[str]
) -> dict[str, dict[int, str]]:
    """Return the systems of each composite metric that have other parts than most systems, with notes.

    The base is the first system with values from which the fewest others differ; those are not compared.
    """
    apart = dict[str, dict[int, str]]()
    for metric, column in run.metrics.items():
        if not column.parts or (metrics and not {metric, metric_name(metric)} & {*metrics}):
            continue
        others = [
            {
                system: found
                for system in range(len(names))
                if (found := [*part_differences(column, column, *_paired(rows, base, system))])
            }
            for base in range(len(names))
        ]
        # A system without any value differs from no other one, so it is not a base.
        empty = [not column.ok[of_system[of_system >= 0]].any() for of_system in rows.T]
        base = min(range(len(names)), key=lambda system: (empty[system], len(others[system])))
        apart[metric] = {
            system: f"{metric_label(metric)}: {names[system]} is not compared, since it has other parts than "
            f"{names[base]}: {'; '.join(map(str, found))}."
            for system, found in others[base].items()
        }
    return apart


def _paired(rows: NDArray[np.int64], one: int, other: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    both = rows[(rows[:, one] >= 0) & (rows[:, other] >= 0)]
    return both[:, one], both[:, other]


def _accepted(first: str, other: str, found: Sequence[Difference], *, allow_different: bool) -> list[str]:
    """Return notes on the differences of a system from the first one, or raise NotComparableError."""
    if found and not allow_different:
        raise NotComparableError(first, other, found)
    return [f"{other} differs in more than the responses: {one}." for one in found]


def _numbers(values: Iterable[Hashable]) -> NDArray[np.int64]:
    """Return the number of each value; equal values have one number, from 0 in order of appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _check_names(names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise UsageError(f"{repeated[0]} is given twice.", hint="Give each run once.")
    if not MIN_SYSTEMS <= len(names) <= MAX_SYSTEMS:
        found = f"{len(names)} ({', '.join(names[:MAX_SYSTEMS])})" if names else "0"
        raise UsageError(f"A leaderboard needs {MIN_SYSTEMS} to {MAX_SYSTEMS} systems; found {found}.")


def _cell_means(
    values: NDArray[np.float64], cells: NDArray[np.int64], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the mean of the finite values of each cell; NaN for a cell without one."""
    ok, size = np.isfinite(values), shape[0] * shape[1]
    counts = np.bincount(cells[ok], minlength=size)
    sums = np.bincount(cells[ok], values[ok], minlength=size)
    return np.where(counts, sums / np.maximum(counts, 1), np.nan).reshape(shape)


def _unbalanced(
    rows: NDArray[np.int64], cells: NDArray[np.int64], without: int, unpaired: int
) -> Iterator[str]:
    incomplete = int((rows < 0).any(axis=1).sum())
    if incomplete:
        yield f"{pluralize_part(incomplete, len(rows), 'question', 'lacks', 'lack')} an answer of a system."
    if without:
        yield f"Left out: {pluralize(without, 'row')} without the name of a system."
    if unpaired:
        yield f"Left out: {pluralize(unpaired, 'row')} without question, contexts and reference."
    counts = np.bincount(cells, minlength=rows.size).reshape(rows.shape)
    several = int((counts > 1).any(axis=1).sum())
    if several:
        some = pluralize_part(several, len(rows), "question", "has", "have")
        yield f"{some} several answers of a system; their values are averaged."


def in_unit(
    column: MetricColumn, mean: float | None, values: NDArray[np.float64], clusters: NDArray[np.int64]
) -> tuple[float | None, Interval | NoInterval]:
    """Convert a mean and its interval from the scale of the mean to the unit of the metric."""
    scale = on_mean_scale(column)
    interval = mean_interval(values, clusters, low=scale.low, high=scale.high)
    if column.is_ratio:
        return None if mean is None else ratio_of(mean), ratio_interval(interval)
    return mean, interval
