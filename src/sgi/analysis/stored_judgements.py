"""Finds stored judgements that a metric can be computed from: its requests to the judge must be the same."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import JudgeError, UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric as named_metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.prompts import Inquiry, ReplyModel
    from sgi.kernel.sample import Batch, Sample
    from sgi.store.stored_batches import JudgementCount

_JudgedMetric = JudgedMetric[Any]
_NONE: Mapping[str, AnyMetric] = {}


@dataclass(frozen=True)
class JudgementSource:
    """A metric, and the metric of the run whose judgements it uses."""

    metric: JudgedMetric[Any]
    source: JudgedMetric[Any]


async def find_sources(
    run: str,
    counts: Mapping[str, JudgementCount],
    metrics: Sequence[AnyMetric] | None,
    batch: Batch,
    defined: Mapping[str, AnyMetric],
) -> list[JudgementSource]:
    """Find the source of the judgements of each metric.

    The source must send the same requests to the judge about the rows of a batch. Preferred is the metric
    itself, then a metric with its name, then one with the same kind of judgement and the same prompts.

    ``counts`` are the metrics of the run with their numbers of judgements; ``batch`` are rows of the run;
    ``defined`` are the metrics that it defines. If ``metrics`` is None, all metrics with judgements are used.

    Raises:
        UsageError: a metric uses no judge, or has no source.
    """
    available = [
        metric for name, count in counts.items() if count.usable and (metric := judged_metric(name, defined))
    ]
    if metrics is not None:
        judged = map(_require_judged, metrics)
        return [JudgementSource(metric, await _source(run, metric, available, batch)) for metric in judged]
    if not available:
        hint = "Only metrics with a judge can be rescored; `sgi metrics` lists them."
        raise UsageError(f"The run {run} has no stored judgements.", hint=hint)
    return [JudgementSource(metric, metric) for metric in available]


async def require_same_questions(run: str, sourced: JudgementSource, batch: Batch) -> None:
    """Raise a UsageError if a metric sends other requests about these rows than its source."""
    if not await _asks_same(sourced.metric, sourced.source, batch):
        raise _other_questions_error(run, sourced.metric, [sourced.source])


def judged_metric(name: str, defined: Mapping[str, AnyMetric] = _NONE) -> JudgedMetric[Any] | None:
    """Return the judged metric with this canonical string; None if it uses no judge or is not installed."""
    try:
        metric = named_metric(name, defined)
    except UsageError:
        return None
    return metric if isinstance(metric, JudgedMetric) else None


def _require_judged(metric: AnyMetric) -> _JudgedMetric:
    if isinstance(metric, JudgedMetric):
        return metric
    message = f"{metric.canonical} uses no judge, so it has no judgements."
    raise UsageError(message, hint="Score the data with it: sgi run.")


async def _source(
    run: str, metric: _JudgedMetric, available: Sequence[_JudgedMetric], batch: Batch
) -> _JudgedMetric:
    similar = [source for source in available if _similarity(metric, source)]
    similar.sort(key=lambda source: -_similarity(metric, source))
    for source in similar:
        if await _asks_same(metric, source, batch):
            return source
    if similar:
        raise _other_questions_error(run, metric, similar)
    names = ", ".join(source.canonical for source in available)
    hint = f"It has judgements of: {names}." if names else "It has no judgements of any metric."
    raise UsageError(f"The run {run} has no judgements for {metric.canonical}.", hint=hint)


def _similarity(metric: _JudgedMetric, source: _JudgedMetric) -> int:
    """Return 3 for the same metric, 2 for the same name, 1 for equal judgements and prompts, otherwise 0."""
    if metric.canonical == source.canonical:
        return 3
    if metric.spec.name == source.spec.name:
        return 2
    return int(metric.judgement is source.judgement and metric.prompts == source.prompts)


def _other_questions_error(run: str, metric: _JudgedMetric, sources: Sequence[_JudgedMetric]) -> UsageError:
    names = " and ".join(source.canonical for source in sources)
    message = f"{metric.canonical} asks a judge other questions than {names}"
    hint = "Score the data with this metric and a judge: sgi run."
    return UsageError(f"{message}, so it cannot use the judgements of the run {run}.", hint=hint)


async def _asks_same(one: _JudgedMetric, other: _JudgedMetric, batch: Batch) -> bool:
    """Return whether two metrics send the same requests about every row that has the fields of both.

    Only the requests before the first reply are compared, since later ones depend on it.
    """
    if one == other:
        return True
    for row in batch.present(one.spec.needs | other.spec.needs).nonzero()[0]:
        sample = batch.samples[row]
        if await _first_inquiries(one, sample) != await _first_inquiries(other, sample):
            return False
    return True


class _RecordingJudge:
    """A judge that records its requests and never replies."""

    fingerprint = "noting"
    budget = sys.maxsize  # no text is split

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, int | None, type[ReplyModel]]] = []

    async def ask(self, inquiry: Inquiry, schema: type[Any], /) -> Any:
        self.requests.append((inquiry.prompt.digest, inquiry.text, inquiry.items, schema))
        raise JudgeError("This judge never replies.")


async def _first_inquiries(metric: _JudgedMetric, sample: Sample) -> list[Any]:
    judge = _RecordingJudge()
    with suppress(JudgeError, ExceptionGroup):  # concurrent requests fail together
        await metric.ask(sample, judge)
    return judge.requests
