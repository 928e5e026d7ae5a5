"""What came of a cascade: rows cleared, calls saved, and what is promised and measured of the misses."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sgi.engine.cascade.config import Cascade, shown
from sgi.kernel.registry import metric_name
from sgi.stats.intervals import Interval, interval_or_none
from sgi.stats.means import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgi.engine.accumulator import Accumulator


@dataclass(frozen=True)
class Misses:
    """Unsupported rows that were cleared, where no row of their question or passages was learnt from.

    Attributes:
        unsupported: labelled unsupported rows of the data.
        cleared: of them those that the judge was not asked about.
        interval: 95 % interval of their share, clustered by question; None of too few.
    """

    unsupported: int
    cleared: int
    interval: Interval | None

    @property
    def rate(self) -> float:
        """The share that was missed, in [0, 1]."""
        return self.cleared / self.unsupported


@dataclass(frozen=True)
class CascadeSummary:
    """What came of a cascade.

    Attributes:
        alpha: the share of unsupported rows that may be cleared.
        threshold: rows that score more were cleared; None cleared none.
        detector: the canonical string of the metric that clears.
        judged: the metrics whose numbers are over the other rows alone.
        rows: all rows.
        cleared: rows that the judge was not asked about.
        without_value: of the others, those for which the detector had no value.
        calls_per_row: different questions to the judge for each row it was asked about, as counted this time;
            None where it was asked about none.
        calls_saved: an estimate: cleared rows times that.
        unsupported: labelled unsupported rows that the threshold is made of, one a question.
        candidates: labelled unsupported rows, one a question, whether they have a score or not.
        labelled: labelled rows there were to learn from.
        misses: what the labels of the data say; None without labels, or where they were learnt from.
    """

    alpha: float
    threshold: float | None
    detector: str
    judged: tuple[str, ...]
    rows: int
    cleared: int
    without_value: int
    calls_per_row: float | None
    calls_saved: int | None
    unsupported: int
    candidates: int
    labelled: int
    misses: Misses | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values, with the share that was missed."""
        found = asdict(self)
        if self.misses is not None:
            found["misses"] |= {"rate": self.misses.rate}
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote."""
        told = values["misses"]
        interval = told and told["interval"] and Interval(**told["interval"])
        misses = told and Misses(told["unsupported"], told["cleared"], interval)
        return cls(**{**values, "judged": tuple(values["judged"]), "misses": misses})

    def told(self) -> Iterator[str]:
        """What a reader of the headline has to know, a sentence or two at a time."""
        name = metric_name(self.detector)
        share = self.cleared / self.rows if self.rows else 0.0
        if self.threshold is None:
            fewest = Cascade(alpha=self.alpha).fewest
            scored = f", of which {self.unsupported:,} have a score of {name}"
            yield (
                f"Cascade: the judge was asked about every row. To clear rows, alpha {self.alpha:g} takes "
                f"{fewest:,} labelled unsupported rows, one a question, and there were {self.candidates:,}"
                f"{scored if self.unsupported < self.candidates else ''}."
            )
            return
        lacking = f", {self.without_value:,} of them without {name}" if self.without_value else ""
        yield (
            f"Cascade: {name} above {shown(self.threshold)} cleared {self.cleared:,} of {self.rows:,} rows "
            f"({share:.1%}); the judge was asked about the other {self.rows - self.cleared:,}{lacking}."
        )
        yield (
            f"The numbers of {', '.join(self.judged)} are over rows that the judge was asked about: "
            "the doubtful ones, not all."
        )
        if self.calls_saved is not None:
            yield (
                f"Judge calls saved: about {self.calls_saved:,}, an estimate from {self.calls_per_row:.3g} "
                "for each row that was asked about."
            )
        yield (
            f"Promise: at most {self.alpha:.3g} of unsupported answers are cleared, on average, if they are "
            f"like the {self.unsupported:,} labelled ones that the threshold is made of, one a question."
        )
        if self.misses is not None:
            found = self.misses
            span = f" [{found.interval.low:.1%}, {found.interval.high:.1%}]" if found.interval else ""
            yield (
                f"Measured on questions and passages that were not learnt from: {found.cleared:,} of "
                f"{found.unsupported:,} unsupported rows were cleared, {found.rate:.1%}{span}."
            )


def cascade_summary(accumulator: Accumulator) -> CascadeSummary | None:
    """What the accumulator knows of its cascade; None where it has none."""
    router = accumulator.router
    if router is None:
        return None
    cleared = np.array(accumulator.cleared, dtype=np.bool_)
    per_row = len(router.questions) / accumulator.inquired if accumulator.inquired else None
    return CascadeSummary(
        alpha=router.alpha,
        threshold=router.fitted.threshold,
        detector=router.detector,
        judged=tuple(metric.canonical for metric in router.metrics if metric.canonical in router.judged),
        rows=len(accumulator),
        cleared=accumulator.cleared_rows,
        without_value=accumulator.without_value,
        calls_per_row=per_row,
        calls_saved=None if per_row is None else round(accumulator.cleared_rows * per_row),
        unsupported=router.fitted.unsupported,
        candidates=router.fitted.candidates,
        labelled=router.fitted.labelled,
        misses=_misses(accumulator, cleared) if router.fitted.apart else None,
    )


def _misses(accumulator: Accumulator, cleared: np.ndarray[Any, np.dtype[np.bool_]]) -> Misses | None:
    unsupported = np.array(accumulator.labels, dtype=np.int8) == 0
    if not unsupported.any():
        return None
    missed = cleared[unsupported].astype(np.float64)
    clusters = accumulator.clusters.numbers[unsupported]
    found = mean_interval(missed, clusters, low=0.0, high=1.0)
    return Misses(int(unsupported.sum()), int(missed.sum()), interval_or_none(found))
