"""What ``sgi run`` tells: what it would do, what came of it, and what to know beside the numbers."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import typer

from sgi.cli.console import plain, print_json, print_lines, print_summary, progress, talk
from sgi.engine.progress import ColumnsRead
from sgi.kernel.protocols import Usage
from sgi.reporting.formatting import calibration_hint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sgi.engine.pipeline import RunReport
    from sgi.engine.plan import Plan
    from sgi.engine.progress import Event, Listener
    from sgi.engine.spec import RunSpec


def print_columns(listener: Listener) -> Listener:
    """The listener, and before it one that prints which columns were used as soon as it is known."""

    def listen(event: Event) -> None:
        if isinstance(event, ColumnsRead) and (line := event.columns.line()):
            talk(line)
        listener(event)

    return listen


def print_plan(spec: RunSpec, *, cache: bool | Path, quiet: bool, as_json: bool) -> None:
    """What the run would do, on stdout."""
    from sgi.engine.plan import plan_run
    from sgi.engine.runner import estimate_judge

    with progress(quiet=quiet) as listener:
        planned = plan_run(spec, count_texts=True, listener=listener)
        judging = estimate_judge(spec, planned, cache=cache)
    facts = _facts(spec, planned) | _judging_facts(spec, judging)
    if as_json:
        print_json(facts)
        return
    facts["columns"] = planned.columns.line().removeprefix("Columns: ")
    for name, value in facts.items():
        typer.echo(plain(f"{name.replace('_', ' ')}: {_fact_text(name, value)}"))


def _facts(spec: RunSpec, planned: Plan) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "data": planned.dataset,
        "rows": planned.rows,
        "rejected": planned.rejected,
        "fields": {str(name): count for name, count in planned.present.items()},
        "columns": planned.columns.to_dict(),
        "metrics": [metric.canonical for metric in planned.metrics],
    }
    if spec.target is not None:
        return facts | {"target": spec.target.fingerprint, "target_calls": planned.rows}
    return facts | {"distinct_texts": planned.texts, "characters": planned.characters}


def _judging_facts(spec: RunSpec, judging: Usage | None) -> dict[str, Any]:
    """What the judge would be asked beyond what is known; nobody can say before a target has answered."""
    if judging is None or spec.judge is None:
        return {}
    tokens = {"judge_input_tokens": judging.input_tokens, "judge_output_tokens": judging.output_tokens}
    calls = {"judge_calls": judging.calls, "judge_replies_known_or_shared": judging.cached}
    facts = {"judge": spec.judge.model, **calls, **tokens, "judge_cost": judging.cost}
    note = "what it clears is not asked about: the judge takes this much at most"
    return facts if spec.cascade is None else facts | {"cascade": note}


def _fact_text(name: str, value: Any) -> str:
    """A fact as people read it."""
    match value:
        case list():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{key} {count:,}" for key, count in value.items())
        case None:
            return "unknown price" if name == "judge_cost" else "–"
        case float():
            return f"about ${value:.4f}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def print_report(spec: RunSpec, report: RunReport, notes: list[str], *, percent: bool, as_json: bool) -> None:
    """The headline on stdout, and the notes on stderr."""
    if as_json:
        files = {"output": str(spec.out) if spec.out else None, "rejected": report.rejected}
        aside = str(spec.rejects) if report.rejected and spec.rejects else None
        columns = None if report.columns is None else report.columns.to_dict()
        more = {"run": report.run, "columns": columns, **files, "rejects": aside}
        print_json(report.summary.to_dict() | more)
    else:
        print_summary(report.summary, percent=percent)
        print_lines(report.summary.cascade.notes() if report.summary.cascade is not None else ())
    for line in notes:
        talk(line)


def database_option(database: str | None) -> str:
    """What a command needs to find the same database; none where it finds it by itself, or has a user."""
    if database is None or database == os.environ.get("SGI_DATABASE_URL") or "@" in database:
        return ""
    return f" --db {shlex.quote(database)}"


def report_notes(spec: RunSpec, report: RunReport, words: str) -> list[str]:
    """What a reader of the headline should know beside it.

    Args:
        spec: how the run was asked for.
        report: what came of it.
        words: what a command needs to find the same database.
    """
    summary = report.summary
    notes = [*summary.notes(), *truncation_notes(summary.truncated, summary.rows)]
    notes += [
        f"{rows:,} rows were scored without {model}, which gave no vectors; their details say why."
        for model, rows in summary.left_out.items()
    ]
    if summary.copies:
        notes.append(
            f"In {summary.copies:,} of {summary.labelled:,} labelled rows the response is the reference"
            " itself: scores that compare the two rank those rows by construction."
        )
    calibrated = None if spec.calibration is None else spec.calibration.metric
    notes += [
        calibration_hint(metric.metric)
        for metric in summary.metrics
        if metric.is_score and metric.metric != calibrated
    ]
    if report.rejected:
        notes.append(
            f"{report.rejected:,} rows could not be read; they are in {spec.rejects}, with the reasons."
        )
    if report.cached_failures:
        notes.append(
            f"{report.cached_failures:,} rows failed from cached replies of the judge that could not be used:"
            " run again with --retry-failed to ask again."
        )
    if report.failures:
        notes.append(f"{report.failures:.1%} of the rows failed; their reasons stand beside their scores.")
    notes += [usage_line(report.usage)] if report.usage != Usage() else []
    if spec.out is not None:
        notes.append(f"The scores of each row are in {spec.out}.")
    if report.run is not None:
        notes.append(f"The run is kept: sgi show {report.run}{words}")
    return notes


def truncation_notes(truncated: Mapping[str, int], rows: int) -> list[str]:
    """A line for each field that was longer than the embedding model reads.

    >>> truncation_notes({"response": 5}, 60)
    ['response: truncated in 5 of 60 rows, because the text is longer than the embedding model reads.']
    """
    why = "because the text is longer than the embedding model reads"
    return [f"{name}: truncated in {count:,} of {rows:,} rows, {why}." for name, count in truncated.items()]


def usage_line(usage: Usage) -> str:
    """What a judge was asked, and what it took, in one line.

    >>> usage_line(Usage(calls=2, cached=1, input_tokens=1500, output_tokens=80, cost=0.0123))
    'The judge was asked 2 times (1 more answers were known): 1,500 tokens in, 80 out, $0.0123.'
    """
    cached = f" ({usage.cached:,} more answers were known)" if usage.cached else ""
    retries = f", {usage.retries:,} tries after a fault" if usage.retries else ""
    cost = "price unknown" if usage.cost is None else f"${usage.cost:.4f}"
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    unanswered = (
        f" {usage.unanswered:,} more requests have no answer, and the provider may bill them."
        if usage.unanswered
        else ""
    )
    return f"The judge was asked {usage.calls:,} times{cached}{retries}: {tokens}, {cost}.{unanswered}"
