"""Scores complete traces together, and stores their rows."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgi.engine.run_recorder import batch_without_texts
from sgi.io.dataset import object_dataset
from sgi.kernel.errors import DataError, SgiError, StoreError
from sgi.kernel.signature import placeholder
from sgi.service.question_evaluation import scores_of_row
from sgi.store.growing_runs import EvaluationRow
from sgi.store.samples import StoredAnswer
from sgi_traces.assemble import ERROR_REASON, rows_of_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample
    from sgi.service.scorer import Scorer
    from sgi_traces.assemble import TraceRow
    from sgi_traces.live.assembler import CompleteTrace
    from sgi_traces.live.trace_runs import TraceRuns
    from sgi_traces.span import Span

logger = logging.getLogger("sgi.traces")

MAX_TEXT = 1_000_000
"""Maximum number of characters of the texts of a row: scoring a longer one holds up other traces."""


@dataclass(frozen=True)
class RowScorer:
    """Scores rows with an open scorer; with ``no_texts``, the results have placeholders in place of texts."""

    scorer: Scorer
    metrics: Sequence[AnyMetric]
    no_texts: bool = False

    async def score(self, sample: Sample) -> EvaluationRow:
        """Score one row; rows of concurrent calls form one batch."""
        scores = await self.scorer.score_batch((sample,), self.metrics)
        resources = self.scorer.resources
        answer = sample.response if "response" in sample.model_fields_set else None
        used = {"truncated": [*scores.truncated], "left_out": dict(scores.failures)}
        sample = sample.model_copy(
            update={"metadata": sample.metadata | {name: value for name, value in used.items() if value}}
        )
        if self.no_texts:
            categories = {metric.canonical: metric.spec.category for metric in self.metrics}
            sample, scores = sample.with_placeholders(), batch_without_texts(scores, categories)
            answer = None if answer is None else placeholder(answer)
        return EvaluationRow(
            sample.with_response(None),
            None if answer is None else StoredAnswer(answer),
            scores_of_row(self.metrics, scores, resources),
            resources.fingerprints,
            resources.judge_identity(self.metrics),
        )


@dataclass
class TraceBatch:
    """Complete traces, and the scored rows that are not stored yet.

    Attributes:
        turns: questions in the traces.
        unanswered: turns without an answer, by reason.
        failed: turns or traces that could not be scored or stored, by reason.
        unsaved: names of runs, and their rows.
    """

    traces: Sequence[CompleteTrace]
    turns: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    unsaved: deque[tuple[str, EvaluationRow]] = field(default_factory=deque)

    @property
    def spans(self) -> int:
        """The number of spans."""
        return sum(trace.spans for trace in self.traces)

    @property
    def scored(self) -> int:
        """The number of rows that are scored and stored, after `save`."""
        return self.turns - self.unanswered.total() - self.failed.total()

    def save(self, runs: TraceRuns) -> None:
        """Store the rows. After a StoreError, the next call continues with the row that was not stored."""
        while self.unsaved:
            try:
                runs.save(*self.unsaved[0])
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - a mistake in one trace must not stop the others
                self.fail(error, no_texts=runs.no_texts)
            self.unsaved.popleft()

    def fail(self, error: BaseException, *, no_texts: bool) -> None:
        """Count a turn that failed; an unexpected error is also logged."""
        if not isinstance(error, SgiError):
            logger.error("A trace cannot be scored or stored.", exc_info=error)
        self.failed[_reason(error, no_texts=no_texts)] += 1


def score_traces(
    traces: Sequence[CompleteTrace],
    spans_of: Callable[[str], list[Span]],
    scorer: RowScorer,
    runs: TraceRuns,
) -> TraceBatch:
    """Score the rows of traces together.

    Raises:
        StoreError: the spans cannot be read.
    """
    batch = TraceBatch(traces)
    rows: list[tuple[Sample, float]] = []
    for trace in traces:
        try:
            result = rows_of_trace(spans_of(trace.trace_id))
            samples = [*object_dataset([row.values for row in result.rows]).samples()]
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - a mistake in one trace must not stop the others
            batch.turns += 1
            batch.fail(error, no_texts=runs.no_texts)
            continue
        batch.turns += len(result.rows) + len(result.unanswered)
        batch.unanswered.update(_without_texts(result.unanswered) if runs.no_texts else result.unanswered)
        for row, sample in zip(result.rows, samples, strict=True):
            if _length(row) > MAX_TEXT:
                batch.failed[f"the texts of the row have more than {MAX_TEXT:,} characters"] += 1
            else:
                rows.append((sample, trace.arrived))
    asyncio.run(_score(batch, rows, scorer, runs))
    return batch


async def _score(
    batch: TraceBatch, rows: Sequence[tuple[Sample, float]], scorer: RowScorer, runs: TraceRuns
) -> None:
    scoring = (scorer.score(sample) for sample, _ in rows)
    scored = await asyncio.gather(*scoring, return_exceptions=True)
    for (sample, arrived), row in zip(rows, scored, strict=True):
        if isinstance(row, BaseException):
            batch.fail(row, no_texts=runs.no_texts)
        else:
            batch.unsaved.append((runs.name(sample, arrived), row))


def _length(row: TraceRow) -> int:
    values = row.values
    return sum(map(len, (values.get("question", ""), values["response"], *values.get("contexts", ()))))


def _reason(error: BaseException, *, no_texts: bool) -> str:
    if isinstance(error, DataError):
        part = error.field or "trace"
        return f"{part}: not valid" if no_texts else f"{part}: {error.message}"
    return error.message if isinstance(error, SgiError) else f"internal error: {type(error).__name__}"


def _without_texts(reasons: Sequence[str]) -> list[str]:
    return [ERROR_REASON if reason.startswith(ERROR_REASON) else reason for reason in reasons]
