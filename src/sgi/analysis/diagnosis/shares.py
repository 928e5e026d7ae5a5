"""Shares of causes with intervals, for all rows and by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.diagnosis.causes import CAUSES
from sgi.analysis.diagnosis.diagnosis import CauseGroup, CauseShare
from sgi.analysis.groups import NO_GROUP
from sgi.stats.intervals import NoInterval, interval_or_none
from sgi.stats.means import mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.analysis.diagnosis.causes import Cause
    from sgi.analysis.diagnosis.diagnosis import RowDiagnosis


def cause_shares(
    causes: Sequence[Cause | None], clusters: NDArray[np.int64], *, level: float = 0.95
) -> tuple[CauseShare, ...]:
    """Return the share of each cause among the diagnosed rows, the most frequent first.

    Args:
        causes: the cause of each row; None for a row that is not diagnosed.
        clusters: the cluster number of each row, shape (n,).
        level: the level of the intervals.
    """
    known = np.array([cause is not None for cause in causes], dtype=np.bool_)
    clusters = clusters[known]
    names = [cause for cause in causes if cause is not None]
    shares = []
    for cause in CAUSES:
        values = np.array([name == cause for name in names], dtype=np.float64)
        interval = mean_interval(values, clusters, low=0.0, high=1.0, level=level)
        reason = interval.reason if isinstance(interval, NoInterval) else ""
        mean = float(values.mean()) if names else None
        shares.append(CauseShare(cause, int(values.sum()), mean, interval_or_none(interval), reason))
    return tuple(sorted(shares, key=lambda share: -share.rows))


def cause_groups(
    rows: Sequence[RowDiagnosis], clusters: NDArray[np.int64], groups: Sequence[str | None]
) -> tuple[CauseGroup, ...]:
    """Return the shares of the causes in each group, in the order in which groups first appear."""
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(NO_GROUP if group is None else group, []).append(row)
    result = []
    for name, positions in members.items():
        causes = [rows[position].cause for position in positions]
        shares = cause_shares(causes, clusters[positions])
        result.append(CauseGroup(name, len(causes), sum(cause is not None for cause in causes), shares))
    return tuple(result)
