"""A thread that scores the rows of many callers: it joins rows into batches, and asks the judge."""

from __future__ import annotations

import asyncio
import atexit
import os
from collections import Counter, deque
from concurrent.futures import Future, InvalidStateError
from contextlib import nullcontext, suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from threading import RLock, Thread, current_thread
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import anyio
import anyio.to_thread

from sgi.engine.in_thread import blocking_calls, first_error
from sgi.engine.judge_batch import BatchJudgements, ask_batch
from sgi.engine.model_wrappers import BudgetAsFailure
from sgi.engine.open_resources import open_resources
from sgi.engine.plan import BATCH_SIZE, batches
from sgi.engine.score import BatchScores, evaluate_batch
from sgi.kernel.errors import EmbedderError, ScorerBusyError, ScorerClosedError
from sgi.kernel.protocols import Embedder, encode
from sgi.kernel.sample import Batch
from sgi.models.cached_embedder import CachedEmbedder
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.service.scoring_job import ScoringJob, fail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sgi.engine.resources import Resources
    from sgi.engine.run_options import RunOptions
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample

_BATCHES_PER_CALL = 2
"""The maximum number of batches of one call that wait or are scored at the same time."""
_RETRY_SECONDS = 5.0
_OPENING = "The models are being opened."


class Dispatcher:
    """Scores jobs in a thread with its own event loop, which also opens and closes the models and the judge.

    Jobs that arrive while a batch is computed form the next batch, so no job waits for a batch to fill. Jobs
    with the same metrics are scored together; scores do not depend on the other rows. Requests to the judge
    run meanwhile: a job joins a batch when the judge has replied about its rows.

    Args:
        metrics: the metrics for which models and judge are opened.
        options: which models and judge to open.
        prepare: receives the open resources, and returns the resources to use, or raises an error.
        max_waiting: the maximum number of rows that wait for a batch, and of rows that wait for the judge.

    Raises:
        SgiError: the resources cannot be opened.
    """

    def __init__(
        self,
        metrics: Sequence[AnyMetric],
        options: RunOptions,
        prepare: Callable[[Resources], Resources],
        max_waiting: int,
    ) -> None:
        self.batch_sizes: Counter[int] = Counter()
        self.trouble = _OPENING
        self._max_waiting = max_waiting
        self._pid = os.getpid()
        self._lock = RLock()  # the garbage collector may call `close` in a thread that holds it
        self._calls: set[Future[Any]] = set()
        self._waiting = {False: 0, True: 0}  # rows that wait for a batch, and for the judge
        self._queue: deque[ScoringJob] = deque()
        self._closed = False
        opened: Future[Resources] = Future()
        work = partial(self._run, metrics, options, prepare, opened)
        self._thread = Thread(target=anyio.run, args=(work,), name="sgi.Scorer", daemon=True)
        self._thread.start()
        self.resources = opened.result()
        _RUNNING.add(self)

    @property
    def waiting(self) -> int:
        """The number of rows that wait for a batch."""
        return self._waiting[False]

    def submit(
        self,
        samples: Sequence[Sample],
        metrics: Sequence[AnyMetric],
        embedders: Mapping[str, Embedder] | None = None,
    ) -> Future[BatchScores]:
        """Return the future of the scores of at most one batch; cancelling it removes the rows.

        Raises:
            ScorerBusyError: too many rows are waiting.
            ScorerClosedError: the dispatcher is closed.
        """
        job = ScoringJob(tuple(samples), tuple(metrics), limited=True, embedders=embedders)
        with self._lock:
            self._require_open()
            waiting = self._waiting[job.at_judge]
            if waiting + len(samples) > self._max_waiting:
                message = f"{waiting} rows are waiting to be scored; the limit is {self._max_waiting}."
                raise ScorerBusyError(message, hint="Try again in a moment.")
            self._admit(job)
        self._call_soon(self._accept, job)  # without the lock, which the thread needs at once
        return job.scores

    def submit_all(
        self, samples: Sequence[Sample], metrics: Sequence[AnyMetric]
    ) -> Future[list[BatchScores]]:
        """Return the future of the scores of any number of rows, in consecutive parts; no limit applies.

        Raises:
            ScorerClosedError: the dispatcher is closed.
        """
        scores: Future[list[BatchScores]] = Future()
        with self._lock:
            self._require_open()
            self._register(scores)
            self._call_soon(self._start, partial(self._score_all, samples, tuple(metrics), scores))
        return scores

    def close(self) -> None:
        """Accept no more rows, finish the current batch and reject waiting rows; does not wait."""
        if self._pid != os.getpid():  # the thread is in the parent process
            return
        with self._lock:
            if not self._closed:
                self._closed, self.trouble = True, ScorerClosedError().message
                self._call_soon(self._arrived.set)

    def join(self) -> None:
        """Wait until the thread has ended."""
        if self._thread is not current_thread():
            self._thread.join()

    def warm(self) -> Future[None]:
        """Compute one vector with each model in the background, again after a failure; see ``trouble``."""
        ready: Future[None] = Future()
        with self._lock:
            self._require_open()
            self._register(ready)
            self._call_soon(self._start, self._warm, ready)
        return ready

    def _require_open(self) -> None:
        if self._closed:
            raise ScorerClosedError

    def _call_soon(self, call: Callable[..., object], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call, *arguments, context=self._context)

    def _register(self, call: Future[Any]) -> None:
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    def _admit(self, job: ScoringJob) -> None:
        self._register(job.scores)
        self._count(job, 1)
        job.scores.add_done_callback(lambda _: self._forget(job))

    def _forget(self, job: ScoringJob) -> None:
        with self._lock:
            self._stop_waiting(job)
        if job.at_judge:
            self._call_soon(job.stop_asking)

    def _count(self, job: ScoringJob, sign: int) -> None:
        self._waiting[job.at_judge] += sign * len(job.samples) * job.limited

    def _stop_waiting(self, job: ScoringJob) -> None:
        if job.waiting:
            job.waiting = False
            self._count(job, -1)

    async def _run(
        self,
        metrics: Sequence[AnyMetric],
        options: RunOptions,
        prepare: Callable[[Resources], Resources],
        opened: Future[Resources],
    ) -> None:
        self._loop, self._arrived = asyncio.get_running_loop(), asyncio.Event()
        self._context = copy_context()  # that of the callers does not know this event loop
        try:
            async with open_resources(metrics, options) as resources, anyio.create_task_group() as group:
                judge = None if resources.judge is None else BudgetAsFailure(resources.judge)
                self._start = group.start_soon
                self.resources = prepare(replace(resources, judge=judge))
                opened.set_result(self.resources)
                while not self._closed:
                    await self._score_next()
                group.cancel_scope.cancel()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(first_error(error) if isinstance(error, BaseExceptionGroup) else error)
        finally:
            with self._lock:
                self._closed, self.trouble = True, ScorerClosedError().message
                calls = [*self._calls]
            for call in calls:
                fail(call, ScorerClosedError())

    def _accept(self, job: ScoringJob) -> None:
        if job.at_judge:
            self._start(self._ask, job)
        else:
            self._queue.append(job)
            self._arrived.set()

    async def _ask(self, job: ScoringJob) -> None:
        with anyio.CancelScope() as job.asking:
            if job.scores.done():
                return
            try:
                job.judgements = await ask_batch(Batch(job.samples), job.metrics, self.resources.judge, {})
            except Exception as error:  # noqa: BLE001 - each caller gets its own error
                job.fail(error)
                return
            with self._lock:
                self._count(job, -job.waiting)
                job.at_judge = False
                self._count(job, +job.waiting)
            self._accept(job)

    async def _score_all(
        self, samples: Sequence[Sample], metrics: tuple[AnyMetric, ...], scores: Future[list[BatchScores]]
    ) -> None:
        scored: list[BatchScores] = []
        jobs: deque[ScoringJob] = deque()
        with anyio.CancelScope() as scope:
            scores.add_done_callback(lambda _: self._call_soon(scope.cancel))
            try:
                for batch in batches(samples):
                    jobs.append(ScoringJob(batch.samples, metrics, limited=False))
                    self._admit(jobs[-1])
                    self._accept(jobs[-1])
                    if len(jobs) == _BATCHES_PER_CALL:
                        scored.append(await asyncio.wrap_future(jobs.popleft().scores))
                while jobs:
                    scored.append(await asyncio.wrap_future(jobs.popleft().scores))
            except Exception as error:  # noqa: BLE001 - as above
                fail(scores, error)
            finally:
                for job in jobs:
                    job.scores.cancel()
            with suppress(InvalidStateError):
                scores.set_result(scored)

    async def _score_next(self) -> None:
        self._arrived.clear()
        if not self._queue:
            await self._arrived.wait()
            return
        groups: dict[tuple[str | int, ...], list[ScoringJob]] = {}
        for job in self._next_jobs():
            models = [id(getattr(each, "embedder", each)) for each in (job.embedders or {}).values()]
            groups.setdefault((*(metric.canonical for metric in job.metrics), *models), []).append(job)
        for group in groups.values():
            await self._score_group(group)

    def _next_jobs(self) -> list[ScoringJob]:
        jobs: list[ScoringJob] = []
        rows = 0
        with self._lock:
            while self._queue and (not jobs or rows + len(self._queue[0].samples) <= BATCH_SIZE):
                job = self._queue.popleft()
                self._stop_waiting(job)
                if not job.scores.done():
                    jobs.append(job)
                    rows += len(job.samples)
        return jobs

    async def _score_group(self, jobs: Sequence[ScoringJob]) -> None:
        batch = Batch(tuple(sample for job in jobs for sample in job.samples))
        judgements = BatchJudgements.join([(len(job.samples), job.judgements) for job in jobs])
        resources, embedders = self.resources, jobs[0].embedders
        if embedders is not None:
            resources = replace(resources, embedders=embedders)
        self.batch_sizes[len(batch)] += 1
        try:
            with blocking_calls() if _is_local(resources) else nullcontext():
                scores = await evaluate_batch(batch, jobs[0].metrics, resources, batch_judgements=judgements)
        except Exception as error:  # noqa: BLE001 - as above
            if len(jobs) == 1:
                jobs[0].fail(error)
            else:
                await self._score_halves(jobs)
            return
        if len(jobs) == 1:
            jobs[0].finish(scores)
        elif scores.failures and await _models_work(scores.failures, resources):
            await self._score_halves(jobs)
        else:
            start = 0
            for job in jobs:
                stop = start + len(job.samples)
                job.finish(scores.rows(start, stop))
                start = stop

    async def _score_halves(self, jobs: Sequence[ScoringJob]) -> None:
        """Score both halves of jobs that failed together, so that only callers with a fault get the error."""
        half = len(jobs) // 2
        await self._score_group(jobs[:half])
        await self._score_group(jobs[half:])

    async def _warm(self, ready: Future[None]) -> None:
        while True:
            try:
                for embedder in self.resources.embedders.values():
                    await _warm_up(embedder)
            except Exception as error:  # noqa: BLE001 - shown to the operator
                self.trouble = str(error)
                await anyio.sleep(_RETRY_SECONDS)
            else:
                self.trouble = ""
                with suppress(InvalidStateError):
                    ready.set_result(None)
                return


_RUNNING: WeakSet[Dispatcher] = WeakSet()


@atexit.register
def _close_all() -> None:
    """End the threads: a process that ends while a model runs is aborted."""
    for dispatcher in list(_RUNNING):
        dispatcher.close()
        dispatcher.join()


def _is_local(resources: Resources) -> bool:
    """Return whether nothing needs the event loop while a model computes: no judge and no remote model."""
    return resources.judge is None and all(
        isinstance(embedder, CachedEmbedder) and isinstance(embedder.embedder, OnnxEmbedder)
        for embedder in resources.embedders.values()
    )


async def _warm_up(embedder: Embedder) -> None:
    # Not abandoned: a process that ends while a runtime is being opened is aborted.
    await anyio.to_thread.run_sync(encode, embedder, ["warm"])


async def _models_work(names: Iterable[str], resources: Resources) -> bool:
    """Return whether embedders that failed for several callers still embed a short text.

    If not, the fault is not in the text of one caller, and more calls would fail too.
    """
    try:
        for embedder in (resources.embedders[name] for name in names if name in resources.embedders):
            await _warm_up(embedder.embedder if isinstance(embedder, CachedEmbedder) else embedder)
    except EmbedderError:
        return False
    return True
