"""Rows of one caller that are scored together."""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgi.engine.judge_batch import BatchJudgements
from sgi.kernel.judged_metric import judged_metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    import anyio

    from sgi.engine.score import BatchScores
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Embedder
    from sgi.kernel.sample import Sample


@dataclass(eq=False)
class ScoringJob:
    """Rows that are scored together, at most one batch.

    Attributes:
        embedders: the embedders to use instead of the open ones; None for the open ones.
        scores: the future of their scores; the caller may cancel it.
        asking: the cancel scope of the requests to the judge; None before them.
        limited: whether the limit of waiting rows applies.
        at_judge: whether the rows wait for the judge.
    """

    samples: tuple[Sample, ...]
    metrics: tuple[AnyMetric, ...]
    limited: bool
    embedders: Mapping[str, Embedder] | None = None
    scores: Future[BatchScores] = field(default_factory=Future)
    asking: anyio.CancelScope | None = None
    judgements: BatchJudgements = field(default_factory=BatchJudgements)
    at_judge: bool = field(init=False)
    waiting: bool = True

    def __post_init__(self) -> None:
        self.at_judge = bool(judged_metrics(self.metrics))

    def finish(self, scores: BatchScores) -> None:
        """Set the scores, unless the caller was cancelled."""
        with suppress(InvalidStateError):
            self.scores.set_result(scores)

    def fail(self, error: Exception) -> None:
        """Set the error, unless the caller was cancelled."""
        fail(self.scores, error)

    def stop_asking(self) -> None:
        """Abort the requests to the judge."""
        if self.asking is not None:
            self.asking.cancel()


def fail(call: Future[Any], error: Exception) -> None:
    """Set the error of a call, unless the caller was cancelled or has a result."""
    with suppress(InvalidStateError):
        call.set_exception(error)
