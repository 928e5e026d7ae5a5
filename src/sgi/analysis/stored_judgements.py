"""Finds the stored judgements a metric can be computed from: its questions to the judge must be the same."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgi.engine.plan import resolve
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


@dataclass(frozen=True)
class JudgementSource:
    """A metric, and the one of the run whose evidence it takes."""

    metric: JudgedMetric[Any]
    source: JudgedMetric[Any]


async def find_sources(
    run: str,
    kept: Mapping[str, JudgementCount],
    metrics: Sequence[str | AnyMetric] | None,
    batch: Batch,
) -> list[JudgementSource]:
    """The metrics, each with the evidence that serves it.

    It is that of the metric itself, or else of one of its name, or else of one that keeps evidence of the
    same kind from the same prompts; in any case of one that asks the same about the rows of a batch.

    Args:
        run: what messages call the run.
        kept: its metrics, with what there is of their evidence.
        metrics: names or metrics; None takes all that have evidence.
        batch: rows of the run.

    Raises:
        UsageError: a metric asks no judge, or there is no evidence that serves it; says what there is.
    """
    there = [found for name, evidence in kept.items() if evidence.usable and (found := judged_metric(name))]
    if metrics is not None:
        wanted = map(_require_judged, resolve(metrics))
        return [JudgementSource(metric, await _source(run, metric, there, batch)) for metric in wanted]
    if not there:
        hint = "Only metrics that asked a judge can be rescored; `sgi metrics` tells which do."
        raise UsageError(f"The run {run} keeps no evidence of a judge.", hint=hint)
    return [JudgementSource(metric, metric) for metric in there]


async def require_same_questions(run: str, sourced: JudgementSource, batch: Batch) -> None:
    """Raise a UsageError where the metric would ask something else about these rows than was asked."""
    if not await _asks_same(sourced.metric, sourced.source, batch):
        raise _other_questions_error(run, sourced.metric, [sourced.source])


def judged_metric(name: str) -> JudgedMetric[Any] | None:
    """The judged metric of this canonical string; None where it is another, or is not installed any more."""
    try:
        found = named_metric(name)
    except UsageError:
        return None
    return found if isinstance(found, JudgedMetric) else None


def _require_judged(metric: AnyMetric) -> _JudgedMetric:
    if isinstance(metric, JudgedMetric):
        return metric
    message = f"{metric.canonical} asks no judge, so there is no evidence to compute it from."
    raise UsageError(message, hint="Score the data with it: sgi run.")


async def _source(
    run: str, wanted: _JudgedMetric, there: Sequence[_JudgedMetric], batch: Batch
) -> _JudgedMetric:
    near = sorted(
        (source for source in there if _nearness(wanted, source)), key=lambda s: -_nearness(wanted, s)
    )
    for source in near:
        if await _asks_same(wanted, source, batch):
            return source
    if near:
        raise _other_questions_error(run, wanted, near)
    hint = f"It has evidence of: {', '.join(source.canonical for source in there)}."
    if not there:
        hint = "It has no evidence of any metric."
    raise UsageError(f"The run {run} has no evidence for {wanted.canonical}.", hint=hint)


def _nearness(wanted: _JudgedMetric, source: _JudgedMetric) -> int:
    """3 for the metric itself, 2 for one of its name, 1 for one with such evidence, 0 for a stranger."""
    if wanted.canonical == source.canonical:
        return 3
    if wanted.spec.name == source.spec.name:
        return 2
    return int(wanted.judgement is source.judgement and wanted.prompts == source.prompts)


def _other_questions_error(run: str, wanted: _JudgedMetric, near: Sequence[_JudgedMetric]) -> UsageError:
    named = " and ".join(source.canonical for source in near)
    message = f"{wanted.canonical} asks a judge something else than {named} did"
    hint = "Ask a judge: sgi run with this metric."
    return UsageError(f"{message}, so the evidence of the run {run} does not serve.", hint=hint)


async def _asks_same(one: _JudgedMetric, other: _JudgedMetric, batch: Batch) -> bool:
    """Whether two metrics ask the same about every row that has the fields of both.

    Compared is what they ask before they have a reply, since what follows depends on that.
    """
    if one == other:
        return True
    for row in batch.present(one.spec.needs | other.spec.needs).nonzero()[0]:
        sample = batch.samples[row]
        if await _first_inquiries(one, sample) != await _first_inquiries(other, sample):
            return False
    return True


class _RecordingJudge:
    """A judge that notes what it is asked, and answers nothing."""

    fingerprint = "noting"
    budget = sys.maxsize  # no text is cut into parts

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int | None, type[ReplyModel]]] = []

    async def ask(self, inquiry: Inquiry, schema: type[Any], /) -> Any:
        self.asked.append((inquiry.prompt.digest, inquiry.text, inquiry.items, schema))
        raise JudgeError("This judge answers nothing.")


async def _first_inquiries(metric: _JudgedMetric, sample: Sample) -> list[Any]:
    judge = _RecordingJudge()
    with suppress(JudgeError, ExceptionGroup):  # parts that are asked beside one another fail together
        await metric.ask(sample, judge)
    return judge.asked
