"""View of several systems over the same questions, with its tables.

The systems are runs, or the groups of rows of one run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.pareto import Pareto, pareto
from sgi.analysis.passage_kinds import SystemPassages, passage_kinds
from sgi.analysis.systems import MIN_SYSTEMS, compared_systems
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import metric_label
from sgi.reporting.charts import COLOURS, GREY
from sgi.reporting.formatting import (
    NOTHING,
    MetricFormat,
    format_count,
    format_scaled,
    probability,
    share_of_range,
)
from sgi.reporting.table import Cell, Table
from sgi.reporting.views.run_header import unfinished_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sgi.analysis.leaderboard_result import Leaderboard, MetricLeaderboard, SystemClasses, SystemScore
    from sgi.analysis.pareto import ParetoMetric, ParetoSystem
    from sgi.engine.run import Run
    from sgi.store.run_queries import RunRecord

VERDICT_STYLES = {
    "surely on the front": ("good", COLOURS[2], "circle"),
    "perhaps on the front": ("warning", COLOURS[5], "diamond"),
    "perhaps dominated": ("warning", COLOURS[4], "triangle-up"),
    "surely dominated": ("bad", GREY, "square"),
}
"""Style in a table, colour and shape of each verdict."""


_MAX_REASONS = 2
"""Number of reasons for answers without passages that a table names."""


@dataclass(frozen=True)
class LeaderboardOptions:
    """Options of a leaderboard.

    Attributes:
        by: the column of one run's data that names the system of each row; None if each run is a system.
        within: the column of the data that groups the questions; None for no groups.
        metrics: the metrics to show; all if empty.
        pareto: two metrics, such as quality and cost, whose front is shown; they are added to ``metrics``.
        allow_different: compare runs that differ in more than their responses.
    """

    by: str | None = None
    within: str | None = None
    metrics: tuple[str, ...] = ()
    pareto: tuple[str, str] | None = None
    allow_different: bool = False

    def applies_to(self, runs: int) -> bool:
        """Return whether these runs are ranked; otherwise they are one run, or two that are compared.

        Raises:
            UsageError: one run is given without the column that names its systems.
        """
        ranked = runs > MIN_SYSTEMS or any((self.by, self.within, self.pareto))
        if ranked and self.by is None and runs < MIN_SYSTEMS:
            hint = "Give two or more runs, or one run and the column that names its systems."
            raise UsageError("A comparison needs two or more runs.", hint=hint)
        return ranked


@dataclass(frozen=True)
class LeaderboardView:
    """The ranking of several systems over the same questions, as reports show it.

    Attributes:
        title: the names of the runs, or the run and the column that names its systems.
        runs: the runs.
        leaderboard: the systems on each metric.
        passages: the retrieved and cited passages of each system by kind; empty if the data has no kinds.
        pareto: the front on two metrics; None if they are not chosen.
        notes: assumptions, differences between the runs, and unfinished runs.
    """

    title: str
    runs: tuple[RunRecord, ...]
    leaderboard: Leaderboard
    passages: tuple[SystemPassages, ...]
    pareto: Pareto | None
    notes: tuple[str, ...]


def leaderboard_view(
    records: Sequence[RunRecord], runs: Sequence[Run], options: LeaderboardOptions
) -> LeaderboardView:
    """Rank several runs, or the systems of one run. ``runs`` are the scores of ``records``.

    Raises:
        NotComparableError: the runs differ in more than their responses; ``allow_different`` accepts that.
        UnknownNameError: a metric or column does not exist.
        UsageError: there are fewer than two systems, or they share no question.
    """
    metrics = options.metrics and (*options.metrics, *(options.pareto or ()))
    systems = compared_systems(runs, options.by, metrics=metrics, allow_different=options.allow_different)
    result = leaderboard(systems, metrics=metrics, within=options.within)
    front = None if options.pareto is None else pareto(result, *options.pareto)
    labels = ", ".join(record.label for record in records)
    return LeaderboardView(
        title=labels if options.by is None else f"{labels} by {options.by}",
        runs=tuple(records),
        leaderboard=result,
        passages=passage_kinds(systems),
        pareto=front,
        notes=(*unfinished_notes(records), *result.notes, *(() if front is None else front.notes)),
    )


def leaderboard_tables(board: Leaderboard, *, percent: bool = True) -> Iterator[Table]:
    """Yield a table of systems × metrics if there are several metrics, and one of each metric."""
    if len(board.metrics) > 1:
        yield overview_table(board, percent=percent)
    for metric in board.metrics:
        yield systems_table(metric, board.unit, percent=percent)


def difference_tables(
    board: Leaderboard, *, percent: bool = True, link: Callable[[str, str], str] | None = None
) -> Iterator[Table]:
    """Yield a table of the differences of all pairs of systems for each metric.

    ``link`` is a function from the first and the second system to the address of their comparison.
    """
    for metric in board.metrics:
        yield _differences(metric, percent=percent, link=link)


def overview_table(board: Leaderboard, *, percent: bool = True) -> Table:
    """Return the table of all means with their letters, in the order of the first metric."""
    scores = [{score.system: score for score in metric.systems} for metric in board.metrics]
    formats = [MetricFormat.of(metric.metric, metric.is_share and percent) for metric in board.metrics]
    rows = (
        (
            system,
            *(
                f"{form.value(of[system].mean)} {_letters(of[system], metric) or ''}".rstrip()
                for of, form, metric in zip(scores, formats, board.metrics, strict=True)
            ),
        )
        for system in scores[0]
    )
    columns = ("system", *(metric_label(metric.metric) for metric in board.metrics))
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
            _letters(score, metric) or NOTHING,
            *([score.rank_text] if metric.has_ranks else ()),
            f"{score.ok:,} / {score.rows:,}",
        )
        for score in metric.systems
    )
    name = metric_label(metric.metric)
    title = f"{name}: {metric.units:,} {unit}s with a value for each compared system"
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
            Cell(form.difference(one.difference.smallest), tooltip=one.difference.no_smallest),
        )
        for one in metric.differences
    )
    name = metric_label(metric.metric)
    columns = (f"{name}: difference", "mean", "95 % interval", "p", "p (Holm)", "detectable")
    return Table(columns, rows, title=f"Paired differences of {name}")


def _letters(score: SystemScore, metric: MetricLeaderboard) -> str:
    """Return the letters; for a system that has a mean of its own units, that it is not compared."""
    is_apart = score.mean is not None and score.system not in metric.compared
    return "not compared" if is_apart else score.letters


def system_class_tables(board: Leaderboard) -> Iterator[Table]:
    """Yield a table of systems × classes for each metric with classes, and one by group of questions."""
    for part in board.classes:
        name = metric_label(part.metric)
        yield Table((name, *part.classes), _class_rows(part), title=f"Classes of {name}")
        if not board.groups:
            continue
        rows = [
            ("" if line else f"{group.name} ({group.units:,})", *row)
            for group in board.groups
            for same in group.classes
            if same.metric == part.metric
            for line, row in enumerate(_class_rows(replace(same, classes=part.classes), total=True))
        ]
        columns = (board.within or "", name, *part.classes)
        yield Table(columns, rows, title=f"Classes of {name} by {board.within}", left=[name])


def _class_rows(part: SystemClasses, *, total: bool = False) -> Iterator[tuple[str, ...]]:
    counts = {name: Counter(of_system) for name, of_system in part.counts.items()}
    if total:
        counts = {"all systems": sum(counts.values(), Counter[str]()), **counts}
    for name, of_system in counts.items():
        yield name, *(format_count(of_system[kind], of_system.total()) for kind in part.classes)


def passages_table(parts: Sequence[SystemPassages], unit: str) -> Table:
    """Return the table of the retrieved and cited passages of each system by kind.

    ``unit`` is what is paired, ``row`` or ``question``: a system has at most one answer for each.
    """
    kinds = [*dict.fromkeys(kind for part in parts for kind in part.passages)]
    rows = (
        ("" if line else f"{part.system} ({part.rows:,} of {_units(part):,})", what, *cells)
        for part in parts
        for line, (what, cells) in enumerate(_passage_rows(part, kinds))
    )
    title = f"Passages by kind, over the {unit}s with passages, whose number is in brackets"
    return Table(("system", "by kind", *kinds), rows, title=title, left=["by kind"])


def _units(part: SystemPassages) -> int:
    return part.rows + sum(part.without.values())


def _passage_rows(part: SystemPassages, kinds: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    if part.rows:
        means = [f"{part.passages[kind]:.1f}" if kind in part.passages else NOTHING for kind in kinds]
        words = [f"{part.words[kind]:,.0f}" if kind in part.words else NOTHING for kind in kinds]
        shares = [format_scaled(part.cited.get(kind), is_share=True) for kind in kinds]
        yield "mean number", means
        yield "mean words", words
        yield f"share of citations ({part.citing:,} cite)", shares
    reasons = Counter(part.without).most_common()
    for reason, count in reasons[:_MAX_REASONS]:
        yield f"{count:,} without: {reason}", [""] * len(kinds)
    if rest := sum(count for _, count in reasons[_MAX_REASONS:]):
        yield f"{rest:,} without: other reasons", [""] * len(kinds)


def system_group_tables(board: Leaderboard, *, percent: bool = True) -> Iterator[Table]:
    """Yield a table of the systems in each group of questions, best first, for each metric."""
    for place, metric in enumerate(board.metrics if board.groups else ()):
        form = MetricFormat.of(metric.metric, metric.is_share and percent)
        rows = [
            (
                "" if line else f"{group.name} ({group.metrics[place].units:,} of {group.units:,})",
                score.system,
                Cell(form.value(score.mean), css="strong", share=share_of_range(metric.metric, score.mean)),
                Cell(form.interval(score.interval), tooltip=score.no_interval),
                _letters(score, group.metrics[place]) or NOTHING,
                f"{score.ok:,} / {score.rows:,}",
            )
            for group in board.groups
            for line, score in enumerate(group.metrics[place].systems)
        ]
        name = metric_label(metric.metric)
        columns = (board.within or "", name, "mean", "95 % interval", "letters", "ok / n")
        title = f"{name} by {board.within}; {board.unit}s with a value for each compared system"
        yield Table(columns, rows, title=title, left=[name, "letters"])


def pareto_table(front: Pareto, *, percent: bool = True) -> Table:
    """Return the table of the systems on two metrics with their verdicts, best on the first metric first."""
    metrics = (front.quality, front.cost)
    forms = [MetricFormat.of(metric.metric, metric.is_share and percent) for metric in metrics]
    rows = (
        (
            one.system,
            Cell(one.verdict, css=VERDICT_STYLES[one.verdict][0]),
            *(
                part
                for form, mean in zip(forms, (one.quality, one.cost), strict=True)
                for part in (Cell(form.value(mean.mean), css="strong"), form.interval(mean.interval))
            ),
            _others(one),
        )
        for one in front.systems
    )
    names = [metric_label(metric.metric) for metric in metrics]
    columns = ("system", "verdict", names[0], "95 % interval", names[1], "95 % interval", "other systems")
    title = " and ".join(f"{metric_label(metric.metric)} ({better_end(metric)})" for metric in metrics)
    return Table(columns, rows, title=title, left=["verdict", "other systems"])


def _others(one: ParetoSystem) -> str:
    """Return the systems that make the verdict, and what they do."""
    others = ", ".join(one.others)
    if one.verdict == "perhaps on the front":
        return f"{others} could dominate it"
    return f"dominated by {others}" if others else NOTHING


def better_end(metric: MetricLeaderboard | ParetoMetric) -> str:
    """Return which end of a metric is better, in words."""
    return f"{'higher' if metric.higher_is_better else 'lower'} is better"
