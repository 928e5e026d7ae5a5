"""Output of ``sgi run``: the plan of a dry run, the summary, and notes on its limits."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import typer

from sgi.cli.console import (
    plain,
    print_json,
    print_lines,
    print_message,
    print_overview,
    print_summary,
    print_tables,
    progress,
)
from sgi.engine.progress import ColumnsRead
from sgi.kernel.errors import SgiError
from sgi.kernel.protocols import Usage
from sgi.kernel.short_text import pluralize, pluralize_part
from sgi.reporting.formatting import calibration_hint
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.engine.pipeline import RunReport
    from sgi.engine.plan import Plan
    from sgi.engine.progress import Event, Listener
    from sgi.engine.run_options import RunOptions
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_UPPER_LIMITS = "rows that the cascade accepts as supported need no judge, so these numbers are upper limits"


def print_columns(listener: Listener) -> Listener:
    """Return a listener that also prints which columns are used, as soon as that is known."""

    def listen(event: Event) -> None:
        if isinstance(event, ColumnsRead) and (line := event.columns.line()):
            print_message(line)
        listener(event)

    return listen


def print_plan(options: RunOptions, *, quiet: bool, as_json: bool) -> None:
    """Print what the run would do."""
    from sgi.engine.plan import plan_run
    from sgi.engine.runner import estimate_judge

    with progress(quiet=quiet) as listener:
        plan = plan_run(options, count_texts=True, listener=listener)
        usage = estimate_judge(options, plan)
    facts = _facts(options, plan)
    if usage is not None and options.judge is not None:
        facts |= judge_facts(options.judge.model, usage)
        facts |= {} if options.cascade is None else {"cascade": _UPPER_LIMITS}
    if as_json:
        print_json(facts)
        return
    facts["columns"] = plan.columns.line().removeprefix("Columns: ")
    print_facts(facts)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print the facts of a dry run, one a line."""
    for name, value in facts.items():
        typer.echo(plain(f"{name.replace('_', ' ')}: {_fact_text(name, value)}"))


def _facts(options: RunOptions, plan: Plan) -> dict[str, Any]:
    from sgi.kernel.sample import Field

    facts: dict[str, Any] = {
        "data": plan.dataset,
        "rows": plan.rows,
        "rejected": plan.rejected,
        "fields": {str(name): plan.present[name] for name in Field if name in plan.present},
        "columns": plan.columns.to_dict(),
        "metrics": [metric.canonical for metric in plan.metrics],
    }
    if options.target is not None:
        return facts | {"target": options.target.fingerprint, "target_calls": plan.rows}
    return facts | {"distinct_texts": plan.texts, "characters": plan.characters}


def judge_facts(model: str, usage: Usage) -> dict[str, Any]:
    """Return how many requests the judge would get, with their tokens and cost, as JSON values."""
    tokens = {"judge_input_tokens": usage.input_tokens, "judge_output_tokens": usage.output_tokens}
    calls = {"judge_calls": usage.calls, "judge_replies_known_or_shared": usage.cached}
    return {"judge": model, **calls, **tokens, "judge_cost": usage.cost}


def _unknown_price() -> str:
    known = find_spec("genai_prices") is not None
    return "unknown price" if known else "unknown price: the published prices are in the extra `judge`"


def _fact_text(name: str, value: Any) -> str:
    match value:
        case list():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{key} {count:,}" for key, count in value.items())
        case None:
            return _unknown_price() if name == "judge_cost" else "–"
        case float():
            return f"about ${value:.4f}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def print_report(
    options: RunOptions,
    report: RunReport,
    notes: list[str],
    *,
    percent: bool,
    as_json: bool,
    database: str | None,
) -> None:
    """Print the overview and the summary on stdout, and the notes on stderr."""
    from sgi.cli.first_screen import print_first_screen
    from sgi.reporting.label_tables import audited_tables

    metrics = report.summary.metrics
    if as_json:
        print_json(report_facts(options, report, database))
    else:
        with _stored(report.run, database) as stored:
            if stored is None:
                print_overview(metrics, report.summary.blank)
            else:
                print_first_screen(*stored, metrics, report.summary.blank, database_option(database))
            audits = () if stored is None else audited_tables(*stored)
        print_summary(report.summary, percent=percent)
        print_tables(audits)
        print_lines(report.summary.cascade.notes() if report.summary.cascade is not None else ())
    for line in notes:
        print_message(line)


def report_facts(options: RunOptions, report: RunReport, database: str | None) -> dict[str, Any]:
    """Return the overview and the summary of a run as JSON values."""
    from sgi.analysis.audit.audited_means import audited_means
    from sgi.cli.first_screen import first_screen_facts

    run_facts = {
        "run": report.run,
        "columns": None if report.columns is None else report.columns.to_dict(),
        "output": str(options.out) if options.out else None,
        "rejected": report.rejected,
        "rejects": str(options.rejects) if report.rejected and options.rejects else None,
    }
    with _stored(report.run, database) as stored:
        screen = first_screen_facts(stored, report.summary.metrics, report.summary.blank)
        screen["audits"] = [] if stored is None else [mean.to_dict() for mean in audited_means(*stored)]
    return screen | report.summary.to_dict() | run_facts


@contextmanager
def _stored(run: str | None, database: str | None) -> Iterator[tuple[Database, RunRecord] | None]:
    """Context manager that opens a stored run; None if it is not stored."""
    if run is None:
        yield None
        return
    with open_runs(database, run) as (store, (record,)):
        yield store, record


def database_option(database: str | None) -> str:
    """Return ``--db`` for a printed command; empty for the default database or an address with a user."""
    if database is None or database == os.environ.get("SGI_DATABASE_URL") or "@" in database:
        return ""
    return f" --db {shlex.quote(database)}"


def report_notes(options: RunOptions, report: RunReport, db_option: str) -> list[str]:
    """Return notes on the limits of the summary, and on where the scores are.

    Args:
        options: the options of the run.
        report: its result.
        db_option: the option that a printed command needs to find the database.
    """
    summary = report.summary
    notes = [*summary.notes(), *long_text_notes(summary.truncated, summary.windowed, summary.rows)]
    notes += [
        f"{pluralize(rows, 'row was', 'rows were')} scored without {model}, which returned no vectors;"
        " the details say why."
        for model, rows in summary.left_out.items()
    ]
    if summary.copies:
        notes.append(
            f"In {summary.copies:,} of {pluralize(summary.labelled, 'labelled row')} the response equals the"
            " reference, so reference-based metrics give their highest value there, whatever the label."
        )
    calibrated = None if options.calibration is None else options.calibration.metric
    defined = [metric.canonical for metric in options.define.metrics.values()]
    notes += [
        calibration_hint(metric.metric)
        for metric in summary.metrics
        if metric.is_score and metric.metric not in {calibrated, *defined}
    ]
    if report.rejected:
        rejected = pluralize(report.rejected, "row")
        what = "row and the reason" if report.rejected == 1 else "rows and the reasons"
        notes.append(f"{rejected} could not be read; {options.rejects} has the {what}.")
    if report.cached_failures:
        notes.append(
            f"{pluralize(report.cached_failures, 'row')} failed because a cached reply of the judge was"
            " invalid. To send these requests again, run with --retry-failed."
        )
    if report.failures:
        notes.append(f"{report.failures:.1%} of the rows failed; the scores have the reasons.")
    notes += [usage_line(report.usage)] if report.usage != Usage() else []
    if options.out is not None:
        notes.append(f"The scores of all rows are in {options.out}.")
    if report.run is not None:
        notes.append(f"The run is stored. Show it: sgi show {report.run}{db_option}")
        notes += _systems_note(options.db, report.run, db_option)
    return notes


def _systems_note(database: str | Path | None, run: str, db_option: str) -> Iterator[str]:
    """Yield the command that compares the systems of a run, if they have a question in common."""
    from sgi.analysis.systems import systems_in_run
    from sgi.engine.stored_runs import read_run
    from sgi.store.scored_runs import SYSTEM_COLUMNS, system_column

    with open_runs(database, run) as (store, (record,)):
        if not system_column(store, record):
            return
        texts = read_run(store, record, metrics=())
        for column in SYSTEM_COLUMNS:
            with suppress(SgiError):
                systems_in_run(texts, column)
                command = f"sgi compare {run} --by {column}{db_option}"
                yield f"It has answers of several systems. Compare them: {command}"
                return


def make_run_views(run: str | None, rows: int, database: str | None) -> None:
    """Store what the dashboard shows of a large stored run, so that its first view is quick."""
    from sgi.store.database import open_database
    from sgi.store.view_cache import MANY_ROWS

    if run is None or rows < MANY_ROWS:
        return
    from sgi.reporting.views.run_view import make_views

    with suppress(SgiError), open_database(database, create=False) as store:  # the run itself is stored
        make_views(store, run)


def fitted_on_same_data(options: RunOptions, report: RunReport) -> Iterator[str]:
    """Yield a note if the calibration was fitted on the data that it is applied to."""
    from sgi.engine.plan import plan_run
    from sgi.kernel.signature import is_same_data

    if options.calibration is None:
        return
    if report.run is None:
        dataset = plan_run(options).identity
    else:
        with open_runs(options.db, report.run) as (_, (record,)):
            dataset = record.dataset
    if is_same_data(dataset, options.calibration.dataset):
        yield (
            f"The calibration {options.calibration.digest} was fitted on these same rows, so its results on "
            "them do not show how well it works on other data."
        )


def long_text_notes(truncated: Mapping[str, int], windowed: Mapping[str, int], rows: int) -> list[str]:
    """Return one line for each field with texts that exceed the limit of an embedding model.

    >>> long_text_notes({"response": 5}, {"contexts": 7}, 60)  # doctest: +NORMALIZE_WHITESPACE
    ['response: truncated in 5 of 60 rows, because the text is longer than the embedding model reads.',
     'contexts: read in windows in 7 of 60 rows, because the text is longer than the embedding model reads.']
    """
    why = "because the text is longer than the embedding model reads"
    counts = {"truncated": truncated, "read in windows": windowed}
    return [
        f"{name}: {how} in {pluralize_part(count, rows, 'row')}, {why}."
        for how, by_field in counts.items()
        for name, count in by_field.items()
    ]


def usage_line(usage: Usage) -> str:
    """Return the requests, tokens and cost of a judge in one line.

    >>> usage_line(Usage(calls=2, cached=1, input_tokens=1500, output_tokens=80, cost=0.0123))
    'Judge requests: 2, replies from the cache: 1; 1,500 tokens in, 80 tokens out, $0.0123.'
    """
    cached = f", replies from the cache: {usage.cached:,}" if usage.cached else ""
    retries = f", retries: {usage.retries:,}" if usage.retries else ""
    cost = "price unknown" if usage.cost is None else f"${usage.cost:.4f}"
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} tokens out"
    line = f"Judge requests: {usage.calls:,}{cached}{retries}; {tokens}, {cost}."
    if usage.unanswered:
        line += f" {pluralize(usage.unanswered, 'more request')} got no reply; the provider may still bill."
    return line
