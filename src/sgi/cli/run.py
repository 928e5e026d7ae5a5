"""``sgi run``: a file of answers in; a run in the store, a file of scores and a summary out."""

from __future__ import annotations

import sys
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli.finish_run import fitted_on_same_data, make_run_views
from sgi.cli.option_values import cache_choice, column_map, judge_settings, metric_list, target_settings
from sgi.cli.options import (
    CacheOption,
    CalibrationOption,
    ClusterOption,
    DatabaseOption,
    DryRunOption,
    EmbedderOption,
    EncodingOption,
    GivenBackendOption,
    GivenPrecisionOption,
    InputsOption,
    JsonOption,
    JudgeConcurrencyOption,
    JudgeOption,
    JudgeSetOption,
    JudgeTimeoutOption,
    MapOption,
    MaxCostOption,
    MetricOption,
    NliOption,
    NoCacheOption,
    OutOption,
    PercentOption,
    QuietOption,
    RejectsOption,
    RpmOption,
    TpmOption,
)
from sgi.cli.run_on_ray import RayOption, WorkersOption, run_on_ray
from sgi.cli.run_output import database_words, print_columns, report_notes, tell_plan, tell_report
from sgi.cli.run_spec import check_files, code_folder, recorded_settings, run_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sgi.engine.pipeline import RunReport
    from sgi.engine.progress import Event, Listener
    from sgi.engine.spec import RunSpec
    from sgi.store.run_queries import RunRecord

_READ = {"data", "columns", "encoding", "on_error"}
"""Whoever names one of these means the data as it is now."""

Data = Annotated[
    Path | None,
    typer.Argument(
        help="A .jsonl, .json, .csv, .tsv or .parquet file; or a .toml file that describes a run."
    ),
]
OnError = Annotated[
    str | None,
    typer.Option(help="A row that cannot be read: stop (exit 2; the default), or skip it and exit 3."),
]
Failures = Annotated[
    str | None,
    typer.Option("--max-failures", help="Stop when more than this share of the rows failed; 5% by default."),
]
Name = Annotated[str | None, typer.Option("--name", help="What to call the run; unique in the database.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="A tag, to find the run by among others; repeatable.")
]
Resume = Annotated[
    str | None,
    typer.Option("--resume", help="Go on with a run: its id, a beginning of it, its name, or last."),
]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over",
        help="With --resume: take the run from another process that writes it. That one ends with an error.",
    ),
]
RetryFailed = Annotated[
    bool,
    typer.Option(
        "--retry-failed",
        help="With --resume: do failed rows again; a target is asked for those alone. Bad replies of a judge "
        "that are kept are asked for once more, also in a new run.",
    ),
]
TrustTarget = Annotated[
    bool,
    typer.Option(
        "--trust-target",
        help="With --resume: use the target, the judge, the models and the output files that the stored run "
        "names. Without it, each must be named again, since a stored run may come from someone else.",
    ),
]
NoStore = Annotated[bool, typer.Option("--no-store", help="Keep no run in a database.")]
NoTexts = Annotated[
    bool,
    typer.Option(
        "--no-texts",
        help="For private data: the database gets digests in place of texts, and nothing that a judge wrote.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="The RAG system to ask for the responses: module:function, or a URL."),
]
CascadeOption = Annotated[
    str | None,
    typer.Option(
        "--cascade",
        metavar="alpha=A[,labelled=FILE]",
        help="Ask the judge only about rows that the metric grounding does not clear, so that of unsupported "
        "rows the share A at most escapes it. Fitted on rows with a label (0 is unsupported), of FILE or "
        "of the data; they must be like the rows scored: same kind of questions, same system.",
    ),
]
TargetSet = Annotated[
    list[str] | None,
    typer.Option(
        "--target-set",
        help="setting=value of the target: concurrency, timeout, retries, rate, question_field, answer_field,"
        " contexts_field, headers.NAME, body.NAME; repeatable.",
    ),
]


def run(
    context: typer.Context,
    data: Data = None,
    metric: MetricOption = None,
    out: OutOption = None,
    embedder: EmbedderOption = None,
    judge: JudgeOption = None,
    judge_set: JudgeSetOption = None,
    judge_concurrency: JudgeConcurrencyOption = None,
    rpm: RpmOption = None,
    tpm: TpmOption = None,
    judge_timeout: JudgeTimeoutOption = None,
    max_cost: MaxCostOption = None,
    calibration: CalibrationOption = None,
    nli: NliOption = None,
    cascade: CascadeOption = None,
    cluster: ClusterOption = None,
    target: Target = None,
    target_set: TargetSet = None,
    name: Name = None,
    tag: Tags = None,
    resume: Resume = None,
    retry_failed: RetryFailed = False,
    trust_target: TrustTarget = False,
    take_over: TakeOver = False,
    db: DatabaseOption = None,
    no_store: NoStore = False,
    no_texts: NoTexts = False,
    backend: GivenBackendOption = None,
    precision: GivenPrecisionOption = None,
    columns: MapOption = None,
    encoding: EncodingOption = None,
    on_error: OnError = None,
    rejects: RejectsOption = None,
    max_failures: Failures = None,
    cache: CacheOption = None,
    no_cache: NoCacheOption = False,
    ray: RayOption = None,
    workers: WorkersOption = None,
    inputs: InputsOption = False,
    percent: PercentOption = True,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Score a file of answers, and keep the run.

    The run is kept in a database, sgi.db in this folder unless --db or SGI_DATABASE_URL says otherwise. What
    is committed is never done twice: after a crash or Ctrl-C, go on with --resume last.

    Examples:

      sgi run answers.csv

      sgi run answers.jsonl -m sgi,semantic_similarity -o scores.jsonl --name nightly --tag gpt-4o

      sgi run answers.jsonl -m faithfulness,ragas_score --judge openai:gpt-4o-mini --max-cost 2

      sgi run answers.jsonl -m faithfulness --judge openai:gpt-4o-mini --cascade alpha=0.05

      sgi run answers.jsonl --calibration sgi.calibration.json

      sgi run answers.jsonl -m grounding --nli models/nli

      sgi run questions.jsonl --target app:answer --target-set concurrency=16

      sgi run answers.jsonl -m sgi --backend openvino --precision int8

      sgi run summaries.jsonl -m sgi --cluster contexts

      sgi run patients.csv --no-texts

      sgi run nightly.toml

      sgi run --resume last

      sgi run --resume nightly --target app:answer

      sgi run 'answers/*.jsonl' -m sgi --ray local --workers 4 -o scores

      sgi run log.jsonl --map response=outputs.answer --map 'contexts=retrieval.documents.*.content'

      sgi run answers.jsonl -m sgi --dry-run
    """
    from sgi.kernel.errors import UsageError

    asked = {
        "data": data,
        "metrics": metric_list(metric) if metric else None,
        "embedders": embedder or None,
        "target": target_settings(target, target_set),
        "judge": judge_settings(
            judge,
            judge_set,
            concurrency=judge_concurrency,
            rpm=rpm,
            tpm=tpm,
            timeout=judge_timeout,
            max_cost=max_cost,
        ),
        "calibration": calibration,
        "nli": nli,
        "cascade": cascade,
        "cluster": cluster,
        "name": name,
        "backend": backend,
        "precision": precision,
        "columns": column_map(columns) or None,
        "encoding": encoding,
        "on_error": on_error,
        "max_failures": max_failures,
        "out": out,
        "rejects": rejects,
        "inputs": inputs or None,
        "no_texts": no_texts or None,
    }
    given = {key: value for key, value in asked.items() if value is not None}
    if context.obj is not None and context.obj.replaying and "judge" not in given:
        given["judge"] = recorded_settings(context.obj)
    around = {
        "database": db,
        "store": not no_store,
        "cache": cache_choice(cache, no_cache=no_cache),
        "cassette": context.obj,
    }
    if trust_target and resume is None:
        raise UsageError("--trust-target is for the settings of a stored run.", hint="Add --resume RUN.")
    if ray is not None or workers is not None:
        refused = {"--resume": resume, "--tag": tag, "--db": db, "--dry-run": dry_run, "--rejects": rejects}
        refused["A cassette"] = context.obj
        place = {"address": ray, "workers": workers, "cache": around["cache"], "again": retry_failed}
        run_on_ray(run_spec(given), place, refused, percent=percent, as_json=as_json, quiet=quiet)
        return
    if take_over and resume is None:
        raise typer.BadParameter("it goes with --resume.", param_hint="--take-over")
    tags = _tags(tag or (), around, resume)
    record = None if resume is None else _found(around, resume, name)
    if dry_run:
        spec = run_spec(given, record, trusted=trust_target, database=db)
        check_files(spec)
        tell_plan(spec, cache=around["cache"], quiet=quiet, as_json=as_json)
        return
    how = {"retry_failed": retry_failed, "take_over": take_over}
    spec, report = _performed(given, around, record, tags, how, trusted=trust_target, quiet=quiet)
    if report.run is not None:
        make_run_views(report.run, report.summary.rows, around["database"])
    notes = (
        []
        if quiet
        else [*fitted_on_same_data(spec, report, db), *report_notes(spec, report, database_words(db))]
    )
    tell_report(spec, report, notes, percent=percent, as_json=as_json)
    if report.failures or report.rejected or report.summary.left_out:
        raise typer.Exit(3)


def _performed(
    given: dict[str, Any],
    around: dict[str, Any],
    record: RunRecord | None,
    tags: Sequence[str],
    how: dict[str, bool],
    *,
    trusted: bool,
    quiet: bool,
) -> tuple[RunSpec, RunReport]:
    """Do a new run, or resume one."""
    import anyio

    from sgi.cli.console import progress
    from sgi.engine.runner import RunContext, resume, start_run
    from sgi.engine.stored_spec import resume_options

    reread = not _READ.isdisjoint(given)
    idle = record is not None and record.finished and not (how["retry_failed"] or reread)
    spec = run_spec(given, record, trusted=trusted or idle, database=around["database"])
    check_files(spec)
    words = f"{resume_options(spec)}{database_words(around['database'])}"
    tagging = partial(_tag, around["database"], tags=tags)
    with (
        progress(quiet=quiet) as listener,
        _noting(listener, words, tagging) as noting,
        redirect_stdout(sys.stderr),
    ):
        folder = code_folder(given, trusted=trusted)
        place = RunContext(**around, listener=noting if quiet else print_columns(noting), code_folder=folder)
        if record is None:
            return spec, anyio.run(lambda: start_run(spec, place, retry_failed=how["retry_failed"]))
        return spec, anyio.run(lambda: resume(spec, record, place, reread=reread, **how))


def _found(around: dict[str, Any], wanted: str, name: str | None) -> RunRecord:
    """The run to go on with."""
    from sgi.engine.runner import require_resumable
    from sgi.kernel.errors import UsageError
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    if not around["store"]:
        raise UsageError("A run goes on where it is kept.", hint="Leave out --no-store.")
    if name is not None:
        raise UsageError("A run that goes on keeps its name.", hint="Leave out --name.")
    with open_database(around["database"], create=False) as opened:
        record = find_run(opened, wanted)
    require_resumable(record)
    return record


def _tags(given: Sequence[str], around: dict[str, Any], resume: str | None) -> tuple[str, ...]:
    """The tags of a new run."""
    from sgi.kernel.errors import UsageError
    from sgi.store.run_names import checked_tags

    if given and resume is not None:
        raise UsageError("A run that goes on keeps its tags.", hint=f"Add one with sgi tag {resume} TAG.")
    if given and not around["store"]:
        raise UsageError("A tag is of a run that is kept.", hint="Leave out --no-store, or --tag.")
    return checked_tags(given)


def _tag(database: str | None, run: str, *, tags: Sequence[str]) -> None:
    from sgi.store.database import open_database
    from sgi.store.manage_runs import set_tags

    if tags:
        with open_database(database, create=False) as opened:
            set_tags(opened, run, tags)


@contextmanager
def _noting(listener: Listener, words: str, tagging: Callable[[str], None]) -> Iterator[Listener]:
    """Once the run is in the store it is tagged, and an end before its time says how to go on."""
    from sgi.cli.console import talk
    from sgi.engine.progress import RunBegan
    from sgi.kernel.errors import SgiError, StoreDamagedError

    begun: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, RunBegan):
            begun.append(event.run)
            tagging(event.run)
        listener(event)

    try:
        yield listen
    except (KeyboardInterrupt, SgiError) as error:
        if not isinstance(error, StoreDamagedError):
            for run in begun:
                talk(f"What is done is kept. Go on with: sgi run --resume {run}{words}")
        if isinstance(error, KeyboardInterrupt):
            talk("Interrupted.")
            raise typer.Exit(130) from error
        raise
