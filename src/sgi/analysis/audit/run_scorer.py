"""Scores changed samples with the metric, the models and the judge of a stored run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from sgi.analysis.audit.probes import Scored
from sgi.engine.model_wrappers import JudgeWrapper, RepeatJudge
from sgi.engine.open_resources import given_options, open_resources
from sgi.engine.run_recorder import require_texts
from sgi.engine.score import evaluate_batch
from sgi.engine.stored_options import models_of, require_local_models, stored_definitions
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.prompts import ReplyModel
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.sample import Batch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable, Sequence
    from pathlib import Path

    from sgi.engine.open_resources import JudgeLike
    from sgi.engine.resources import Resources
    from sgi.engine.run_options import Cassette
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.metric_column import MetricProvenance
    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Sample
    from sgi.store.run_queries import RunRecord

T = TypeVar("T", bound=ReplyModel)


class RunScorer:
    """Scores samples as a run did; it counts the distinct requests to the judge, also those in the cache.

    Attributes:
        metric: the metric.
        provenance: its models, judge and prompts, as they are now.
    """

    def __init__(self, metric: AnyMetric, resources: Resources) -> None:
        self.metric = metric
        self.provenance: MetricProvenance = resources.provenance(metric)
        self._resources = resources
        self._judge = None if resources.judge is None else _CountingJudge(resources.judge)

    async def __call__(self, samples: Sequence[Sample], repeat: int, /) -> Scored:
        """Return the scores of samples, from the replies with this number."""
        before, resources = self._calls, self._resources
        if self._judge is not None:
            resources = replace(resources, judge=RepeatJudge(self._judge, repeat))
        result = await evaluate_batch(Batch.of(samples), [self.metric], resources)
        return Scored(result.scores[self.metric.canonical], self._calls - before)

    @property
    def _calls(self) -> int:
        return 0 if self._judge is None else len(self._judge.requests)


class _CountingJudge(JudgeWrapper):
    """Counts distinct requests, and sends each only once, also to a judge without a cache."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge)
        self.requests: dict[Hashable, Any] = {}

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """Return the reply of the judge."""
        key = inquiry.prompt.digest, inquiry.text, inquiry.items, inquiry.repeat, schema
        if self.requests.setdefault(key, None) is None:
            self.requests[key] = await self._judge.ask(inquiry, schema)
        reply: T = self.requests[key]
        return reply


@asynccontextmanager
async def open_scorer_of_run(
    record: RunRecord,
    metric: str,
    judge: JudgeLike | None = None,
    *,
    trusted: bool = False,
    cassette: Cassette | None = None,
    cache: bool | Path = True,
) -> AsyncIterator[RunScorer]:
    """Context manager that opens what computes a metric of a stored run.

    Args:
        record: the run.
        metric: the canonical string of the metric.
        judge: the judge; None for the one in the settings of the run.
        trusted: whether the user agrees that the judge of the stored settings receives the texts.
        cassette: a file of judge calls to record or to replay.
        cache: where vectors and replies are cached, as in `sgi.evaluate`.

    Raises:
        UsageError: the run stores no texts or has no such metric; the judge is not named, or a stored setting
            needs the user's consent.
        MissingExtraError, EmbedderError, StoreError: the models cannot be opened.
    """
    require_texts(record, "An audit")
    if metric not in record.metrics:
        raise UnknownNameError(
            f"metric of {record.label}", metric, hint=f"It has: {', '.join(record.metrics)}."
        )
    named = named_metric(metric, stored_definitions(record).metrics)
    options = given_options(
        {
            "judge": record.spec.get("judge") if judge is None else judge,
            "long_texts": record.spec.get("long_texts"),
            "cassette": cassette,
            "cache": cache,
        },
        list(record.spec.get("embedders", ())) or None,
        source=f"the run {record.label}",
    )
    if judge is None and options.judge is not None and judged_metrics([named]) and not trusted:
        raise UsageError(
            f"The stored settings of the run {record.label} name the judge {options.judge.model}. They may "
            "come from someone else, so SGI sends it no texts without your consent.",
            hint=f"If you trust it, name it: --judge {options.judge.model}.",
        )
    require_local_models(record, options.embedders, option="-e")
    require_local_models(record, models_of([named]), option="-m, with the model")
    async with open_resources([named], options) as resources:
        yield RunScorer(named, resources)
