"""The worker of a run on a cluster: opens the resources once, and scores one batch after another."""

from __future__ import annotations

import atexit
import pickle
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from traceback import format_exc
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal

from sgi.engine.judge_batch import ask_batch
from sgi.engine.open_resources import open_resources
from sgi.engine.plan import batch_digest
from sgi.engine.score import BatchScores, evaluate_batch
from sgi.kernel.errors import EmbedderError, JudgeError, SgiError, UsageError
from sgi.kernel.protocols import usage_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.from_thread import BlockingPortal

    from sgi.engine.resources import Resources
    from sgi.engine.run_options import RunOptions
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Batch
    from sgi.kernel.tokens import TokenFrequencies, TokenModel
    from sgi.llm.judge_spec import JudgeSpec


@dataclass(frozen=True)
class ScoredBatch:
    """The scores of a batch, and what the store keeps beside them.

    Attributes:
        digest: the hash of the samples that were scored.
        judgements: one for each row as JSON (None without one), by the metric's canonical string.
        usage: the fields of `Usage` for this batch, by the judge's fingerprint.
        error_type: the exception class for the failed rows.
    """

    digest: bytes
    scores: BatchScores
    judgements: Mapping[str, Sequence[Mapping[str, Any] | None]]
    usage: Mapping[str, Mapping[str, Any]]
    error_type: type[SgiError] = EmbedderError


@dataclass(frozen=True)
class Worker:
    """Scores pickled batches; ``frequencies`` are as in `Resources`."""

    metrics: Sequence[AnyMetric]
    options: RunOptions
    frequencies: Mapping[TokenModel, TokenFrequencies]
    _exit_stack: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def _opened(self) -> tuple[BlockingPortal, Resources]:
        atexit.register(self.close)  # closing waits for a thread, which is gone once the interpreter ends
        portal = self._exit_stack.enter_context(start_blocking_portal())
        opening = portal.wrap_async_context_manager(open_resources(self.metrics, self.options))
        resources = self._exit_stack.enter_context(opening)
        return portal, replace(resources, frequencies=self.frequencies)

    def score(self, item: bytes, /) -> bytes:
        """Score a pickled batch; returns a pickled `ScoredBatch`, or the exception that ends the run."""
        try:
            portal, resources = self._opened
            return pickle.dumps(portal.call(self._score, unpickle(item), resources))
        except SgiError as error:
            return pickle.dumps(error)
        except Exception:  # noqa: BLE001 - the driver raises it; other classes may not survive pickling
            return pickle.dumps(RuntimeError(format_exc()))

    async def _score(self, batch: Batch, resources: Resources) -> ScoredBatch:
        judge, before = resources.judge, usage_of(resources.judge)
        asked = await ask_batch(batch, self.metrics, judge, {})
        scores = await evaluate_batch(batch, self.metrics, resources, {}, asked)
        judgements = {
            name: [None if row is None else row.model_dump(mode="json") for row in rows]
            for name, rows in scores.evidence.items()
        }
        usage = {} if judge is None else {judge.fingerprint: asdict(usage_of(judge).since(before))}
        error_type = JudgeError if any(asked.failures.values()) else EmbedderError
        return ScoredBatch(batch_digest(batch), replace(scores, evidence={}), judgements, usage, error_type)

    def close(self) -> None:
        """Close all resources."""
        self._exit_stack.close()


def unpickle(item: bytes) -> Any:
    """Return what another process of the run pickled; an exception is raised."""
    value = pickle.loads(item)  # noqa: S301 - Ray itself sends pickles between these processes
    if isinstance(value, Exception):
        raise value
    return value


def share_judge(judge: JudgeSpec, workers: int) -> JudgeSpec:
    """Divide the limits of the judge among the workers.

    A worker counts only its own requests. A worker that replaces a dead one starts its share of ``max_cost``
    again, so ``max_cost`` limits only the cost between such events. Raises UsageError if there are more
    workers than concurrent requests.

    >>> from sgi.llm.judge_spec import JudgeSpec
    >>> share_judge(JudgeSpec(model="openai:m", concurrency=16, rpm=90), 3).rpm
    30.0
    """
    if judge.batch:
        raise UsageError(
            "A run on a cluster does not support batches of judge requests.",
            hint="Leave out Ray, or the batches.",
        )
    if judge.concurrency < workers:
        hint = f"Name at most {judge.concurrency} workers, or raise the judge's `concurrency`."
        raise UsageError(f"{workers} workers cannot share {judge.concurrency} requests at once.", hint=hint)
    limits = {name: getattr(judge, name) for name in ("rpm", "tpm", "max_cost")}
    shares = {name: limit / workers for name, limit in limits.items() if limit is not None}
    return judge.model_copy(update={"concurrency": judge.concurrency // workers, **shares})
