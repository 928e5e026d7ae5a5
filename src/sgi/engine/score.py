"""One batch of rows through every metric: collect texts, embed each once, score, account for every row.

No store, no globals: the command line, the Python functions and tests all call this one function.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.engine.entailments import entailments
from sgi.engine.judge_batch import Asked, Evidence, ask_batch
from sgi.engine.resources import require_resources
from sgi.engine.text_vectors import TextVectors, text_vectors
from sgi.engine.token_vectors import token_parts
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.memory_size import size_of
from sgi.kernel.metric import Metric, Scores, Status
from sgi.kernel.sample import Batch, Field
from sgi.kernel.vectors import VectorTable, short
from sgi.kernel.work_counter import current_work
from sgi.metrics.complete_rows import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.engine.entailments import Entailments, Pair
    from sgi.engine.resources import Resources
    from sgi.engine.token_vectors import TokenVectors
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample
    from sgi.kernel.tokens import TokenModel

BATCH_SIZE = 256
"""Rows scored together: enough to fill the embedder's batches, few enough to stay small in memory."""
MAX_BATCH_BYTES = 16_000_000
"""Rows of a batch are in memory together. It is no option: the same data must give the same batches."""
_LARGE = ("question", "contexts", "response", "reference", "alternatives", "metadata")
"""The fields of a sample that can be large."""

_Part = tuple["NDArray[np.int64]", Scores]

_NAMED_SAMPLES = 5
_NO_ROWS: Mapping[int, str] = {}
_FIELD_TEXTS = (Field.QUESTION, Field.CONTEXTS, Field.RESPONSE, Field.REFERENCE)


@dataclass(frozen=True)
class BatchScores:
    """What came of a batch.

    Attributes:
        scores: by the metric's canonical string.
        truncated: rows by the field in which a text was longer than a model reads.
        failures: models that gave nothing at all, with the reason.
        evidence: what a judge made of each row, by the metric's canonical string.
    """

    scores: Mapping[str, Scores]
    truncated: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    evidence: Mapping[str, Evidence] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Subject:
    """A metric with rows that have all it needs, and the evidence for them where it asks a judge."""

    metric: AnyMetric
    batch: Batch
    evidence: tuple[Any, ...] = ()

    def texts(self) -> Iterable[str]:
        if isinstance(self.metric, JudgedMetric):
            return self.metric.texts(self.batch, self.evidence)
        assert isinstance(self.metric, Metric)  # noqa: S101 - there is no third kind
        return self.metric.texts(self.batch)

    def token_texts(self) -> Iterable[str]:
        return self.metric.token_texts(self.batch) if isinstance(self.metric, Metric) else ()

    def pairs(self) -> Iterable[Pair]:
        if not isinstance(self.metric, Metric) or self.metric.entailment_model is None:
            return ()
        return self.metric.entailment_pairs(self.batch)

    def score(self, vectors: VectorTable) -> Scores:
        if isinstance(self.metric, JudgedMetric):
            return self.metric.score(self.batch, self.evidence, vectors)
        assert isinstance(self.metric, Metric)  # noqa: S101 - there is no third kind
        return self.metric.score(self.batch, vectors)

    def take(self, rows: Sequence[int]) -> _Subject:
        evidence = tuple(self.evidence[row] for row in rows) if self.evidence else ()
        return _Subject(self.metric, self.batch.take(rows), evidence)


@dataclass(frozen=True, eq=False)
class _Task:
    """What a metric scores of a batch.

    ``rows`` are those of the subject; ``failed`` are rows that cannot be scored, with the reason.
    """

    subject: _Subject
    rows: NDArray[np.int64]
    failed: Mapping[int, str]
    models: tuple[str, ...]
    texts: tuple[str, ...]
    pairs: tuple[Pair, ...] = ()

    @property
    def metric(self) -> AnyMetric:
        return self.subject.metric

    def within(self, rows: range) -> _Task:
        """The part of it that lies among these rows of the batch; they stand in order."""
        first, last = np.searchsorted(self.rows, (rows.start, rows.stop)).tolist()
        if last - first == len(self.rows):
            return self
        subject = self.subject.take(range(first, last))
        return replace(self, subject=subject, rows=self.rows[first:last])


@dataclass(frozen=True, eq=False)
class _Made:
    """What models made of a batch, by their names."""

    vectors: Mapping[str, TextVectors]
    entailed: Mapping[str, Entailments]

    def wanted(self, task: _Task) -> _Made:
        """What the metric of a task wants of it."""
        vectors = {model: self.vectors[model] for model in task.models if model in self.vectors}
        reader = task.metric.entailment_model
        return _Made(vectors, {} if reader is None else {reader: self.entailed[reader]})

    @property
    def failure(self) -> str:
        """Why no row can be scored: no embedder gave a vector, or the entailment model read nothing."""
        embedders = [found.failure for found in self.vectors.values() if found.failure]
        if embedders and len(embedders) == len(self.vectors):
            return " ".join(embedders)
        return " ".join(found.failure for found in self.entailed.values() if found.failure)


def batches(samples: Iterable[Sample], size: int = BATCH_SIZE) -> Iterator[Batch]:
    """Cut a stream of samples into batches of at most ``size`` rows, and of about 16 MB or one row."""
    rows: list[Sample] = []
    held = 0
    for sample in samples:
        rows.append(sample)
        held += size_of([getattr(sample, name) for name in _LARGE], MAX_BATCH_BYTES)
        if len(rows) == size or held >= MAX_BATCH_BYTES:
            yield Batch(tuple(rows))
            rows, held = [], 0
    if rows:
        yield Batch(tuple(rows))


async def evaluate_batch(
    batch: Batch,
    metrics: Sequence[AnyMetric],
    resources: Resources,
    failed: Mapping[int, str] = _NO_ROWS,
    asked: Asked | None = None,
) -> BatchScores:
    """Score one batch with every metric; each distinct text is embedded once for each model that is wanted.

    Likewise each distinct pair is read once by each entailment model.

    ``failed`` names rows that cannot be scored, with the reason: what they needed could not be had. A row
    without a needed field is ``missing``. A row whose vectors an embedder could not give, or about which the
    judge gave no usable reply, is ``failed``. Token vectors are held for a part of the rows at
    a time. Anything else that goes wrong in a metric is a bug, and is raised with the metric's name and
    sample ids. ``asked`` is what the judge said before; without it, it is asked now.

    Raises:
        UsageError: a metric wants token vectors, frequencies or an entailment model that the resources do not
            hold.
    """
    require_resources(metrics, resources)
    if asked is None:
        asked = await ask_batch(batch, metrics, resources.judge, failed)
    tasks = [_task(batch, metric, resources.names, failed, asked) for metric in metrics]
    texts_by_model, pairs_by_model = _texts_by_model(tasks), _pairs_by_model(tasks)
    token_models = {task.metric.token_model for task in tasks} - {None}
    current_work().expect(
        sum(len(texts) for texts in texts_by_model.values())
        + sum(len(pairs) for pairs in pairs_by_model.values())
        + len(batch) * len(token_models)
    )
    vectors = {
        model: await text_vectors(model, resources.embedders[model], texts)
        for model, texts in texts_by_model.items()
    }
    read = {
        name: await entailments(name, resources.entailment_models[name], pairs)
        for name, pairs in pairs_by_model.items()
    }
    made = _Made(vectors, read)
    computed, failures = await _computed_by_tokens(tasks, batch, made, resources)
    failures |= {name: found.failure for name, found in (vectors | read).items() if found.failure}
    for task in tasks:
        if task.metric.token_model is None:
            computed[task.metric.canonical] = _computed(task, made)
    return BatchScores(
        asked.with_replies({task.metric.canonical: _account(task, batch, computed) for task in tasks}),
        _truncated_rows(batch, frozenset().union(*(found.table.truncated for found in vectors.values()))),
        failures,
        asked.evidence,
    )


def _task(
    batch: Batch, metric: AnyMetric, configured: tuple[str, ...], failed: Mapping[int, str], asked: Asked
) -> _Task:
    lost = {**asked.failures.get(metric.canonical, _NO_ROWS), **failed}
    usable = batch.present(metric.spec.needs)
    usable[list(lost)] = False
    rows = np.flatnonzero(usable)
    complete = batch if len(rows) == len(batch) else batch.take(rows)
    evidence = asked.evidence.get(metric.canonical, ())
    subject = _Subject(metric, complete, tuple(evidence[row] for row in rows) if evidence else ())
    models = metric.wanted_models(configured) if metric.embeds else ()
    texts, pairs = dict.fromkeys(subject.texts()), dict.fromkeys(subject.pairs())
    return _Task(subject, rows, lost, models, tuple(texts), tuple(pairs))


def _texts_by_model(tasks: Sequence[_Task]) -> dict[str, list[str]]:
    wanted: dict[str, dict[str, None]] = {}
    for task in tasks:
        for model in task.models:
            wanted.setdefault(model, {}).update(dict.fromkeys(task.texts))
    return {model: list(texts) for model, texts in wanted.items() if texts}


def _pairs_by_model(tasks: Sequence[_Task]) -> dict[str, list[Pair]]:
    wanted: dict[str, dict[Pair, None]] = {}
    for task in tasks:
        if task.metric.entailment_model is not None:
            wanted.setdefault(task.metric.entailment_model, {}).update(dict.fromkeys(task.pairs))
    return {model: list(pairs) for model, pairs in wanted.items()}


def _truncated_rows(batch: Batch, texts: frozenset[str]) -> dict[str, int]:
    """How many rows hold one of these texts, by field."""
    if not texts:
        return {}
    rows = Counter(
        name.value
        for sample in batch.samples
        for name in _FIELD_TEXTS
        if not texts.isdisjoint(_texts(sample, name))
    )
    return dict(rows)


def _texts(sample: Sample, name: Field) -> tuple[str, ...]:
    match name:
        case Field.CONTEXTS:
            return (*sample.contexts, SEPARATOR.join(sample.contexts))
        case Field.REFERENCE:
            return sample.references
        case _:
            return (getattr(sample, name.value),)


async def _computed_by_tokens(
    tasks: Sequence[_Task], batch: Batch, made: _Made, resources: Resources
) -> tuple[dict[str, list[_Part]], dict[str, str]]:
    """The scores of the metrics that want token vectors, and which models gave none."""
    computed: dict[str, list[_Part]] = {}
    failures: dict[str, str] = {}
    groups: dict[TokenModel, list[_Task]] = {}
    for task in tasks:
        if task.metric.token_model is not None:
            groups.setdefault(task.metric.token_model, []).append(task)
    for model, group in groups.items():
        computed |= {task.metric.canonical: [] for task in group}
        async for rows, tokens in token_parts(model, resources, _token_texts(group, len(batch))):
            for task in group:
                computed[task.metric.canonical] += _computed(task.within(rows), made, tokens)
            if tokens.failure:
                failures[str(model)] = tokens.failure
            current_work().add(len(rows))
    return computed, failures


def _token_texts(tasks: Sequence[_Task], n: int) -> list[list[str]]:
    """The texts of each row of the batch whose token vectors are wanted."""
    texts: list[list[str]] = [[] for _ in range(n)]
    for task in tasks:
        for place, row in enumerate(task.rows.tolist()):
            texts[row] += task.subject.take([place]).token_texts()
    return texts


def _account(task: _Task, batch: Batch, by_metric: Mapping[str, Sequence[_Part]]) -> Scores:
    """The scores of all rows of the batch: computed, missing and failed."""
    computed = by_metric[task.metric.canonical]
    if len(computed) == 1 and len(task.rows) == len(batch):
        return computed[0][1]
    lost = np.array(sorted(task.failed), dtype=np.int64)
    absent = np.setdiff1d(np.arange(len(batch)), np.union1d(task.rows, lost))
    parts = [
        (lost, Scores.without_value(Status.FAILED, [task.failed[row] for row in lost.tolist()])),
        (
            absent,
            Scores.without_value(
                Status.MISSING, [batch.samples[row].lacking(task.metric.spec.needs) for row in absent]
            ),
        ),
        *computed,
    ]
    return Scores.assemble(len(batch), parts)


def _computed(task: _Task, of_batch: _Made, tokens: TokenVectors | None = None) -> list[_Part]:
    """The scores of the rows that have all the metric needs."""
    if not len(task.rows):
        return []
    made = of_batch.wanted(task)
    if reason := made.failure or ("" if tokens is None else tokens.failure):
        return [(task.rows, Scores.without_value(Status.FAILED, [reason] * len(task.rows)))]
    wanted = frozenset(task.texts)
    unusable = {text: model for model, found in made.vectors.items() for text in found.unusable & wanted}
    unusable |= {text: str(tokens.model) for text in tokens.unusable} if tokens is not None else {}
    refused = {text: why for read in made.entailed.values() for text, why in read.unusable.items()}
    failed = _rows_touching(task, unusable, refused)
    good = [row for row in range(len(task.rows)) if row not in failed]
    parts = [
        (task.rows[list(failed)], Scores.without_value(Status.FAILED, list(failed.values()))),
        (task.rows[good], _score(task.subject.take(good) if failed else task.subject, made, tokens)),
    ]
    return [part for part in parts if len(part[0])]


def _rows_touching(task: _Task, unusable: Mapping[str, str], refused: Mapping[str, str]) -> dict[int, str]:
    """The rows that need what a model could not give, with the reason.

    Args:
        task: its rows.
        unusable: texts for which a model gave no usable vector, and the model.
        refused: hypotheses of which an entailment model said nothing usable, and why.
    """
    if not unusable and not refused:
        return {}
    reasons = {}
    for row in range(len(task.rows)):
        subject = task.subject.take([row])
        for text in (*subject.texts(), *subject.token_texts()):
            if text in unusable:
                shown = f"the text {short(text)!r} ({len(text):,} characters)"
                reasons[row] = f"{unusable[text]} gave no usable vector for {shown}"
                break
        for _, hypothesis in subject.pairs() if refused and row not in reasons else ():
            if hypothesis in refused:
                reasons[row] = refused[hypothesis]
                break
    return reasons


def _score(subject: _Subject, made: _Made, tokens: TokenVectors | None) -> Scores:
    batch = subject.batch
    tables = {model: found.table for model, found in made.vectors.items() if not found.failure}
    primary = next(iter(tables.values()), VectorTable())
    table = replace(
        primary,
        others={model: table for model, table in tables.items() if table is not primary},
        failures={model: found.failure for model, found in made.vectors.items() if found.failure},
        tokens={tokens.model: tokens.table} if tokens is not None else {},
        entailed={name: found.table for name, found in made.entailed.items()},
    )
    try:
        scores = subject.score(table)
        if len(scores) != len(batch):
            raise ValueError(f"{len(scores)} scores for {len(batch)} rows")  # noqa: TRY301 - noted just below
    except Exception as error:
        shown = ", ".join(batch.ids[:_NAMED_SAMPLES]) + ("…" if len(batch) > _NAMED_SAMPLES else "")
        error.add_note(f"in metric {subject.metric.canonical}, samples {shown}")
        raise
    return scores
