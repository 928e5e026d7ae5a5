"""Computes judged metrics again from the stored judgements of a run, without a judge."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sgi.analysis.stored_judgements import find_sources, judged_metric, require_same_questions
from sgi.engine.accumulator import Accumulator
from sgi.engine.cascade import CascadeSummary
from sgi.engine.judge_batch import BatchJudgements
from sgi.engine.open_resources import model_options, open_models
from sgi.engine.pipeline import RunReport
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.run_recorder import require_texts, versions
from sgi.engine.score import BatchScores, evaluate_batch
from sgi.engine.stored_options import models_of, require_local_models, stored_definitions
from sgi.engine.summarise import summarise
from sgi.kernel.errors import SgiError, StoreError, UsageError
from sgi.kernel.judged_metric import prompts_digest
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import resolve
from sgi.kernel.short_text import pluralize
from sgi.kernel.signature import canonical_json, digest, run_signature
from sgi.metrics.definitions import Definitions
from sgi.store.manage_runs import delete_run
from sgi.store.run_queries import run_provenance
from sgi.store.stored_batches import (
    count_judgements,
    read_answers,
    read_judgements,
    stored_batch,
    stored_batches,
)
from sgi.store.writer import Setup, create_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from sgi.analysis.stored_judgements import JudgementSource
    from sgi.engine.progress import Listener
    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.metric_column import MetricProvenance
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.stored_batches import JudgementCount, RowJudgements, StoredBatch
    from sgi.store.writer import Writer

_NO_DEFINITIONS = Definitions()

NO_EVIDENCE = "no evidence of this row was kept"
"""Reason for a row that had a value and has none after rescoring."""

_ONE_RUN_KEYS = {"name", "define", "out", "inputs", "rejects", "metrics"}
"""Keys of a run's spec that a new run does not inherit."""


@dataclass(frozen=True)
class RescoreResult:
    """Result of `rescore`.

    Attributes:
        report: the report of the new run.
        sources: the metric of the old run whose judgements each metric uses, by canonical strings.
        notes: what has changed since the judge was asked.
    """

    report: RunReport
    sources: Mapping[str, str]
    notes: tuple[str, ...]


async def rescore(
    database: Database,
    record: RunRecord,
    metrics: Sequence[str | AnyMetric] | None = None,
    *,
    name: str | None = None,
    embedders: Sequence[str] | None = None,
    define: Definitions = _NO_DEFINITIONS,
    cache: bool | Path = True,
    listener: Listener = silent,
) -> RescoreResult:
    """Compute judged metrics from the stored judgements of a run, as a new run over the same data.

    A metric uses its own judgements, or the judgements of a metric with the same questions and the same kind
    of judgement. Rows without a judgement keep their status and reason. The new run stores the judgements
    too, so you can rescore it again. An error deletes the new run. If the process is killed, the new run
    stays
    unfinished: rescore under another name.

    Args:
        database: the database of the run, and of the new one.
        record: the run.
        metrics: names, with parameters in brackets; None: every metric of the run with judgements.
        name: the name of the new run.
        embedders: names, the primary one first; None: the embedders of the run, if they are on this machine.
        define: metrics that ``metrics`` may name, besides those that the run defines.
        cache: where vectors are cached: a file, your user cache (True), or nowhere (False).
        listener: receives the progress.

    Raises:
        UsageError: the run is not finished, or can still change; its settings name a model that is not on
            this machine; a metric uses no judge, asks other questions, or has no judgements in the run; or
            the name is taken.
        StoreError: judgements cannot be read, or the database cannot be written.
    """
    _require_final(record)
    counts = count_judgements(database, record)
    defined = stored_definitions(record).metrics
    given = None if metrics is None else resolve(metrics, {**defined, **define.metrics})
    first = stored_batch(database, record, 0).batch
    tasks = await find_sources(record.label, counts, given, first, defined)
    chosen = [task.metric for task in tasks]
    options = model_options(record.spec, embedders or (), cache=cache)
    require_local_models(record, () if embedders else options.embedders, option="-e")
    require_local_models(record, () if metrics else models_of(chosen), option="-m, with the model")
    with open_models(chosen, options) as resources:
        origin = run_provenance(database, record)
        judge = _judge_identity(origin, defined)
        signature = run_signature(resources.fingerprints, n=record.rows, judge=judge)
        start = _start(record, chosen, signature, name, _provenance(origin, tasks, resources))
        listener(Started("rescoring", record.rows))
        with _delete_on_error(create_run(database, start)) as writer:
            accumulator = await _score_all(database, record, tasks, resources, writer, listener)
            summary = replace(summarise(accumulator, chosen, signature), cascade=_cascade(record, chosen))
            writer.finish(summary.to_dict())
        listener(Finished("rescoring"))
    report = RunReport(summary, accumulator.failures().share, record.rejected, writer.run)
    missing = () if metrics else _missing_notes(counts, defined)
    notes = (*_version_notes(tasks, counts), *_model_notes(origin, resources), *missing)
    return RescoreResult(report, {task.metric.canonical: task.source.canonical for task in tasks}, notes)


def _require_final(record: RunRecord) -> None:
    if "service" in record.spec:
        message = f"An application scores the run {record.label} row by row, so you cannot rescore it."
        raise UsageError(message, hint="Its rows can still change; evaluate its data with `sgi run`.")
    if record.scored < record.rows:
        message = (
            f"The run {record.label} is not finished: {record.scored:,} of {pluralize(record.rows, 'row')}."
        )
        raise UsageError(message, hint=f"Resume it first: sgi run --resume {record.id}.")
    require_texts(record, "Rescoring")


def _judge_identity(origin: Mapping[str, MetricProvenance | None], defined: Mapping[str, AnyMetric]) -> str:
    """Return the judge and the prompts of a run, as in its signature."""
    judged = {name: record for name, record in origin.items() if record is not None and record.judge}
    if not judged:
        return "-"
    judge = next(iter(judged.values())).judge
    metrics = [metric for name in judged if (metric := judged_metric(name, defined)) is not None]
    prompts = {record.prompts for record in judged.values()}
    same = len(metrics) == len(judged) and prompts == {prompts_digest([metric]) for metric in metrics}
    return f"{judge}@{prompts_digest(metrics) if same else '+'.join(sorted(prompts))}"


def _provenance(
    origin: Mapping[str, MetricProvenance | None], tasks: Sequence[JudgementSource], resources: Resources
) -> dict[str, MetricProvenance]:
    """Return the models of the new run, with the judge and prompts of the old one if they are recorded."""
    return {
        task.metric.canonical: replace(
            resources.provenance(task.metric),
            judge=source.judge,
            budget=source.budget,
            prompts=source.prompts,
        )
        for task in tasks
        if (source := origin[task.source.canonical]) is not None
    }


def _start(
    record: RunRecord,
    metrics: Sequence[AnyMetric],
    signature: str,
    name: str | None,
    provenance: Mapping[str, MetricProvenance],
) -> Setup:
    facts: dict[str, Any] = {"metrics": [metric.canonical for metric in metrics], "rescored_from": record.id}
    tables = Definitions.used_by(metrics).tables
    inherited = {key: value for key, value in record.spec.items() if key not in _ONE_RUN_KEYS}
    identity = facts | {"versions": [metric.spec.version for metric in metrics]}
    return Setup(
        dataset=record.dataset,
        dataset_name=record.dataset_name,
        rows=record.rows,
        spec=inherited | facts | ({"name": name} if name else {}) | ({"define": tables} if tables else {}),
        spec_hash=digest(canonical_json(identity)).hex(),
        signature=signature,
        versions=versions(),
        metrics=metrics,
        name=name,
        rejected=record.rejected,
        provenance=provenance,
    )


@contextmanager
def _delete_on_error(writer: Writer) -> Iterator[Writer]:
    """Context manager that deletes the new run after an error, since no judge was paid for it."""
    try:
        yield writer
    except BaseException as error:
        try:
            delete_run(writer.database, writer.run)
        except SgiError as second:  # the store may be the cause
            error.add_note(str(second))
        raise


async def _score_all(
    database: Database,
    record: RunRecord,
    tasks: Sequence[JudgementSource],
    resources: Resources,
    writer: Writer,
    listener: Listener,
) -> Accumulator:
    accumulator = Accumulator.of([task.metric for task in tasks], record.cluster)
    sources = {task.source.canonical for task in tasks}
    for stored in stored_batches(database, record):
        batch = stored.batch
        positions = range(stored.start, stored.start + len(batch))
        judgements = read_judgements(database, record, positions, sources)
        result = await _score(record, stored, tasks, judgements, resources)
        with database.reading() as connection:
            answers = read_answers(connection, record.id, stored.start, len(batch))
        if answers:
            writer.put_answers(answers)
        writer.put(
            stored.start,
            batch.samples,
            result.scores,
            truncated=result.truncated,
            windowed=result.windowed,
            failures=result.failures,
            judgements={task.metric.canonical: judgements[task.source.canonical] for task in tasks},
        )
        accumulator.add(batch, result)
        listener(Advanced(len(batch)))
    return accumulator


async def _score(
    record: RunRecord,
    stored: StoredBatch,
    tasks: Sequence[JudgementSource],
    bodies: Mapping[str, RowJudgements],
    resources: Resources,
) -> BatchScores:
    """Return the scores of a batch; rows without a judgement keep their status."""
    judgements, missing = {}, {}
    for task in tasks:
        await require_same_questions(record.label, task, stored.batch)
        parsed = _parse(record, stored, task, bodies[task.source.canonical])
        judgements[task.metric.canonical] = parsed
        missing[task.metric.canonical] = {row: NO_EVIDENCE for row, body in enumerate(parsed) if body is None}
    result = await evaluate_batch(
        stored.batch,
        [task.metric for task in tasks],
        resources,
        batch_judgements=BatchJudgements(judgements, missing),
    )
    scores = {}
    for task in tasks:
        name = task.metric.canonical
        scores[name] = _keep_status(result.scores[name], stored.scores[task.source.canonical], missing[name])
    return BatchScores(scores, result.truncated, result.failures, windowed=result.windowed)


def _parse(
    record: RunRecord, stored: StoredBatch, task: JudgementSource, bodies: RowJudgements
) -> tuple[BaseModel | None, ...]:
    judgements: list[BaseModel | None] = []
    for row, body in enumerate(bodies):
        try:
            judgements.append(None if body is None else task.metric.judgement.model_validate(body))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(map(str, first["loc"])) or "it"
            sample = f"the sample {stored.batch.ids[row]!r} in the run {record.label}"
            message = f"The judgement of {task.source.canonical} for {sample} cannot be read"
            hint = "Another version of the metric wrote it; score the data again with a judge."
            raise StoreError(f"{message}: {place}: {first['msg']}.", hint=hint) from error
    return tuple(judgements)


def _keep_status(scores: Scores, before: Scores, missing: Mapping[int, str]) -> Scores:
    """Give rows without a judgement their old status and reason, but no value."""
    if not missing:
        return scores
    status, reasons = scores.status.copy(), list(scores.reasons)
    for row in missing:
        if before.reasons[row]:
            status[row], reasons[row] = before.status[row], before.reasons[row]
        else:
            status[row], reasons[row] = Status.FAILED.value, NO_EVIDENCE
    return Scores(scores.values, status, tuple(reasons), scores.details)


def _cascade(record: RunRecord, metrics: Sequence[AnyMetric]) -> CascadeSummary | None:
    """Return the summary of the run's cascade; the new numbers also cover only rows sent to the judge."""
    cascade = (record.summary or {}).get("cascade")
    names = [metric.canonical for metric in metrics]
    return None if cascade is None else CascadeSummary.from_dict({**cascade, "judged": names})


def _version_notes(tasks: Sequence[JudgementSource], counts: Mapping[str, JudgementCount]) -> Iterator[str]:
    for task in tasks:
        old, new = counts[task.source.canonical].version, task.metric.spec.version
        if task.metric.spec.name == task.source.spec.name and old != new:
            yield f"{task.metric.canonical} has version {new}; the run was scored with version {old}."


def _missing_notes(counts: Mapping[str, JudgementCount], defined: Mapping[str, AnyMetric]) -> Iterator[str]:
    for name, count in counts.items():
        if not count.usable and judged_metric(name, defined) is not None:
            yield f"{name} has no judgements in this run and is left out."


def _model_notes(origin: Mapping[str, MetricProvenance | None], resources: Resources) -> Iterator[str]:
    models = {model for one in origin.values() if one is not None for model in one.models}
    for fingerprint in resources.fingerprints:
        if fingerprint not in models:
            yield f"The run was scored without {fingerprint}, so scores that use vectors may differ from it."
