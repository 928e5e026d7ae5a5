"""``sgi diagnose``: says what is wrong with each row of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_notes, print_tables, progress
from sgi.cli.option_values import cache_choice
from sgi.io.write import check_target, open_writer
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize, pluralize_part, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.analysis.diagnosis.diagnosis import Diagnosis, RowDiagnosis
    from sgi.api_analysis import Options


def _complete_cause(incomplete: str) -> list[str]:
    from sgi.analysis.diagnosis.causes import CAUSES, NOT_DIAGNOSED

    return [cause for cause in (*CAUSES, NOT_DIAGNOSED) if cause.startswith(incomplete)]


def _print_table_and_exit(chosen: bool) -> None:
    if chosen:
        from sgi.analysis.diagnosis.decision_table import built_in_text

        typer.echo(built_in_text(), nl=False)
        raise typer.Exit


Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN...",
        help="A run, or several to compare: id, name, last, or last~1.",
        autocompletion=options.complete_run,
        show_default=False,
    ),
]
By = Annotated[
    str | None,
    typer.Option("--by", help="Split the rows by this column: also show the shares of each group."),
]
CauseOption = Annotated[
    str | None,
    typer.Option(
        "--cause",
        help="List the rows with this cause, or those that are 'not diagnosed', with the evidence.",
        autocompletion=_complete_cause,
    ),
]
Limit = Annotated[int, typer.Option(min=0, help="Number of rows to list.")]
TableFile = Annotated[
    Path | None,
    typer.Option("--table", help="TOML file with your decision table instead of the built-in one."),
]
PrintTable = Annotated[
    bool,
    typer.Option(
        "--print-table",
        help="Print the built-in decision table, and do nothing else.",
        callback=_print_table_and_exit,
        is_eager=True,
    ),
]
Embedder = Annotated[
    str | None,
    options.model_option(
        "-e", "--embedder", help="Model for missing metrics. Default: the model of the run."
    ),
]
Out = Annotated[
    Path | None,
    options.output_option("-o", "--out", help="A .jsonl file for the diagnosis of every row."),
]


def diagnose(
    runs: Runs = None,
    by: By = None,
    cause: CauseOption = None,
    limit: Limit = 20,
    table: TableFile = None,
    _print_table: PrintTable = False,
    embedder: Embedder = None,
    allow_different: options.AllowDifferent = False,
    cluster: options.RunCluster = None,
    out: Out = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    db: options.Database = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Say what is wrong with each row of a run: one cause for each row, with the evidence.

    A decision table reads signals of a row, such as whether a relevant passage was retrieved and which facts
    the passages contradict. Metrics that the run does not have are computed; no judge is asked. A row without
    the columns for a decision is not diagnosed, with the reason; those to read come first in a list. Shares
    are those of the diagnosed rows.

    Several runs: the shares side by side, and the paired difference of each share from the first run, with p
    corrected for all causes and runs.

    See the documentation: "Find what is wrong".

    Examples:
      sgi diagnose last
      sgi diagnose last --cause contradicted_fact --limit 5
      sgi diagnose last --by question_type -o diagnosis.jsonl
      sgi diagnose before after
      sgi diagnose --print-table > my.toml
    """
    names: Sequence[str] = runs or ()
    _check(names, {"--by": by, "--cause": cause, "-o": out})
    from sgi import api_analysis

    settings: Options = {
        "table": table,
        "embedder": embedder,
        "cluster": cluster,
        "cache": cache_choice(cache, no_cache=no_cache),
        "db": db,
    }
    if len(names) > 1:
        _compare(names, settings, allow_different=allow_different, as_json=as_json, quiet=quiet)
        return
    with progress(quiet=quiet) as settings["listener"]:
        result = api_analysis.diagnose(names[0], by=by or "", **settings)
    if out is not None:
        with open_writer(out) as writer:
            writer.write([row.to_dict() for row in result.rows])
    _print(result, cause=cause, limit=limit, as_json=as_json)
    print_notes(() if quiet else _notes(result))


def _check(runs: Sequence[str], of_one_run: Mapping[str, object]) -> None:
    """Check the options before a run is read."""
    if not runs:
        raise UsageError("RUN is required.", hint="`sgi runs` lists the runs.")
    for option, value in of_one_run.items():
        if value is not None and len(runs) > 1:
            raise UsageError(f"{option} needs one run; {len(runs)} are given.")
    if (cause := of_one_run["--cause"]) is not None:
        from sgi.analysis.diagnosis.diagnosis import check_cause

        check_cause(str(cause))
    if isinstance(out := of_one_run["-o"], Path):
        if out.suffix != ".jsonl":
            raise UsageError(f"-o needs a .jsonl file, not {out}.")
        check_target(out)


def _print(result: Diagnosis, *, cause: str | None, limit: int, as_json: bool) -> None:
    from sgi.reporting.diagnosis_tables import diagnosis_tables, row_table

    chosen = result.rows if cause is None else result.of_cause(cause)
    if as_json:
        print_json(result.to_dict() | {"diagnoses": [row.to_dict() for row in chosen]})
    elif cause is None:
        print_lines([f"{one_line(result.run)}: {result.count_text}", ""])
        print_tables(diagnosis_tables(result, with_rows=False))
        print_lines(_to_read(result.to_read, limit))
    else:
        shown = chosen[:limit]
        rows = pluralize_part(len(shown), len(chosen), "row")
        print_lines([f"{one_line(result.run)}: {rows}: {cause}", ""])
        if shown:
            print_tables([row_table(shown)])


def _to_read(rows: Sequence[RowDiagnosis], limit: int) -> Iterator[str]:
    """Yield the rows without a cause to read first: two lines for each, as wide as the terminal."""
    from sgi.cli.first_screen import terminal_width
    from sgi.reporting.diagnosis_tables import evidence_text

    shown = rows[:limit]
    if shown:
        yield f"Rows without a cause to read first: {len(shown):,} of {len(rows):,}"
    for row in shown:
        yield "  ".join(["", *map(one_line, filter(None, (row.id, row.system))), row.finding])
        yield shorten(f"    {one_line(evidence_text(row))}", terminal_width())


def _notes(result: Diagnosis) -> Iterator[str]:
    if result.computed:
        yield f"Computed, because the run does not have them: {', '.join(result.computed)}."
    yield from result.notes


def _compare(
    names: Sequence[str], settings: Options, *, allow_different: bool, as_json: bool, quiet: bool
) -> None:
    from sgi.api_analysis import compare_causes
    from sgi.reporting.diagnosis_tables import comparison_of_causes

    with progress(quiet=quiet) as settings["listener"]:
        compared = compare_causes(*names, allow_different=allow_different, **settings)
    if as_json:
        print_json(compared.to_dict())
    else:
        print_lines([f"{pluralize(compared.pairs, 'row is', 'rows are')} in all runs", ""])
        print_tables(comparison_of_causes(compared))
        print_lines(compared.sentences)
    print_notes(() if quiet else compared.notes)
