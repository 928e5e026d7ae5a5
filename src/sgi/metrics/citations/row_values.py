"""The value of one row, before the values of all rows become `Scores`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.metric import Scores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class RowValue:
    """The value of a row, or the reason why it is undefined, with details."""

    value: float | None
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def scores_of(rows: Sequence[RowValue]) -> Scores:
    """Join the values of rows."""
    reasons = dict.fromkeys(row.reason for row in rows if row.value is None)
    return Scores.of(
        np.array([np.nan if row.value is None else row.value for row in rows], dtype=np.float64),
        undefined={
            reason: np.array([row.value is None and row.reason == reason for row in rows], dtype=np.bool_)
            for reason in reasons
        },
        details=[row.details for row in rows],
    )
