"""Compares the metrics of a run with human labels, and corrects mean scores by the labels."""

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
from sgi.kernel.metric_column import STATUSES
from sgi.stats.agreement import cohen_kappa, krippendorff_alpha
from sgi.stats.effects import correlation
from sgi.stats.intervals import MIN_CLUSTERS, effective_clusters, interval_or_none
from sgi.stats.means import mean_interval
from sgi.stats.prediction_powered import plan_labels, prediction_powered_mean
from sgi.stats.two_samples import compare_labelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.labels import LabelKind, Labels
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn
    from sgi.stats.agreement import MeasurementScale, Weights

    Floats = NDArray[np.float64]
    Rows = NDArray[np.bool_]

_GRADES = "abcde"
_PERCENT = 100.0
_TARGET = 0.05
"""The half-width of the interval of a corrected mean that further labels are planned for, of the range."""


@dataclass(frozen=True, eq=False)
class _LabelledMetric:
    column: MetricColumn
    labels: Labels
    clusters: NDArray[np.int64]
    probabilities: Floats | None = None

    @property
    def both(self) -> Rows:
        """Mask of the rows with a label and a value, shape (n,)."""
        return self.labels.known_rows & self.column.ok

    @property
    def truth(self) -> Floats:
        """The labels as numbers, NaN for rows without a label, shape (n,)."""
        return np.array([math.nan if value is None else value for value in self.labels.values], dtype=float)

    def agreement(
        self, first: Floats, second: Floats, weights: Weights, scale: MeasurementScale
    ) -> dict[str, Any]:
        """Return κ and α over the rows with a label and a value; for numbers and grades also correlations."""
        clusters = self.clusters[self.both]
        kinds: tuple[Literal["pearson", "spearman"], ...] = ("pearson", "spearman")
        rows = self.weights(self.both)
        return {
            **{kind: correlation(first, second, clusters, kind=kind) for kind in kinds if scale != "nominal"},
            "kappa": cohen_kappa(first, second, clusters, weights=weights, rows=rows),
            "weights": weights,
            "alpha": krippendorff_alpha(first, second, clusters, scale=scale, rows=rows),
            "scale": scale,
        }

    def weights(self, rows: Rows) -> Floats | None:
        """Return the weights of labelled rows, 1 / probability of being drawn; None for a random sample."""
        return None if self.probabilities is None else 1 / self.probabilities[rows]

    def estimate(
        self, values: Floats, rows: Rows, bounds: tuple[float, float], *, labelled: bool = True
    ) -> Estimate:
        """Estimate a mean over the ``labelled`` rows, or over all rows with a value."""
        low, high = bounds
        weights = self.weights(rows) if labelled else None
        interval = mean_interval(values[rows], self.clusters[rows], weights=weights, low=low, high=high)
        mean = float(np.average(values[rows], weights=weights))
        return Estimate(mean, interval_or_none(interval), int(rows.sum()))

    def corpus(self, scores: Floats, truth: Floats, bounds: tuple[float, float]) -> CorpusScore | None:
        """Return the mean over all rows with a value, or None if fewer than two of them have a label."""
        ok, both = self.column.ok, self.both
        drawn = self.probabilities
        mean = prediction_powered_mean(
            truth[ok],
            scores[ok],
            self.clusters[ok],
            probabilities=None if drawn is None else drawn[ok],
            bounds=bounds,
        )
        if mean is None:
            return None
        return CorpusScore(
            naive=self.estimate(scores, ok, bounds, labelled=False),
            labels=self.estimate(truth, both, bounds),
            corrected=Estimate(mean.value, mean.interval, mean.labelled + mean.unlabelled),
            power=mean.power,
            sampling=None
            if drawn is not None
            else compare_labelled(self.column.values[ok], both[ok], self.clusters[ok]),
            plan=None
            if drawn is not None
            else plan_labels(
                truth[ok],
                scores[ok],
                target=_TARGET * (bounds[1] - bounds[0]),
                present=None if (now := mean.interval) is None else (now.high - now.low) / 2,
            ),
        )


def agree(
    run: Run,
    column: str,
    values: Sequence[Any],
    *,
    metrics: Sequence[str] = (),
    classes: Mapping[str, Sequence[str | None]] | None = None,
    threshold: float | None = None,
    weights: Weights = "quadratic",
    scale: tuple[float, float] | None = None,
    probabilities: Floats | None = None,
) -> AgreementReport:
    """Compare a run's metrics with human labels.

    Labels yes (the answer is good) and no are compared with the metric's verdict, numbers with its values,
    and names of classes with its classes. Rows without a label or a value are left out and counted.

    Args:
        run: the scores.
        column: name of the column of labels.
        values: label of each row, or None, shape (n,).
        metrics: names of the metrics to compare; all if empty.
        classes: class that the metric gives each row, by metric.
        threshold: scores of at least this (at most, if lower is better) are a yes; None: `default_threshold`.
        weights: weights of disagreements of numbers or grades in κ.
        scale: lowest and highest label; the range of the metric if None.
        probabilities: probability with which each row was drawn for a label yes or no, NaN without a label,
            shape (n,); all numbers but counts are weighted by its inverse. None: rows are a random sample.

    Raises:
        UnknownNameError: the run has no such metric.
        DataError: a label cannot be read.
        UsageError: the threshold or the scale is invalid, or the number of labels is wrong.

    >>> from sgi.engine.run import Run
    >>> from sgi.kernel.metric_column import MetricColumn
    >>> scores = np.array([1.0, 0.9, 0.2, 0.4, 0.7, 0.1])
    >>> metric = MetricColumn("squad_token_f1", scores, np.zeros(6, dtype=np.int8), 0.0, 1.0)
    >>> run = Run.of("last", "abcdef", [metric])
    >>> (result,) = agree(run, "label", [True, True, False, True, True, False]).metrics
    >>> result.rows, round(result.kappa.value, 3), result.sensitivity.value, result.specificity.value
    (6, 0.667, 0.75, 1.0)
    """
    _check(run, values, threshold, scale)
    labels = read_labels(column, values, run.ids, numbers=scale is not None)
    selected = {run.metric(name).metric for name in metrics} or run.metrics.keys()
    compared = []
    for name in (one for one in run.metrics if one in selected):
        data = _LabelledMetric(with_range(run.metrics[name]), labels, run.clusters, probabilities)
        compared.append(_compare_metric(data, (classes or {}).get(name), threshold, weights, scale))
    return AgreementReport(
        run=run.name,
        column=column,
        kind=labels.kind,
        rows=len(run.ids),
        labelled=int(labels.known_rows.sum()),
        metrics=tuple(compared),
        notes=(*run.clustering.notes(len(run.ids)), *_notes(labels, compared, scale, probabilities)),
        signature=run.signature,
    )


def _check(
    run: Run, values: Sequence[Any], threshold: float | None, scale: tuple[float, float] | None
) -> None:
    if len(values) != len(run.ids):
        hint = "Give one label for each row; None for a row without a label."
        raise UsageError(f"{run.name} has {len(run.ids)} rows, but {len(values)} labels.", hint=hint)
    if threshold is not None and not math.isfinite(threshold):
        raise UsageError(f"`threshold` cannot be {threshold}.", hint="Give a finite number.")
    if scale is not None and not -math.inf < scale[0] < scale[1] < math.inf:
        raise UsageError(
            f"`scale` cannot be {scale[0]} to {scale[1]}.",
            hint="Give two finite numbers, the lower one first.",
        )


def _compare_metric(
    data: _LabelledMetric,
    classes: Sequence[str | None] | None,
    threshold: float | None,
    weights: Weights,
    scale: tuple[float, float] | None,
) -> MetricAgreement:
    codes = data.column.codes[data.labels.known_rows & ~data.column.ok].tolist()
    lacking = {STATUSES[code].value: rows for code, rows in sorted(Counter(codes).items())}
    result = MetricAgreement(data.column.metric, int(data.both.sum()), lacking)
    labels = {value for value, both in zip(data.labels.values, data.both, strict=True) if both}
    if result.rows < 2:  # noqa: PLR2004 - one row shows no agreement
        return replace(
            result, reason=f"rows with a label and a value: {result.rows}; at least 2 are required"
        )
    if len(labels) == 1:
        label = _label_name(labels.pop(), data.labels.kind)
        return replace(result, reason=f"all {result.rows} labelled rows with a value have the label {label}")
    match data.labels.kind:
        case "yes or no":
            return _verdicts(data, result, threshold)
        case "numbers":
            return _numbers(data, result, weights, scale)
        case _:
            return _classes(data, result, classes, weights)


def _label_name(label: float | str | None, kind: LabelKind) -> str:
    if kind == "yes or no":
        return "yes" if label else "no"
    return f"{label:g}" if isinstance(label, float) else str(label)


def default_threshold(column: MetricColumn) -> float | None:
    """Return the middle of the range of a metric from 0 to 1 or from 0 to 100; None for other ranges."""
    return column.high / 2 if column.low == 0 and column.high in {1.0, _PERCENT} else None


def _verdicts(data: _LabelledMetric, result: MetricAgreement, threshold: float | None) -> MetricAgreement:
    column, truth, both = data.column, data.truth, data.both
    middle = default_threshold(column)
    high = None if middle is None else column.high
    threshold = middle if threshold is None else threshold
    if threshold is None:
        return replace(
            result, reason="its range is not 0 to 1, so there is no default threshold; give `threshold`"
        )
    low, most = column.bounds
    if not low <= threshold <= most:
        reason = f"its range is {low:g} to {most:g}, without the threshold {threshold:g}"
        return replace(result, reason=reason)
    yes = column.meets(threshold)
    verdicts = np.where(column.ok, yes, np.nan)
    scores = verdicts if high is None else column.values / high
    scores = 1.0 - scores if high is not None and not column.higher_is_better else scores
    result = replace(
        result,
        compared=f"{'≥' if column.higher_is_better else '≤'} {threshold:g} is a yes",
        threshold=threshold,
        sensitivity=data.estimate(verdicts, both & (truth == 1), (0.0, 1.0)),
        specificity=data.estimate(1.0 - verdicts, both & (truth == 0), (0.0, 1.0)),
        confusion=_confusion(truth[both], verdicts[both]),
        corpus=data.corpus(scores, truth, (0.0, 1.0)),
        is_share=True,
        **data.agreement(truth[both], verdicts[both], "nominal", "nominal"),
    )
    return replace(result, verdicts=tuple(rate_verdicts(result)))


def _confusion(truth: Floats, verdicts: Floats) -> dict[str, dict[str, int]]:
    names = {"yes": 1.0, "no": 0.0}
    return {
        label: {
            name: int(((truth == value) & (verdicts == verdict)).sum()) for name, verdict in names.items()
        }
        for label, value in names.items()
    }


def _numbers(
    data: _LabelledMetric, result: MetricAgreement, weights: Weights, scale: tuple[float, float] | None
) -> MetricAgreement:
    column, both = data.column, data.both
    low, high = column.low, column.high
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return replace(result, reason="its range is unbounded, so labels and values have no common scale")
    first, last = scale or (low, high)
    truth = data.truth
    if np.nanmin(truth) < first or np.nanmax(truth) > last:
        labels = f"labels range from {np.nanmin(truth):g} to {np.nanmax(truth):g}"
        reason = f"{labels}, outside {first:g} to {last:g}; give the lowest and highest label as `scale`"
        return replace(result, reason=reason)
    if scale is not None:
        share = (truth - first) / (last - first)
        truth = low * (1.0 - share) + high * share
    result = replace(
        result,
        compared="values",
        corpus=data.corpus(column.values, truth, (low, high)),
        is_share=column.is_share,
        **data.agreement(truth[both], column.values[both], weights, "interval"),
    )
    return replace(result, verdicts=tuple(number_verdicts(result, column.values[both] - truth[both])))


def _classes(
    data: _LabelledMetric, result: MetricAgreement, classes: Sequence[str | None] | None, weights: Weights
) -> MetricAgreement:
    if not classes:
        return replace(result, reason="the labels are names of classes, but the metric gives numbers")
    rows = np.flatnonzero(data.both).tolist()
    if any(classes[row] is None for row in rows):
        return replace(result, reason="some rows have a value, but the run has no class for them")
    pairs = [(str(data.labels.values[row]), str(classes[row]).strip().casefold()) for row in rows]
    counts = Counter(pairs)
    labels, names = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
    if set(labels).isdisjoint(names):
        examples = f"classes are {', '.join(names[:5])}; labels are {', '.join(labels[:5])}"
        return replace(result, reason=f"no label is one of its classes: {examples}")
    is_grade = class_keys([result.metric]).get(result.metric) == "grade" and {*labels, *names} <= {*_GRADES}
    order = _GRADES if is_grade else sorted({*labels, *names})
    codes = np.array([[order.index(name) for name in pair] for pair in pairs], dtype=np.float64)
    scales: tuple[Weights, MeasurementScale] = (weights, "ordinal") if is_grade else ("nominal", "nominal")
    result = replace(
        result,
        compared="grades" if is_grade else "classes",
        confusion={
            label: {name: counts[label, name] for name in names if counts[label, name]} for label in labels
        },
        **data.agreement(codes[:, 0], codes[:, 1], *scales),
    )
    return replace(result, verdicts=tuple(class_verdicts(result)))


def _notes(
    labels: Labels,
    compared: Sequence[MetricAgreement],
    scale: tuple[float, float] | None,
    probabilities: Floats | None,
) -> Iterator[str]:
    """Return the assumptions of the numbers, and signs that they are violated."""
    if labels.kind == "numbers" and scale is None:
        yield "Labels are taken to be on the scale of each metric; give `scale` if they are not."
    if probabilities is not None:
        drawn = probabilities[labels.known_rows]
        effective = effective_clusters(1 / drawn)
        yield (
            f"The labelled rows were drawn with known probabilities, {drawn.min():.2g} to {drawn.max():.2g}. "
            f"All numbers but counts are weighted by 1/probability; the {len(drawn):,} rows count as "
            f"{effective:,.1f} rows of equal weight."
        )
    elif any(metric.corpus is not None for metric in compared) and not labels.known_rows.all():
        yield (
            "The corrected means are valid if the labelled rows are a random sample of all rows, chosen"
            " independently of answers and scores."
        )
        yield from _sampling_notes(labels.known_rows, compared)
    for metric in compared:
        interval = None if metric.kappa is None else metric.kappa.interval
        if interval is not None and interval.high < 0:
            yield f"{metric.metric} disagrees with the labels: check that yes, or a higher label, means good."
        if metric.lacking:
            counts = ", ".join(f"{rows:,} {status}" for status, rows in metric.lacking.items())
            yield f"{metric.metric}: labelled rows without a value are left out: {counts}."


def _sampling_notes(known: Rows, compared: Sequence[MetricAgreement]) -> Iterator[str]:
    count = int(known.sum())
    if min(count, len(known) - count) >= MIN_CLUSTERS and known[:count].all():
        yield f"The labelled rows are the first {count:,} of the run, not a random sample."
    for metric in compared:
        if metric.corpus is not None and metric.corpus.sampling is not None and not metric.corpus.random:
            test = metric.corpus.sampling
            yield (
                f"The labelled rows have other scores of {metric.metric} than the rest (Kolmogorov-Smirnov "
                f"distance {test.distance:.2f}, p = {test.p:.3f} for a random sample), so its agreement and "
                "its corrected mean may be biased."
            )
