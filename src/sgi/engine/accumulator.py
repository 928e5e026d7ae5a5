"""Accumulates the values, labels and clusters of a run while its batches are scored."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Self

import numpy as np

from sgi.engine.entailment_use import EntailmentAccumulator, uses_entailment
from sgi.engine.review import FINDING, ReviewAccumulator
from sgi.kernel.clusters import (
    BY_CONTEXTS,
    BY_QUESTION,
    Clustering,
    dominant_cluster,
    has_value,
    is_column,
    unknown_column,
)
from sgi.kernel.errors import EmbedderError, JudgeError, SgiError
from sgi.kernel.judged_metric import CACHED_REPLY
from sgi.kernel.metric import Status
from sgi.kernel.metric_column import STATUSES, MetricColumn, parts_of_rows
from sgi.kernel.sample import Field
from sgi.kernel.short_text import pluralize, quote
from sgi.metrics.grounding.content_precision import content_word_precisions
from sgi.metrics.sgi import VERBATIM_COPY
from sgi.text.overlap import token_precisions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.entailment_use import EntailmentUse
    from sgi.engine.review import ReviewCounts
    from sgi.engine.routing import Router
    from sgi.engine.score import BatchScores
    from sgi.kernel.clusters import DominantCluster
    from sgi.kernel.metric import AnyMetric, Scores
    from sgi.kernel.sample import Batch, Sample


_CANDIDATES = 4
"""At most 4 clusters can have more than a fifth of the rows."""


class ClusterAccumulator:
    """Numbers the clusters (rows that are not independent), and detects one that dominates."""

    def __init__(self, by: str = BY_QUESTION) -> None:
        self.by = by
        self._numbers = array("q")
        self._codes: dict[int, int] = {}
        self._contexts = array("q")
        self._without_value = 0
        self._votes: dict[int, int] = {}
        self._texts: dict[int, str] = {}

    def add(self, sample: Sample) -> None:
        """Add the next row of the data to its cluster."""
        position = len(self._numbers)
        code = self._codes.setdefault(sample.cluster(position, self.by), len(self._codes))
        self._numbers.append(code)
        if is_column(self.by):
            self._without_value += not has_value(sample.metadata, self.by)
        if self.by == BY_QUESTION:
            self._contexts.append(sample.cluster(position, BY_CONTEXTS))
            self._vote(code, sample.question)

    def _vote(self, code: int, question: str) -> None:
        """Keep the texts of all clusters with more than a fifth of the rows (Misra and Gries)."""
        if code in self._votes or len(self._votes) < _CANDIDATES:
            self._votes[code] = self._votes.get(code, 0) + 1
            self._texts[code] = question
            return
        self._votes = {other: votes - 1 for other, votes in self._votes.items() if votes > 1}
        self._texts = {other: self._texts[other] for other in self._votes}

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The cluster of each row, counted from 0 in the order of their first rows, shape (n,)."""
        return np.array(self._numbers, dtype=np.int64)

    def clustering(self) -> Clustering:
        """Return the cluster rule and the counts about it that the notes of the summary show."""
        return Clustering(self.by, self._without_value, self._dominant())

    def _dominant(self) -> DominantCluster | None:
        if not len(self._numbers):
            return None
        sizes = np.bincount(self.numbers)
        largest = int(sizes.argmax())
        contexts = np.array(self._contexts, dtype=np.int64)[self.numbers == largest] if self._contexts else ()
        return dominant_cluster(
            self._texts.get(largest, ""),
            int(sizes[largest]),
            len(np.unique(contexts)),
            of=len(self._numbers),
            clusters=len(sizes),
        )


def clustering_of(samples: Sequence[Sample], by: str, name: str) -> Clustering:
    """Assign rows in memory to clusters; ``name`` is the data's name in error messages.

    Raises:
        UnknownNameError: ``by`` names a column that no row has.
    """
    columns = {column for sample in samples for column in sample.metadata}
    if is_column(by) and by not in columns:
        raise unknown_column(name, by, columns)
    clusters = ClusterAccumulator(by)
    for sample in samples:
        clusters.add(sample)
    return clusters.clustering()


_UNKNOWN = -1


@dataclass(frozen=True)
class Failures:
    """Failed rows of one metric.

    Attributes:
        failed: the number of failed rows.
        rows: the number of rows that were counted, failed ones included.
        judged: whether ``rows`` counts only the rows that went to the judge.
        reason: why the last of them failed; empty if no row failed.
        row: the id of that row.
    """

    failed: int = 0
    rows: int = 0
    judged: bool = False
    reason: str = ""
    row: str = ""

    @property
    def share(self) -> float:
        """The share of failed rows, in [0, 1].

        >>> Failures(1, 16, judged=True).share
        0.0625
        """
        return self.failed / max(self.rows, 1)


@dataclass(eq=False)
class _Column:
    category: str = ""
    values: array[float] = field(default_factory=lambda: array("d"))
    codes: array[int] = field(default_factory=lambda: array("b"))
    classes: Counter[str] = field(default_factory=Counter)
    entailment: EntailmentAccumulator | None = None
    review: ReviewAccumulator = field(default_factory=ReviewAccumulator)
    parts: dict[str, array[int]] = field(default_factory=dict)

    def add(self, scores: Scores) -> None:
        if self.entailment is None and uses_entailment(scores):
            self.entailment = EntailmentAccumulator(array("d", [float("nan")]) * len(self.values))
        if self.entailment is not None:
            self.entailment.add(scores)
        self._add_parts(scores)
        self.values.frombytes(scores.values.tobytes())
        codes = np.zeros(len(scores), dtype=np.int8)
        for code, status in enumerate(STATUSES):
            codes[scores.status == status] = code
        self.codes.frombytes(codes.tobytes())
        if self.category:
            self.classes.update(str(body[self.category]) for body in scores.details if self.category in body)
        if self.category == FINDING:
            self.review.add(scores.details)

    def _add_parts(self, scores: Scores) -> None:
        """Add whether each part of a composite metric has a value; before its first row, none has one."""
        found, rows = parts_of_rows(scores.details), len(self.values)
        for name in dict.fromkeys((*self.parts, *found)):
            has_value = found.get(name, np.zeros(len(scores), dtype=np.bool_))
            self.parts.setdefault(name, array("b", bytes(rows))).frombytes(has_value.tobytes())


@dataclass(eq=False)
class Accumulator:
    """The values of a run, collected batch by batch, with one entry for each row.

    Attributes:
        categories: the key of the details that holds a row's class, by the canonical string of the metric.
        columns: values and statuses, by the canonical string of the metric.
        labels: 1, 0, or −1 where unknown.
        lengths: characters of the response; NaN where it is absent.
        precisions: content-word precision of the response; NaN without label, contexts or content words.
        overlaps: share of the response's distinct words that its contexts contain; NaN without label or
            contexts.
        copies: number of labelled rows whose response equals one of its references.
        verbatim_copies: number of rows whose response copies a passage verbatim, if a metric checks that.
        blank: number of rows whose response is blank.
        truncated: number of rows with a truncated text, by field.
        windowed: number of rows with a text that was read in windows, by field.
        left_out: number of rows scored without a model that returned no vectors, by the model's name.
        cached_failures: number of rows that failed because a cached reply of the judge is unusable.
        cleared: in a cascade, 1 for a row that does not go to the judge, otherwise 0.
        without_value: in a cascade, number of rows that go to the judge because `grounding` has no value.
        inquired: in a cascade, number of rows that went to the judge since the run was started or resumed.
    """

    categories: Mapping[str, str] = field(default_factory=dict)
    columns: dict[str, _Column] = field(default_factory=dict)
    labels: array[int] = field(default_factory=lambda: array("b"))
    clusters: ClusterAccumulator = field(default_factory=ClusterAccumulator)
    lengths: array[float] = field(default_factory=lambda: array("d"))
    precisions: array[float] = field(default_factory=lambda: array("d"))
    overlaps: array[float] = field(default_factory=lambda: array("d"))
    copies: int = 0
    verbatim_copies: int = 0
    blank: int = 0
    truncated: dict[str, int] = field(default_factory=dict)
    windowed: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    cached_failures: int = 0
    router: Router | None = None
    cleared: array[int] = field(default_factory=lambda: array("b"))
    cleared_rows: int = 0
    without_value: int = 0
    inquired: int = 0
    _failed: dict[str, int] = field(default_factory=dict)
    _last_failures: dict[str, tuple[str, str]] = field(default_factory=dict)
    _error_type: type[SgiError] = EmbedderError

    @classmethod
    def of(cls, metrics: Sequence[AnyMetric], cluster: str, *, router: Router | None = None) -> Self:
        """Create an empty accumulator for these metrics, with rows clustered by this rule."""
        categories = {metric.canonical: metric.spec.category for metric in metrics}
        return cls(categories, clusters=ClusterAccumulator(cluster), router=router)

    def __len__(self) -> int:
        return len(self.labels)

    def add(
        self, batch: Batch, batch_scores: BatchScores, error_type: type[SgiError] = EmbedderError
    ) -> None:
        """Add one batch; ``error_type`` is the exception class for its failed rows."""
        from_cache: set[int] = set()
        for name, scores in batch_scores.scores.items():
            self._column(name).add(scores)
            failed = np.flatnonzero(scores.status == Status.FAILED.value)
            self._failed[name] = self._failed.get(name, 0) + len(failed)
            if len(failed):
                self._error_type = error_type
                self._last_failures[name] = scores.reasons[failed[-1]], batch.samples[failed[-1]].id
                from_cache.update(row for row in failed.tolist() if scores.details[row].get(CACHED_REPLY))
        self.cached_failures += len(from_cache)
        self.verbatim_copies += _verbatim_copies(batch_scores)
        for model in batch_scores.failures:
            self.left_out[model] = self.left_out.get(model, 0) + len(batch)
        for name, rows in batch_scores.truncated.items():
            self.truncated[name] = self.truncated.get(name, 0) + rows
        for name, rows in batch_scores.windowed.items():
            self.windowed[name] = self.windowed.get(name, 0) + rows
        for sample in batch.samples:
            self._enter(sample)
        self._enter_words(batch)
        if self.router is not None:
            cleared = self.router.cleared(batch_scores.scores)
            self.cleared.extend(cleared.tolist())
            self.cleared_rows += int(cleared.sum())
            self.without_value += int((~batch_scores.scores[self.router.detector].ok).sum())

    def _column(self, name: str) -> _Column:
        if name not in self.columns:
            self.columns[name] = _Column(self.categories.get(name, ""))
        return self.columns[name]

    def _enter(self, sample: Sample) -> None:
        labelled = sample.label is not None
        self.labels.append(int(bool(sample.label)) if labelled else _UNKNOWN)
        self.clusters.add(sample)
        answered = sample.has(Field.RESPONSE)
        self.lengths.append(len(sample.response) if answered else float("nan"))
        self.blank += answered and not sample.response.strip()
        self.copies += labelled and sample.response in sample.references

    def _enter_words(self, batch: Batch) -> None:
        comparable = [
            bool(sample.label is not None and sample.has(Field.RESPONSE) and sample.contexts)
            for sample in batch.samples
        ]
        texts = [(s.response, s.contexts) for s in compress(batch.samples, comparable)]
        for column, values in (
            (self.precisions, iter(content_word_precisions(texts))),
            (self.overlaps, iter(token_precisions(texts))),
        ):
            column.extend(next(values) if known else float("nan") for known in comparable)

    def column(self, metric: AnyMetric) -> MetricColumn:
        """Return the values and statuses of a metric so far."""
        column, spec = self.columns[metric.canonical], metric.spec
        values, codes = np.array(column.values, dtype=np.float64), np.array(column.codes, dtype=np.int8)
        parts = {name: np.array(has_value, dtype=np.bool_) for name, has_value in column.parts.items()}
        facts = (spec.low, spec.high, spec.higher_is_better)
        return MetricColumn(metric.canonical, values, codes, *facts, unit=spec.unit, parts=parts)

    def classes(self, metric: AnyMetric) -> dict[str, int]:
        """Count rows by class, in the order of the metric; empty for a metric without classes."""
        return metric.spec.in_order(self.columns[metric.canonical].classes)

    def review(self, name: str, version: int) -> ReviewCounts | None:
        """Count the answers that a person should check, by the findings of a metric of this version.

        None for a metric without findings.
        """
        column = self.columns.get(name)
        if column is None or column.category != FINDING:
            return None
        values, labels = np.array(column.values, np.float64), np.array(self.labels, np.int8)
        return column.review.counts(values, labels, version)

    def entailment_uses(self) -> tuple[EntailmentUse, ...]:
        """Return cost and gain of the entailment model of each metric that uses one."""
        labels = np.array(self.labels, dtype=np.int8)
        return tuple(
            column.entailment.use(name, np.array(column.values), labels, self.clusters.numbers)
            for name, column in self.columns.items()
            if column.entailment is not None
        )

    def failures(self, *, fewest_asked: int = 0) -> Failures:
        """Return the failures of the metric with the largest share of failed rows.

        In a cascade, judged metrics count only if at least ``fewest_asked`` rows went to the judge.
        """
        judged = frozenset[str]() if self.router is None else self.router.judged
        judged_rows = len(self) - self.cleared_rows
        by_metric = (
            Failures(
                failed,
                judged_rows if name in judged else len(self),
                name in judged,
                *self._last_failures.get(name, ()),
            )
            for name, failed in self._failed.items()
            if name not in judged or judged_rows >= fewest_asked
        )
        return max(by_metric, key=lambda failures: failures.share, default=Failures())

    def check_failures(self, limit: float, *, fewest_asked: int = 0) -> None:
        """Raise if more than this share of the rows failed; see `failures`.

        Raises:
            EmbedderError, JudgeError, TargetError: the share is larger; the class of the error is the class
                of the last failure.
        """
        failures = self.failures(fewest_asked=fewest_asked)
        if failures.share <= limit:
            return
        rows = pluralize(failures.rows, "row")
        rows = f"{rows} sent to the judge" if failures.judged else f"first {rows}"
        cached = ""
        if self.cached_failures:
            cached = f" {self.cached_failures:,} of them failed from unusable cached replies of the judge."
        message = (
            f"{100 * failures.share:.3g}% of the {rows} failed; the limit is {100 * limit:.3g}%.{cached}"
        )
        hint = "Fix the cause and run again, or raise `max_failures`."
        if self._error_type is JudgeError:
            hint = "Fix the cause and ask the judge again with `retry_failed`, or raise `max_failures`."
        reason = f"row {quote(failures.row)!r}: {failures.reason or 'unknown'}"
        raise self._error_type(f"{message} The last reason: {reason}", hint=hint)


def _verbatim_copies(batch_scores: BatchScores) -> int:
    """Count the rows that some metric marks as a verbatim copy of a passage."""
    rows = {
        row
        for scores in batch_scores.scores.values()
        for row, body in enumerate(scores.details)
        if body.get(VERBATIM_COPY) is True
    }
    return len(rows)
