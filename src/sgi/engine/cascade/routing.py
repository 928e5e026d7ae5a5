"""Router a batch: score it offline, clear what scores high, and ask the judge about the rest alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
import numpy as np

from sgi.engine.cascade.config import detector_of, shown
from sgi.engine.judge_batch import Asked, ask_batch, judged
from sgi.engine.score import BatchScores, evaluate_batch
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric_name
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.cascade.config import Cascade, FittedThreshold
    from sgi.engine.resources import Resources
    from sgi.kernel.judged_metric import Inquiry
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch


@dataclass(frozen=True, eq=False)
class Router:
    """Which rows the judge is not asked about.

    Attributes:
        alpha: the share of unsupported rows that may be cleared.
        fitted: the threshold, and what it was made of.
        detector: the canonical string of the metric that clears.
        metrics: all that is scored.
        questions: digests of what the judge was asked: so many calls take an empty cache and no fault.
        turn: one batch at a time is embedded and scored, however many are prepared.
    """

    alpha: float
    fitted: FittedThreshold
    detector: str
    metrics: tuple[AnyMetric, ...]
    questions: set[bytes] = field(default_factory=set)
    turn: anyio.Lock = field(default_factory=anyio.Lock)

    @classmethod
    def of(cls, cascade: Cascade | None, metrics: Sequence[AnyMetric]) -> Router | None:
        """The router of a cascade whose threshold is known; none of none."""
        if cascade is None or cascade.fitted is None:
            return None
        return cls(cascade.alpha, cascade.fitted, detector_of(metrics).canonical, tuple(metrics))

    @property
    def judged(self) -> frozenset[str]:
        """The canonical strings of the metrics that ask."""
        return frozenset(metric.canonical for metric in judged(self.metrics))

    @property
    def reason(self) -> str:
        """Why a cleared row has no value."""
        name = metric_name(self.detector)
        above = shown(math.inf if self.fitted.threshold is None else self.fitted.threshold)
        return f"not asked: {name} above {above} clears it (cascade, alpha {self.alpha:g})"

    def cleared(self, scores: Mapping[str, Scores]) -> NDArray[np.bool_]:
        """Which rows of a batch are cleared: those that score more than the threshold, and no others."""
        made = scores[self.detector]
        if self.fitted.threshold is None:
            return np.zeros(len(made), dtype=np.bool_)
        return made.ok & (np.nan_to_num(made.values, nan=-1.0) > self.fitted.threshold)


@dataclass(frozen=True, eq=False)
class RoutedBatch:
    """A batch that was routed, and what the judge made of its rows in doubt.

    Attributes:
        offline: what the metrics gave that ask no judge.
        cleared: which rows the judge was not asked about, shape (n,).
        asked: what it made of the others, in their order.
        inquired: rows that it was asked anything about.
    """

    offline: BatchScores
    cleared: NDArray[np.bool_]
    asked: Asked
    inquired: int

    @property
    def doubtful(self) -> NDArray[np.int64]:
        """The rows that are not cleared."""
        return np.flatnonzero(~self.cleared)


async def route_batch(
    router: Router,
    batch: Batch,
    resources: Resources,
    failed: Mapping[int, str],
    on_reply: Callable[[], None] = lambda: None,
) -> RoutedBatch:
    """Score what needs no judge, and ask the judge about the rows that this does not clear.

    Args:
        router: which rows are cleared.
        batch: the rows.
        resources: embedders and judge.
        failed: rows that cannot be scored, with the reason; nothing clears them.
        on_reply: is called once for each row and judged metric that is done with.

    Raises:
        UsageError: there is no judge.
    """
    asking = judged(router.metrics)
    offline = [metric for metric in router.metrics if metric.canonical not in router.judged]
    async with router.turn:
        made = await evaluate_batch(batch, offline, resources, failed)
    cleared = router.cleared(made.scores)
    doubtful = np.flatnonzero(~cleared)
    for metric in asking:
        for _ in range(int((batch.present(metric.spec.needs) & cleared).sum())):
            on_reply()
    counted = None if resources.judge is None else _Counted(resources.judge, router.questions)
    rest = batch.take(doubtful)
    asked = await ask_batch(rest, asking, counted, _renumbered(failed, doubtful), on_reply)
    usable = np.zeros(len(rest), dtype=np.bool_)
    for metric in asking:
        usable |= rest.present(metric.spec.needs)
    usable[list(_renumbered(failed, doubtful))] = False
    return RoutedBatch(made, cleared, asked, int(usable.sum()))


async def score_routed(
    router: Router, batch: Batch, resources: Resources, failed: Mapping[int, str], routed: RoutedBatch
) -> BatchScores:
    """The scores of all metrics: judged ones have none where a row was cleared, and say so.

    Args:
        router: as for `route_batch`.
        batch: likewise.
        resources: likewise.
        failed: likewise.
        routed: what it gave.
    """
    asking = judged(router.metrics)
    doubtful = routed.doubtful
    rest = batch.take(doubtful)
    resources = replace(resources, judge=None)
    async with router.turn:
        made = await evaluate_batch(rest, asking, resources, _renumbered(failed, doubtful), routed.asked)
    rows = np.flatnonzero(routed.cleared)
    scores = dict(routed.offline.scores)
    for metric in asking:
        passed = _unasked(metric, batch, rows, router)
        scores[metric.canonical] = Scores.assemble(
            len(batch), [(doubtful, made.scores[metric.canonical]), *passed]
        )
    offline = routed.offline
    return BatchScores(
        {metric.canonical: scores[metric.canonical] for metric in router.metrics},
        # one row may be cut for both: the greater count is sure, the sum is not
        {
            name: max(offline.truncated.get(name, 0), made.truncated.get(name, 0))
            for name in {**offline.truncated, **made.truncated}
        },
        {**offline.failures, **made.failures},
        {name: _spread(found, doubtful, len(batch)) for name, found in made.evidence.items()},
    )


def _unasked(
    metric: AnyMetric, batch: Batch, rows: NDArray[np.int64], router: Router
) -> list[tuple[NDArray[np.int64], Scores]]:
    """The scores of cleared rows: undefined where the judge could have been asked, else missing as ever."""
    if not len(rows):
        return []
    present = batch.present(metric.spec.needs)[rows]
    able, lacking = rows[present], rows[~present]
    told = [batch.samples[row].lacking(metric.spec.needs) for row in lacking.tolist()]
    return [
        (able, Scores.without_value(Status.UNDEFINED, [router.reason] * len(able))),
        (lacking, Scores.without_value(Status.MISSING, told)),
    ]


def _renumbered(failed: Mapping[int, str], rows: NDArray[np.int64]) -> dict[int, str]:
    """The failed rows by their place among these."""
    places = {row: place for place, row in enumerate(rows.tolist())}
    return {places[row]: reason for row, reason in failed.items()}


def _spread(found: Sequence[Any], rows: NDArray[np.int64], n: int) -> tuple[Any, ...]:
    """What belongs to these rows of ``n``; None elsewhere."""
    spread: list[Any] = [None] * n
    for row, body in zip(rows.tolist(), found, strict=True):
        spread[row] = body
    return tuple(spread)


class _Counted:
    """A judge that notes the different questions it is asked."""

    def __init__(self, judge: Judge, questions: set[bytes]) -> None:
        self._judge, self._questions = judge, questions
        self.fingerprint, self.budget = judge.fingerprint, judge.budget

    async def ask(self, inquiry: Inquiry, schema: type[Any], /) -> Any:
        text = inquiry.text.encode("utf-8", "surrogatepass")
        self._questions.add(digest(inquiry.prompt.digest.encode(), text, size=8))
        return await self._judge.ask(inquiry, schema)
