"""The summary of a run: means with intervals and coverage, and rankings beside trivial baselines."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from sgi.engine.calibration_check import CalibrationCheck
from sgi.engine.cascade import CascadeSummary
from sgi.engine.entailment_use import EntailmentUse
from sgi.engine.review import ReviewCounts
from sgi.geometry.passages import VERBATIM_ANGLE
from sgi.kernel.clusters import DEFAULT_CLUSTERING, Clustering, DominantCluster
from sgi.kernel.metric import Status
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import metric_label, pluralize_part, short_repr
from sgi.stats.auroc_difference import AurocDifference
from sgi.stats.confounds import Baseline
from sgi.stats.intervals import Interval
from sgi.stats.percentiles import Percentile
from sgi.stats.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sgi.kernel.clusters import Weighting


_OPTIONAL = ("cascade", "calibration", "weighting")
"""Parts of a summary that are only in the JSON of a run that has them."""


class NotebookRepr:
    """Base of results that notebooks show as HTML, and other places as text."""

    _page: ClassVar[str] = "sgi.reporting.notebook:notebook_html"
    """The function that renders HTML; it is in a higher layer, so it is imported by name."""

    def _repr_html_(self) -> str | None:
        """Return the HTML; None if the renderer is not installed."""
        module, _, name = self._page.partition(":")
        try:
            draw: Callable[[NotebookRepr], str] = getattr(import_module(module), name)
        except ImportError:
            return None
        return draw(self)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the text that accompanies the HTML."""
        return {"text/plain": str(self)}


@dataclass(frozen=True)
class MetricSummary:
    """Summary of one metric over all rows.

    Attributes:
        metric: the metric's canonical string.
        mean: mean over the rows with status ``ok``; None if there are none. For a ratio v, the mean of
            v/(1+v), converted back.
        interval: 95 % interval of the mean, over clusters of rows; None if there is none.
        deviation: the standard deviation of the ok values.
        counts: number of rows by status.
        ranking: how well the metric ranks label 1 above label 0 over the ok rows; None unless both occur.
        content_difference: its AUROC minus the AUROC of content-word precision, over the rows that have both
            values; None without labels or passages.
        review: number of answers to check; None for a metric without findings.
        is_share: whether the range of the metric is [0, 1], so that it can be shown in percent.
        is_percentage: whether it is given in percent, from 0 to 100.
        is_score: whether it is a score in [0, 1] that is neither a share nor a probability.
        is_ratio: whether it is a ratio, whose mean is taken on the scale v/(1+v).
        classes: number of rows by class or grade; empty for a metric without classes.
        total: the sum over the ok rows if the metric counts; otherwise None.
        best: the best value of a row, by the metric's direction; None if the metric counts.
        worst: the worst value of a row.
        higher_is_better: whether higher values are better.
        no_interval: why there is no interval; empty if there is one.
        percentiles: p50, p95 and p99 of latency, tokens and cost; empty for other metrics.
        unit: the unit of the percentiles.
        parts: of the ok rows of a composite metric, how many have a value of each part.
    """

    metric: str
    mean: float | None
    interval: Interval | None
    deviation: float | None
    counts: Mapping[Status, int]
    ranking: Ranking | None
    is_share: bool = False
    is_percentage: bool = False
    is_score: bool = False
    is_ratio: bool = False
    classes: Mapping[str, int] = field(default_factory=dict)
    total: float | None = None
    no_interval: str = ""
    best: float | None = None
    worst: float | None = None
    higher_is_better: bool = True
    percentiles: tuple[Percentile, ...] = ()
    unit: str = ""
    content_difference: AurocDifference | None = None
    review: ReviewCounts | None = None
    parts: Mapping[str, int] = field(default_factory=dict)

    __repr__ = short_repr

    @property
    def class_shares(self) -> dict[str, float]:
        """The share of each class among the rows that have one, in [0, 1]."""
        rows = sum(self.classes.values())
        return {name: count / rows for name, count in self.classes.items()}

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(self.counts.values())

    @property
    def ok(self) -> int:
        """The number of rows with a value."""
        return self.counts[Status.OK]

    @property
    def coverage(self) -> float:
        """The share of rows with a value, in [0, 1]; 0 for no rows."""
        return self.ok / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values, with rows, ok, coverage and the shares of its classes."""
        counted = {"rows": self.rows, "ok": self.ok, "coverage": self.coverage}
        return asdict(self) | counted | {"class_shares": self.class_shares}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the summary that `to_dict` wrote."""
        entries = {name: values[name] for name in _names(cls) if name in values}
        entries["interval"] = entries["interval"] and Interval(**entries["interval"])
        entries["counts"] = {Status(name): rows for name, rows in entries["counts"].items()}
        entries["ranking"] = entries["ranking"] and _read_ranking(entries["ranking"])
        difference = entries.get("content_difference")
        if difference:
            limits = difference["interval"] and Interval(**difference["interval"])
            entries["content_difference"] = AurocDifference(**{**difference, "interval": limits})
        review = entries.get("review")
        entries["review"] = review and ReviewCounts(**review)
        entries["percentiles"] = tuple(Percentile(**each) for each in entries.get("percentiles", ()))
        return cls(**entries)


@dataclass(frozen=True)
class Summary(NotebookRepr):
    """The summary of a run.

    Attributes:
        questions: number of clusters of rows, which are distinct questions unless another rule is set.
        labelled: number of rows with a label.
        positives: number of rows labelled true.
        baselines: AUROCs of length alone and of word overlap alone; empty without labels.
        copies: number of labelled rows whose response equals its reference; reference-based metrics rank them
            trivially.
        truncated: by field, the number of rows whose text was truncated.
        windowed: by field, the number of rows whose text exceeds the limit and was read in windows.
        left_out: by model, the number of rows scored without it because it returned no vectors.
        signature: models, judge and version, on one line.
        cascade: the results of the cascade, if there is one.
        entailment: cost and gain of the entailment model of each metric that uses one.
        verbatim_copies: number of responses that copy a passage verbatim, if a metric checks that.
        clustering: the rule by which rows form clusters.
        blank: number of rows whose response is blank.
        calibration: whether the scores are like the scores of the calibration rows; None without a
        calibration.
        weighting: the weights of the rows in means and intervals; None if each row counts once.
    """

    rows: int
    questions: int
    labelled: int
    positives: int
    metrics: tuple[MetricSummary, ...]
    baselines: tuple[Baseline, ...]
    copies: int
    truncated: Mapping[str, int]
    left_out: Mapping[str, int]
    signature: str
    cascade: CascadeSummary | None = None
    entailment: tuple[EntailmentUse, ...] = ()
    verbatim_copies: int = 0
    clustering: Clustering = DEFAULT_CLUSTERING
    calibration: CalibrationCheck | None = None
    windowed: Mapping[str, int] = field(default_factory=dict)
    blank: int = 0
    weighting: Weighting | None = None

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values; optional parts only if the run has them."""
        values = asdict(self) | {"metrics": [metric.to_dict() for metric in self.metrics]}
        if not self.entailment:
            del values["entailment"]
        for name in _OPTIONAL:
            del values[name]
            part = getattr(self, name)
            if part is not None:
                values[name] = asdict(part) if name == "weighting" else part.to_dict()
        return values

    def notes(self) -> list[str]:
        """Return notes that explain the means and intervals."""
        return [
            *ratio_notes(self.metrics),
            *verbatim_notes(self.verbatim_copies, self.rows),
            *(self.calibration.notes() if self.calibration is not None else ()),
            *self.clustering.notes(self.rows),
            *(self.weighting.notes() if self.weighting is not None else ()),
            *(note for use in self.entailment for note in use.notes()),
        ]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the summary that `to_dict` wrote."""
        entries = {name: values[name] for name in _names(cls) if name in values and name not in _OPTIONAL}
        if values.get("cascade") is not None:
            entries["cascade"] = CascadeSummary.from_dict(values["cascade"])
        if "entailment" in entries:
            entries["entailment"] = tuple(map(EntailmentUse.from_dict, entries["entailment"]))
        if values.get("calibration") is not None:
            entries["calibration"] = CalibrationCheck.from_dict(values["calibration"])
        entries["metrics"] = tuple(map(MetricSummary.from_dict, entries["metrics"]))
        entries["baselines"] = tuple(
            Baseline(**{**entry, "ranking": _read_ranking(entry["ranking"])})
            for entry in entries["baselines"]
        )
        if "clustering" in entries:
            entries["clustering"] = _read_clustering(entries["clustering"])
        return cls(**entries)

    def __str__(self) -> str:
        lines = [_HEADER, *(_line(metric) for metric in self.metrics)]
        lines += [_baseline_line(baseline) for baseline in self.baselines]
        lines += reasons_without_interval(self.metrics)
        lines += self.cascade.notes() if self.cascade is not None else ()
        lines += self.notes()
        return "\n".join([*lines, self.signature])


def _names(kind: type[Summary | MetricSummary]) -> list[str]:
    return [field.name for field in fields(kind)]


def _read_clustering(values: Mapping[str, Any]) -> Clustering:
    dominant = values["dominant"]
    return Clustering(**{**values, "dominant": dominant and DominantCluster(**dominant)})


def _read_ranking(values: Mapping[str, Any]) -> Ranking:
    return Ranking(**{**values, "interval": values["interval"] and Interval(**values["interval"])})


def reasons_without_interval(metrics: Iterable[MetricSummary]) -> list[str]:
    """Return one line for each reason why means and AUROCs have no interval.

    >>> counts = dict.fromkeys(Status, 0)
    >>> summary = MetricSummary("sgi", 1.0, None, None, counts, None, no_interval="1 cluster is too few")
    >>> reasons_without_interval([summary])
    ['No interval for sgi: 1 cluster is too few.']
    """
    known = [summary for summary in metrics if summary.mean is not None]
    areas = [
        (f"AUROC of {metric_label(summary.metric)}", summary.ranking.no_interval)
        for summary in known
        if summary.ranking
    ]
    return without_interval(
        [*((metric_label(summary.metric), summary.no_interval) for summary in known), *areas]
    )


def without_interval(reasons: Iterable[tuple[str, str]], *, what: str = "interval") -> list[str]:
    """Return one line for each reason without interval, with the metrics that share the reason.

    >>> without_interval([("a", "too few"), ("b", ""), ("c", "too few")])
    ['No interval for a, c: too few.']
    """
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        if reason:
            names.setdefault(reason, []).append(name)
    return [f"No {what} for {', '.join(shared)}: {reason}." for reason, shared in names.items()]


_HEADER = f"{'metric':<28}{'mean':>10}{'95 % interval':>20}{'ok / n':>16}  AUROC"


def _line(summary: MetricSummary) -> str:
    mean = "–" if summary.mean is None else f"{summary.mean:.4f}"
    interval = (
        "–" if summary.interval is None else (f"[{summary.interval.low:.4f}, {summary.interval.high:.4f}]")
    )
    rank = "" if summary.ranking is None else f"{summary.ranking.auroc:.3f}"
    return (
        f"{summary.metric:<28}{mean:>10}{interval:>20}{f'{summary.ok} / {summary.rows}':>16}  {rank}"
    ).rstrip()


def _baseline_line(baseline: Baseline) -> str:
    name = f"  {baseline.name} alone ({baseline.direction} = label 1)"
    return f"{name:<74}  {baseline.ranking.auroc:.3f}"


class _RatioOrNot(Protocol):
    @property
    def metric(self) -> str: ...
    @property
    def is_ratio(self) -> bool: ...


def ratio_notes(metrics: Iterable[_RatioOrNot]) -> Iterator[str]:
    """Return how the mean of each ratio is computed."""
    for metric in metrics:
        if metric.is_ratio:
            name = metric_name(metric.metric)
            yield f"The mean of {metric.metric} is that of {name}/(1 + {name}), converted back."


def verbatim_notes(copies: int, rows: int) -> Iterator[str]:
    """Return how many responses are verbatim copies of a passage, and how SGI scores them."""
    if copies:
        found = pluralize_part(copies, rows, "response", "copies", "copy")
        yield f"{found} a passage verbatim, where SGI is capped at θ(r,c) = {VERBATIM_ANGLE:g} rad."
