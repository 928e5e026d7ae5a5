"""Agreement of a run's metrics with human labels, and mean scores corrected by the labels."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.analysis.agreement.report import (
    AgreementReport,
    CorpusScore,
    Estimate,
    MetricAgreement,
    class_verdicts,
    number_verdicts,
    rate_verdicts,
)
from sgi.analysis.labels import read_labels
from sgi.engine.summarise import class_keys, with_range
from sgi.kernel.errors import UsageError
from sgi.kernel.scored import STATUSES
from sgi.stats.agreement import cohen_kappa, krippendorff_alpha
from sgi.stats.correlation import correlation
from sgi.stats.intervals import MIN_CLUSTERS, interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.prediction_powered import prediction_powered_mean, slice_difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.labels import LabelKind, Labels
    from sgi.kernel.scored import MetricColumn, ScoredRun
    from sgi.stats.agreement import MeasurementScale, Weights

    Floats = NDArray[np.float64]
    Rows = NDArray[np.bool_]

_GRADES = "abcde"
_PERCENT = 100.0
_STRANGE = 2.58
"""A random sample's mean score lies further off than so many standard errors once in a hundred."""


@dataclass(frozen=True, eq=False)
class _Beside:
    """A metric's column and the labels."""

    column: MetricColumn
    labels: Labels
    clusters: NDArray[np.int64]

    @property
    def known(self) -> Rows:
        """Rows with a label."""
        return np.array([value is not None for value in self.labels.values], dtype=np.bool_)

    @property
    def both(self) -> Rows:
        """Rows with a label and a value."""
        return self.known & self.column.ok

    @property
    def truth(self) -> Floats:
        """The labels as numbers, NaN where there is none."""
        return np.array([math.nan if value is None else value for value in self.labels.values], dtype=float)

    def start(self) -> MetricAgreement:
        """The metric, with nothing compared yet."""
        codes = self.column.codes[self.known & ~self.column.ok].tolist()
        lacking = {STATUSES[code].value: rows for code, rows in sorted(Counter(codes).items())}
        return MetricAgreement(self.column.metric, int(self.both.sum()), lacking)

    def agreement(
        self, first: Floats, second: Floats, weights: Weights, scale: MeasurementScale
    ) -> dict[str, Any]:
        """κ and α over the rows that have both; of numbers and grades the correlations, too."""
        clusters = self.clusters[self.both]
        kinds: tuple[Literal["pearson", "spearman"], ...] = (
            () if scale == "nominal" else ("pearson", "spearman")
        )
        return {
            **{kind: correlation(first, second, clusters, kind=kind) for kind in kinds},
            "kappa": cohen_kappa(first, second, clusters, weights=weights),
            "weights": weights,
            "alpha": krippendorff_alpha(first, second, clusters, scale=scale),
            "scale": scale,
        }

    def estimate(self, values: Floats, rows: Rows, bounds: tuple[float, float]) -> Estimate:
        """The mean of these rows, which are some of the run's."""
        low, high = bounds
        found = mean_interval(values[rows], self.clusters[rows], low=low, high=high)
        return Estimate(float(values[rows].mean()), interval_or_none(found), int(rows.sum()))

    def corpus(self, scores: Floats, truth: Floats, bounds: tuple[float, float]) -> CorpusScore | None:
        """The mean of all rows with a value; none where that is not of two labelled rows."""
        ok, both = self.column.ok, self.both
        made = prediction_powered_mean(truth[ok], scores[ok], self.clusters[ok], bounds=bounds)
        if made is None:
            return None
        return CorpusScore(
            naive=self.estimate(scores, ok, bounds),
            labels=self.estimate(truth, both, bounds),
            corrected=Estimate(made.value, made.interval, made.labelled + made.unlabelled),
            power=made.power,
        )


def agree(
    run: ScoredRun,
    column: str,
    values: Sequence[Any],
    *,
    metrics: Sequence[str] = (),
    classes: Mapping[str, Sequence[str | None]] | None = None,
    threshold: float | None = None,
    weights: Weights = "quadratic",
    scale: tuple[float, float] | None = None,
) -> AgreementReport:
    """Compare a run's metrics with human labels.

    Labels that are yes or no (yes: the answer is good) are compared with the metric's verdict, numbers with
    its values, names with its classes. Rows without a label or without a value take no part, and are counted.

    Args:
        run: the scores.
        column: the name of the column of labels.
        values: the label of each row, None where there is none, shape (n,).
        metrics: those to compare; all if empty.
        classes: by metric, the class that it gave each row.
        threshold: from where on a metric's value is a yes (if lower is better: up to where); 0.5 for shares.
        weights: what a disagreement of numbers or grades costs in κ.
        scale: the least and greatest possible label; the metric's own ends if None.

    Raises:
        UnknownNameError: the run has no such metric.
        DataError: a label cannot be read.
        UsageError: threshold or scale is no number, or the labels are not one for each row.

    >>> from sgi.kernel.scored import MetricColumn, ScoredRun
    >>> scores = np.array([1.0, 0.9, 0.2, 0.4, 0.7, 0.1])
    >>> made = MetricColumn("squad_token_f1", scores, np.zeros(6, dtype=np.int8), 0.0, 1.0)
    >>> run = ScoredRun("last", 6, tuple("abcdef"), np.arange(6), {"squad_token_f1": made})
    >>> (found,) = agree(run, "label", [True, True, False, True, True, False]).metrics
    >>> found.rows, round(found.kappa.value, 3), found.sensitivity.value, found.specificity.value
    (6, 0.667, 0.75, 1.0)
    """
    _check(run, values, threshold, scale)
    labels = read_labels(column, values, run.ids, numbers=scale is not None)
    wanted = [run.metric(name).metric for name in metrics] or list(run.metrics)
    made = []
    for name in run.metrics:
        if name in wanted:
            beside = _Beside(with_range(run.metrics[name]), labels, run.clusters)
            made.append(_compared(beside, (classes or {}).get(name), threshold, weights, scale))
    return AgreementReport(
        run=run.name,
        column=column,
        kind=labels.kind,
        rows=len(run.ids),
        labelled=labels.count,
        metrics=tuple(made),
        notes=(*run.clustering.notes(len(run.ids)), *_notes(run, labels, made, scale)),
        signature=run.signature,
    )


def _check(
    run: ScoredRun, values: Sequence[Any], threshold: float | None, scale: tuple[float, float] | None
) -> None:
    if len(values) != len(run.ids):
        hint = "Give one for each row, None where there is none."
        raise UsageError(f"{run.name} has {len(run.ids)} rows, but {len(values)} labels.", hint=hint)
    if threshold is not None and not math.isfinite(threshold):
        raise UsageError(f"A threshold of {threshold} decides nothing.", hint="Give a number.")
    if scale is not None and not -math.inf < scale[0] < scale[1] < math.inf:
        raise UsageError(f"A scale from {scale[0]} to {scale[1]} is none.", hint="Write 0:3, low end first.")


def _compared(
    beside: _Beside,
    classes: Sequence[str | None] | None,
    threshold: float | None,
    weights: Weights,
    scale: tuple[float, float] | None,
) -> MetricAgreement:
    made = beside.start()
    given = {value for value, both in zip(beside.labels.values, beside.both, strict=True) if both}
    if made.rows < 2:  # noqa: PLR2004 - one row shows no agreement
        return replace(
            made, reason=f"rows with both a label and a value: {made.rows}, of the 2 that it takes"
        )
    if len(given) == 1:
        only = _named(given.pop(), beside.labels.kind)
        return replace(made, reason=f"all {made.rows} labelled rows with a value have the label {only}")
    match beside.labels.kind:
        case "yes or no":
            return _verdicts(beside, made, threshold)
        case "numbers":
            return _numbers(beside, made, weights, scale)
        case _:
            return _classes(beside, made, classes, weights)


def _named(label: float | str | None, kind: LabelKind) -> str:
    if kind == "yes or no":
        return "yes" if label else "no"
    return f"{label:g}" if isinstance(label, float) else str(label)


def _verdicts(beside: _Beside, made: MetricAgreement, threshold: float | None) -> MetricAgreement:
    column, truth, both = beside.column, beside.truth, beside.both
    high = column.high if column.low == 0 and column.high in {1.0, _PERCENT} else None
    where = high / 2 if threshold is None and high is not None else threshold
    if where is None:
        return replace(made, reason="it is no share, so it has no usual threshold; give one with --threshold")
    low, most = (math.inf if end is None else end for end in (column.low, column.high))
    if (column.low is not None and where < low) or where > most:
        return replace(made, reason=f"its values lie from {low:g} to {most:g}: {where:g} decides nothing")
    said = column.values >= where if column.higher_is_better else column.values <= where
    verdicts = np.where(column.ok, said, np.nan)
    scores = verdicts if high is None else column.values / high
    scores = 1.0 - scores if high is not None and not column.higher_is_better else scores
    made = replace(
        made,
        compared=f"{'≥' if column.higher_is_better else '≤'} {where:g} is a yes",
        threshold=where,
        sensitivity=beside.estimate(verdicts, both & (truth == 1), (0.0, 1.0)),
        specificity=beside.estimate(1.0 - verdicts, both & (truth == 0), (0.0, 1.0)),
        confusion=_confusion(truth[both], verdicts[both]),
        corpus=beside.corpus(scores, truth, (0.0, 1.0)),
        is_share=True,
        **beside.agreement(truth[both], verdicts[both], "nominal", "nominal"),
    )
    return replace(made, verdicts=tuple(rate_verdicts(made)))


def _confusion(truth: Floats, verdicts: Floats) -> dict[str, dict[str, int]]:
    names = {"yes": 1.0, "no": 0.0}
    return {
        label: {said: int(((truth == one) & (verdicts == other)).sum()) for said, other in names.items()}
        for label, one in names.items()
    }


def _numbers(
    beside: _Beside, made: MetricAgreement, weights: Weights, scale: tuple[float, float] | None
) -> MetricAgreement:
    column, both = beside.column, beside.both
    low, high = column.low, column.high
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return replace(made, reason="its values have no greatest one, so labels and values share no scale")
    first, last = scale or (low, high)
    given = beside.truth
    if np.nanmin(given) < first or np.nanmax(given) > last:
        found = f"labels go from {np.nanmin(given):g} to {np.nanmax(given):g}"
        return replace(
            made, reason=f"{found}, beyond {first:g} to {last:g}; tell both ends of theirs with --scale"
        )
    truth = given if scale is None else _moved(given, scale, (low, high))
    made = replace(
        made,
        compared="values",
        corpus=beside.corpus(column.values, truth, (low, high)),
        is_share=column.is_share,
        **beside.agreement(truth[both], column.values[both], weights, "interval"),
    )
    return replace(made, verdicts=tuple(number_verdicts(made, column.values[both] - truth[both])))


def _moved(values: Floats, scale: tuple[float, float], ends: tuple[float, float]) -> Floats:
    """Values of one scale on another, end to end."""
    share = (values - scale[0]) / (scale[1] - scale[0])
    return ends[0] * (1.0 - share) + ends[1] * share


def _classes(
    beside: _Beside, made: MetricAgreement, classes: Sequence[str | None] | None, weights: Weights
) -> MetricAgreement:
    if not classes:
        return replace(made, reason="labels are names, and the metric gives no classes")
    rows = np.flatnonzero(beside.both).tolist()
    if any(classes[row] is None for row in rows):
        return replace(made, reason="the run keeps no class for some rows that have a value")
    said = [(str(beside.labels.values[row]), _folded(classes[row])) for row in rows]
    pairs = Counter(said)
    people, metric = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
    if set(people).isdisjoint(metric):
        told = f"it says {', '.join(metric[:5])}; people say {', '.join(people[:5])}"
        return replace(made, reason=f"no label is one of its classes: {told}")
    graded = class_keys([made.metric]).get(made.metric) == "grade" and {*people, *metric} <= {*_GRADES}
    places = {name: place for place, name in enumerate(_GRADES if graded else sorted({*people, *metric}))}
    codes = np.array([[places[name] for name in pair] for pair in said], dtype=np.float64)
    counted = {label: {name: pairs[label, name] for name in metric if pairs[label, name]} for label in people}
    kinds: tuple[Weights, MeasurementScale] = (weights, "ordinal") if graded else ("nominal", "nominal")
    made = replace(
        made,
        compared="grades" if graded else "classes",
        confusion=counted,
        **beside.agreement(codes[:, 0], codes[:, 1], *kinds),
    )
    return replace(made, verdicts=tuple(class_verdicts(made)))


def _folded(name: str | None) -> str:
    return str(name).strip().casefold()


def _notes(
    run: ScoredRun, labels: Labels, made: Sequence[MetricAgreement], scale: tuple[float, float] | None
) -> Iterator[str]:
    """Assumptions of the numbers, and signs that they do not hold."""
    known = np.array([value is not None for value in labels.values], dtype=np.bool_)
    if labels.kind == "numbers" and scale is None:
        yield "Labels are read on each metric's own scale; for another, give its ends: --scale 0:3."
    if any(found.corpus is not None for found in made) and not known.all():
        yield (
            "The corrected means are valid if the labelled rows are a random sample of all rows, chosen"
            " independently of answers and scores."
        )
        yield from _sampled(run, known, made)
    for found in made:
        interval = None if found.kappa is None else found.kappa.interval
        if interval is not None and interval.high < 0:
            yield f"{found.metric} says the opposite of the labels: does a yes, or a higher label, mean good?"
        if found.lacking:
            told = ", ".join(f"{rows:,} {status}" for status, rows in found.lacking.items())
            yield f"{found.metric}: labelled rows without a value take no part: {told}."


def _sampled(run: ScoredRun, known: Rows, made: Sequence[MetricAgreement]) -> Iterator[str]:
    """What shows that the labelled rows were not drawn at random."""
    count = int(known.sum())
    if min(count, len(known) - count) >= MIN_CLUSTERS and known[:count].all():
        yield f"The labelled rows are the first {count:,} of the run, which is no random sample."
    for found in made:
        column = run.metrics[found.metric]
        if found.corpus is None:
            continue
        z = slice_difference(column.values[column.ok], known[column.ok], run.clusters[column.ok])
        if z is not None and abs(z) > _STRANGE:
            side = "higher" if z > 0 else "lower"
            yield (
                f"{found.metric} scores labelled rows {side} than others, by {abs(z):.1f} standard errors;"
                " not one random sample in a hundred would: its corrected mean may mislead."
            )
