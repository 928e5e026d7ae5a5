"""``sgi compare``: compares two runs row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli import options
from sgi.cli.console import one_line, print_json, print_lines, print_notes, print_tables
from sgi.cli.option_values import metric_list
from sgi.cli.tables import changed_table
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.compare import Comparison


def compare(
    base: options.Run,
    new: options.Run,
    metric: options.RunMetrics = None,
    changed: Annotated[
        int, typer.Option(min=0, help="Number of most changed rows to list for each metric.")
    ] = 5,
    allow_different: options.AllowDifferent = False,
    cluster: options.RunCluster = None,
    db: options.Database = None,
    percent: options.Percent = True,
    as_json: options.Json = False,
) -> None:
    """Compare two runs over the same questions, with intervals and tests.

    Rows are paired by their ids; where the data has none, by question and contexts. The responses and the
    contexts may differ. Runs that differ in anything else (embedder, judge, prompts, metric version,
    references, missing rows or values) are refused, unless --allow-different is given.

    The interval and p describe the mean difference, new − base, over clusters (by default questions). p is
    from a sign-flip test, which assumes that differences are symmetric about 0 if the runs are equally good.
    McNemar's test assumes the same for yes/no pairs. p (Holm) is corrected for all metrics that the runs
    share, also those not shown. "detectable" is the smallest true difference that this comparison finds with
    80 % power after that correction. The exit code is always 0; to decide on a result, use `sgi gate`.

    Examples:
      sgi compare last~1 last
      sgi compare monday friday -m rouge_l --changed 20
      sgi compare monday friday --json
    """
    from sgi.reporting.tables import comparison_tables
    from sgi.reporting.views.comparison import comparison_view

    with open_runs(db, base, new, cluster=cluster) as (database, records):
        view = comparison_view(
            database,
            *records,
            changed=changed,
            metrics=metric_list(metric or []),
            allow_different=allow_different,
        )
    comparison = view.comparison
    if as_json:
        print_json(comparison.to_dict())
    else:
        print_lines([*_head(comparison), ""])
        shares = view.shares if percent else frozenset()
        print_tables([*comparison_tables(comparison, shares), changed_table(comparison, shares)])
        print_lines(_signatures(comparison))
    print_notes(view.notes)


def _head(comparison: Comparison) -> Iterator[str]:
    base, new = one_line(comparison.base), one_line(comparison.new)
    yield f"base {base}, new {new}: {comparison.pairs:,} pairs of rows"
    for name, rows in ((base, comparison.only_base), (new, comparison.only_new)):
        if rows:
            yield f"rows only in {name}, left out: {rows:,}"
    for name, metrics in ((base, comparison.only_base_metrics), (new, comparison.only_new_metrics)):
        if metrics:
            yield f"only in {name}: {', '.join(map(one_line, metrics))}"


def _signatures(comparison: Comparison) -> Iterator[str]:
    if comparison.base_signature == comparison.new_signature:
        yield comparison.base_signature
    else:
        yield f"base  {comparison.base_signature}"
        yield f"new   {comparison.new_signature}"
