"""``sgi report``: one page about a run, the differences between two runs, or a leaderboard."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sgi.cli import options
from sgi.cli.console import ignore_broken_pipe, one_line, print_message
from sgi.cli.option_values import metric_pair
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize
from sgi.reporting.weighted_runs import open_weighted_runs, require_no_leaderboard

if TYPE_CHECKING:
    from sgi.reporting.render import ReportFormat

_DEFAULT = Path("report.html")
_MEGABYTE = 1_000_000


Out = Annotated[
    Path | None,
    options.output_option(
        "-o",
        "--out",
        help="File for the report; an existing file is replaced. Default: report.html; md and json go to "
        "stdout.",
    ),
]
Format = Annotated[
    Literal["html", "md", "json"] | None,
    options.output_option(
        "--format", help="Format of the report. Default: by the suffix of -o, otherwise html."
    ),
]
Rows = Annotated[
    int,
    typer.Option(
        min=1,
        max=10_000,
        help="Maximum number of rows in the table of the HTML file; a larger run is also written as CSV "
        "beside it.",
    ),
]
Worst = Annotated[
    int,
    typer.Option(
        min=0, max=1000, help="Number of worst (or most changed) rows to show in full for each metric."
    ),
]
Diagnose = Annotated[
    bool,
    typer.Option(
        "--diagnose",
        help="Also show what is wrong with the rows of the run, as `sgi diagnose` does. It computes metrics "
        "that the run lacks.",
    ),
]
Title = Annotated[str | None, options.output_option(help="Title of the page.")]
Open = Annotated[bool, options.output_option("--open", help="Open the file in a browser.")]


def report(
    runs: options.Runs,
    by: options.SystemColumn = None,
    within: options.Within = None,
    pareto: options.Pareto = None,
    out: Out = None,
    format_: Format = None,
    rows: Rows = 10_000,
    worst: Worst = 10,
    diagnose: Diagnose = False,
    title: Title = None,
    open_: Open = False,
    allow_different: options.AllowDifferent = False,
    cluster: options.RunCluster = None,
    weights: options.Weights = None,
    db: options.Database = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a report about a run, the differences between two runs, or a leaderboard of several systems.

    The report is one HTML file that needs no network. It shows a summary with coverage and intervals,
    distributions, groups, correlations, the worst rows with their texts and judgements, and with labels ROC
    and calibration. Three or more runs, or --by, --within or --pareto, give a leaderboard as `sgi compare`
    prints it, with charts. Markdown and JSON are printed unless you give -o.

    Examples:
      sgi report last
      sgi report last --diagnose
      sgi report monday friday -o friday.html --open
      sgi report bm25 dense hybrid --within question_type
      sgi report last --format md >> "$GITHUB_STEP_SUMMARY"
    """
    from sgi.io.write import check_place
    from sgi.reporting.leaderboard_view import LeaderboardOptions
    from sgi.reporting.render import ReportOptions, render_report, report_format

    kind = format_ or ("html" if out is None else report_format(out))
    target = out or (_DEFAULT if kind == "html" else None)
    _check_options(kind, title=title, open_=open_)
    if target is not None:
        check_place(target)  # fails before the work if the file cannot be written
    systems = LeaderboardOptions(by, within, pareto=metric_pair(pareto), allow_different=allow_different)
    if diagnose and (len(runs) > 1 or systems.applies_to(len(runs))):
        raise UsageError("--diagnose needs one run.", hint="To compare causes: sgi diagnose RUN RUN.")
    settings = ReportOptions(worst=worst, rows=rows, title=title, diagnose=diagnose, leaderboard=systems)
    require_no_leaderboard(weights, systems.applies_to(len(runs)))
    with open_weighted_runs(db, *runs, cluster=cluster, weights=weights) as (database, records):
        text, csv = render_report(database, records, kind, settings, target)
    if target is None:
        with ignore_broken_pipe():
            sys.stdout.buffer.write(text.encode(errors="replace"))
            sys.stdout.buffer.flush()
        return
    if not quiet:
        labels = one_line(", ".join(record.label for record in records), longest=120)
        print_message(f"Wrote {target}: {labels}, {_size(target.stat().st_size)}.")
        if csv is not None:
            print_message(f"Wrote {csv}: all {pluralize(records[0].scored, 'row')}; the page shows {rows:,}.")
    if open_:
        typer.launch(target.resolve().as_uri())


def _check_options(kind: ReportFormat, *, title: str | None, open_: bool) -> None:
    if kind == "json" and title is not None:
        raise UsageError("--title does not apply to JSON.")
    if open_ and kind != "html":
        raise UsageError(
            "--open needs an HTML file.", hint="Leave out --format, or name an .html file with -o."
        )


def _size(count: int) -> str:
    return f"{count / _MEGABYTE:.1f} MB" if count >= _MEGABYTE else f"{count:,} bytes"
