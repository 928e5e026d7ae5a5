"""The main finding of each section and chart of a report, in one line."""

from __future__ import annotations

from itertools import accumulate, combinations
from typing import TYPE_CHECKING

from sgi.kernel.short_text import metric_label, pluralize
from sgi.reporting.descriptions import short
from sgi.reporting.formatting import MetricFormat, format_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.analysis.audit.audited_means import AuditedMean
    from sgi.analysis.leaderboard_result import Leaderboard, MetricLeaderboard, SystemScore
    from sgi.engine.summary import MetricSummary
    from sgi.kernel.protocols import Usage
    from sgi.reporting.views.group_view import GroupTable
    from sgi.reporting.views.metric_pairs import Correlation
    from sgi.reporting.views.metric_values import Distribution, LabelMetrics
    from sgi.store.angle_plane import Plane
    from sgi.store.scored_runs import Reason


_MEANS = 4
"""Number of means in the line of the summary."""


def leaderboard_findings(board: Leaderboard, *, percent: bool = True) -> list[str]:
    """Return a sentence for each metric with what the tests showed; see `_verdict`."""
    return [f"{metric_label(one.metric)}: {_verdict(one, percent=percent)}." for one in board.metrics]


def _verdict(metric: MetricLeaderboard, *, percent: bool) -> str:
    """Return which systems are significantly better, and which are not separated from them.

    The winners are the first system that is significantly better than another one, and those that are
    better than the same systems. They are "ahead" only if they are better than all the other systems.
    """
    form = MetricFormat.of(metric.metric, metric.is_share and percent)

    def means(systems: Iterable[SystemScore]) -> str:
        return ", ".join(f"{short(one.system)} {form.value(one.mean)}" for one in systems)

    compared = [score for score in metric.systems if score.ranks is not None]
    if not compared:
        return f"not compared, {metric.no_letters or 'without a test'}"
    pairs = [(one.first, one.second) for one in metric.differences if one.is_significant]
    if not pairs:
        return f"no significant difference between {means(compared)}"
    behind = {one.system: {worse for better, worse in pairs if better == one.system} for one in compared}
    of_first, beaten = next(filter(None, behind.values())), {worse for _, worse in pairs}
    winners = [one for one in compared if behind[one.system] == of_first and one.system not in beaten]
    losers = [one for one in compared if one.system in of_first]
    others = [one for one in compared if one not in winners and one not in losers]
    if not others:
        return f"{means(winners)} ahead; significantly worse than another system: {means(losers)}"
    apart = "either" if len(winners) == 1 == len(losers) else "any of them"
    if {one.system for one in others} & {name for pair in pairs for name in pair}:
        apart = " and ".join(short(one.system) for one in winners)
    return (
        f"{means(winners)} {_be(winners)} significantly better than {means(losers)};"
        f" {means(others)} {_be(others)} not separated from {apart}"
    )


def _be(systems: Sequence[SystemScore]) -> str:
    return "is" if len(systems) == 1 else "are"


def metrics_finding(metrics: Sequence[MetricSummary]) -> str:
    """Return the means of the first metrics."""
    means = [f"{short(one.metric)} {format_mean(one)}" for one in metrics if one.mean is not None]
    more = len(means) - _MEANS
    return ", ".join(means[:_MEANS]) + (f", and {more} more" if more > 0 else "")


def distribution_finding(part: Distribution) -> str:
    """Return the median of a metric for each label, interpolated in the bins of the histogram.

    >>> from sgi.reporting.views.metric_values import Distribution
    >>> distribution_finding(Distribution("sgi", (0, 1, 2), {"label 1": (1, 3), "label 0": (2, 0)}, 0, 0))
    'sgi: median 1.333 with label 1, 0.5 with label 0'
    """
    medians = [(group, _median(part.edges, counts)) for group, counts in part.counts.items() if sum(counts)]
    if not medians:
        return f"{short(part.metric)} has no values"
    if [group for group, _ in medians] == ["all rows"]:
        return f"{short(part.metric)}: half of the rows are below {medians[0][1]:.4g}"
    first, *others = (f"{value:.4g} with {group}" for group, value in medians)
    return f"{short(part.metric)}: median {', '.join([first, *others])}"


def _median(edges: Sequence[float], counts: Sequence[int]) -> float:
    half, before = sum(counts) / 2, 0
    for place, through in enumerate(accumulate(counts)):
        if through >= half and counts[place]:
            return edges[place] + (half - before) / counts[place] * (edges[place + 1] - edges[place])
        before = through
    return edges[-1]


def distributions_finding(parts: Sequence[Distribution]) -> str:
    """Return the number of plotted metrics, and the finding of the first one."""
    more = f"; {len(parts) - 1} more" if len(parts) > 1 else ""
    return f"{distribution_finding(parts[0])}{more}"


def plane_finding(part: Plane) -> str:
    """Return the share of the plotted rows whose response is closer to the passages than to the question."""
    closer = sum(point.theta_rc < point.theta_rq for point in part.points) / max(1, len(part.points))
    drawn = f"{len(part.points):,} of " if len(part.points) < part.rows else ""
    share = f"{closer:.0%}".replace("%", " %")
    rows = f"{drawn}{pluralize(part.rows, 'row')}"
    return f"in {share} of {rows} the response is closer to the passages than to the question"


def groups_finding(tables: Sequence[GroupTable]) -> str:
    """Name the columns by which the rows are grouped."""
    return "by " + ", ".join(table.by for table in tables)


def agreement_finding(part: Correlation | None) -> str:
    """Name the pair of metrics with the lowest rank correlation."""
    if part is None:
        return ""
    pairs = [
        (value, first, second)
        for first, second in combinations(range(len(part.metrics)), 2)
        if (value := part.spearman[first][second]) is not None
    ]
    if not pairs:
        return ""
    value, first, second = min(pairs)
    names = f"{short(part.metrics[first])} and {short(part.metrics[second])}"
    return f"{names} agree least: ρ = {value:.2f}"


def labels_finding(metrics: Sequence[LabelMetrics]) -> str:
    """Name the metric that ranks the labels best."""
    ranked = [(metric.auroc, metric.metric) for metric in metrics if metric.auroc is not None]
    if not ranked:
        return ""
    auroc, name = max(ranked)
    return f"{short(name)} ranks them best: AUROC {auroc:.3f}"


def audits_finding(means: Sequence[AuditedMean]) -> str:
    """Return the verdict on each metric, of the first ones."""
    verdicts = [f"{short(mean.metric)}: {mean.verdict or 'no valid audit'}" for mean in means[:_MEANS]]
    return ", ".join(verdicts)


def reasons_finding(reasons: Sequence[Reason]) -> str:
    """Name the most frequent reason for missing values."""
    most = max(reasons, key=lambda reason: reason.rows)
    return f"most: {pluralize(most.rows, 'row')} without {metric_label(most.metric)}, {most.reason}"


def usage_finding(usage: Mapping[str, Usage]) -> str:
    """Return the number of requests of all judges, and their cost if it is known."""
    calls, costs = sum(one.calls for one in usage.values()), [one.cost for one in usage.values()]
    price = "" if None in costs else f", ${sum(cost for cost in costs if cost is not None):.2f}"
    return f"{pluralize(calls, 'request')}{price}"
