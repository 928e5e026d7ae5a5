"""Starts and resumes runs: from options to a report."""

from __future__ import annotations

from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from sgi.engine.export import export
from sgi.engine.judge_batch import ask_batch
from sgi.engine.pipeline import Pipeline, RunReport, open_pipeline
from sgi.engine.plan import (
    batches,
    merge_metrics,
    open_option_dataset,
    plan_run,
)
from sgi.engine.progress import Began, silent
from sgi.engine.run_recorder import begin_recording, check_same, mismatch_error, resume_recording
from sgi.engine.summary import Summary
from sgi.io.write import check_target
from sgi.kernel.errors import RunMismatchError, SgiError, UsageError
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.metric import Status
from sgi.store.cache import open_reply_cache
from sgi.store.database import open_database

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from sgi.engine.plan import Plan
    from sgi.engine.progress import Listener
    from sgi.engine.run_options import RunOptions
    from sgi.engine.run_recorder import Recording
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Usage
    from sgi.kernel.sample import Sample
    from sgi.llm.judge_spec import JudgeSpec
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


def estimate_judge(options: RunOptions, planned: Plan) -> Usage | None:
    """Estimate the calls and the cost of the judge; None without a judge, or with a target."""
    if options.judge is None or options.target is not None or not judged_metrics(planned.metrics):
        return None
    rows = open_option_dataset(options).samples(
        on_reject=(lambda _: None) if options.skips_rejected else None
    )
    return anyio.run(partial(estimate, rows, planned.metrics, options.judge, cache=options.cache))


async def start_run(options: RunOptions, listener: Listener = silent) -> RunReport:
    """Start a new run.

    Raises:
        SgiError: an error that the user can fix; committed batches are kept, and the run can be resumed.
    """
    check_files(options)
    planned = plan_run(options, listener=listener)
    async with AsyncExitStack() as stack:
        opening = open_pipeline(open_option_dataset(options), planned, options, listener=listener)
        pipeline = await stack.enter_async_context(opening)
        options = options.model_copy(update={"cascade": pipeline.cascade})
        if options.store:
            database = stack.enter_context(open_database(options.db))
            recording = begin_recording(database, options, planned, pipeline.resources)
            pipeline = replace(pipeline, recording=recording)
        return await _run(options, pipeline)


async def resume(
    options: RunOptions, record: RunRecord, listener: Listener = silent, *, reread: bool = True
) -> RunReport:
    """Resume a stored run; a finished run is not scored again.

    With ``options.retry_failed``, batches with failed rows are scored again. ``reread`` checks the data of a
    finished run too.

    Raises:
        RunBusyError: another process writes the run.
        RunMismatchError: its data, settings, cluster rule, models or versions changed.
    """
    require_resumable(record)
    check_files(options)
    _require_same_rows(options, record)
    if options.cascade is not None:
        stored = options.cascade.with_stored_threshold(record.spec.get("cascade"))
        options = options.model_copy(update={"cascade": stored})
    async with AsyncExitStack() as stack:
        database = stack.enter_context(open_database(options.db, create=False))
        finished = record.finished and not options.retry_failed
        named = options.named_metrics or ()
        if finished and not reread:  # no model or target is opened
            if options.identity(merge_metrics(named, options.extra_metrics(named))) != record.spec_hash:
                raise mismatch_error(record, "its settings")
            return _finished_report(options, record, database)
        planned = plan_run(options, listener=listener)
        opening = open_pipeline(open_option_dataset(options), planned, options, fit=False, listener=listener)
        pipeline = await stack.enter_async_context(opening)
        if finished:
            check_same(database, record, options, planned, pipeline.resources)
            return _finished_report(options, record, database)
        recording = resume_recording(database, record, options, planned, pipeline.resources)
        return await _run(options, replace(pipeline, recording=recording))


def _require_same_rows(options: RunOptions, record: RunRecord) -> None:
    """Require that texts are stored, and rows are clustered, as in the stored run."""
    if options.no_texts != record.no_texts:
        state = "stores no texts" if record.no_texts else "stores its texts"
        raise RunMismatchError(
            f"The run {record.label} {state}; that cannot change when it is resumed.",
            hint="Resume it with the same setting, or start a new run.",
        )
    if options.cluster != record.cluster:
        raise RunMismatchError(
            f"The run {record.label} clusters its rows by {record.cluster!r}, not by {options.cluster!r}.",
            hint=f"Resume it without `cluster`, then use sgi show {record.id} --cluster {options.cluster}.",
        )


def check_files(options: RunOptions) -> None:
    """Raise a UsageError if two files of a run are the same, or cannot be written."""
    files = {"the data": options.rows_file, "`out`": options.out}
    files["the file of rejected rows"] = options.rejects
    names: dict[Path, str] = {}
    for name, path in files.items():
        if path is None:
            continue
        other = names.setdefault(path.resolve(), name)
        if other != name:
            raise UsageError(f"{path} is given both as {other} and as {name}.", hint="Name another file.")
        if path is not options.data:
            check_target(path)


def require_resumable(record: RunRecord) -> None:
    """Raise a RunMismatchError for a run that was imported, rescored or made by an application."""
    if not {"imported_from", "service", "rescored_from"}.isdisjoint(record.spec):
        raise RunMismatchError(f"The run {record.label} was not made by `sgi run`, and cannot be resumed.")


async def _run(options: RunOptions, pipeline: Pipeline) -> RunReport:
    if pipeline.recording is not None:
        pipeline.listener(Began(pipeline.recording.run))
    rejects = options.rejects if options.skips_rejected else None
    with _store_stop_reason(pipeline.recording):
        return await pipeline.run(output=options.out, inputs=options.inputs, rejects=rejects)


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


def _finished_report(options: RunOptions, record: RunRecord, database: Database) -> RunReport:
    """Return the report of a finished run; writes its scores again if the spec names a file."""
    if options.out is not None:
        export(database, record, options.out, inputs=options.inputs)
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
    """Estimate the calls and the cost of the judge for these samples; cached replies are free.

    Tokens and cost are rough: replies are assumed to be as long as the examples in the prompts.
    ``cache`` is as in `RunOptions`; with ``again``, invalid cached replies count as calls.
    """
    from sgi.llm.estimate import EstimatingJudge

    with open_reply_cache(cache) as caches:
        sketching = EstimatingJudge.of(judge, caches, again=again)
        for batch in batches(samples):
            await ask_batch(batch, metrics, sketching, {})
    return sketching.usage
