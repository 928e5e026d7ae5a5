"""Judged metrics computed anew from the evidence that a run keeps: other weights, no judge."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from sgi.analysis.stored_judgements import find_sources, judged_metric, require_same_questions
from sgi.engine.accumulator import Accumulator
from sgi.engine.cascade import CascadeSummary
from sgi.engine.judge_batch import BatchJudgements
from sgi.engine.open_resources import ResourceOptions, open_resources
from sgi.engine.pipeline import RunReport
from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.engine.run_recorder import require_texts, versions
from sgi.engine.score import BatchScores, evaluate_batch
from sgi.engine.spec import model_settings
from sgi.engine.stored_spec import models_of, require_local_models
from sgi.engine.summarise import summarise
from sgi.kernel.errors import SgiError, StoreError, UsageError
from sgi.kernel.judged_metric import prompts_digest
from sgi.kernel.metric import Scores, Status
from sgi.kernel.signature import canonical_json, digest, run_signature
from sgi.store.run_provenance import run_provenance
from sgi.store.run_writer import RunStart, create_run
from sgi.store.stored_batches import (
    count_judgements,
    read_answers,
    read_judgements,
    stored_batch,
    stored_batches,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import BaseModel

    from sgi.analysis.stored_judgements import JudgementSource
    from sgi.engine.progress import Listener
    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.provenance import MetricProvenance, RunProvenance
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.run_writer import RunRecorder
    from sgi.store.stored_batches import JudgementCount, RowJudgements, StoredBatch

NOT_KEPT = "no evidence of this row was kept"
"""Why a row that had a value has none after rescoring."""

_OF_ONE_CALL = {"name", "out", "inputs", "rejects", "metrics"}
"""What a run does not hand on of its spec."""


@dataclass(frozen=True)
class RescoreResult:
    """What came of rescoring.

    Attributes:
        report: of the new run.
        sources: which metric of the old run each metric's evidence is from, by canonical strings.
        notes: what is not as it was when the judge was asked.
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
    cache: bool | Path = True,
    listener: Listener = silent,
) -> RescoreResult:
    """Compute judged metrics from the evidence of a run, as a new run over the same data; no judge is asked.

    A metric takes the evidence of the one with its own name, or else of one that asks the same and keeps
    evidence of the same kind. Rows without evidence keep their status and reason. The new run keeps evidence
    and signature of the judge, so that it can be rescored again. An error leaves nothing of it; a process
    that is killed leaves it unfinished, and the way on is to rescore under another name.

    Args:
        database: where the run is, and the new one will be.
        record: the run.
        metrics: names, with parameters in brackets; None takes every metric of the run that has evidence.
        name: what to call the new run.
        embedders: names, the primary one first; None takes those of the run, if they are of this machine.
        cache: where vectors are kept: a file, the user's own cache (True), or nowhere (False).
        listener: hears of the progress.

    Raises:
        UsageError: the run is not finished, or can still change; its stored settings name a model that is not
            of this machine; a metric asks no judge, asks something else than was asked, or has no evidence in
            the run, which says what has; the name is taken.
        StoreError: evidence cannot be read, or the database not be written.
    """
    _require_final(record)
    require_texts(record, "Rescoring")
    kept = count_judgements(database, record)
    tasks = await find_sources(record.label, kept, metrics, stored_batch(database, record, 0).batch)
    chosen = [task.metric for task in tasks]
    names, how = model_settings(record.spec)
    require_local_models(record, () if embedders else names, option="-e")
    require_local_models(record, () if metrics else models_of(chosen), option="-m, with the model")
    options = ResourceOptions(embedders or names, cache=cache, stored_judgements=True, **how)
    async with open_resources(chosen, options) as resources:
        then = run_provenance(database, record)
        signature = run_signature(resources.fingerprints, n=record.rows, judge=_judge_identity(then))
        start = replace(
            _start(record, chosen, signature, name), provenance=_provenance(then, tasks, resources)
        )
        listener(Started("rescoring", record.rows))
        with _discard_on_error(create_run(database, start)) as recorder:
            accumulator = await _score_all(database, record, tasks, resources, recorder, listener)
            summary = replace(summarise(accumulator, chosen, signature), cascade=_cascade(record, chosen))
            recorder.finish(summary.to_dict())
        listener(Finished("rescoring"))
    report = RunReport(summary, accumulator.failures().share, record.rejected, recorder.run)
    sources = {task.metric.canonical: task.source.canonical for task in tasks}
    left_out = () if metrics is not None else _without_evidence(kept)
    return RescoreResult(
        report, sources, (*_new_versions(tasks, kept), *left_out, *_new_models(then, resources))
    )


def _require_final(record: RunRecord) -> None:
    if "service" in record.spec:
        message = f"The run {record.label} is made row by row by an application, and cannot be rescored."
        raise UsageError(message, hint="Its rows can still change; evaluate its data with `sgi run`.")
    if record.scored < record.rows:
        message = f"The run {record.label} is not finished: {record.scored:,} of {record.rows:,} rows."
        raise UsageError(message, hint=f"Go on with it first: sgi run --resume {record.id}.")


def _judge_identity(then: RunProvenance) -> str:
    """The judge and the prompts of a run, as its signature shows them."""
    asked = {name: record for name, record in then.metrics.items() if record is not None and record.judge}
    if not asked:
        return "-"
    judge = next(iter(asked.values())).judge
    metrics = [metric for name in asked if (metric := judged_metric(name)) is not None]
    recorded = {record.prompts for record in asked.values()}
    same = len(metrics) == len(asked) and recorded == {prompts_digest([metric]) for metric in metrics}
    return f"{judge}@{prompts_digest(metrics) if same else '+'.join(sorted(recorded))}"


def _provenance(
    then: RunProvenance, tasks: Sequence[JudgementSource], resources: Resources
) -> dict[str, MetricProvenance]:
    """The models of now with the judge and the prompts of then; nothing where those were not recorded."""
    return {
        task.metric.canonical: replace(
            resources.provenance(task.metric),
            judge=source.judge,
            budget=source.budget,
            prompts=source.prompts,
        )
        for task in tasks
        if (source := then.metrics[task.source.canonical]) is not None
    }


def _start(record: RunRecord, metrics: Sequence[AnyMetric], signature: str, name: str | None) -> RunStart:
    facts = {"metrics": [metric.canonical for metric in metrics], "rescored_from": record.id}
    handed_on = {key: value for key, value in record.spec.items() if key not in _OF_ONE_CALL}
    identity = facts | {"versions": [metric.spec.version for metric in metrics]}
    return RunStart(
        dataset=record.dataset,
        dataset_name=record.dataset_name,
        rows=record.rows,
        spec=handed_on | facts | ({"name": name} if name else {}),
        spec_hash=digest(canonical_json(identity)).hex(),
        signature=signature,
        versions=versions(),
        metrics=metrics,
        name=name,
        rejected=record.rejected,
    )


@contextmanager
def _discard_on_error(recorder: RunRecorder) -> Iterator[RunRecorder]:
    """A run that does not come to its end is forgotten: nothing was paid for it."""
    try:
        yield recorder
    except BaseException as error:
        try:
            recorder.discard()
        except SgiError as second:  # the store may be what failed
            error.add_note(str(second))
        raise


async def _score_all(
    database: Database,
    record: RunRecord,
    tasks: Sequence[JudgementSource],
    resources: Resources,
    recorder: RunRecorder,
    listener: Listener,
) -> Accumulator:
    """Compute and keep batch after batch, with the answers of the target where there was one."""
    accumulator = Accumulator.of([task.metric for task in tasks], record.cluster)
    sources = {task.source.canonical for task in tasks}
    for stored in stored_batches(database, record):
        batch = stored.batch
        positions = range(stored.start, stored.start + len(batch))
        said = read_judgements(database, record, positions, sources)
        made = await _score(record, stored, tasks, said, resources)
        with database.reading() as connection:
            answers = read_answers(connection, record.id, stored.start, len(batch))
        if answers:
            recorder.save_answers(answers)
        recorder.commit(
            stored.start,
            batch.samples,
            made.scores,
            truncated=made.truncated,
            failures=made.failures,
            judgements={task.metric.canonical: said[task.source.canonical] for task in tasks},
        )
        accumulator.add(batch, made)
        listener(Advanced(len(batch)))
    return accumulator


async def _score(
    record: RunRecord,
    stored: StoredBatch,
    tasks: Sequence[JudgementSource],
    said: Mapping[str, RowJudgements],
    resources: Resources,
) -> BatchScores:
    """The scores of a batch: computed where there is evidence, elsewhere as they were."""
    for task in tasks:
        await require_same_questions(record.label, task, stored.batch)
    evidence = {
        task.metric.canonical: _read(record, stored, task, said[task.source.canonical]) for task in tasks
    }
    lost = {
        name: {row: NOT_KEPT for row, body in enumerate(found) if body is None}
        for name, found in evidence.items()
    }
    metrics = [task.metric for task in tasks]
    made = await evaluate_batch(
        stored.batch, metrics, resources, batch_judgements=BatchJudgements(evidence, lost)
    )
    scores = {}
    for task in tasks:
        name = task.metric.canonical
        scores[name] = _keep_status(made.scores[name], stored.scores[task.source.canonical], lost[name])
    return BatchScores(scores, made.truncated, made.failures)


def _read(
    record: RunRecord, stored: StoredBatch, task: JudgementSource, said: RowJudgements
) -> tuple[BaseModel | None, ...]:
    """Kept evidence as the metric's own type."""
    found: list[BaseModel | None] = []
    for row, body in enumerate(said):
        try:
            found.append(None if body is None else task.metric.judgement.model_validate(body))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(map(str, first["loc"])) or "it"
            sample = f"the sample {stored.batch.ids[row]!r} in the run {record.label}"
            message = f"The evidence of {task.source.canonical} for {sample} cannot be read"
            hint = "Another version of the metric wrote it; ask a judge anew."
            raise StoreError(f"{message}: {place}: {first['msg']}.", hint=hint) from error
    return tuple(found)


def _keep_status(made: Scores, before: Scores, lost: Mapping[int, str]) -> Scores:
    """The rows without evidence keep the status and the reason they had; a value cannot be kept."""
    if not lost:
        return made
    status, reasons = made.status.copy(), list(made.reasons)
    for row in lost:
        if before.reasons[row]:
            status[row], reasons[row] = before.status[row], before.reasons[row]
        else:
            status[row], reasons[row] = Status.FAILED.value, NOT_KEPT
    return Scores(made.values, status, tuple(reasons), made.details)


def _cascade(record: RunRecord, metrics: Sequence[AnyMetric]) -> CascadeSummary | None:
    """What the run tells of its cascade: these numbers too are over the rows that it left for the judge."""
    told = (record.summary or {}).get("cascade")
    names = [metric.canonical for metric in metrics]
    return None if told is None else CascadeSummary.from_dict({**told, "judged": names})


def _new_versions(tasks: Sequence[JudgementSource], kept: Mapping[str, JudgementCount]) -> Iterator[str]:
    for task in tasks:
        then, now = kept[task.source.canonical].version, task.metric.spec.version
        if task.metric.spec.name == task.source.spec.name and then != now:
            yield f"{task.metric.canonical} is of version {now} now; the run was scored with version {then}."


def _without_evidence(kept: Mapping[str, JudgementCount]) -> Iterator[str]:
    for name, evidence in kept.items():
        if not evidence.usable and judged_metric(name) is not None:
            yield f"{name} has no evidence in this run, and is left out."


def _new_models(then: RunProvenance, resources: Resources) -> Iterator[str]:
    for fingerprint in resources.fingerprints:
        if fingerprint not in then.models:
            yield f"The run was scored without {fingerprint}: scores of vectors can differ for that alone."
