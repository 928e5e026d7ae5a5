"""Score one batch with every metric; each row gets a value, or a status with a reason.

The command line, the Python functions and the service all call `evaluate_batch`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.compute_features import BatchFeatures, FeatureRequest, compute_features
from sgi.engine.judge_batch import BatchJudgements, Judgements, ask_batch
from sgi.engine.resources import require_resources
from sgi.engine.token_features import token_parts
from sgi.kernel.judged_metric import JudgedRows
from sgi.kernel.metric import Scores, Status
from sgi.kernel.sample import Batch, Field
from sgi.kernel.short_text import shorten
from sgi.metrics.complete_rows import SEPARATOR
from sgi.models.batching import current_work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.resources import Resources
    from sgi.engine.token_features import TokenFeatures
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample
    from sgi.kernel.tokens import TokenModel


_Part = tuple["NDArray[np.int64]", Scores]

_NAMED_SAMPLES = 5
_NO_ROWS: Mapping[int, str] = {}
_FIELD_TEXTS = (Field.QUESTION, Field.CONTEXTS, Field.RESPONSE, Field.REFERENCE)


@dataclass(frozen=True)
class BatchScores:
    """The scores of a batch.

    Attributes:
        scores: by the metric's canonical string.
        truncated: number of rows with a truncated text, by field. failures: models that returned nothing at
            all, with the reason.
        windowed: number of rows with a text that was read in windows, by field.
        evidence: the judgement of each row (None without one), by the metric's canonical string.
        truncated_rows: the rows with a truncated text, by field; empty for stored scores. windowed_rows:
            likewise those with a text that was read in windows.
    """

    scores: Mapping[str, Scores]
    truncated: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, Judgements] = field(default_factory=dict)
    truncated_rows: Mapping[str, Sequence[int]] = field(default_factory=dict)
    windowed: Mapping[str, int] = field(default_factory=dict)
    windowed_rows: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def rows(self, start: int, stop: int) -> BatchScores:
        """Return the scores and judgements of the rows from ``start`` to ``stop`` (exclusive)."""
        truncated, windowed = (
            {name: [row - start for row in rows if start <= row < stop] for name, rows in by_field.items()}
            for by_field in (self.truncated_rows, self.windowed_rows)
        )
        return replace(
            self,
            scores={name: scores.rows(start, stop) for name, scores in self.scores.items()},
            truncated=_counts(truncated),
            truncated_rows=truncated,
            windowed=_counts(windowed),
            windowed_rows=windowed,
            evidence={name: judgements[start:stop] for name, judgements in self.evidence.items()},
        )


@dataclass(frozen=True, eq=False)
class _Task:
    """The rows of a batch that one metric scores, with their positions in the batch, ascending."""

    metric: AnyMetric
    rows: Batch | JudgedRows[Any]
    positions: NDArray[np.int64]
    failed: Mapping[int, str]
    prepared: Any

    @classmethod
    def of(
        cls, batch: Batch, metric: AnyMetric, failed: Mapping[int, str], batch_judgements: BatchJudgements
    ) -> _Task:
        failed = {**batch_judgements.failures.get(metric.canonical, _NO_ROWS), **failed}
        usable = batch.present(metric.spec.needs)
        if failed:
            usable[list(failed)] = False
        positions = np.flatnonzero(usable)
        judgements = batch_judgements.evidence.get(metric.canonical)
        rows: Batch | JudgedRows[Any] = batch if judgements is None else JudgedRows(batch, judgements)
        rows = rows if len(positions) == len(batch) else rows.take(positions)
        return cls(metric, rows, positions, failed, metric.prepare(rows))

    @property
    def batch(self) -> Batch:
        return self.rows.batch if isinstance(self.rows, JudgedRows) else self.rows

    def take(self, rows: Sequence[int]) -> _Task:
        selection = self.rows.take(rows)
        return replace(
            self,
            rows=selection,
            positions=self.positions[list(rows)],
            prepared=self.metric.prepare(selection),
        )

    def within(self, rows: range) -> _Task:
        first, last = np.searchsorted(self.positions, (rows.start, rows.stop)).tolist()
        return self if last - first == len(self.positions) else self.take(range(first, last))

    def token_texts(self) -> list[str]:
        needs = self.metric.token_needs
        return list(needs.token_texts(self.prepared)) if needs else []


async def evaluate_batch(
    batch: Batch,
    metrics: Sequence[AnyMetric],
    resources: Resources,
    failed: Mapping[int, str] = _NO_ROWS,
    batch_judgements: BatchJudgements | None = None,
) -> BatchScores:
    """Score one batch with every metric.

    Each distinct text is embedded once for each embedder, each distinct pair is classified once by each
    entailment model. Token vectors are in memory for a part of the rows at a time.

    A row without a needed field is ``missing``. A row for which a model or the judge failed is ``failed``.
    Any other exception is a bug in a metric; it is raised with a note that names the metric and sample ids.

    ``failed`` maps rows that cannot be scored to the reason. If ``batch_judgements`` is None, the judge is
    asked.

    Raises:
        UsageError: a metric needs a model or token frequencies that the resources do not hold.
    """
    require_resources(metrics, resources)
    if batch_judgements is None:
        batch_judgements = await ask_batch(batch, metrics, resources.judge, failed)
    tasks = [_Task.of(batch, metric, failed, batch_judgements) for metric in metrics]
    requests = [FeatureRequest.of(task.metric, task.prepared, tuple(resources.embedders)) for task in tasks]
    by_token_model: dict[TokenModel, list[tuple[_Task, FeatureRequest]]] = {}
    for task, request in zip(tasks, requests, strict=True):
        if task.metric.token_needs is not None:
            by_token_model.setdefault(task.metric.token_needs.token_model, []).append((task, request))
    features = await compute_features(requests, resources, further_units=len(batch) * len(by_token_model))
    parts: dict[str, list[_Part]] = {metric.canonical: [] for metric in metrics}
    failures = features.failures
    for model, group in by_token_model.items():
        texts = _token_texts([task for task, _ in group], len(batch))
        async for rows, tokens in token_parts(model, resources, texts):
            for task, request in group:
                parts[task.metric.canonical] += _score_rows(
                    task.within(rows), features.select(request), tokens
                )
            if tokens.failure:
                failures[str(model)] = tokens.failure
            current_work().add(len(rows))
    for task, request in zip(tasks, requests, strict=True):
        if task.metric.token_needs is None:
            parts[task.metric.canonical] = _score_rows(task, features.select(request), None)
    scores = {task.metric.canonical: _assemble(task, batch, parts[task.metric.canonical]) for task in tasks}
    truncated, windowed = (_rows_with(batch, texts) for texts in (features.truncated, features.windowed))
    return BatchScores(
        batch_judgements.with_replies(scores),
        _counts(truncated),
        failures,
        batch_judgements.evidence,
        truncated,
        _counts(windowed),
        windowed,
    )


def _counts(rows: Mapping[str, Sequence[int]]) -> dict[str, int]:
    return {name: len(positions) for name, positions in rows.items() if positions}


def _token_texts(tasks: Sequence[_Task], n: int) -> list[list[str]]:
    texts: list[list[str]] = [[] for _ in range(n)]
    for task in tasks:
        for row, position in enumerate(task.positions.tolist()):
            texts[position] += task.take([row]).token_texts()
    return texts


def _rows_with(batch: Batch, texts: frozenset[str]) -> dict[str, list[int]]:
    """Return the rows that have one of the texts, by field."""
    rows: dict[str, list[int]] = {}
    for row, sample in enumerate(batch.samples if texts else ()):
        for name in _FIELD_TEXTS:
            if not texts.isdisjoint(_texts(sample, name)):
                rows.setdefault(name.value, []).append(row)
    return rows


def _texts(sample: Sample, name: Field) -> tuple[str, ...]:
    match name:
        case Field.CONTEXTS:
            return (*sample.contexts, SEPARATOR.join(sample.contexts))
        case Field.REFERENCE:
            return sample.references
        case _:
            return (getattr(sample, name.value),)


def _assemble(task: _Task, batch: Batch, parts: Sequence[_Part]) -> Scores:
    """Return the scores of all rows of the batch: scored, failed and missing."""
    if len(parts) == 1 and len(task.positions) == len(batch):
        return parts[0][1]
    failed = np.array(sorted(task.failed), dtype=np.int64)
    missing = np.setdiff1d(np.arange(len(batch)), np.union1d(task.positions, failed))
    lacking = [batch.samples[row].missing_reason(task.metric.spec.needs) for row in missing]
    unscored = [
        (failed, Scores.without_value(Status.FAILED, [task.failed[row] for row in failed.tolist()])),
        (missing, Scores.without_value(Status.MISSING, lacking)),
    ]
    return Scores.assemble(len(batch), [*unscored, *parts])


def _score_rows(task: _Task, features: BatchFeatures, tokens: TokenFeatures | None) -> list[_Part]:
    """Return the scores of a task's rows; rows for which a model failed are ``failed``."""
    n = len(task.positions)
    if not n:
        return []
    if reason := features.fatal or ("" if tokens is None else tokens.failure):
        return [(task.positions, Scores.without_value(Status.FAILED, [reason] * n))]
    failed = _rows_without_features(task, features, tokens)
    usable = [row for row in range(n) if row not in failed]
    lost = Scores.without_value(Status.FAILED, list(failed.values()))
    parts = [(task.positions[list(failed)], lost)] if failed else []
    if usable:
        part = task.take(usable) if failed else task
        parts.append((part.positions, _score(part, features, tokens)))
    return parts


def _rows_without_features(
    task: _Task, features: BatchFeatures, tokens: TokenFeatures | None
) -> dict[int, str]:
    """Return the task's rows that need a feature that a model did not return, with the reason."""
    unusable = {(model, text) for model, result in features.vectors.items() for text in result.unusable}
    unusable |= {(str(tokens.model), text) for text in tokens.unusable} if tokens is not None else set()
    refused = {text: why for result in features.entailments.values() for text, why in result.unusable.items()}
    if not unusable and not refused:
        return {}
    reasons = {}
    for row in range(len(task.positions)):
        alone = task.take([row])
        needs = FeatureRequest.of(alone.metric, alone.prepared, features.configured)
        texts = [(model, text) for model, texts in needs.texts.items() for text in texts]
        texts += [(str(tokens.model), text) for text in alone.token_texts()] if tokens is not None else []
        bad = next((each for each in texts if each in unusable), None)
        if bad is not None:
            shown = f"the text {shorten(bad[1])!r} ({len(bad[1]):,} characters)"
            reasons[row] = f"{bad[0]} gave no usable vector for {shown}"
        elif reason := next(
            (refused[hypothesis] for _, hypothesis in needs.pairs if hypothesis in refused), ""
        ):
            reasons[row] = reason
    return reasons


def _score(task: _Task, features: BatchFeatures, tokens: TokenFeatures | None) -> Scores:
    """Call the metric; an exception is raised with a note."""
    try:
        scores = task.metric.score(task.prepared, features.table(None if tokens is None else tokens.table))
        if len(scores) != len(task.rows):
            raise ValueError(f"{len(scores)} scores for {len(task.rows)} rows")  # noqa: TRY301 - noted just below
    except Exception as error:
        ids = task.batch.ids
        shown = ", ".join(ids[:_NAMED_SAMPLES]) + ("…" if len(ids) > _NAMED_SAMPLES else "")
        error.add_note(f"in metric {task.metric.canonical}, samples {shown}")
        raise
    return scores
