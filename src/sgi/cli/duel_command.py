"""``sgi judge duel``: ranks systems by a judge's pairwise preferences."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_notes, print_tables, progress
from sgi.cli.run_options import Values, with_run_options
from sgi.io.write import check_target, open_writer
from sgi.kernel.errors import UsageError
from sgi.reporting.formatting import format_scaled, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.duel.duel import Duel

_FAILED = 3


Out = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", help="Also write every duel with the judge's reasons: .jsonl, .csv or .parquet."
    ),
]


@with_run_options("judge", "cache")
def duel(
    runs: options.Runs,
    values: Values,
    by: options.SystemColumn = None,
    out: Out = None,
    allow_different: options.AllowDifferent = False,
    cluster: options.RunCluster = None,
    db: options.Database = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Ask a judge which of two systems answers each question better, and rank the systems.

    Each pair of responses is judged twice, with each response first. A system wins a row only if the judge
    prefers it in both orders. Ties, and rows where the judge changes its mind with the order, are counted
    apart; each counts as half a win of both systems. The strength of a system is its log-odds of a win
    against an average one (Bradley–Terry). The judge sees the question, the reference if there is one, and
    the two responses, but not the passages.

    The exit code is 3 if a row has no usable reply.

    Examples:
      sgi judge duel bm25 dense --judge openai:gpt-4o-mini --max-cost 2
      sgi judge duel last --by model --judge openai:gpt-4o-mini -o duels.jsonl
    """
    from sgi import api_analysis

    if "model" not in values.get("judge", {}):
        raise UsageError("--judge is required.", hint="Name a judge: --judge openai:NAME.")
    if out is not None:
        check_target(out)  # before the first request is paid
    with progress(quiet=quiet) as listener, redirect_stdout(sys.stderr):
        result = api_analysis.duel(
            *runs,
            judge=values["judge"],
            by=by,
            allow_different=allow_different,
            cluster=cluster,
            cache=values.get("cache", True),
            listener=listener,
            db=db,
        )
    if out is not None:
        with open_writer(out) as writer:
            writer.write([asdict(row) for row in result.rows])
    _print(result, as_json=as_json, quiet=quiet)
    if any(row.outcome == "failed" for row in result.rows):
        raise typer.Exit(_FAILED)


def _print(result: Duel, *, as_json: bool, quiet: bool) -> None:
    from sgi.reporting.tables import duel_tables

    if as_json:
        print_json(result.to_dict())
    else:
        print_tables(duel_tables(result))
        print_lines(_facts(result))
    print_notes(() if quiet else result.notes)


def _facts(result: Duel) -> Iterator[str]:
    if result.shown_first is not None:
        share = format_scaled(result.shown_first, is_share=True)
        ends = f" {span(interval, is_share=True)}" if (interval := result.shown_first_interval) else ""
        yield f"The judge prefers the response shown first in {share}{ends}; without a bias it is 50 %."
    cost = "unknown cost" if result.usage.cost is None else f"{result.usage.cost:.4f} US dollars"
    calls = f"{result.usage.calls:,} calls, {result.usage.cached:,} from the cache"
    yield f"judge {one_line(result.judge)}: {calls}, {cost}"
