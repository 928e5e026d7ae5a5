"""``sgi compare``: compares two runs row by row, and ranks several systems."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_notes, print_tables
from sgi.cli.option_values import metric_list, metric_pair, stored_metrics
from sgi.cli.printed_tables import changed_table
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize
from sgi.reporting.weighted_runs import open_weighted_runs, require_no_leaderboard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.compare import Comparison
    from sgi.reporting.leaderboard_view import LeaderboardOptions, LeaderboardView
    from sgi.reporting.views.comparison import ComparisonView


_TWO = 2
_LONGEST = 1000  # characters of a line


Changed = Annotated[
    int,
    typer.Option("--worst", min=0, help="Two runs: number of most changed rows to list for each metric."),
]
Margin = Annotated[
    float | None,
    options.statistics_option(
        help="Two runs: largest difference that does not matter to you, in the unit of each metric. Also "
        "tests whether the new run is worse by less than this, and whether the runs differ by less than this."
    ),
]
PairsOption = Annotated[
    bool, typer.Option("--pairs", help="Several systems: also print the difference of each pair.")
]


def compare(
    runs: options.Runs,
    by: options.SystemColumn = None,
    within: options.Within = None,
    pareto: options.Pareto = None,
    metric: options.RunMetrics = None,
    define: options.Define = None,
    changed: Changed = 5,
    margin: Margin = None,
    pairs: PairsOption = False,
    allow_different: options.AllowDifferent = False,
    cluster: options.RunCluster = None,
    weights: options.Weights = None,
    db: options.Database = None,
    percent: options.Percent = True,
    as_json: options.Json = False,
) -> None:
    """Compare two runs row by row, or rank several systems, with intervals and tests.

    Rows are paired by their ids; where the data has none, by question and contexts. The responses and the
    contexts may differ. Runs that differ in anything else (embedder, judge, prompts, metric version,
    references, missing rows or values) are refused, unless --allow-different is given.

    Two runs: the mean difference, new − base, over clusters (by default questions). p is below 0.05 if the
    95 % interval excludes 0; p (Holm) is corrected for all metrics of both runs and decides. "detectable" is
    the smallest true difference that this comparison finds with 80 % power. --margin 0.02: "no worse" is
    shown if the 95 % interval allows no loss of 0.02, "equal" if it allows no gain either; by p (Holm) again.

    Several runs, or one run with --by: a leaderboard for each metric; systems without a common letter differ
    significantly, with p corrected for all pairs and metrics. The ranks of three or more systems hold
    together at 95 %. A system without any value of a metric is not compared on it. --within also ranks the
    systems in each group, with p corrected for all groups too. --pareto shows which systems no other system
    beats on two metrics: "surely" means that the differences are significant.

    The exit code is always 0; to decide on a result, use `sgi gate`. See "Compare and rank" in the docs.

    Examples:
      sgi compare last~1 last
      sgi compare monday friday -m rouge_l --worst 20
      sgi compare monday friday --margin 0.02
      sgi compare bm25 dense hybrid --within question_type
      sgi compare bm25 dense hybrid --pareto grounding,latency
      sgi compare last --by model --pairs --json
    """
    from sgi.engine.stored_runs import read_run
    from sgi.reporting.leaderboard_view import LeaderboardOptions, leaderboard_view
    from sgi.reporting.views.comparison import comparison_view

    metrics = tuple(stored_metrics(metric_list(metric or []), define))
    systems = LeaderboardOptions(by, within, metrics, metric_pair(pareto), allow_different)
    _check(runs, systems, margin)
    require_no_leaderboard(weights, systems.applies_to(len(runs)))
    with open_weighted_runs(db, *runs, cluster=cluster, weights=weights) as (database, records):
        if systems.applies_to(len(runs)):
            view = leaderboard_view(records, [read_run(database, one) for one in records], systems)
            _print_leaderboard(view, pairs=pairs, percent=percent, as_json=as_json)
        else:
            two = partial(comparison_view, metrics=metrics, allow_different=allow_different, margin=margin)
            compared = two(database, *records, changed=changed)
            _print_comparison(compared, percent=percent, as_json=as_json)


def _check(runs: list[str], systems: LeaderboardOptions, margin: float | None) -> None:
    if systems.by is None and len(runs) < _TWO:
        raise UsageError(
            "A comparison needs two or more runs.", hint="Give several runs, or one run and --by COLUMN."
        )
    if margin is not None and systems.applies_to(len(runs)):
        raise UsageError(
            "--margin needs exactly two runs.", hint="Leave out --margin, or compare the runs in pairs."
        )


def _print_comparison(view: ComparisonView, *, percent: bool, as_json: bool) -> None:
    from sgi.reporting.tables import comparison_tables

    comparison = view.comparison
    if as_json:
        print_json(comparison.to_dict())
    else:
        print_lines([*_head(comparison), ""])
        shares = view.shares if percent else frozenset()
        print_tables([*comparison_tables(comparison, shares), changed_table(comparison, shares)])
        print_lines(_signatures(comparison))
    print_notes(view.notes)


def _print_leaderboard(view: LeaderboardView, *, pairs: bool, percent: bool, as_json: bool) -> None:
    from sgi.reporting.leaderboard_view import (
        difference_tables,
        leaderboard_tables,
        pareto_table,
        passages_table,
        system_class_tables,
        system_group_tables,
    )
    from sgi.reporting.section_findings import leaderboard_findings
    from sgi.reporting.views.to_json import as_json as json_of

    result = view.leaderboard
    if as_json:
        parts = {"passages": view.passages, "pareto": view.pareto}
        print_json(result.to_dict() | {name: json_of(part) for name, part in parts.items() if part})
    else:
        print_lines([f"{len(result.systems)} systems, {pluralize(result.units, result.unit)}", ""])
        findings = leaderboard_findings(result, percent=percent)
        print_lines([*(one_line(finding, longest=_LONGEST) for finding in findings), ""])
        tables = [
            *leaderboard_tables(result, percent=percent),
            *system_class_tables(result),
            passages_table(view.passages, result.unit),
            *(difference_tables(result, percent=percent) if pairs else ()),
            *system_group_tables(result, percent=percent),
            *(() if view.pareto is None else [pareto_table(view.pareto, percent=percent)]),
        ]
        print_tables(tables, headings=True)
    print_notes(view.notes)


def _head(comparison: Comparison) -> Iterator[str]:
    from sgi.reporting.tables import unpaired_lines

    base, new = one_line(comparison.base), one_line(comparison.new)
    pairs = pluralize(comparison.pairs, "pair of rows", "pairs of rows")
    yield f"base {base}, new {new}: {pairs}"
    yield from (one_line(line, longest=_LONGEST) for line in unpaired_lines(comparison))


def _signatures(comparison: Comparison) -> Iterator[str]:
    if comparison.base_signature == comparison.new_signature:
        yield comparison.base_signature
    else:
        yield f"base  {comparison.base_signature}"
        yield f"new   {comparison.new_signature}"
