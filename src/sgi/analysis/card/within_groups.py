"""AUROC within the groups of a categorical column, and how well the column alone ranks the labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.card.card import WithinGroups
from sgi.analysis.card.controls import value_names
from sgi.stats.bootstrap import shuffled_labels
from sgi.stats.paired_tests import holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from sgi.analysis.card.controls import Competitor, LabelledScores

    Codes = NDArray[np.int64]
    Labels = NDArray[np.bool_]

MIN_GROUPS, MAX_GROUPS = 2, 30
"""A column with fewer or more distinct values is not compared within its groups."""

_SHUFFLES = 499
_TIE = 1e-12


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
