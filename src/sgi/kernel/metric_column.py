"""The values of one metric of a run as a column."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.metric import PERCENT, RATIO, SCORE, Status
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.provenance import MetricProvenance

STATUSES = tuple(Status)
"""The statuses in the order of their codes."""


@dataclass(frozen=True, eq=False)
class MetricColumn:
    """The values of one metric of a run.

    Attributes:
        metric: the metric's canonical string, its name and parameters.
        values: float64, NaN for a row without a value, shape (n,).
        codes: index of each status in ``STATUSES``, int8, shape (n,).
        low: the smallest possible value; None if unknown.
        high: the largest possible value; None if unknown.
        version: the version of the metric's definition; 0 if unknown.
        parts: for a composite metric, whether each part has a value in each row, by the name of the part.
    """

    metric: str
    values: NDArray[np.float64]
    codes: NDArray[np.int8]
    low: float | None = None
    high: float | None = None
    higher_is_better: bool = True
    version: int = 0
    unit: str = ""
    provenance: MetricProvenance | None = None
    parts: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    __repr__ = short_repr

    @property
    def name(self) -> str:
        """The metric's name, without parameters."""
        return metric_name(self.metric)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Mask of the rows that have a value."""
        return np.isfinite(self.values)

    @property
    def width(self) -> float | None:
        """The difference ``high - low``; None for an unbounded scale."""
        width = math.inf if self.low is None or self.high is None else self.high - self.low
        return width if math.isfinite(width) else None

    @property
    def in_unit_range(self) -> bool:
        """Whether the range of the metric is [0, 1]."""
        return self.low == 0 and self.high == 1

    @property
    def is_share(self) -> bool:
        """Whether the metric is a share or probability in [0, 1], not a score without that meaning."""
        return self.in_unit_range and self.unit != SCORE

    @property
    def is_percentage(self) -> bool:
        """Whether the metric is a share in percent, from 0 to 100."""
        return self.unit == PERCENT

    @property
    def is_ratio(self) -> bool:
        """Whether the metric is a ratio v in [0, ∞), whose mean is computed on the scale v/(1+v)."""
        return self.unit == RATIO

    def counts(self) -> dict[Status, int]:
        """Return how many rows have each status."""
        totals = np.bincount(self.codes, minlength=len(STATUSES))
        return dict(zip(STATUSES, totals.tolist(), strict=True))


def parts_of_rows(details: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.bool_]]:
    """Return which parts of a composite metric have a value in each row, from the details of the rows.

    >>> parts_of_rows([{"parts": {"a": 1.0, "b": None}}, {}])
    {'a': array([ True, False]), 'b': array([False, False])}
    """
    rows = [parts if isinstance(parts := body.get("parts"), dict) else {} for body in details]
    names = dict.fromkeys(name for parts in rows for name in parts)
    return {name: np.array([parts.get(name) is not None for parts in rows], np.bool_) for name in names}
