"""``sgi run``: scores a file of answers, stores the run, and prints a summary."""

from __future__ import annotations

import sys
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.commands import cluster_function
from sgi.cli.console import print_message, progress
from sgi.cli.run_options import Values, run_options, with_run_options
from sgi.cli.run_output import (
    database_option,
    fitted_on_same_data,
    make_run_views,
    print_columns,
    print_plan,
    print_report,
    report_notes,
)
from sgi.engine import flags
from sgi.engine.progress import Began
from sgi.kernel.errors import SgiError, StoreDamagedError, UsageError
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgi.engine.pipeline import RunReport
    from sgi.engine.progress import Event, Listener
    from sgi.engine.run_options import Cassette, RunOptions
    from sgi.store.run_queries import RunRecord

_DATA_OPTIONS = {"data", "columns", "encoding", "on_error"}
"""If one of these is given with --resume, the data is read again."""

_resume_option = options.option_group(flags.RESUMING)
_ray_option = options.option_group("Ray cluster")

Data = Annotated[
    Path | None,
    typer.Argument(
        help="A .jsonl, .json, .csv, .tsv, .parquet, .arrow or .xlsx file of answers, traces or an export of "
        "another tool (langfuse:FILE forces a format); or a .toml file that describes a run."
    ),
]
Resume = Annotated[
    str | None,
    _resume_option("--resume", help="Resume a run: its id or the beginning of its id, its name, or last."),
]
TrustTarget = Annotated[
    bool,
    _resume_option(
        "--trust-target",
        help="With --resume: use the target, the judge, the models and the output files named in the stored "
        "run. Otherwise you must give each again, because someone else may have written the stored run.",
    ),
]
Ray = Annotated[
    str | None,
    _ray_option(
        "--ray",
        metavar="local|auto|HOST:PORT",
        help="Score on a Ray cluster, and write to the folder given with -o. local starts a cluster on this "
        "machine, auto uses the one that runs here, HOST:PORT one elsewhere. The folder must be empty.",
    ),
]
Workers = Annotated[
    int | None,
    _ray_option(
        "--workers",
        min=1,
        help="With --ray: number of workers. Default: one per core. Each may spend an equal share of "
        "--max-cost; a worker that dies is replaced by one that may spend the share again.",
    ),
]


@with_run_options()
def run(
    context: typer.Context,
    values: Values,
    data: Data = None,
    resume: Resume = None,
    trust_target: TrustTarget = False,
    ray: Ray = None,
    workers: Workers = None,
    percent: options.Percent = True,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Score a file of answers, and store the run.

    The run is stored in a database: sgi.db in this folder, unless --db or SGI_DATABASE_URL names another.
    Finished batches are never scored twice: after a crash or Ctrl-C, resume it with --resume last.

    Examples:
      sgi run answers.csv
      sgi run answers.jsonl -m grounding,citation_recall --name monday
      sgi run log.jsonl --map response=outputs.answer --map 'contexts=retrieval.documents.*.content'
      sgi run questions.jsonl --target app:answer
      sgi run answers.jsonl -m faithfulness --judge openai:gpt-4o-mini --max-cost 2
      sgi run --resume last
      sgi run answers.jsonl --dry-run
      sgi run answers.jsonl -o scores.jsonl --name nightly --tag gpt-4o
      sgi run traces.jsonl -m grounding --cluster session_id
      sgi run answers.jsonl -m faithfulness --judge openai:gpt-4o-mini --cascade alpha=0.05
      sgi run answers.jsonl --calibration grounding.calibration.json
      sgi run answers.jsonl -m grounding --nli models/nli
      sgi run summaries.jsonl -m grounding --cluster contexts
      sgi run patients.csv --no-texts
      sgi run nightly.toml
      sgi run --resume nightly --target app:answer
      sgi run answers.jsonl -m grounding --ray local --workers 4 -o scores
    """
    if data is not None:
        values["data"] = data
    _use_cassette(values, context.obj)
    _check_combination(values, resume, trust_target=trust_target)
    if ray is not None or workers is not None:
        others = {"--dry-run": dry_run, "--resume": resume}
        chosen, report, notes = cluster_function("run")(values, ray, workers, others, quiet=quiet)
        print_report(chosen, report, notes, percent=percent, as_json=as_json, database=None)
    else:
        db = values.get("db")
        record = None if resume is None else _run_to_resume(resume, db)
        if dry_run:
            _print_dry_run(values, record, trusted=trust_target, quiet=quiet, as_json=as_json)
            return
        chosen, report = _start_or_resume(values, record, trusted=trust_target, quiet=quiet)
        make_run_views(report.run, report.summary.rows, db)
        notes = []
        if not quiet:
            notes += fitted_on_same_data(chosen, report)
            notes += report_notes(chosen, report, database_option(db))
        print_report(chosen, report, notes, percent=percent, as_json=as_json, database=db)
    if report.failures or report.rejected or report.summary.left_out:
        raise typer.Exit(3)


def _use_cassette(values: Values, cassette: Cassette | None) -> None:
    """Record the judge on a cassette, or replay one; a replayed cassette also names the judge."""
    values["cassette"] = cassette
    if cassette is not None and cassette.replaying and "judge" not in values:
        from sgi.llm.cassette import cassette_judge

        values["judge"] = cassette_judge(cassette.path)


def _print_dry_run(
    values: Values, record: RunRecord | None, *, trusted: bool, quiet: bool, as_json: bool
) -> None:
    from sgi.engine.runner import check_files

    chosen = run_options(values, record, trusted=trusted)
    check_files(chosen)
    print_plan(chosen, quiet=quiet, as_json=as_json)


def _check_combination(values: Mapping[str, object], resume: str | None, *, trust_target: bool) -> None:
    """Raise an error if options cannot be combined."""
    is_stored = values.get("store", True)
    if values.get("tags") and not is_stored:
        raise UsageError("--tag cannot be combined with --no-store.", hint="Leave out --no-store, or --tag.")
    if resume is None:
        needing = {"--trust-target": trust_target, "--take-over": values.get("take_over")}
        if name := next((name for name, is_set in needing.items() if is_set), ""):
            raise UsageError(f"{name} needs --resume.", hint="Add --resume RUN.")
        return
    if values.get("tags"):
        hint = f"Add one with sgi runs tag {resume} TAG."
        raise UsageError("--tag cannot be combined with --resume: a resumed run keeps its tags.", hint=hint)
    if not is_stored:
        message = "--no-store cannot be combined with --resume: a resumed run is in the database."
        raise UsageError(message, hint="Leave out --no-store.")
    if "name" in values:
        message = "--name cannot be combined with --resume: a resumed run keeps its name."
        raise UsageError(message, hint="Leave out --name.")


def _start_or_resume(
    values: Values, record: RunRecord | None, *, trusted: bool, quiet: bool
) -> tuple[RunOptions, RunReport]:
    import anyio

    from sgi.engine.runner import resume, start_run
    from sgi.engine.stored_options import resume_flags

    reread = not _DATA_OPTIONS.isdisjoint(values)
    idle = record is not None and record.finished and not (values.get("retry_failed") or reread)
    chosen = run_options(values, record, trusted=trusted or idle)
    if idle and not trusted and "where" not in values.get("target", {}):
        chosen = chosen.model_copy(update={"code_folder": Path.cwd()})
    printed_flags = f"{resume_flags(chosen)}{database_option(values.get('db'))}"
    with (
        progress(quiet=quiet) as bar,
        _resumable(bar, printed_flags) as listener,
        redirect_stdout(sys.stderr),
    ):
        hearing = listener if quiet else print_columns(listener)
        if record is None:
            return chosen, anyio.run(start_run, chosen, hearing)
        return chosen, anyio.run(lambda: resume(chosen, record, hearing, reread=reread))


def _run_to_resume(name: str, database: str | None) -> RunRecord:
    from sgi.engine.runner import require_resumable

    with open_runs(database, name) as (_, (record,)):
        require_resumable(record)
    return record


@contextmanager
def _resumable(listener: Listener, flags: str) -> Iterator[Listener]:
    """Context manager that prints the command that resumes the run, with these flags, if it stops early."""
    run_ids: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Began):
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
