"""Scores rows for many callers: models stay open, and concurrent callers share batches."""

from __future__ import annotations

import asyncio
import weakref
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

import anyio.to_thread

from sgi.engine.open_resources import ModelKeywords, extra_embedders, given_options
from sgi.engine.opened_models import shared_token_encoder
from sgi.engine.plan import BATCH_SIZE, merge_metrics, missing_judge
from sgi.engine.resources import Resources, require_resources
from sgi.io.columns import checked_mapping
from sgi.io.dataset import object_dataset
from sgi.kernel.errors import ScorerClosedError, UsageError
from sgi.kernel.fork_safety import renew_in_child
from sgi.kernel.judged_metric import JudgedMetric, judged_metrics
from sgi.kernel.metric import AnyMetric
from sgi.kernel.registry import DEFAULTS, NO_DEFAULT_HINT, resolve
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.tokens import TokenModel
from sgi.service.dispatcher import Dispatcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future
    from types import TracebackType

    from sgi.engine.run_options import EmbedderLike, RunOptions
    from sgi.engine.score import BatchScores
    from sgi.kernel.metric import MetricSpec, Score
    from sgi.kernel.protocols import Embedder, TokenEncoder
    from sgi.kernel.sample import Sample

    T = TypeVar("T")
    Row = Mapping[str, Any] | Sample

__all__ = [
    "MAX_WAITING",
    "Scorer",
    "allowed_metrics",
]

MAX_WAITING = 1024
"""Default maximum of waiting rows: four batches, so that accepted rows are scored soon."""


class Scorer:
    """Scores single rows with models that stay open.

    Use it as ``with Scorer(...) as scorer`` or ``async with``, or call ``close`` at the end. Models open at
    the first use. Threads and event loops may share a scorer: rows that wait at the same time form one batch.
    Scores do not depend on the other rows; they equal those of `sgi.evaluate`. A forked child process opens
    its own models. A scorer that you do not close stops when the last reference to it is gone.

    If a model or the judge fails, or ``max_cost`` is reached, the scores have the status ``failed``.
    Asynchronous embedders and judges run in the event loop of the scorer, not in the caller's.

    Args:
        metrics: names such as ``"rouge_l(beta=1.2)"``, or metrics; None for the default metrics that need no
            judge: grounding, semantic_similarity and recall.
        embedder: a name, a folder or an embedder; or several, the primary first; None for the bundled one. An
            empty tuple opens none: every call is then `score_batch` with its own embedders.
        columns: field → column, for columns whose names are not recognised.
        max_waiting: the maximum number of waiting rows; above it, `score` raises ScorerBusyError.
        **options: fields of `sgi.engine.run_options.RunOptions`: ``judge`` (a name such as
            ``"openai:NAME@URL"``, a mapping of its settings, or a judge), ``calibration`` (a file from ``sgi
            calibrate``), ``define``, ``long_texts``, ``threads``, ``retry_failed``, and ``cache`` (a file for
            vectors and replies, your user cache (True), or memory (False, the default)).

    Raises:
        UnknownNameError: a metric does not exist.
        UsageError: a metric needs a judge but ``judge`` is None, or weighs tokens by all references.

    >>> with Scorer(["content_f1"]) as scorer:
    ...     scorer.score({"response": "The capital is Paris.", "reference": "Paris is the capital."})
    {'content_f1': Score(value=1.0, status=<Status.OK: 'ok'>, reason='', details={})}
    """

    def __init__(
        self,
        metrics: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
        embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        max_waiting: int = MAX_WAITING,
        **options: Unpack[ModelKeywords],
    ) -> None:
        if others := options.keys() - ModelKeywords.__annotations__.keys():
            raise UsageError(f"`Scorer` has no option {min(others)!r}.", hint="`sgi.run` has all options.")
        chosen = given_options({"cache": False, "columns": columns, **options}, embedder, source="Scorer")
        named = [metrics] if isinstance(metrics, (str, AnyMetric)) else metrics
        self._metrics = merge_metrics(
            resolve(DEFAULTS if named is None else named, chosen.definitions.metrics),
            chosen.extra_metrics(None),
        )
        if (asking := judged_metrics(self._metrics)) and not chosen.has_judge:
            raise missing_judge(asking)
        checked_mapping(chosen.columns)
        self._options = chosen
        self._any_metric = metrics is None
        self._max_waiting = max_waiting
        self._opened: Dispatcher | None = None
        self._closed = False
        self._lock = RLock()
        renew_in_child(self)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The canonical strings of the metrics, the keys of each row's scores."""
        return tuple(self.specs)

    @property
    def specs(self) -> dict[str, MetricSpec]:
        """The descriptions of the metrics, by canonical string."""
        return {metric.canonical: metric.spec for metric in self._metrics}

    def signature(self, n: int, metrics: Sequence[AnyMetric] | None = None) -> str:
        """Return one line with everything that can change a score: models, judge, version.

        Args:
            n: number of rows, which the line contains.
            metrics: metrics of the scorer; None for all.

        Returns:
            The signature, as it is printed under tables of scores.
        """
        return self.resources.signature(self._metrics if metrics is None else metrics, n=n)

    def score(self, row: Row) -> dict[str, Score]:
        """Score one row, and wait for the scores.

        Args:
            row: a mapping with columns that `sgi.evaluate` recognises, or a Sample. A field that is absent or
                None has no value, which gives the status ``missing``; a blank text is a value.

        Returns:
            The score of each metric, by canonical string: ``value`` (None without a value), ``status``,
            ``reason`` and ``details``.

        Raises:
            DataError: the row cannot be read; the message names the field.
            ScorerBusyError: too many rows are waiting.
            ScorerClosedError: the scorer was closed.
        """
        return _by_row([_result(self._submit_row(row))])[0]

    async def ascore(self, row: Row) -> dict[str, Score]:
        """Score one row, like `score`, without blocking the event loop.

        If the call is cancelled, the row is no longer scored.

        Args:
            row: the row, as in `score`.

        Returns:
            The score of each metric, as from `score`.

        Raises:
            DataError, ScorerBusyError, ScorerClosedError: as in `score`.
        """
        await self._aopen()
        return _by_row([await asyncio.wrap_future(self._submit_row(row))])[0]

    def score_many(self, rows: Iterable[Row]) -> list[dict[str, Score]]:
        """Score any number of rows, and wait for the scores.

        Args:
            rows: the rows, as in `score`. Large numbers wait for each other, without ScorerBusyError.

        Returns:
            The scores of each row, in order, as from `score`.

        Raises:
            DataError: a row cannot be read, or two rows have the same id; the message names row and field.
            ScorerClosedError: the scorer was closed.
        """
        return _by_row(_result(self._submit_rows(rows)))

    async def ascore_many(self, rows: Iterable[Row]) -> list[dict[str, Score]]:
        """Score any number of rows, like `score_many`, without blocking the event loop.

        If the call is cancelled, the rows are no longer scored.

        Args:
            rows: the rows, as in `score_many`.

        Returns:
            The scores of each row, in order, as from `score`.

        Raises:
            DataError, ScorerClosedError: as in `score_many`.
        """
        await self._aopen()
        return _by_row(await asyncio.wrap_future(self._submit_rows(rows)))

    async def score_batch(
        self,
        samples: Sequence[Sample],
        metrics: Sequence[AnyMetric] | None = None,
        embedders: Mapping[str, Embedder] | None = None,
    ) -> BatchScores:
        """Score 1 to 256 samples as one call, optionally with other metrics or embedders.

        Args:
            samples: the rows.
            metrics: metrics for this call; None for the metrics of the scorer.
            embedders: embedders by name for this call; None for the embedders of the scorer.

        Returns:
            The scores of the samples by metric, and the judgements.

        Raises:
            UsageError: a metric needs a judge or a model that is not open, or there are too many rows.
            ScorerBusyError: too many rows are waiting.
            ScorerClosedError: the scorer was closed.
        """
        dispatcher = await self._aopen()
        if metrics is not None:
            self.require_open(metrics)
        if not 0 < len(samples) <= BATCH_SIZE:
            raise UsageError(f"A call scores 1 to {BATCH_SIZE} rows, not {len(samples)}.")
        return await asyncio.wrap_future(
            dispatcher.submit(samples, self._metrics if metrics is None else metrics, embedders)
        )

    @property
    def resources(self) -> Resources:
        """The open models and the judge."""
        return self._dispatcher().resources

    def require_open(self, metrics: Sequence[AnyMetric]) -> None:
        """Check that the judge and the models of some metrics are open.

        Args:
            metrics: the metrics.

        Raises:
            UsageError: a metric needs a judge or a model that is not open.
        """
        resources = self.resources
        for metric in metrics:
            if isinstance(metric, JudgedMetric) and resources.judge is None:
                message = f"The metric {metric.canonical!r} needs a judge, but none is configured."
                raise UsageError(message, hint="Score it with `sgi run` and a judge.")
            require_resources([metric], resources)
            if missing := extra_embedders([metric], resources.names):
                message = f"The metric {metric.canonical!r} needs a model that is not loaded: {missing[0]}."
                raise UsageError(message, hint=f"Open models: {', '.join(resources.names)}.")

    @property
    def waiting(self) -> int:
        """The number of waiting rows."""
        return self._dispatcher().waiting

    @property
    def batch_sizes(self) -> Mapping[int, int]:
        """How many batches of each size were scored, by the number of rows in a batch."""
        return self._dispatcher().batch_sizes

    @property
    def trouble(self) -> str:
        """Why the models are not ready; empty when `warm` has computed a vector with each model."""
        return ScorerClosedError().message if self._closed else self._dispatcher().trouble

    def warm(self) -> Future[None]:
        """Load the models in the background, so that no caller waits for them; see ``trouble``.

        Returns:
            A future that is done when the models are ready; closing the scorer first sets ScorerClosedError.
        """
        return self._dispatcher().warm()

    def close(self) -> None:
        """Finish the current batch, and close the models.

        Rows that wait are not scored; their callers get ScorerClosedError. You can call it twice.
        """
        with self._lock:
            self._closed = True
            dispatcher, self._opened = self._opened, None
        if dispatcher is not None:
            dispatcher.close()
            dispatcher.join()

    async def aclose(self) -> None:
        """Close the scorer, like `close`."""
        await anyio.to_thread.run_sync(self.close)

    def __enter__(self) -> Self:
        self._dispatcher()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self._aopen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()

    def renew_after_fork(self) -> None:
        """Open new models and a new lock in a forked child process. SGI calls this method."""
        self._lock = RLock()
        self._opened = None

    def _dispatcher(self) -> Dispatcher:
        with self._lock:
            if self._closed:
                raise ScorerClosedError
            if self._opened is None:
                prepare = partial(_prepare, self._metrics, self._options, any_metric=self._any_metric)
                self._opened = Dispatcher(self._metrics, self._options, prepare, self._max_waiting)
                weakref.finalize(self, self._opened.close).atexit = False
            return self._opened

    async def _aopen(self) -> Dispatcher:
        if self._opened is not None and not self._closed:
            return self._opened
        return await anyio.to_thread.run_sync(self._dispatcher)

    def _submit_row(self, row: Row) -> Future[BatchScores]:
        return self._dispatcher().submit(self._samples([row]), self._metrics)

    def _submit_rows(self, rows: Iterable[Row]) -> Future[list[BatchScores]]:
        return self._dispatcher().submit_all(self._samples(list(rows)), self._metrics)

    def _samples(self, rows: Sequence[Row]) -> list[Sample]:
        samples = list(object_dataset(rows, self._options.columns).samples())
        if len(samples) != len(rows):
            hint = "Name one of the columns with `columns`, as in response=my_column."
            raise UsageError("A row holds two answers, a right and a hallucinated one.", hint=hint)
        return samples


def allowed_metrics(samples: Iterable[Sample]) -> tuple[AnyMetric, ...]:
    """Return the default metrics for which some row has the fields.

    >>> from sgi.kernel.sample import Sample
    >>> [metric.canonical for metric in allowed_metrics([Sample(id="1", response="r", reference="s")])]
    ['semantic_similarity']
    """
    rows = [frozenset(sample.present) for sample in samples]
    defaults = [named_metric(name) for name in DEFAULTS]
    metrics = tuple(metric for metric in defaults if any(metric.spec.needs <= fields for fields in rows))
    if not metrics:
        raise UsageError("No row has the fields of a default metric.", hint=NO_DEFAULT_HINT)
    return metrics


def _prepare(
    metrics: Sequence[AnyMetric], options: RunOptions, resources: Resources, *, any_metric: bool
) -> Resources:
    """Check that rows can be scored one by one; if ``any_metric`` is True, add the models' token encoders."""
    if any_metric:
        encoders = _token_encoders(options)
        resources = replace(resources, token_encoders=encoders)
    require_resources(metrics, resources)
    return resources


def _token_encoders(options: RunOptions) -> dict[TokenModel, TokenEncoder]:
    """Return the token encoders of named models, loaded at first use; models without tokens are left out."""
    encoders: dict[TokenModel, TokenEncoder] = {}
    for model in (TokenModel(name) for name in options.embedder_likes if isinstance(name, str)):
        with suppress(UsageError):
            encoders[model] = shared_token_encoder(model, options)
    return encoders


def _result(scores: Future[T]) -> T:
    try:
        return scores.result()
    except BaseException:
        scores.cancel()  # the caller was interrupted
        raise


def _by_row(parts: list[BatchScores]) -> list[dict[str, Score]]:
    return [
        {name: scores.row(number) for name, scores in part.scores.items()}
        for part in parts
        for number in range(len(next(iter(part.scores.values()))))
    ]
