"""Summary of a run: each metric with coverage and interval, and the refusals by kind of question."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.groups import group_by
from sgi.engine.calibration_check import CalibrationCheck  # noqa: TC001 - the same
from sgi.engine.cascade import CascadeSummary  # noqa: TC001 - the JSON API reads the fields of the type
from sgi.engine.stored_runs import whole_run
from sgi.engine.summarise import class_keys, metric_summary, with_range
from sgi.engine.summary import Summary, ratio_notes, reasons_without_interval, verbatim_notes
from sgi.kernel.clusters import (
    DEFAULT_CLUSTERING,
    Clustering,
    Weighting,
)
from sgi.kernel.short_text import pluralize, pluralize_part, short_repr
from sgi.store.row_query import group_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.engine.run import Run
    from sgi.engine.summary import MetricSummary
    from sgi.kernel.metric_column import MetricColumn
    from sgi.stats.confounds import Baseline
    from sgi.stats.intervals import Interval
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The scored rows of a run; labels are 1, 0, or −1 if unknown. Rows can share a metadata mapping."""

    run: Run
    labels: NDArray[np.int8]
    metadata: tuple[Mapping[str, JsonValue], ...]
    classes: Mapping[str, Sequence[str | None]]

    __repr__ = short_repr

    @property
    def metrics(self) -> tuple[MetricColumn, ...]:
        """The metrics of the run, in the requested order, each with its range if known."""
        return tuple(map(with_range, self.run.metrics.values()))


def scored_rows(database: Database, record: RunRecord) -> ScoredRows:
    """Read the scored rows of a run."""
    run, labels, metadata, classes = whole_run(database, record, class_keys(record.metrics))
    codes = np.fromiter((-1 if label is None else label for label in labels), np.int8, len(labels))
    named = {metric: list(map(group_name, values)) for metric, values in classes.items()}
    return ScoredRows(run, codes, tuple(metadata), named)


_STORED = (
    *("metrics", "baselines", "labelled", "positives", "questions", "copies", "truncated", "windowed"),
    *("left_out", "cascade", "rows", "verbatim_copies", "blank", "calibration", "clustering"),
)
_ORIGINS = {"": "column answerable", "_judged": "judge"}


@dataclass(frozen=True)
class Headline:
    """Summary of a run: each metric with coverage and interval.

    Attributes:
        metrics: the summary of each metric, in the requested order.
        baselines: ranking by length and word overlap alone; empty without labels or a summary.
        labelled: rows with a label; 0 if not counted.
        positives: rows with label 1.
        questions: number of clusters of rows, by default distinct questions; 0 if not counted.
        copies: number of labelled rows whose response equals the reference.
        truncated: number of rows in which a field exceeds the token limit and was truncated, by field.
        left_out: number of rows scored without a model because it returned no vectors, by model name.
        partial: why this is not the summary of a whole, finished run; empty if it is.
        cascade: rows that the judge did not score; None if it scored all rows, or if this is unknown.
        rows: number of scored rows.
        verbatim_copies: number of rows whose response is a verbatim copy of a passage; 0 if not counted.
        blank: number of rows whose response is blank; 0 if not counted.
        clustering: the rule that defines clusters of rows.
        recomputed: whether the metrics were recomputed for another cluster rule, or with weights.
        calibration: whether the scores are like the scores of the calibration rows; None without a
        calibration.
        windowed: number of rows in which a field exceeds the token limit and was read in windows, by field.
        weighting: the weights of the rows; None if each row counts once.
    """

    metrics: tuple[MetricSummary, ...]
    baselines: tuple[Baseline, ...]
    labelled: int
    positives: int
    questions: int
    copies: int
    truncated: Mapping[str, int]
    left_out: Mapping[str, int]
    partial: str
    cascade: CascadeSummary | None = None
    rows: int = 0
    verbatim_copies: int = 0
    clustering: Clustering = DEFAULT_CLUSTERING
    recomputed: bool = False
    calibration: CalibrationCheck | None = None
    windowed: Mapping[str, int] = field(default_factory=dict)
    blank: int = 0
    weighting: Weighting | None = None

    __repr__ = short_repr


def headline(database: Database, record: RunRecord, read: Callable[[], ScoredRows] | None = None) -> Headline:
    """Return the stored summary, or compute it from the rows that ``read`` returns; None reads them."""
    read = read or (lambda: scored_rows(database, record))
    if record.summary is not None:
        summary = Summary.from_dict(record.summary)
        if summary.clustering.by == record.cluster and record.weights is None:
            return _stored_summary(summary, record)
        return _recompute(summary, record, read())
    if not record.scored:
        return _compute_summary((), record)
    columns = read()
    if not columns.run.ids:  # the run was deleted meanwhile
        return _compute_summary((), record)
    (whole,) = group_by(columns.run, [None] * len(columns.run.ids), classes=columns.classes)
    result = _compute_summary(whole.metrics, record)
    run = columns.run
    return replace(result, rows=len(run.ids), clustering=run.clustering, weighting=run.weighting)


def _recompute(summary: Summary, record: RunRecord, columns: ScoredRows) -> Headline:
    """Return the stored summary with means, intervals and rankings for another cluster rule or weights.

    It has no baselines.
    """
    stored = {metric.metric: metric for metric in summary.metrics}
    run = columns.run
    computed = (
        metric_summary(column, run.clusters, columns.labels, weights=run.weights)
        for column in columns.metrics
    )
    return replace(
        _stored_summary(summary, record),
        metrics=tuple(
            replace(metric, classes=kept.classes, review=kept.review)
            if (kept := stored.get(metric.metric))
            else metric
            for metric in computed
        ),
        baselines=(),
        questions=len(np.unique(run.clusters)),
        clustering=run.clustering,
        weighting=run.weighting,
        recomputed=True,
    )


def _stored_summary(summary: Summary, record: RunRecord) -> Headline:
    values = {name: getattr(summary, name) for name in _STORED}
    return Headline(**values, partial="" if record.finished else _partial(record))


def _compute_summary(metrics: tuple[MetricSummary, ...], record: RunRecord) -> Headline:
    return Headline(metrics, (), 0, 0, 0, 0, {}, {}, _partial(record))


def _partial(record: RunRecord) -> str:
    if record.scored < record.rows:
        return f"Only {pluralize_part(record.scored, record.rows, 'row', 'is', 'are')} scored so far."
    return "The run has no stored summary; these numbers are computed from its scores."


@dataclass(frozen=True)
class RefusalCounts:
    """Counts of the responses to answerable, or to unanswerable, questions.

    Attributes:
        refused: number of refusals.
        answered: number of other responses.
        share: the share of refusals; None without responses.
        interval: the interval of the share; None if there is none.
        no_interval: why there is no interval; empty if there is one.
    """

    refused: int
    answered: int
    share: float | None
    interval: Interval | None
    no_interval: str = ""

    @property
    def answered_interval(self) -> Interval | None:
        """The 95 % interval of the share of these questions that got an answer."""
        if self.interval is None:
            return None
        return replace(self.interval, low=1 - self.interval.high, high=1 - self.interval.low)


@dataclass(frozen=True)
class RefusalTable:
    """The 2 × 2 table of answerable × refused.

    Attributes:
        origin: what decides whether a question is answerable.
    """

    origin: str
    answerable: RefusalCounts
    unanswerable: RefusalCounts


def refusal_views(metrics: Iterable[MetricSummary]) -> list[RefusalTable]:
    """Return a table for each origin of answerability with metrics of both kinds of questions."""
    by_name = {metric.metric: metric for metric in metrics}
    views = []
    for suffix, origin in _ORIGINS.items():
        needless = by_name.get(f"needless_refusal{suffix}")
        correct = by_name.get(f"correct_refusal{suffix}")
        answered = by_name.get(f"answered_unanswerable{suffix}")
        if needless and (correct or answered):
            unanswerable = _counts(correct) if correct else _swap(_counts(answered))
            views.append(RefusalTable(origin, _counts(needless), unanswerable))
    return views


def _counts(metric: MetricSummary | None) -> RefusalCounts:
    if metric is None or metric.mean is None:
        return RefusalCounts(0, 0, None, None)
    refused = round(metric.mean * metric.ok)
    return RefusalCounts(refused, metric.ok - refused, metric.mean, metric.interval, metric.no_interval)


def _swap(counts: RefusalCounts) -> RefusalCounts:
    """Return the counts of refusals, computed from the counts of answers."""
    share = None if counts.share is None else 1 - counts.share
    return RefusalCounts(counts.answered, counts.refused, share, counts.answered_interval, counts.no_interval)


def headline_notes(headline: Headline) -> Iterator[str]:
    """Yield notes on the limits of the numbers of a run."""
    if headline.partial:
        yield headline.partial
    if headline.cascade is not None:
        yield from headline.cascade.notes()
    if headline.calibration is not None:
        yield from headline.calibration.notes()
    yield from ratio_notes(headline.metrics)
    yield from verbatim_notes(headline.verbatim_copies, headline.rows)
    yield from headline.clustering.notes(headline.rows)
    if headline.weighting is not None:
        yield from headline.weighting.notes()
    for name, rows in headline.truncated.items():
        what = f"In {pluralize(rows, 'row')}, {name} exceeds the model's input limit"
        yield f"{what}; the rest of the text was ignored."
    for name, rows in headline.windowed.items():
        yield f"In {pluralize(rows, 'row')}, {name} exceeds the model's input limit and was read in windows."
    for model, rows in headline.left_out.items():
        scored = pluralize(rows, "row was", "rows were")
        yield f"{scored} scored without {model}, which returned no vectors there."
    yield from reasons_without_interval(headline.metrics)
    if headline.copies:
        yield (
            f"In {pluralize(headline.copies, 'labelled row')} the response equals the reference,"
            " so reference-based metrics give their highest value there, whatever the label."
        )
