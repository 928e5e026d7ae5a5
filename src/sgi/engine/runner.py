"""Starts and resumes runs: from a spec to a report."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from sgi.engine.export import export
from sgi.engine.judge_batch import ask_batch
from sgi.engine.open_resources import ResourceOptions
from sgi.engine.pipeline import Pipeline, RunReport, open_pipeline
from sgi.engine.plan import (
    batches,
    merge_metrics,
    open_spec_dataset,
    plan_run,
)
from sgi.engine.progress import RunBegan, silent
from sgi.engine.run_recorder import begin_recording, check_same, mismatch_error, resume_recording
from sgi.engine.summary import Summary
from sgi.io.write import check_target
from sgi.kernel.errors import RunMismatchError, SgiError, UsageError
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.metric import Status
from sgi.store.cache import open_reply_cache
from sgi.store.database import open_database
from sgi.store.run_names import checked_tags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from sgi.engine.open_resources import Cassette
    from sgi.engine.plan import Plan
    from sgi.engine.progress import Listener
    from sgi.engine.run_recorder import Recording
    from sgi.engine.spec import RunSpec
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Usage
    from sgi.kernel.sample import Sample
    from sgi.llm.judge_spec import JudgeSpec
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class RunContext:
    """Where a run is stored and cached; none of these settings changes a score.

    Attributes:
        database: path or URL of the database, as for ``open_database``.
        store: whether this run is stored.
        cache: where vectors are stored: a file, the user's cache (True), or nowhere (False).
        listener: takes progress events.
        cassette: a file of judge calls to record or to replay.
        code_folder: the only folder whose code may run as a Python target; None allows any.
        tags: the tags of a new run.
    """

    database: str | Path | None = None
    store: bool = True
    cache: bool | Path = True
    listener: Listener = silent
    cassette: Cassette | None = None
    code_folder: Path | None = None
    tags: Sequence[str] = ()


def estimate_judge(spec: RunSpec, planned: Plan, *, cache: bool | Path = True) -> Usage | None:
    """Estimate the calls and the cost of the judge; None without a judge, or with a target."""
    if spec.judge is None or spec.target is not None or not judged_metrics(planned.metrics):
        return None
    dataset = open_spec_dataset(spec)
    rows = dataset.samples(on_reject=(lambda _: None) if spec.on_error == "skip" else None)
    return anyio.run(partial(estimate, rows, planned.metrics, spec.judge, cache=cache))


async def start_run(spec: RunSpec, context: RunContext, *, retry_failed: bool = False) -> RunReport:
    """Start a new run; ``retry_failed`` requests cached judge replies again if they were unusable.

    Raises:
        SgiError: an error that the user can fix; committed batches are kept, and the run can be resumed.
    """
    check_files(spec)
    tags = checked_tags(context.tags)
    planned = plan_run(spec, listener=context.listener)
    async with AsyncExitStack() as stack:
        pipeline = await stack.enter_async_context(_open(spec, planned, context, retry_failed=retry_failed))
        spec = spec.model_copy(update={"cascade": pipeline.cascade})
        if context.store:
            database = stack.enter_context(open_database(context.database))
            recording = begin_recording(database, spec, planned, pipeline.resources, tags=tags)
            pipeline = replace(pipeline, recording=recording)
        return await _run(spec, pipeline)


async def resume(
    spec: RunSpec,
    record: RunRecord,
    context: RunContext,
    *,
    retry_failed: bool = False,
    reread: bool = True,
    take_over: bool = False,
) -> RunReport:
    """Resume a stored run; a finished run is not scored again.

    ``retry_failed`` scores batches with failed rows again; ``reread`` checks the data of a finished run too;
    ``take_over`` takes the run from another process.

    Raises:
        RunBusyError: another process writes the run.
        RunMismatchError: its data, settings, cluster rule, models or versions changed.
    """
    require_resumable(record)
    check_files(spec)
    _require_same_rows(spec, record)
    if spec.cascade is not None:
        spec = spec.model_copy(
            update={"cascade": spec.cascade.with_stored_threshold(record.spec.get("cascade"))}
        )
    async with AsyncExitStack() as stack:
        database = stack.enter_context(open_database(context.database, create=False))
        finished = record.finished and not retry_failed
        named = merge_metrics(spec.named_metrics or (), spec.extra_metrics)
        if finished and not reread:  # no model or target is opened
            if spec.identity(named) != record.spec_hash:
                raise mismatch_error(record, "its settings")
            return _finished_report(spec, record, database)
        planned = plan_run(spec, listener=context.listener)
        pipeline = await stack.enter_async_context(
            _open(spec, planned, context, fit=False, retry_failed=retry_failed)
        )
        if finished:
            check_same(database, record, spec, planned, pipeline.resources)
            return _finished_report(spec, record, database)
        recording = resume_recording(
            database,
            record,
            spec,
            planned,
            pipeline.resources,
            retry_failed=retry_failed,
            take_over=take_over,
        )
        return await _run(spec, replace(pipeline, recording=recording))


def _require_same_rows(spec: RunSpec, record: RunRecord) -> None:
    """Require that texts are stored, and rows are clustered, as in the stored run."""
    if spec.no_texts != record.no_texts:
        state = "stores no texts" if record.no_texts else "stores its texts"
        raise RunMismatchError(
            f"The run {record.label} {state}; that cannot change when it is resumed.",
            hint="Resume it with the same setting, or start a new run.",
        )
    if spec.cluster != record.cluster:
        raise RunMismatchError(
            f"The run {record.label} clusters its rows by {record.cluster!r}, not by {spec.cluster!r}.",
            hint=f"Resume it without `cluster`, then use sgi show {record.id} --cluster {spec.cluster}.",
        )


def check_files(spec: RunSpec) -> None:
    """Raise a UsageError if two files of a run are the same, or cannot be written."""
    files = {"the data": spec.data, "`out`": spec.out, "the file of rejected rows": spec.rejects}
    names: dict[Path, str] = {}
    for name, path in files.items():
        if path is None:
            continue
        other = names.setdefault(path.resolve(), name)
        if other != name:
            raise UsageError(f"{path} is both {other} and {name}.", hint="Name another file.")
        if path is not spec.data:
            check_target(path)


def require_resumable(record: RunRecord) -> None:
    """Raise a RunMismatchError for an imported, rescored or application run."""
    if not {"imported_from", "service", "rescored_from"}.isdisjoint(record.spec):
        raise RunMismatchError(f"The run {record.label} was not made by `sgi run`, and cannot be resumed.")


def _open(
    spec: RunSpec, planned: Plan, context: RunContext, *, fit: bool = True, retry_failed: bool = False
) -> AbstractAsyncContextManager[Pipeline]:
    options = replace(
        ResourceOptions.of(spec),
        cache=context.cache,
        retry_failed=retry_failed,
        cassette=context.cassette,
        code_folder=context.code_folder,
    )
    return open_pipeline(
        open_spec_dataset(spec),
        planned,
        options,
        cascade=spec.cascade,
        fit=fit,
        columns=spec.columns,
        skip_rejected=spec.on_error == "skip",
        max_failures=spec.max_failures,
        listener=context.listener,
    )


async def _run(spec: RunSpec, pipeline: Pipeline) -> RunReport:
    if pipeline.recording is not None:
        pipeline.listener(RunBegan(pipeline.recording.run))
    rejects = spec.rejects if spec.on_error == "skip" else None
    with _store_stop_reason(pipeline.recording):
        return await pipeline.run(output=spec.out, inputs=spec.inputs, rejects=rejects)


@contextmanager
def _store_stop_reason(recording: Recording | None) -> Iterator[None]:
    """Context manager that stores why the run stopped early, unless the store itself failed."""
    try:
        yield
    except BaseException as error:
        if recording is not None:
            try:
                recording.stop(error)
            except SgiError as second:
                error.add_note(str(second))
        raise


def _finished_report(spec: RunSpec, record: RunRecord, database: Database) -> RunReport:
    """Return the report of a finished run; writes its scores again if the spec names a file."""
    if spec.out is not None:
        export(database, record, spec.out, inputs=spec.inputs)
    summary = Summary.from_dict(record.summary or {})
    failed = max((metric.counts[Status.FAILED] for metric in summary.metrics), default=0)
    return RunReport(summary, failed / max(summary.rows, 1), record.rejected, record.id)


async def estimate(
    samples: Iterable[Sample],
    metrics: Sequence[AnyMetric],
    judge: JudgeSpec,
    *,
    cache: bool | str | Path = True,
    again: bool = False,
) -> Usage:
    """Estimate what the judge would be asked about these samples, beyond its cached replies.

    Tokens and cost are rough: replies are assumed to be as long as those of the examples in the prompts.
    ``cache`` is as for `ResourceOptions`, ``again`` is its ``retry_failed``.
    """
    from sgi.llm.estimate import EstimatingJudge

    with open_reply_cache(cache) as caches:
        sketching = EstimatingJudge.of(judge, caches, again=again)
        for batch in batches(samples):
            await ask_batch(batch, metrics, sketching, {})
    return sketching.usage
