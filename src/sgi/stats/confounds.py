"""What length and token overlap alone would have ranked: the baselines a detector is printed beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.stats.ranking import Ranking, auroc, ranking

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Baseline:
    """One trivial score and how well it ranks.

    Attributes:
        name: ``length`` or ``overlap``.
        direction: what it takes for true: ``shorter``, ``longer`` or ``higher``.
        ranking: its AUROC in that direction, with interval.
    """

    name: str
    direction: str
    ranking: Ranking


def trivial_baselines(
    labels: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
    overlaps: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> tuple[Baseline, ...]:
    """How well length and overlap rank the true over the false, with no look at meaning.

    Length takes the direction that ranks better on these very rows, so its AUROC is never below 0.5; overlap
    keeps its natural one, higher = true. A detector that does not pass them has found nothing of its own.

    Args:
        labels: true or false (or 1 and 0), shape (n,).
        lengths: of the responses, shape (n,); rows where it is NaN are left out.
        overlaps: share of the response found in its contexts, shape (n,); rows where it is NaN are left out.
        clusters: what belongs together, shape (n,).
        draws: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        Those of the two that were given and rank at all (both classes present), length first.

    Raises:
        ValueError: as for `ranking`.

    Source: stratified and trivial-feature controls are ours; AUROC as in `auroc`.

    >>> (found,) = trivial_baselines([True, True, False, False], lengths=[3, 9, 9, 20])
    >>> found.name, found.direction, found.ranking.auroc
    ('length', 'shorter', 0.875)
    """
    truth = np.asarray(labels)
    groups = np.arange(len(truth)) if clusters is None else np.asarray(clusters)
    found = []
    if lengths is not None:
        rows, column = _known(lengths)
        area = auroc(column[rows], truth[rows])
        sign, direction = (-1.0, "shorter") if area is not None and area < 0.5 else (1.0, "longer")  # noqa: PLR2004 - chance
        found.append(("length", direction, rows, sign * column))
    if overlaps is not None:
        found.append(("overlap", "higher", *_known(overlaps)))
    ranked = (
        (name, direction, ranking(column[rows], truth[rows], groups[rows], draws=draws, seed=seed))
        for name, direction, rows, column in found
    )
    return tuple(Baseline(name, direction, made) for name, direction, made in ranked if made is not None)


def _known(values: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    column = np.asarray(values, dtype=np.float64)
    return ~np.isnan(column), column
