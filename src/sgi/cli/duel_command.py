"""``sgi judge duel``: ranks systems by a judge's pairwise preferences."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.analysis.duel.duel_criteria import MAX_AA_QUESTIONS
from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_notes, print_tables, progress
from sgi.cli.option_values import metric_list
from sgi.cli.run_options import Values, with_run_options
from sgi.io.write import check_target, open_writer
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize

if TYPE_CHECKING:
    from sgi.analysis.duel.duel_result import Duel
    from sgi.api_duel import DuelPlan

_FAILED = 3


On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="CRITERION",
        help="What to judge: comprehensiveness, diversity, empowerment or directness; repeatable, or with "
        "commas. Default: better_answer.",
    ),
]
Aa = Annotated[
    int, typer.Option("--aa", min=0, help="Maximum number of questions of the A/A test; 0 for none.")
]
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
    on: On = None,
    aa: Aa = MAX_AA_QUESTIONS,
    out: Out = None,
    allow_different: options.AllowDifferent = False,
    cluster: options.RunCluster = None,
    dry_run: options.DryRun = False,
    db: options.Database = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Ask a judge which of two systems answers each question better, and rank the systems.

    First comes an A/A test: the judge compares a system with itself, which shows how much it prefers the
    response shown first. Then each pair of responses is judged twice, with each response first. A system
    wins a row only if the judge prefers it in both orders. Ties, and rows where the judge changes its mind
    with the order, are counted apart; each counts as half a win of both systems.

    The win rate at equal length, its p and the strengths come from a logistic model of all replies with the
    order and the lengths of the responses. The strength of a system is its log odds of a preference to an
    average one (Bradley–Terry). The judge sees the question and the two responses, but not the passages; for
    better_answer also the reference if there is one.

    The exit code is 3 if a row has no usable reply.

    Examples:
      sgi judge duel bm25 dense --judge openai:gpt-4o-mini --max-cost 2
      sgi judge duel last --by method --on comprehensiveness,directness --judge openai:gpt-4o-mini
      sgi judge duel last --by model --judge openai:gpt-4o-mini -o duels.jsonl
      sgi judge duel bm25 dense --judge openai:gpt-4o-mini --dry-run
    """
    from sgi import api_duel

    if "model" not in values.get("judge", {}):
        raise UsageError("--judge is required.", hint="Name a judge: --judge openai:NAME.")
    if out is not None:
        check_target(out)  # before the first request is paid
    arguments: Values = {"judge": values["judge"], "by": by, "on": metric_list(on or []), "aa": aa}
    arguments |= {"allow_different": allow_different, "cluster": cluster, "db": db}
    arguments["cache"] = values.get("cache", True)
    if dry_run:
        _print_plan(api_duel.plan_duel(*runs, **arguments), values["judge"]["model"], as_json=as_json)
        return
    with progress(quiet=quiet) as listener, redirect_stdout(sys.stderr):
        result = api_duel.duel(*runs, **arguments, listener=listener)
    if out is not None:
        with open_writer(out) as writer:
            writer.write([asdict(row) for row in result.rows])
    _print(result, as_json=as_json, quiet=quiet)
    if any(row.outcome == "failed" for row in result.rows):
        raise typer.Exit(_FAILED)


def _print_plan(plan: DuelPlan, judge: str, *, as_json: bool) -> None:
    """Print what a duel would do, in the words of ``sgi run --dry-run``."""
    from sgi.cli.run_output import judge_facts, print_facts

    facts = {"systems": [*plan.systems], f"{plan.unit}s": plan.units, "criteria": [*plan.criteria]}
    facts |= judge_facts(judge, plan.usage)
    if as_json:
        print_json(facts)
    else:
        print_facts(facts)


def _print(result: Duel, *, as_json: bool, quiet: bool) -> None:
    from sgi.reporting.duel_tables import duel_lines, duel_tables

    if as_json:
        print_json(result.to_dict())
    else:
        for part in result.criteria:
            print_lines([f"{part.criterion}: the win rates are those of the first system."])
            print_tables(duel_tables(part))
            print_lines([*duel_lines(part), ""])
        print_lines([_usage(result)])
    print_notes(() if quiet else result.notes)


def _usage(result: Duel) -> str:
    cost = "unknown cost" if result.usage.cost is None else f"{result.usage.cost:.4f} US dollars"
    calls = f"{pluralize(result.usage.calls, 'call')}, {result.usage.cached:,} from the cache"
    return f"judge {one_line(result.judge)}: {calls}, {cost}"
