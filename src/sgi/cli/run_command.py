"""``sgi run``: scores a file of answers, stores the run, and prints a summary."""

from __future__ import annotations

import sys
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

import typer

from sgi.cli.commands import cluster_function
from sgi.cli.console import print_message, progress
from sgi.cli.option_fields import with_option_fields
from sgi.cli.run_options import RunOptions
from sgi.cli.run_output import (
    database_option,
    fitted_on_same_data,
    make_run_views,
    print_columns,
    print_plan,
    print_report,
    report_notes,
)
from sgi.cli.run_spec import code_folder, run_spec
from sgi.engine.progress import RunBegan
from sgi.kernel.errors import SgiError, StoreDamagedError, UsageError
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgi.engine.open_resources import Cassette
    from sgi.engine.pipeline import RunReport
    from sgi.engine.progress import Event, Listener
    from sgi.engine.spec import RunSpec
    from sgi.store.run_queries import RunRecord

_DATA_OPTIONS = {"data", "columns", "encoding", "on_error"}
"""If one of these is given with --resume, the data is read again."""


@with_option_fields
def run(context: typer.Context, options: RunOptions) -> None:
    """Score a file of answers, and store the run.

    The run is stored in a database: sgi.db in this folder, unless --db or SGI_DATABASE_URL names another.
    Finished batches are never scored twice: after a crash or Ctrl-C, resume it with --resume last.

    Examples:
      sgi run answers.csv
      sgi run answers.jsonl -m sgi,semantic_similarity -o scores.jsonl --name nightly --tag gpt-4o
      sgi run traces.jsonl -m grounding --cluster session_id
      sgi run answers.jsonl -m faithfulness,ragas_score --judge openai:gpt-4o-mini --max-cost 2
      sgi run answers.jsonl -m faithfulness --judge openai:gpt-4o-mini --cascade alpha=0.05
      sgi run answers.jsonl --calibration sgi.calibration.json
      sgi run answers.jsonl -m grounding --nli models/nli
      sgi run questions.jsonl --target app:answer --target-set concurrency=16
      sgi run summaries.jsonl -m sgi --cluster contexts
      sgi run patients.csv --no-texts
      sgi run nightly.toml
      sgi run --resume last
      sgi run --resume nightly --target app:answer
      sgi run answers.jsonl -m sgi --ray local --workers 4 -o scores
      sgi run log.jsonl --map response=outputs.answer --map 'contexts=retrieval.documents.*.content'
      sgi run answers.jsonl -m sgi --dry-run
    """
    settings = options.spec_values()
    cassette: Cassette | None = context.obj
    if cassette is not None and cassette.replaying and "judge" not in settings:
        from sgi.llm.cassette import cassette_judge

        settings["judge"] = cassette_judge(cassette.path)
    _check_options(options)
    if options.ray is not None or options.workers is not None:
        cluster_function("run")(run_spec(settings), options, cassette)
        return
    record = None if options.resume is None else _run_to_resume(options)
    if options.dry_run:
        from sgi.engine.runner import check_files
        from sgi.store.run_names import checked_tags

        checked_tags(options.tag or ())
        spec = run_spec(settings, record, trusted=options.trust_target, database=options.db)
        check_files(spec)
        print_plan(spec, cache=options.vector_cache, quiet=options.quiet, as_json=options.as_json)
        return
    spec, report = _start_or_resume(options, settings, record, cassette)
    if report.run is not None:
        make_run_views(report.run, report.summary.rows, options.db)
    notes: list[str] = []
    if not options.quiet:
        notes += fitted_on_same_data(spec, report, options.db)
        notes += report_notes(spec, report, database_option(options.db))
    print_report(spec, report, notes, percent=options.percent, as_json=options.as_json, database=options.db)
    if report.failures or report.rejected or report.summary.left_out:
        raise typer.Exit(3)


def _check_options(options: RunOptions) -> None:
    """Raise an error if options cannot be combined."""
    if options.tag and options.no_store:
        raise UsageError("--tag cannot be combined with --no-store.", hint="Leave out --no-store, or --tag.")
    if options.resume is None:
        for name, is_set in {
            "--trust-target": options.trust_target,
            "--take-over": options.take_over,
        }.items():
            if is_set:
                raise UsageError(f"{name} needs --resume.", hint="Add --resume RUN.")
        return
    if options.tag:
        hint = f"Add one with sgi tag {options.resume} TAG."
        raise UsageError("--tag cannot be combined with --resume: a resumed run keeps its tags.", hint=hint)
    if options.no_store:
        message = "--no-store cannot be combined with --resume: a resumed run is in the database."
        raise UsageError(message, hint="Leave out --no-store.")
    if options.name is not None:
        message = "--name cannot be combined with --resume: a resumed run keeps its name."
        raise UsageError(message, hint="Leave out --name.")


def _start_or_resume(
    options: RunOptions,
    settings: Mapping[str, Any],
    record: RunRecord | None,
    cassette: Cassette | None,
) -> tuple[RunSpec, RunReport]:
    import anyio

    from sgi.engine.runner import RunContext, resume, start_run
    from sgi.engine.stored_spec import resume_options

    reread = not _DATA_OPTIONS.isdisjoint(settings)
    idle = record is not None and record.finished and not (options.retry_failed or reread)
    trusted = options.trust_target
    spec = run_spec(settings, record, trusted=trusted or idle, database=options.db)
    flags = f"{resume_options(spec)}{database_option(options.db)}"
    with (
        progress(quiet=options.quiet) as bar,
        _resumable(bar, flags) as listener,
        redirect_stdout(sys.stderr),
    ):
        run_context = RunContext(
            database=options.db,
            store=not options.no_store,
            cache=options.vector_cache,
            listener=listener if options.quiet else print_columns(listener),
            cassette=cassette,
            code_folder=code_folder(settings, trusted=trusted),
            tags=options.tag or (),
        )
        if record is None:
            return spec, anyio.run(lambda: start_run(spec, run_context, retry_failed=options.retry_failed))
        return spec, anyio.run(
            lambda: resume(
                spec,
                record,
                run_context,
                reread=reread,
                retry_failed=options.retry_failed,
                take_over=options.take_over,
            )
        )


def _run_to_resume(options: RunOptions) -> RunRecord:
    from sgi.engine.runner import require_resumable

    with open_runs(options.db, options.resume or "") as (_, (record,)):
        require_resumable(record)
    return record


@contextmanager
def _resumable(listener: Listener, flags: str) -> Iterator[Listener]:
    """Context manager that prints the command that resumes the run, with these flags, if it stops early."""
    run_ids: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, RunBegan):
            run_ids.append(event.run)
        listener(event)

    try:
        yield listen
    except (KeyboardInterrupt, SgiError) as error:
        if not isinstance(error, StoreDamagedError):
            for run in run_ids:
                print_message(f"Finished batches are stored. Resume with: sgi run --resume {run}{flags}")
        if isinstance(error, KeyboardInterrupt):
            print_message("Interrupted.")
            raise typer.Exit(130) from error
        raise
