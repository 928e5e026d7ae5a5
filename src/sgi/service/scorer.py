"""Scores rows for many callers: models stay open, and concurrent callers share batches."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.from_thread import start_blocking_portal

from sgi.engine.open_resources import extra_embedders, open_embedders
from sgi.engine.plan import BATCH_SIZE, PREFERRED
from sgi.engine.resources import Resources, require_resources
from sgi.engine.score import BatchScores, evaluate_batch
from sgi.engine.spec import DEFAULT_EMBEDDER
from sgi.kernel.errors import EmbedderError, SgiError, UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import AnyMetric, Scores
from sgi.kernel.protocols import Embedder, encode
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.sample import Batch, Field
from sgi.kernel.tokens import TokenModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

    from sgi.kernel.protocols import TokenEncoder
    from sgi.kernel.sample import Sample

CACHE_BYTES = 64 << 20
"""Memory limit of the vector cache."""

MAX_WAITING = 1024
"""The most waiting rows: four batches, so that accepted rows are scored soon."""

MAX_TEXTS = 4096
"""The maximum number of texts to embed in one call. At 41 tokens each, the bundled model needs 58 s of CPU
time.
"""

MAX_COMPARED = 20_000_000_000
"""The maximum number of pairs of characters (response × reference, over all metrics) for one call; the
slowest metric compares 30 billion pairs per second.
"""

_TEXT = 160  # characters of a usual text of 41 tokens
_LONG = 8192  # characters; calls with fewer are accepted without counting the texts
_FEW = 64  # texts; likewise
_RETRY_SECONDS = 5.0
_OPENING = "The models are being opened."


class ScorerBusyError(SgiError):
    """Too many rows are waiting; retry after ``retry_after`` seconds."""

    retry_after = 1


class ScorerClosedError(SgiError):
    """The scorer was closed before it scored these rows."""


@dataclass(eq=False)
class _Job:
    """The rows of one call, at most one batch, and their scores."""

    samples: tuple[Sample, ...]
    metrics: tuple[AnyMetric, ...]
    done: anyio.Event = field(default_factory=anyio.Event)
    scores: Mapping[str, Scores] = field(default_factory=dict)
    error: Exception | None = None

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics; jobs with equal metrics are scored together."""
        return tuple(metric.canonical for metric in self.metrics)

    def finish(self, scores: Mapping[str, Scores]) -> None:
        self.scores = scores
        self.done.set()

    def fail(self, error: Exception) -> None:
        self.error = error
        self.done.set()


class Scorer:
    """Scores rows of many callers at once with open models; create it with `open_scorer`.

    Rows that arrive while one batch is computed form the next batch, so no row waits for a batch to fill.
    Rows with the same metrics are scored together; scores do not depend on the other rows. Scores are
    computed in a thread, so the event loop stays free. ``batch_sizes`` counts the batches by their number of
    rows.
    """

    def __init__(
        self, resources: Resources, portal: BlockingPortal, *, most_waiting: int = MAX_WAITING
    ) -> None:
        self.resources = resources
        self.batch_sizes: Counter[int] = Counter()
        self._portal = portal
        self._most_waiting = most_waiting
        self._queue: deque[_Job] = deque()
        self._arrived = anyio.Event()
        self._closed = False
        self._trouble = _OPENING

    @property
    def waiting(self) -> int:
        """The number of waiting rows."""
        return sum(len(job.samples) for job in self._queue)

    @property
    def trouble(self) -> str:
        """Why the models are not ready; empty once each model has computed a vector."""
        return "The scorer is closed." if self._closed else self._trouble

    def signature(self, metrics: Sequence[AnyMetric], n: int) -> str:
        """Return the signature of these metrics over ``n`` rows."""
        return self.resources.signature(metrics, n=n)

    async def score(self, samples: Sequence[Sample], metrics: Sequence[AnyMetric]) -> dict[str, Scores]:
        """Score 1 to 256 rows with metrics that need no judge; return scores by the canonical string.

        Cancelling a call removes only its own rows. An exception in a metric is raised only in the calls with
        its rows.

        Raises:
            UsageError: a metric needs a judge or a model that is not open, or there are too many rows.
            ScorerBusyError: too many rows are waiting.
            ScorerClosedError: the scorer is closed.
        """
        self._check_metrics(metrics)
        if not 0 < len(samples) <= BATCH_SIZE:
            raise UsageError(f"A call scores 1 to {BATCH_SIZE} rows, not {len(samples)}.")
        await self._check_size(samples, metrics)
        job = _Job(tuple(samples), tuple(metrics))
        self._admit(job)
        try:
            await job.done.wait()
        finally:
            if job in self._queue:  # the caller was cancelled
                self._queue.remove(job)
        if job.error is not None:
            raise job.error
        return dict(job.scores)

    def close(self) -> None:
        """Accept no more rows; finish the current batch, and reject waiting rows."""
        self._closed = True
        self._arrived.set()

    async def work(self) -> None:
        """Score the waiting rows, batch by batch, until the scorer is closed."""
        try:
            while not self._closed:
                if self._queue:
                    await self._score_batch(self._next_jobs())
                else:
                    self._arrived = anyio.Event()
                    await self._arrived.wait()
        finally:
            self._closed = True
            while self._queue:
                self._queue.popleft().fail(_closed_error())

    async def warm(self) -> None:
        """Compute one vector with every model, so that no caller waits for it; retry on failure."""
        while True:
            try:
                for embedder in self.resources.embedders.values():
                    await asyncio.wrap_future(self._portal.start_task_soon(_warm_up, embedder))
            except EmbedderError as error:
                self._trouble = str(error)
                await anyio.sleep(_RETRY_SECONDS)
            else:
                self._trouble = ""
                return

    def _check_metrics(self, metrics: Sequence[AnyMetric]) -> None:
        for metric in metrics:
            if isinstance(metric, JudgedMetric):
                hint = "Score it with `sgi run` and a judge."
                raise UsageError(
                    f"The metric {metric.canonical!r} needs a judge, but none is configured.", hint=hint
                )
            require_resources([metric], self.resources)
            if missing := extra_embedders([metric], self.resources.names):
                message = f"The metric {metric.canonical!r} needs a model that is not loaded: {missing[0]}."
                raise UsageError(message, hint=f"The open models: {', '.join(self.resources.names)}.")

    async def _check_size(self, samples: Sequence[Sample], metrics: Sequence[AnyMetric]) -> None:
        texts = [text for sample in samples for text in _texts_of(sample)]
        compared = sum(len(row.response) * sum(map(len, row.references)) for row in samples) * len(metrics)
        if compared > MAX_COMPARED:
            message = f"These rows need {compared:,} character comparisons; the limit is {MAX_COMPARED:,}."
            raise UsageError(message, hint="Give fewer rows, metrics or references, or shorter ones.")
        if len(texts) < _FEW and sum(map(len, texts)) < _LONG:
            return
        count = await anyio.to_thread.run_sync(_count_texts, Batch(tuple(samples)), metrics)
        if count > MAX_TEXTS:
            message = f"These rows have {count:,} texts to embed; the limit is {MAX_TEXTS:,}."
            raise UsageError(message, hint="Give fewer rows, or name sgi(sentences=false).")

    def _admit(self, job: _Job) -> None:
        if self._closed:
            raise _closed_error()
        if self.waiting + len(job.samples) > self._most_waiting:
            message = f"{self.waiting} rows are waiting to be scored; the limit is {self._most_waiting}."
            raise ScorerBusyError(message, hint="Try again in a moment.")
        self._queue.append(job)
        self._arrived.set()

    def _next_jobs(self) -> list[_Job]:
        jobs = [self._queue.popleft()]
        rows = len(jobs[0].samples)
        while self._queue and rows + len(self._queue[0].samples) <= BATCH_SIZE:
            jobs.append(self._queue.popleft())
            rows += len(jobs[-1].samples)
        return jobs

    async def _score_batch(self, jobs: Sequence[_Job]) -> None:
        groups: dict[tuple[str, ...], list[_Job]] = {}
        for job in jobs:
            groups.setdefault(job.metric_names, []).append(job)
        try:
            for group in groups.values():
                await self._score_group(group)
        finally:
            for job in jobs:
                if not job.done.is_set():  # the work was cancelled
                    job.fail(_closed_error())

    async def _score_group(self, jobs: Sequence[_Job]) -> None:
        batch = Batch(tuple(sample for job in jobs for sample in job.samples))
        self.batch_sizes[len(batch)] += 1
        try:
            batch_scores = await self._evaluate(batch, jobs[0].metrics)
        except Exception as error:  # noqa: BLE001 - each caller gets its own error
            if len(jobs) == 1:
                jobs[0].fail(error)
                return
            for job in jobs:  # so that only callers whose rows fail get the error
                await self._score_group([job])
        else:
            start = 0
            for job in jobs:
                stop = start + len(job.samples)
                job.finish(
                    {name: _slice(scores, start, stop) for name, scores in batch_scores.scores.items()}
                )
                start = stop

    async def _evaluate(self, batch: Batch, metrics: Sequence[AnyMetric]) -> BatchScores:
        """Return the scores of a batch, computed in another thread, since metrics block the event loop."""
        return await asyncio.wrap_future(
            self._portal.start_task_soon(evaluate_batch, batch, metrics, self.resources)
        )


@asynccontextmanager
async def open_scorer(
    embedders: Sequence[str | Path | Embedder] | None = None,
    *,
    backend: str = "auto",
    precision: str = "auto",
    cache_bytes: int = CACHE_BYTES,
    most_waiting: int = MAX_WAITING,
) -> AsyncIterator[Scorer]:
    """Context manager that opens a scorer and closes it; models open in the background, see ``trouble``.

    Vectors stay in memory, up to ``cache_bytes``; nothing is written. At most ``most_waiting`` rows may wait.
    ``backend`` and ``precision`` are the runtime and the arithmetic of models given by name.

    Raises:
        UnknownNameError: the model, backend or precision does not exist.
        UsageError: two embedders have the same name.
        EmbedderError: a model's files are missing, or differ from the published ones.

    >>> from sgi.kernel.sample import Sample
    >>> rows = [Sample(id="1", response="The capital is Paris.", reference="Paris is the capital.")]
    >>> async def scored():
    ...     async with open_scorer() as scorer:
    ...         return await scorer.score(rows, [named_metric("content_f1")])
    >>> anyio.run(scored)["content_f1"].values.tolist()
    [1.0]
    """
    models = tuple(embedders or (DEFAULT_EMBEDDER,))
    resources = await anyio.to_thread.run_sync(_open_models, models, backend, precision, cache_bytes)
    with start_blocking_portal() as portal:
        scorer = Scorer(resources, portal, most_waiting=most_waiting)
        work, warming = asyncio.create_task(scorer.work()), asyncio.create_task(scorer.warm())
        try:
            yield scorer
        finally:
            scorer.close()
            warming.cancel()
            await asyncio.gather(work, warming, return_exceptions=True)


def allowed_metrics(samples: Iterable[Sample]) -> tuple[AnyMetric, ...]:
    """Return the default metrics for which some row has the fields.

    >>> from sgi.kernel.sample import Sample
    >>> [metric.canonical for metric in allowed_metrics([Sample(id="1", response="r", reference="s")])]
    ['semantic_similarity', 'lexical_aggregate']
    """
    rows = [frozenset(name for name in Field if sample.has(name)) for sample in samples]
    defaults = [named_metric(name) for name in PREFERRED]
    metrics = tuple(metric for metric in defaults if any(metric.spec.needs <= fields for fields in rows))
    if not metrics:
        hint = "Scores need a response, and contexts with a question, or a reference."
        raise UsageError("No row has the fields of a default metric.", hint=hint)
    return metrics


def _open_models(
    embedders: Sequence[str | Path | Embedder], backend: str, precision: str, cache_bytes: int
) -> Resources:
    from sgi.store.cache import BoundedCache

    opened = open_embedders(embedders, BoundedCache(cache_bytes), backend=backend, precision=precision)
    return Resources(opened, token_encoders=_token_encoders(embedders, backend, precision))


def _token_encoders(named: Sequence[object], backend: str, precision: str) -> dict[TokenModel, TokenEncoder]:
    """Return the token encoders of named models, loaded at first use; models without tokens are left out."""
    from sgi.models.token_encoder.load import load_token_encoder

    encoders: dict[TokenModel, TokenEncoder] = {}
    for model in (TokenModel(name) for name in named if isinstance(name, str)):
        with suppress(UsageError):
            encoders[model] = load_token_encoder(model, backend=backend, precision=precision)
    return encoders


def _count_texts(batch: Batch, metrics: Sequence[AnyMetric]) -> int:
    embedded_texts, token_texts = set[str](), set[str]()
    for metric in metrics:
        prepared = metric.prepare(batch.take(batch.present(metric.spec.needs).nonzero()[0]))
        embedded_texts.update(metric.vector_needs.texts(prepared) if metric.vector_needs else ())
        token_texts.update(metric.token_needs.token_texts(prepared) if metric.token_needs else ())
    return len(embedded_texts) + sum(1 + len(text) // _TEXT for text in token_texts)  # not truncated


def _texts_of(sample: Sample) -> tuple[str, ...]:
    return (sample.question, *sample.contexts, sample.response, *sample.references)


async def _warm_up(embedder: Embedder) -> None:
    # Not abandoned: a process that ends while a runtime is being opened is aborted.
    await anyio.to_thread.run_sync(encode, embedder, ["warm"])


def _closed_error() -> ScorerClosedError:
    return ScorerClosedError("The scorer is closed.", hint="Try again when the server has restarted.")


def _slice(scores: Scores, start: int, stop: int) -> Scores:
    rows = slice(start, stop)
    return Scores(scores.values[rows], scores.status[rows], scores.reasons[rows], scores.details[rows])
