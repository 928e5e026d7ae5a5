"""Describes charts in text, for captions and screen readers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sgi.kernel.details import first_line
from sgi.kernel.errors import SgiError
from sgi.kernel.registry import metric_class, metric_name
from sgi.kernel.short_text import metric_label, pluralize
from sgi.reporting.formatting import beginning
from sgi.reporting.safe_text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.analysis.compare import Comparison, MetricComparison
    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.analysis.leaderboard_result import MetricLeaderboard, SystemScore
    from sgi.analysis.pareto import Pareto
    from sgi.reporting.views.group_view import GroupTable
    from sgi.reporting.views.metric_pairs import Correlation, Scatter
    from sgi.reporting.views.metric_values import Distribution, LabelMetrics
    from sgi.store.angle_plane import Plane, PlanePoint

_LONGEST = 60
_MAX_DESCRIBED = 8
"""Maximum number of metrics or systems that are described one by one."""


@lru_cache
def short(text: str, *, longest: int = _LONGEST) -> str:
    """Return a name on one line, shortened, without control characters or the hash of a definition."""
    return beginning(plain(metric_label(text)), longest)


def short_names(names: Sequence[str]) -> list[str]:
    """Shorten names so that they stay distinct.

    >>> short_names(["a" * 99 + "b", "a" * 99 + "c"])[1][-5:]
    '… (2)'
    """
    shown: list[str] = []
    for name in map(short, names):
        number, unique = 1, name
        while unique in shown:
            number += 1
            unique = f"{name} ({number})"
        shown.append(unique)
    return shown


def definition(metric: str) -> str:
    """Return the first line of a metric's documentation; "" if the metric is not installed.

    >>> definition("hit_rate(k=3)")
    '1 if at least one of the first k retrieved passages is relevant, otherwise 0.'
    """
    try:
        return first_line(metric_class(metric_name(metric)))
    except SgiError:
        return ""


def middle_line(metric: str) -> float | None:
    """Return the neutral value of a metric; None if it has none."""
    return 1.0 if metric_name(metric) == "sgi" else None


def describe_distribution(part: Distribution) -> str:
    """Describe the histogram of a metric in a sentence, for readers who cannot see it."""
    name, rows = short(part.metric), sum(map(sum, part.counts.values()))
    if not rows:
        return f"{name} has no values."
    bins = len(part.edges) - 1
    peaks = "; ".join(_peak(part, group) for group, counts in part.counts.items() if sum(counts))
    text = f"{name} over {pluralize(rows, 'row')}. Largest of {bins} bins: {peaks}."
    if not part.below + part.above:
        return text
    below = pluralize(part.below, "row")
    return f"{text} The outermost bins include {below} below and {part.above:,} above the axis."


def _peak(part: Distribution, group: str) -> str:
    counts = part.counts[group]
    fullest = max(range(len(counts)), key=counts.__getitem__)
    low, high = part.edges[fullest], part.edges[fullest + 1]
    return f"{low:.4g} to {high:.4g}, with {counts[fullest] / sum(counts):.1%} of {group}".replace("%", " %")


def describe_plane(part: Plane) -> str:
    """Describe the chart of the angle plane in words."""
    if not part.points:
        return f"No row has both angles of {short(part.metric)}."
    sampled = f"{len(part.points):,} of {part.rows:,} rows, evenly sampled"
    rows = sampled if len(part.points) < part.rows else pluralize(part.rows, "row")
    text = f"The angles θ(r, c) and θ(r, q) of {rows}: {_above(part.points)} above the diagonal (SGI > 1)."
    groups = {f"label {value}": [row for row in part.points if row.label is bool(value)] for value in (1, 0)}
    shares = [f"of {name}: {_above(rows)}" for name, rows in groups.items() if rows]
    return f"{text} {'; '.join(shares).capitalize()}." if shares else text


def _above(points: Sequence[PlanePoint]) -> str:
    above = sum(row.theta_rq > row.theta_rc for row in points)
    return f"{above:,} ({100 * above / len(points):.1f} %)"


def describe_groups(part: GroupTable, metric: str) -> str:
    """Describe the chart of the means of a metric by group in words."""
    means = [
        (summary.mean, short(group.name))
        for group in part.groups
        for summary in group.metrics
        if summary.metric == metric and summary.mean is not None
    ]
    head = f"{short(metric)} by {short(part.by)}, {pluralize(len(part.groups), 'group')}"
    if not means:
        return f"{head}: no group has a mean."
    (low, worst), (high, best) = min(means), max(means)
    return f"{head}: means from {low:.4f} ({worst}) to {high:.4f} ({best})."


def describe_correlation(part: Correlation) -> str:
    """Describe the chart of the correlation matrix in words."""
    names = [short(name) for name in part.metrics]
    pairs = [
        (value, names[i], names[j])
        for i, row in enumerate(part.spearman)
        for j, value in enumerate(row[:i])
        if value is not None
    ]
    if not pairs:
        return f"No pair of {pluralize(len(names), 'metric')} has a correlation."
    (low, *apart), (high, *alike) = min(pairs), max(pairs)
    start = f"Spearman's ρ of {pluralize(len(names), 'metric')}: "
    if len(pairs) == 1:
        return f"{start}{high:.2f} between {' and '.join(alike)}."
    lowest = f"lowest for {' and '.join(apart)} ({low:.2f})"
    return f"{start}highest for {' and '.join(alike)} ({high:.2f}), {lowest}."


def describe_scatter(part: Scatter) -> str:
    """Describe the scatter plot of two metrics in words."""
    up, across = short_names([part.semantic, part.lexical])
    ranked = "" if part.spearman is None else f", Spearman's ρ {part.spearman:.2f}"
    return (
        f"{up} against {across} over {pluralize(part.rows, 'row')}{ranked}."
        f" {pluralize(part.paraphrases, 'row ranks', 'rows rank')} much higher by {up}"
        " (similar meaning, different words);"
        f" {pluralize(part.overlaps, 'ranks', 'rank')} much higher by {across}"
        " (same words, different meaning)."
    )


def describe_labelled(part: Sequence[LabelMetrics]) -> str:
    """Describe the charts of the metrics compared with labels in words."""
    if not part:
        return "No metric has values for rows with both labels."
    return f"Metrics against labels: {_first(map(_against_labels, part))}."


def _first(descriptions: Iterable[str], what: str = "more metric") -> str:
    """Join the first descriptions, and say how many more there are."""
    texts = list(descriptions)
    more = len(texts) - _MAX_DESCRIBED
    return "; ".join([*texts[:_MAX_DESCRIBED], *([f"and {pluralize(more, what)}"] if more > 0 else [])])


def _against_labels(labelled: LabelMetrics) -> str:
    numbers = []
    if labelled.auroc is not None:
        numbers.append(f"AUROC {labelled.auroc:.3f}")
    if labelled.ece is not None:
        numbers.append(f"expected calibration error {labelled.ece:.3f}")
    if labelled.brier is not None and labelled.base_rate_brier is not None:
        numbers.append(f"Brier score {labelled.brier:.3f} (base rate {labelled.base_rate_brier:.3f})")
    return f"{short(labelled.metric)} {', '.join([*numbers, pluralize(labelled.rows, 'row')])}"


def describe_comparison(comparison: Comparison, base: str, new: str) -> str:
    """Describe the chart of the differences of two runs in words."""
    head = f"{short(new)} − {short(base)} over {pluralize(comparison.pairs, 'pair')}"
    return f"{head}: {_first(_differences(comparison.metrics))}."


def _differences(metrics: Sequence[MetricComparison]) -> Iterator[str]:
    for metric in metrics:
        paired = metric.difference
        if paired.difference is None:
            yield f"{short(metric.metric)} has no pairs of values"
            continue
        interval = paired.interval
        span = "" if interval is None else f" [{interval.low:+.4f}, {interval.high:+.4f}]"
        yield f"{short(metric.metric)} {paired.difference:+.4f}{span}, {metric.verdict}"


def describe_causes(diagnosis: Diagnosis) -> str:
    """Describe the chart of the shares of the causes in words, the most frequent first."""
    shares = (f"{each.cause} {each.share:.1%}" for each in diagnosis.causes if each.rows)
    rows = diagnosis.count_text
    return f"{rows}: {_first(shares, 'more cause')}.".replace("%", " %")


def describe_systems(metric: MetricLeaderboard, unit: str) -> str:
    """Describe the chart of the systems on one metric in words, best first."""
    head = f"{short(metric.metric)} over {pluralize(metric.units, unit)}, best system first"
    return f"{head}: {_first(map(_system, metric.drawn), 'more system')}."


def _system(score: SystemScore) -> str:
    mean = "" if score.mean is None else f"{score.mean:.4f}"
    span = "" if score.interval is None else f" [{score.interval.low:.4f}, {score.interval.high:.4f}]"
    return f"{short(score.system)} {mean}{span}{f' {score.letters}' if score.letters else ''}"


def describe_pareto(pareto: Pareto) -> str:
    """Describe the Pareto chart of the systems in words, by their verdicts."""
    by_verdict: dict[str, list[str]] = {}
    for one in pareto.systems:
        by_verdict.setdefault(one.verdict, []).append(short(one.system))
    verdicts = "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in by_verdict.items())
    head = f"{short(pareto.quality.metric)} against {short(pareto.cost.metric)}"
    return f"{head} of {pluralize(len(pareto.systems), 'system')}. {verdicts[:1].upper()}{verdicts[1:]}."
