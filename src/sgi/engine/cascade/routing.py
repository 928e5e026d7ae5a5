"""Screen a batch: score it offline, clear what scores high, and ask the judge about the rest alone."""

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
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.cascade.config import Cascade, Learnt
    from sgi.engine.resources import Tools
    from sgi.kernel.judged_metric import Inquiry
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch


@dataclass(frozen=True, eq=False)
class Screen:
    """Which rows the judge is not asked about.

    Attributes:
        alpha: the share of unsupported rows that may be cleared.
        learnt: the threshold, and what it was made of.
        detector: the canonical string of the metric that clears.
        metrics: all that is scored.
        questions: digests of what the judge was asked: so many calls take an empty cache and no fault.
        turn: one batch at a time is embedded and scored, however many are prepared.
    """

    alpha: float
    learnt: Learnt
    detector: str
    metrics: tuple[AnyMetric, ...]
    questions: set[bytes] = field(default_factory=set)
    turn: anyio.Lock = field(default_factory=anyio.Lock)

    @classmethod
    def of(cls, cascade: Cascade | None, metrics: Sequence[AnyMetric]) -> Screen | None:
        """The screen of a cascade whose threshold is known; none of none."""
        if cascade is None or cascade.learnt is None:
            return None
        return cls(cascade.alpha, cascade.learnt, detector_of(metrics).canonical, tuple(metrics))

    @property
    def judged(self) -> frozenset[str]:
        """The canonical strings of the metrics that ask."""
        return frozenset(metric.canonical for metric in judged(self.metrics))

    @property
    def reason(self) -> str:
        """Why a cleared row has no value."""
        name = self.detector.partition("(")[0]
        above = shown(math.inf if self.learnt.threshold is None else self.learnt.threshold)
        return f"not asked: {name} above {above} clears it (cascade, alpha {self.alpha:g})"

    def cleared(self, scores: Mapping[str, Scores]) -> NDArray[np.bool_]:
        """Which rows of a batch are cleared: those that score more than the threshold, and no others."""
        made = scores[self.detector]
        if self.learnt.threshold is None:
            return np.zeros(len(made), dtype=np.bool_)
        return made.ok & (np.nan_to_num(made.values, nan=-1.0) > self.learnt.threshold)


@dataclass(frozen=True, eq=False)
class Screened:
    """A batch that was screened, and what the judge made of its rows in doubt.

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


async def screen_batch(
    screen: Screen,
    batch: Batch,
    tools: Tools,
    failed: Mapping[int, str],
    on_reply: Callable[[], None] = lambda: None,
) -> Screened:
    """Score what needs no judge, and ask the judge about the rows that this does not clear.

    Args:
        screen: which rows are cleared.
        batch: the rows.
        tools: embedders and judge.
        failed: rows that cannot be scored, with the reason; nothing clears them.
        on_reply: is called once for each row and judged metric that is done with.

    Raises:
        UsageError: there is no judge.
    """
    asking = judged(screen.metrics)
    offline = [metric for metric in screen.metrics if metric.canonical not in screen.judged]
    async with screen.turn:
        made = await evaluate_batch(batch, offline, tools, failed)
    cleared = screen.cleared(made.scores)
    doubtful = np.flatnonzero(~cleared)
    for metric in asking:
        for _ in range(int((batch.present(metric.spec.needs) & cleared).sum())):
            on_reply()
    counted = None if tools.judge is None else _Counted(tools.judge, screen.questions)
    rest = batch.take(doubtful)
    asked = await ask_batch(rest, asking, counted, _renumbered(failed, doubtful), on_reply)
    usable = np.zeros(len(rest), dtype=np.bool_)
    for metric in asking:
        usable |= rest.present(metric.spec.needs)
    usable[list(_renumbered(failed, doubtful))] = False
    return Screened(made, cleared, asked, int(usable.sum()))


async def score_screened(
    screen: Screen, batch: Batch, tools: Tools, failed: Mapping[int, str], screened: Screened
) -> BatchScores:
    """The scores of all metrics: judged ones have none where a row was cleared, and say so.

    Args:
        screen: as for `screen_batch`.
        batch: likewise.
        tools: likewise.
        failed: likewise.
        screened: what it gave.
    """
    asking = judged(screen.metrics)
    doubtful = screened.doubtful
    rest = batch.take(doubtful)
    tools = replace(tools, judge=None)
    async with screen.turn:
        made = await evaluate_batch(rest, asking, tools, _renumbered(failed, doubtful), screened.asked)
    rows = np.flatnonzero(screened.cleared)
    scores = dict(screened.offline.scores)
    for metric in asking:
        passed = _unasked(metric, batch, rows, screen)
        scores[metric.canonical] = Scores.assemble(
            len(batch), [(doubtful, made.scores[metric.canonical]), *passed]
        )
    offline = screened.offline
    return BatchScores(
        {metric.canonical: scores[metric.canonical] for metric in screen.metrics},
        # one row may be cut for both: the greater count is sure, the sum is not
        {
            name: max(offline.truncated.get(name, 0), made.truncated.get(name, 0))
            for name in {**offline.truncated, **made.truncated}
        },
        {**offline.failures, **made.failures},
        {name: _spread(found, doubtful, len(batch)) for name, found in made.evidence.items()},
    )


def _unasked(
    metric: AnyMetric, batch: Batch, rows: NDArray[np.int64], screen: Screen
) -> list[tuple[NDArray[np.int64], Scores]]:
    """The scores of cleared rows: undefined where the judge could have been asked, else missing as ever."""
    if not len(rows):
        return []
    present = batch.present(metric.spec.needs)[rows]
    able, lacking = rows[present], rows[~present]
    told = [batch.samples[row].lacking(metric.spec.needs) for row in lacking.tolist()]
    return [
        (able, Scores.without_value(Status.UNDEFINED, [screen.reason] * len(able))),
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
