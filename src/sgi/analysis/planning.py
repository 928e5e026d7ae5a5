"""Plans a sample: how many questions or labels show a difference, a gate, an AUROC or an agreement."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.pairing import pair_rows
from sgi.engine.summarise import on_mean_scale, with_range
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import UsageError
from sgi.kernel.metric_column import meets
from sgi.stats.intervals import MIN_CLUSTERS, Interval, bounded_ratio, ratio_of, ratio_slope
from sgi.stats.pilots import auroc_pilot, difference_pilot, kappa_pilot, mean_pilot
from sgi.stats.sample_size import Claim, SampleSize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn
    from sgi.stats.intervals import NoInterval
    from sgi.stats.sample_size import Pilot

_SHARES_OF_NEEDED = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
_HALF = 0.5


@dataclass(frozen=True, eq=False)
class Source:
    """The origin of the standard deviation of a plan: a guess, or the rows of a pilot.

    Attributes:
        pilot: its clusters.
        unit: what a cluster is called, such as ``questions``.
        is_guess: whether it is a guess.
        is_ratio: whether the pilot has ratios on the scale v/(1 + v).
        slope: difference in the unit of the metric for a difference of 1 on the scale of the pilot.
        lower_is_better: whether the metric is better if it is lower.
    """

    pilot: Pilot
    unit: str
    is_guess: bool = False
    is_ratio: bool = False
    slope: float = 1.0
    lower_is_better: bool = False

    @property
    def count(self) -> int:
        """Number of clusters of the pilot."""
        return len(self.pilot.influence)

    def interval(self, level: float) -> Interval | NoInterval:
        """Return the interval of the estimate of all rows of the pilot."""
        return self.pilot.interval(np.arange(len(self.pilot.clusters)), self.pilot.clusters, level)

    def to_scale(self, value: float) -> float:
        """Convert a value of the metric to the scale of the pilot."""
        return float(bounded_ratio(value)) if self.is_ratio else value / self.slope

    def from_scale(self, value: float) -> float:
        """Convert a value on the scale of the pilot to the unit of the metric."""
        return ratio_of(value) if self.is_ratio else value * self.slope


@dataclass(frozen=True)
class PowerPoint:
    """A point of the power curve: a number of clusters, and its power.

    Attributes:
        count: the number.
        power: probability that the claim is shown, in [0, 1].
    """

    count: int
    power: float


@dataclass(frozen=True)
class Plan:
    """The number of questions or labels that a claim needs.

    Attributes:
        claim: what is shown, in words.
        quantity: ``difference``, ``mean``, ``AUROC``, ``kappa`` or ``accuracy``.
        value: its true value that is assumed.
        unit: what is counted, such as ``questions``.
        power: the power of ``needed``, in (0, 1).
        needed: the number.
        low: lower end of the 95 % range of the number; None for a guess.
        high: upper end of the range; None for a guess, and if no number is enough at this end.
        pilot: number of clusters of the pilot; None for a guess.
        curve: the power of several numbers.
        notes: assumptions.
    """

    claim: str
    quantity: str
    value: float
    unit: str
    power: float
    needed: int
    low: int | None
    high: int | None
    pilot: int | None
    curve: tuple[PowerPoint, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"With {self.needed:,} {self.unit}, {self.claim} in {100 * self.power:.4g} % of cases "
            f"if the true {self.quantity} is {self.value:.4g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return {**asdict(self), "sentence": str(self)}


def make_plan(
    source: Source,
    claim: Claim,
    words: str,
    quantity: str,
    *,
    value: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
) -> Plan:
    """Return how many clusters are needed to show a claim, and the power for several numbers.

    Args:
        source: the pilot, or a guess.
        claim: what the interval must show, on the scale of the pilot.
        words: the same in words, such as ``the rule passes``.
        quantity: the name of the estimate.
        value: its true value in the unit of the metric; None for the level of the pilot.
        power: the probability that the claim is shown, in (0, 1).
        level: the confidence level of the interval.

    Raises:
        UsageError: the pilot is too small or has no spread, or no number is enough.
    """
    _check_pilot(source, quantity)
    assumed = source.pilot.value if value is None else source.to_scale(value)
    shown = source.from_scale(assumed) if value is None else value
    size = SampleSize(source.pilot, claim, assumed, level)
    if not size.is_possible:
        raise _impossible(source, claim, quantity, shown)
    if not size.is_reachable:
        message = f"No sample with the values of the pilot has a {quantity} of {shown:.4g}."
        raise UsageError(message, hint="Give the spread as a guess instead of a pilot.")
    needed = size.needed(power)
    if needed is None:
        raise UsageError(f"More than a billion {source.unit} are needed.", hint="Plan a larger effect.")
    low, high = _range(source, size, needed, power, measured=value is None and claim.kind != "width")
    counts = sorted({max(round(needed * share), 1) for share in _SHARES_OF_NEEDED})
    return Plan(
        claim=words,
        quantity=quantity,
        value=shown,
        unit=source.unit,
        power=power,
        needed=needed,
        low=low,
        high=high,
        pilot=None if source.is_guess else source.count,
        curve=tuple(PowerPoint(count, size.power(count)) for count in counts),
        notes=tuple(_notes(source, low, high)),
    )


def _check_pilot(source: Source, quantity: str) -> None:
    if source.is_guess:
        return
    pilot, hint = source.pilot, "Use a larger pilot, or give the spread as a guess instead of --pilot."
    if source.count < MIN_CLUSTERS:
        counted = f"{source.count} {source.unit.removesuffix('s') if source.count == 1 else source.unit}"
        raise UsageError(f"The pilot has {counted}; at least {MIN_CLUSTERS} are needed.", hint=hint)
    if pilot.is_constant:
        message = f"All {source.count:,} {source.unit} of the pilot have the same values"
        raise UsageError(f"{message}, so the spread of the {quantity} is unknown.", hint=hint)


def _impossible(source: Source, claim: Claim, quantity: str, value: float) -> UsageError:
    limit = source.from_scale(claim.limit)
    side = "below" if claim.kind == "above" else "above"
    place = f"the limit {limit:.4g}" if value == limit else f"{side} the limit {limit:.4g}"
    whose = "that you assume" if source.is_guess else "of the pilot"
    message = f"The {quantity} {whose} is {value:.4g}, {place}: no number of {source.unit} is enough."
    return UsageError(message, hint="Change the limit, or the value that you assume.")


def _range(
    source: Source, size: SampleSize, needed: int, power: float, *, measured: bool
) -> tuple[int | None, int | None]:
    """Return the 95 % range of the number: from the ends of the estimate's interval, or from its spread."""
    if source.is_guess:
        return None, None
    if not measured:
        return size.spread_range(needed)
    interval = source.interval(0.95)
    if not isinstance(interval, Interval):
        return None, None
    ends = (interval.high, interval.low) if size.claim.kind == "above" else (interval.low, interval.high)
    best, worst = (SampleSize(source.pilot, size.claim, end, size.level).needed(power) for end in ends)
    return min(best or needed, needed), worst


def _notes(source: Source, low: int | None, high: int | None) -> Iterator[str]:
    if source.is_guess:
        yield f"The spread is a guess: {source.unit} are counted as independent, and the number has no range."
        return
    rows = len(source.pilot.clusters) / source.count
    if rows > 1:
        yield f"The pilot has {rows:.3g} rows for each of the {source.unit}; the plan keeps this."
    if low is not None and high is None:
        yield "At the worse end of the pilot's interval, no number is enough: the range has no upper end."


def difference_source(base: Run, new: Run, name: str, *, value: float | None = None) -> Source:
    """Return the differences of a metric between two runs as a pilot.

    With ``value``, all differences are shifted so that their mean is this value: their spread stays.

    Raises:
        UnknownNameError: a run has no such metric.
        UsageError: no row has a value in both runs.
    """
    metric = new.metric(base.metric(name).metric).metric
    pairs = pair_rows(base, new)
    before, after = (
        on_mean_scale(with_range(run.take(rows).metrics[metric]))
        for run, rows in ((base, pairs.first), (new, pairs.second))
    )
    clusters, rows = base.clusters[pairs.first], before.ok & after.ok
    _require_values(int(rows.sum()), f"{base.name} and {new.name}", metric)
    first, second = before.values[rows], after.values[rows]
    column = with_range(new.metrics[metric])
    mean = float(first.mean())
    slope = ratio_slope(mean, mean) if column.is_ratio else 1.0
    shift = 0.0 if value is None else value / slope - (float(second.mean()) - mean)
    width = None if after.width is None else after.width + abs(shift)
    return Source(
        difference_pilot(first, second + shift, clusters[rows], width=width),
        _unit(base),
        slope=slope,
        lower_is_better=not column.higher_is_better,
    )


def mean_source(run: Run, name: str) -> Source:
    """Return the values of a metric as a pilot. Raises the errors of `difference_source`."""
    column = with_range(run.metrics[run.metric(name).metric])
    _require_values(int(column.ok.sum()), run.name, name)
    scaled, clusters = on_mean_scale(column), run.clusters[column.ok]
    pilot = mean_pilot(scaled.values[column.ok], clusters, low=scaled.low, high=scaled.high)
    return Source(pilot, _unit(run), is_ratio=column.is_ratio)


def auroc_source(run: Run, name: str, labels: Sequence[float | str | None]) -> Source:
    """Return the scores of a metric and their labels, yes (1) or no (0), as a pilot.

    Raises:
        UnknownNameError: the run has no such metric.
        UsageError: a class has fewer than five clusters.
    """
    column, values, clusters, truth = _labelled(run, name, labels)
    few = min(len(np.unique(clusters[truth == label])) for label in (0, 1))
    if few < MIN_CLUSTERS:
        message = (
            f"The rarer label of the pilot occurs in {few} questions; at least {MIN_CLUSTERS} are needed."
        )
        raise UsageError(message, hint="Label more rows, or guess: --assume and --positives.")
    scores = values if column.higher_is_better else -values
    return Source(auroc_pilot(scores, truth, clusters), f"labelled {_unit(run)}")


def agreement_source(
    run: Run,
    name: str,
    labels: Sequence[float | str | None],
    *,
    threshold: float | None = None,
    accuracy: bool = False,
) -> Source:
    """Return the verdicts of a metric and the labels as a pilot of kappa, or of accuracy.

    A value is a yes from the threshold on (up to it if lower is better); None is the middle of [0, 1].

    Raises:
        UnknownNameError: the run has no such metric.
        UsageError: the metric has no default threshold, or no row has a value and a label.
    """
    column, values, clusters, truth = _labelled(run, name, labels)
    if threshold is None and not column.in_unit_range:
        message = f"The range of {name} is not 0 to 1, so there is no default threshold."
        raise UsageError(message, hint="Give --threshold.")
    limit = _HALF if threshold is None else threshold
    yes = meets(values, limit, higher_is_better=column.higher_is_better).astype(np.float64)
    unit = f"labelled {_unit(run)}"
    if accuracy:
        equal = (yes == truth).astype(np.float64)
        return Source(mean_pilot(equal, clusters, low=0.0, high=1.0), unit)
    if np.ptp(np.append(yes, truth)) == 0:
        message = "All labels and verdicts of the pilot are the same, so kappa is undefined."
        raise UsageError(message, hint="Label more rows, or guess: --assume and --share.")
    return Source(kappa_pilot(yes, truth, clusters), unit)


def _labelled(
    run: Run, name: str, labels: Sequence[float | str | None]
) -> tuple[MetricColumn, NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the column, and the values, clusters and labels of the rows that have both."""
    column = with_range(run.metrics[run.metric(name).metric])
    truth = np.array([np.nan if label is None else label for label in labels], dtype=np.float64)
    rows = column.ok & np.isfinite(truth)
    _require_values(int(rows.sum()), run.name, f"{name} and a label")
    return column, column.values[rows], run.clusters[rows], truth[rows]


def _require_values(rows: int, run: str, name: str) -> None:
    if not rows:
        raise UsageError(f"No row of {run} has a value of {name}.", hint="Use another pilot, or a guess.")


def _unit(run: Run) -> str:
    return "questions" if run.clustering.by == BY_QUESTION else "clusters"
