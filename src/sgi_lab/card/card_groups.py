"""AUROC of subgroups, within the groups of a column, and of the column alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.intervals import shuffled_labels
from sgi.stats.paired_tests import holm
from sgi_lab.card.card import Subgroup, WithinGroups

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from sgi_lab.card.controls import Competitor, LabelledScores

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Labels = NDArray[np.bool_]

MIN_VALUES, MAX_VALUES = 2, 12
"""Distinct values of a column of subgroups."""

MIN_GROUPS, MAX_GROUPS = 2, 30
"""A column with fewer or more distinct values is not compared within its groups."""

_TERCILES = ("short", "medium", "long")
_SHUFFLES = 499
_TIE = 1e-12


def subgroups_of(
    data: LabelledScores, columns: Mapping[str, Sequence[Any]], lengths: Floats | None
) -> tuple[Subgroup, ...]:
    """Return subgroups by each value of the columns with 2 to 12 distinct values, and by terciles of length.

    Columns of lists or mappings have no subgroups.
    """
    names_by_column = {column: value_names(values) for column, values in columns.items()}
    subgroups = [
        _subgroup(data, column, value, np.array(names) == value)
        for column, names in names_by_column.items()
        if names is not None and MIN_VALUES <= len(set(names)) <= MAX_VALUES
        for value in dict.fromkeys(names)
    ]
    terciles = () if lengths is None else _terciles(lengths)
    return (*subgroups, *(_subgroup(data, "length", name, rows) for name, rows in terciles))


def value_names(values: Sequence[Any]) -> list[str] | None:
    """Return the values of a column as texts; None if one of them is a list or a mapping.

    >>> value_names(["gpt", None, 2, True]), value_names([["a"]])
    (['gpt', '(none)', '2', 'true'], None)
    """
    if any(isinstance(value, (list, tuple, dict)) for value in values):
        return None
    return [
        "(none)" if v is None else v if isinstance(v, str) else json.dumps(v, default=str) for v in values
    ]


def _terciles(lengths: Floats) -> Iterator[tuple[str, Labels]]:
    known = lengths[~np.isnan(lengths)]
    if not len(known):
        return
    low, high = np.quantile(known, [1 / 3, 2 / 3])
    masks = (lengths <= low, (lengths > low) & (lengths <= high), lengths > high)
    for name, rows in zip(_TERCILES, masks, strict=True):
        if rows.any():
            yield f"{name} ({lengths[rows].min():g} to {lengths[rows].max():g})", rows


def _subgroup(data: LabelledScores, column: str, value: str, rows: Labels) -> Subgroup:
    part = data.take(np.flatnonzero(rows))
    return Subgroup(column, value, len(part.scores), float(part.grounded.mean()), part.ranking())


def within_groups(
    data: LabelledScores, columns: Mapping[str, Sequence[Any]], competitors: Sequence[Competitor]
) -> tuple[WithinGroups, ...]:
    """Return the AUROC within each column with 2 to 30 values, at least one of which has both labels."""
    results = {}
    for name, values in columns.items():
        names = value_names(values)
        if names is None or not MIN_GROUPS <= len(set(names)) <= MAX_GROUPS:
            continue
        groups = np.unique(names, return_inverse=True)[1].astype(np.int64)
        within = data.auroc_within(groups)
        if within is not None:
            results[name] = (groups, within)
    p = _p_values(data, [groups for groups, _ in results.values()])
    return tuple(
        WithinGroups(
            column=name,
            values=int(groups.max()) + 1,
            alone=rate_auroc(groups, data.grounded),
            left_out=left_out_auroc(groups, data.grounded),
            p=value,
            within=within,
            baselines=tuple(
                replace(other.baseline, ranking=result.ranking)
                for other in competitors
                if (result := data.auroc_within(groups, other.values)) is not None
            ),
        )
        for (name, (groups, within)), value in zip(results.items(), p, strict=True)
    )


def _p_values(data: LabelledScores, columns: Sequence[Codes]) -> list[float]:
    """Return p-values of permutation tests as in `permutation_control`, corrected by Holm."""
    if not columns:
        return []
    clusters = np.unique(data.clusters, return_inverse=True)[1].astype(np.int64)
    observed = [rate_auroc(groups, data.grounded) for groups in columns]
    reached = np.ones(len(columns))
    for labels in shuffled_labels(data.grounded, clusters, _SHUFFLES, data.seed):
        reached += [
            rate_auroc(groups, labels) >= area - _TIE for groups, area in zip(columns, observed, strict=True)
        ]
    adjusted = holm((reached / (1 + _SHUFFLES)).tolist())
    return [1.0 if value is None else value for value in adjusted]


def rate_auroc(groups: Codes, labels: Labels) -> float:
    """Return the AUROC of the share of true labels in each row's group; groups count from 0, shapes (n,).

    >>> rate_auroc(np.array([0, 0, 1, 1]), np.array([True, True, True, False]))
    0.8333333333333334
    """
    true, false = (np.bincount(groups, side).astype(np.float64) for side in (labels, ~labels))
    order = np.argsort(true / (true + false), kind="stable")
    shares, true, false = (true / (true + false))[order], true[order], false[order]
    starts = np.flatnonzero(np.diff(shares, prepend=-1.0) > _TIE)
    true, false = np.add.reduceat(true, starts), np.add.reduceat(false, starts)
    below = np.cumsum(false) - false / 2
    return float(np.einsum("i,i->", true, below) / (true.sum() * false.sum()))


def left_out_auroc(groups: Codes, labels: Labels) -> float:
    """Return the AUROC of `rate_auroc` with shares that leave out the row's own label.

    A pair of rows of the same group counts half, because its true row always has the lower share. A
    group of one row has the share of all rows.

    >>> left_out_auroc(np.array([0, 0, 0, 1, 1, 1]), np.array([True, True, True, True, False, False]))
    0.875
    """
    counts = np.bincount(groups).astype(np.float64)
    true = np.bincount(groups, labels)
    alone = counts == 1
    others = np.where(alone, 2.0, counts) - 1
    of_true = np.where(alone, labels.mean(), (true - 1) / others)
    of_false = np.where(alone, labels.mean(), true / others)
    won = (of_true[:, None] > of_false[None]) + 0.5 * (np.abs(of_true[:, None] - of_false[None]) <= _TIE)
    np.fill_diagonal(won, 0.5)
    pairs = true[:, None] * (counts - true)[None]
    return float((won * pairs).sum() / pairs.sum())
