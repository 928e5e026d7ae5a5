"""Tables of a leaderboard, shared by the terminal, Markdown, HTML pages and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.kernel.names import metric_label
from sgi.reporting.formatting import NOTHING, probability
from sgi.reporting.metric_format import MetricFormat, share_of_range
from sgi.reporting.table import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sgi.analysis.leaderboard import Leaderboard, MetricLeaderboard
    from sgi.analysis.pareto import Pareto, ParetoMean, ParetoSystem
    from sgi.analysis.system_groups import GroupMean, SystemGroups

BEST, WORST = "▲", "▼"
"""Marks of the best and the worst system of a group."""
_PARETO_CSS = {
    "surely on the front": "good",
    "perhaps on the front": "warning",
    "perhaps dominated": "warning",
    "surely dominated": "bad",
}


def leaderboard_tables(leaderboard: Leaderboard, *, percent: bool = True) -> Iterator[Table]:
    """Yield a table of systems × metrics if there are several metrics, and one of each metric."""
    if len(leaderboard.metrics) > 1:
        yield overview_table(leaderboard, percent=percent)
    for metric in leaderboard.metrics:
        yield systems_table(metric, leaderboard.unit, percent=percent)


def difference_tables(
    leaderboard: Leaderboard, *, percent: bool = True, link: Callable[[str, str], str] | None = None
) -> Iterator[Table]:
    """Yield a table of the differences of all pairs of systems for each metric.

    ``link`` is a function from the first and the second system to the address of their comparison.
    """
    for metric in leaderboard.metrics:
        yield _differences(metric, percent=percent, link=link)


def overview_table(leaderboard: Leaderboard, *, percent: bool = True) -> Table:
    """Return the table of all means with their letters, in the order of the first metric."""
    scores = [{score.system: score for score in metric.systems} for metric in leaderboard.metrics]
    formats = [MetricFormat.of(metric.metric, metric.is_share and percent) for metric in leaderboard.metrics]
    rows = (
        (
            system,
            *(
                f"{form.value(of[system].mean)} {of[system].letters or NOTHING}"
                for of, form in zip(scores, formats, strict=True)
            ),
        )
        for system in scores[0]
    )
    columns = ("system", *(metric_label(metric.metric) for metric in leaderboard.metrics))
    return Table(columns, rows, title="Means; systems without a common letter differ significantly")


def systems_table(
    metric: MetricLeaderboard,
    unit: str,
    *,
    percent: bool = True,
    link: Callable[[str, MetricLeaderboard], str] | None = None,
) -> Table:
    """Return the table of the systems on one metric, best first; ``link`` gives the address of a system."""
    form = MetricFormat.of(metric.metric, metric.is_share and percent)
    rows = (
        (
            Cell(score.system, link=link(score.system, metric) if link else ""),
            Cell(form.value(score.mean), css="strong", share=share_of_range(metric.metric, score.mean)),
            Cell(form.interval(score.interval), tooltip=score.no_interval),
            score.letters or NOTHING,
            *([score.rank_text] if metric.has_ranks else ()),
            f"{score.ok:,} / {score.rows:,}",
        )
        for score in metric.systems
    )
    name = metric_label(metric.metric)
    title = f"{name}: {metric.units:,} {unit}s with a value for every system"
    ranks = ("rank",) if metric.has_ranks else ()
    columns = (name, "mean", "95 % interval", "letters", *ranks, "ok / n")
    return Table(columns, rows, title=title, left=["letters"])


def _differences(
    metric: MetricLeaderboard, *, percent: bool, link: Callable[[str, str], str] | None
) -> Table:
    form = MetricFormat.of(metric.metric, metric.is_share and percent)
    rows = (
        (
            Cell(f"{one.second} − {one.first}", link=link(one.first, one.second) if link else ""),
            Cell(form.difference(one.difference.difference, sign="+"), css="strong"),
            Cell(form.interval(one.difference.interval), tooltip=one.difference.no_interval),
            probability(one.difference.p),
            probability(one.adjusted_p),
            form.difference(one.difference.smallest),
        )
        for one in metric.differences
    )
    name = metric_label(metric.metric)
    columns = (f"{name}: difference", "mean", "95 % interval", "p", "p (Holm)", "detectable")
    return Table(columns, rows, title=f"Paired differences of {name}")


def system_group_tables(groups: SystemGroups, *, percent: bool = True) -> Iterator[Table]:
    """Yield a table of systems × groups for each metric; ▲ marks the best mean of a group, ▼ the worst."""
    for metric, parts in groups.metrics.items():
        form = MetricFormat.of(metric, metric in groups.is_share and percent)
        systems = [score.system for score in parts[0].systems]
        rows = (
            (system, *(_mean(part.systems[place], form) for part in parts))
            for place, system in enumerate(systems)
        )
        columns = (f"{metric} by {groups.column}", *(f"{part.group} ({part.units:,})" for part in parts))
        yield Table(columns, rows, title=f"{metric} by {groups.column}")


def _mean(score: GroupMean, form: MetricFormat) -> Cell:
    mark = f"{BEST} " if score.best else f"{WORST} " if score.worst else ""
    return Cell(f"{mark}{form.value(score.mean)}", tooltip=f"95 % interval: {form.interval(score.interval)}")


def pareto_table(pareto: Pareto, *, percent: bool = True) -> Table:
    """Return the table of the systems on two metrics with their verdicts, best on the first metric first."""
    metrics = (pareto.quality, pareto.cost)
    forms = [MetricFormat.of(metric.metric, metric.is_share and percent) for metric in metrics]
    rows = (
        (
            one.system,
            Cell(one.verdict, css=_PARETO_CSS[one.verdict]),
            *_pareto_mean(one.quality, forms[0]),
            *_pareto_mean(one.cost, forms[1]),
            _others(one),
        )
        for one in pareto.systems
    )
    columns = ["system", "verdict"]
    for metric in metrics:
        columns += [metric_label(metric.metric), "95 % interval"]
    title = " and ".join(
        f"{metric_label(metric.metric)} ({'higher' if metric.higher_is_better else 'lower'} is better)"
        for metric in metrics
    )
    return Table([*columns, "other systems"], rows, title=title, left=["verdict", "other systems"])


def _pareto_mean(mean: ParetoMean, form: MetricFormat) -> tuple[Cell, str]:
    return Cell(form.value(mean.mean), css="strong"), form.interval(mean.interval)


def _others(one: ParetoSystem) -> str:
    """Return the systems that make the verdict, and what they do."""
    others = ", ".join(one.others)
    if one.verdict == "perhaps on the front":
        return f"{others} could dominate it"
    return f"dominated by {others}" if others else NOTHING
