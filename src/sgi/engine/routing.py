"""Fits the threshold of a cascade, and routes the rows: only doubtful rows go to the judge."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import anyio
import numpy as np

from sgi.engine.cascade import FittedThreshold, detector_of, format_threshold
from sgi.engine.judge_batch import BatchJudgements, ask_batch
from sgi.engine.plan import batches
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.score import BatchScores, evaluate_batch
from sgi.io.dataset import open_dataset
from sgi.kernel.clusters import BY_QUESTION, BY_ROW
from sgi.kernel.errors import EmbedderError, UsageError
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric_name
from sgi.kernel.signature import digest
from sgi.stats.conformal import clearing_threshold, one_row_per_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.cascade import Cascade
    from sgi.engine.progress import Listener
    from sgi.engine.resources import Resources
    from sgi.io.readers import Dataset
    from sgi.io.rows import RejectedRow
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample


@dataclass(frozen=True, eq=False)
class Router:
    """Decides which rows go to the judge.

    Attributes:
        alpha: the largest share of unsupported rows that may be cleared (accepted as supported without asking
            the judge), in (0, 1).
        fitted: the threshold, and the rows that it was fitted on.
        detector: the canonical string of the metric whose scores clear rows.
        questions: digests of the distinct requests to the judge; their number is that of calls with an empty
            cache.
        turn: a lock, so that one batch at a time is embedded and scored.
    """

    alpha: float
    fitted: FittedThreshold
    detector: str
    metrics: tuple[AnyMetric, ...]
    questions: set[bytes] = field(default_factory=set)
    turn: anyio.Lock = field(default_factory=anyio.Lock)

    @classmethod
    def of(cls, cascade: Cascade, metrics: Sequence[AnyMetric]) -> Router | None:
        """Return the router of a cascade; None if its threshold is not fitted."""
        if cascade.fitted is None:
            return None
        return cls(cascade.alpha, cascade.fitted, detector_of(metrics).canonical, tuple(metrics))

    @property
    def judged(self) -> frozenset[str]:
        """The canonical strings of the judged metrics."""
        return frozenset(metric.canonical for metric in judged_metrics(self.metrics))

    @property
    def reason(self) -> str:
        """The reason why a judged metric has no value for a cleared row."""
        name = metric_name(self.detector)
        above = format_threshold(math.inf if self.fitted.threshold is None else self.fitted.threshold)
        return f"not judged: {name} is above {above} (cascade, alpha {self.alpha:g})"

    def cleared(self, scores: Mapping[str, Scores]) -> NDArray[np.bool_]:
        """Return a mask of the rows of a batch that score above the threshold, shape (n,)."""
        detector_scores = scores[self.detector]
        if self.fitted.threshold is None:
            return np.zeros(len(detector_scores), dtype=np.bool_)
        return detector_scores.ok & (np.nan_to_num(detector_scores.values, nan=-1.0) > self.fitted.threshold)


@dataclass(frozen=True, eq=False)
class RoutedBatch:
    """A routed batch, with the judgements of its doubtful rows.

    Attributes:
        offline: scores of the metrics that need no judge.
        cleared: mask of the rows that do not go to the judge, shape (n,).
        judgements: the judgements of the other rows, in order.
        inquired: the number of rows that went to the judge.
    """

    offline: BatchScores
    cleared: NDArray[np.bool_]
    judgements: BatchJudgements
    inquired: int

    @property
    def doubtful(self) -> NDArray[np.int64]:
        """The indices of the rows that are not cleared."""
        return np.flatnonzero(~self.cleared)


async def route_batch(
    router: Router,
    batch: Batch,
    resources: Resources,
    failed: Mapping[int, str],
    on_reply: Callable[[], None] = lambda: None,
) -> RoutedBatch:
    """Score the offline metrics, and send the rows that are not cleared to the judge.

    Rows in ``failed`` are never cleared. ``on_reply`` is called once for each finished row and judged metric.
    """
    asking = judged_metrics(router.metrics)
    offline = [metric for metric in router.metrics if metric.canonical not in router.judged]
    async with router.turn:
        batch_scores = await evaluate_batch(batch, offline, resources, failed)
    cleared = router.cleared(batch_scores.scores)
    doubtful = np.flatnonzero(~cleared)
    for metric in asking:
        for _ in range(int((batch.present(metric.spec.needs) & cleared).sum())):
            on_reply()
    counted = None if resources.judge is None else _CountingJudge(resources.judge, router.questions)
    rest = batch.take(doubtful)
    judgements = await ask_batch(rest, asking, counted, _renumber(failed, doubtful), on_reply)
    usable = np.zeros(len(rest), dtype=np.bool_)
    for metric in asking:
        usable |= rest.present(metric.spec.needs)
    usable[list(_renumber(failed, doubtful))] = False
    return RoutedBatch(batch_scores, cleared, judgements, int(usable.sum()))


async def score_routed(
    router: Router, batch: Batch, resources: Resources, failed: Mapping[int, str], routed: RoutedBatch
) -> BatchScores:
    """Return the scores of all metrics; judged metrics have no value for cleared rows, with a reason."""
    asking = judged_metrics(router.metrics)
    doubtful = routed.doubtful
    rest = batch.take(doubtful)
    resources = replace(resources, judge=None)
    async with router.turn:
        batch_scores = await evaluate_batch(
            rest, asking, resources, _renumber(failed, doubtful), routed.judgements
        )
    rows = np.flatnonzero(routed.cleared)
    scores = dict(routed.offline.scores)
    for metric in asking:
        passed = _cleared_scores(metric, batch, rows, router)
        scores[metric.canonical] = Scores.assemble(
            len(batch), [(doubtful, batch_scores.scores[metric.canonical]), *passed]
        )
    offline = routed.offline
    return BatchScores(
        {metric.canonical: scores[metric.canonical] for metric in router.metrics},
        _greater_counts(offline.truncated, batch_scores.truncated),
        {**offline.failures, **batch_scores.failures},
        {name: _scatter(rows, doubtful, len(batch)) for name, rows in batch_scores.evidence.items()},
        windowed=_greater_counts(offline.windowed, batch_scores.windowed),
    )


def _greater_counts(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return the greater of two counts of rows: a row may be in both, so only that is certain."""
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _cleared_scores(
    metric: AnyMetric, batch: Batch, rows: NDArray[np.int64], router: Router
) -> list[tuple[NDArray[np.int64], Scores]]:
    """Return the scores of cleared rows: undefined, or missing if a needed field is absent."""
    if not len(rows):
        return []
    present = batch.present(metric.spec.needs)[rows]
    able, lacking = rows[present], rows[~present]
    reasons = [batch.samples[row].missing_reason(metric.spec.needs) for row in lacking.tolist()]
    return [
        (able, Scores.without_value(Status.UNDEFINED, [router.reason] * len(able))),
        (lacking, Scores.without_value(Status.MISSING, reasons)),
    ]


def _renumber(failed: Mapping[int, str], rows: NDArray[np.int64]) -> dict[int, str]:
    """Number the failed rows by their position among ``rows``."""
    places = {row: place for place, row in enumerate(rows.tolist())}
    return {places[row]: reason for row, reason in failed.items()}


def _scatter(values: Sequence[Any], rows: NDArray[np.int64], n: int) -> tuple[Any, ...]:
    """Return a list of length ``n`` with the values at these rows, and None at the others."""
    spread: list[Any] = [None] * n
    for row, body in zip(rows.tolist(), values, strict=True):
        spread[row] = body
    return tuple(spread)


class _CountingJudge:
    def __init__(self, judge: Judge, questions: set[bytes]) -> None:
        self._judge, self._questions = judge, questions
        self.fingerprint, self.budget = judge.fingerprint, judge.budget

    async def ask(self, inquiry: Inquiry, schema: type[Any], /) -> Any:
        text = inquiry.text.encode("utf-8", "surrogatepass")
        self._questions.add(digest(inquiry.prompt.digest.encode(), text, size=8))
        return await self._judge.ask(inquiry, schema)


_HINT = "Give each row that people have checked a label (1 supported, 0 not), or write labelled=FILE."


async def fit_threshold(
    cascade: Cascade,
    detector: AnyMetric,
    resources: Resources,
    dataset: Dataset,
    *,
    columns: Mapping[str, str] | None = None,
    own_answers: bool = True,
    cluster: str = BY_QUESTION,
    on_reject: Callable[[RejectedRow], None] | None = None,
    listener: Listener = silent,
) -> Cascade:
    """Fit the threshold of the cascade on labelled rows.

    The threshold is the ⌊(n + 1)·alpha⌋-th largest score of n unsupported labelled rows, one for each
    question. A new exchangeable unsupported row has a larger score, and is cleared, with probability at most
    alpha. With fewer than 1/alpha − 1 rows nothing is cleared. Rows without a value are left out.

    Args:
        cascade: alpha, and the file of labelled rows.
        detector: the metric that scores the rows.
        resources: the open models of the detector.
        dataset: the rows that will be scored.
        columns: field → column, also for the file of labelled rows.
        own_answers: whether the labels of the data are for the answers that will be scored.
        cluster: the rule by which rows form clusters; one row of each counts.
        on_reject: called with each unreadable row of the data; one in the labelled file is an error.
        listener: takes progress events.

    Raises:
        UsageError: no row has a label, or the labels belong to other answers.
        DataError: a labelled row cannot be read.
        EmbedderError: a labelled row failed.
    """
    own = cascade.labelled is None
    if own and not own_answers:
        hint = "Write alpha=A,labelled=FILE, where FILE has checked answers of the target."
        raise UsageError(
            "The labels of the data do not belong to the answers that the target will generate.",
            hint=hint,
        )
    source = dataset if cascade.labelled is None else open_dataset(cascade.labelled, columns=columns)
    rows = _LabelledRows(source.samples(on_reject=on_reject if own else None), cluster)
    scores, clusters = await _score_labelled(rows, detector, resources, listener)
    if not rows.labelled:
        raise UsageError(f"No row of {source.name} has a label, and a cascade needs labels.", hint=_HINT)
    chosen = one_row_per_cluster(clusters)
    number = clearing_threshold([scores[row] for row in chosen], cascade.alpha)
    threshold = FittedThreshold(
        threshold=None if math.isinf(number) else number,
        unsupported=len(chosen),
        candidates=len(set(rows.clusters)),
        labelled=rows.labelled,
        apart=not own
        and own_answers
        and _is_disjoint(dataset.samples(on_reject=on_reject), rows.known, cluster),
    )
    return cascade.model_copy(update={"fitted": threshold})


async def _score_labelled(
    rows: _LabelledRows, detector: AnyMetric, resources: Resources, listener: Listener
) -> tuple[list[float], list[int]]:
    """Return the scores of the unsupported rows with a value, and their clusters; raises if a row failed."""
    scores: list[float] = []
    clusters: list[int] = []
    start = 0
    listener(Started("learning", None))
    for batch in batches(rows.unsupported()):
        detector_scores = (await evaluate_batch(batch, [detector], resources)).scores[detector.canonical]
        for place in np.flatnonzero(detector_scores.status == Status.FAILED.value)[:1].tolist():
            raise _failed_row_error(batch.ids[place], detector, detector_scores.reasons[place])
        scores += detector_scores.values[detector_scores.ok].tolist()
        clusters += compress(rows.clusters[start : start + len(batch)], detector_scores.ok)
        start += len(batch)
        listener(Advanced(len(batch)))
    listener(Finished("learning"))
    return scores, clusters


def _failed_row_error(name: str, detector: AnyMetric, reason: str) -> EmbedderError:
    message = (
        f"The cascade has no threshold: {detector.canonical} failed on the labelled row {name}: {reason}"
    )
    hint = "Fix the cause and run again. Remove the label of a row that can never be scored."
    return EmbedderError(message, hint=hint)


def _is_disjoint(samples: Iterator[Sample], known: set[int], cluster: str) -> bool:
    """Return whether no sample shares its cluster or its passages with a labelled row."""
    return all(known.isdisjoint(_marks(sample, position, cluster)) for position, sample in enumerate(samples))


def _marks(sample: Sample, position: int, cluster: str) -> set[int]:
    """Return the keys by which rows are compared: cluster and passages."""
    marks = {sample.cluster(position, BY_QUESTION if cluster == BY_ROW else cluster)}
    if any(text.strip() for text in sample.contexts):
        parts = (text.encode("utf-8", "surrogatepass") for text in sorted(sample.contexts))
        marks.add(int.from_bytes(digest(*parts, size=8), "big", signed=True))
    return marks


class _LabelledRows:
    """Reads labelled rows, and collects their number, marks, and the clusters of unsupported rows."""

    def __init__(self, samples: Iterator[Sample], cluster: str) -> None:
        self._samples = samples
        self._cluster = cluster
        self.labelled = 0
        self.known: set[int] = set()
        self.clusters: list[int] = []

    def unsupported(self) -> Iterator[Sample]:
        for position, sample in enumerate(self._samples):
            if sample.label is None:
                continue
            self.labelled += 1
            self.known |= _marks(sample, position, self._cluster)
            if not sample.label:
                self.clusters.append(sample.cluster(position, self._cluster))
                yield sample
