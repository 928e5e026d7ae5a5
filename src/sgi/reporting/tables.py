"""Tables of runs and comparisons, shared by the terminal, Markdown, HTML pages and notebooks."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from sgi.analysis.groups import class_tables
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import metric_label, pluralize
from sgi.reporting import formatting
from sgi.reporting.answers_to_check import flags_tables
from sgi.reporting.formatting import (
    NOTHING,
    MetricFormat,
    format_scaled,
    number,
    probability,
    share_of_range,
    span,
)
from sgi.reporting.table import Cell, Table
from sgi.reporting.views.headline import refusal_views

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sgi.analysis.compare import Comparison, MetricComparison
    from sgi.analysis.groups import ClassTable, Group, OtherRows
    from sgi.engine.summary import MetricSummary, Summary
    from sgi.kernel.protocols import Usage
    from sgi.reporting.views.headline import Headline, RefusalCounts
    from sgi.reporting.views.metric_pairs import Correlation
    from sgi.reporting.views.metric_values import LabelMetrics
    from sgi.stats.confounds import Baseline
    from sgi.store.scored_runs import Reason

_MEANS = ("mean", "95 % interval", "ok / n", "no value")
_OTHERS = "against other rows"


def summary_tables(
    summary: Summary | Headline, *, rows: int | None = None, percent: bool = True, title: str = "Summary"
) -> list[Table]:
    """Return a table with one row per metric, then the tables of flags, refusals and ranking that have rows.

    ``rows`` counts the rows of the data, if not all are scored.
    """
    metrics = summary.metrics
    cells = ((metric_label(metric.metric), *_mean_cells(metric, rows, percent=percent)) for metric in metrics)
    ranking = _ranking_table(metrics, summary.baselines)
    return [
        Table(("metric", *_MEANS), cells, title=title),
        *flags_tables(metrics),
        *refusal_tables(metrics, percent=percent),
        *([ranking] if ranking.rows else []),
    ]


def _mean_cells(metric: MetricSummary, rows: int | None, *, percent: bool) -> list[str]:
    n = metric.rows if rows is None else rows
    interval = Cell(formatting.format_interval(metric, percent=percent), tooltip=metric.no_interval)
    share = share_of_range(metric.metric, metric.mean) if metric.total is None else None
    mean = Cell(formatting.format_mean(metric, percent=percent), css="strong", share=share)
    return [mean, interval, f"{metric.ok:,} / {n:,}", formatting.missing_values(metric, n)]


def class_lines(metrics: Sequence[MetricSummary]) -> list[str]:
    """Return the counts of classes or grades, the percentiles and the parts, one line for each metric.

    The overview and the table of flags have the counts of findings. Bands of similarity are left out: a low
    similarity does not show that an answer has another meaning.
    """
    classes = [
        (metric, formatting.format_classes(metric))
        for metric in metrics
        if metric.classes and metric.review is None and metric_name(metric.metric) != "semantic_similarity"
    ]
    percentiles = [
        (metric, formatting.format_percentiles(metric)) for metric in metrics if metric.percentiles
    ]
    parts = [(metric, formatting.format_parts(metric)) for metric in metrics if metric.parts]
    return [f"{metric_label(metric.metric)}: {text}" for metric, text in (*classes, *percentiles, *parts)]


def refusal_tables(metrics: Iterable[MetricSummary], *, percent: bool = True) -> list[Table]:
    """Return tables of refusals by answerability; none without the metrics for them."""
    return [
        Table(
            (
                "question",
                "refused",
                "of these rows",
                "95 % interval",
                "answered",
                "of these rows",
                "95 % interval",
            ),
            [
                _refusal_cells("answerable", view.answerable, percent=percent),
                _refusal_cells("not answerable", view.unanswerable, percent=percent),
            ],
            title=f"Refusals by answerability ({view.origin})",
        )
        for view in refusal_views(metrics)
    ]


def _refusal_cells(name: str, counts: RefusalCounts, *, percent: bool) -> list[str]:
    if counts.share is None:
        return [name, "0", NOTHING, NOTHING, "0", NOTHING, NOTHING]
    return [
        name,
        f"{counts.refused:,}",
        format_scaled(counts.share, percent),
        Cell(span(counts.interval, percent), tooltip=counts.no_interval),
        f"{counts.answered:,}",
        format_scaled(1 - counts.share, percent),
        Cell(span(counts.answered_interval, percent), tooltip=counts.no_interval),
    ]


def _ranking_table(metrics: Iterable[MetricSummary], baselines: Iterable[Baseline]) -> Table:
    """Return a table of AUROC of each metric and each trivial baseline; it has no rows without labels."""
    rankings = [
        (metric_label(metric.metric), metric.ranking, metric.content_difference)
        for metric in metrics
        if metric.ranking is not None
    ]
    rankings += [
        (f"{baseline.name} alone ({baseline.direction} = label 1)", baseline.ranking, None)
        for baseline in baselines
    ]
    compared = any(difference is not None for _, _, difference in rankings)
    rows = (
        (
            name,
            Cell(auroc, share=ranking.auroc),
            *others,
            *([formatting.format_difference(difference)] if compared else ()),
        )
        for name, ranking, difference in rankings
        for auroc, *others in [formatting.format_ranking(ranking)]
    )
    last = ("minus content-word precision",) if compared else ()
    columns = ("ranks label 1 over 0", "AUROC", "95 % interval", "1 / 0", *last)
    return Table(columns, rows, title="Ranking of labels")


def group_tables(by: str, groups: Sequence[Group], *, percent: bool = True) -> list[Table]:
    """Return a table with one row per group and metric, then one of class counts per metric with classes.

    Several groups also have the verdict of each against the other rows.
    """
    tested = any(group.others for group in groups)
    rows = [
        (
            *(("", "") if place else (group.name, f"{group.rows:,}")),
            metric_label(metric.metric),
            mean,
            *(formatting.format_extreme(end, metric, percent=percent) for end in (metric.best, metric.worst)),
            interval,
            *([_against_others(group.others[place])] if tested else ()),
            *counts,
        )
        for group in groups
        for place, metric in enumerate(group.metrics)
        for mean, interval, *counts in [_mean_cells(metric, None, percent=percent)]
    ]
    ends = (_MEANS[1], _OTHERS) if tested else _MEANS[1:2]
    columns = (by, "rows", "metric", _MEANS[0], "best", "worst", *ends, *_MEANS[2:])
    means = Table(columns, rows, title=f"By {by}", left=["metric", _OTHERS])
    return [means, *(_class_table(by, part) for part in class_tables(groups))]


def _against_others(test: OtherRows) -> Cell:
    tooltip = test.not_tested or f"p corrected for all groups and metrics: {probability(test.adjusted_p)}"
    return Cell(test.verdict, tooltip=tooltip, css=f"verdict {test.verdict.replace(' ', '-')}")


def _class_table(by: str, part: ClassTable) -> Table:
    name = f"{metric_label(part.metric)} by {by}"
    rows = (
        (group, *(formatting.format_class(metric, kind) for kind in part.classes))
        for group, metric in part.groups.items()
    )
    return Table((name, *part.classes), rows, title=name)


def correlation_table(part: Correlation) -> Table:
    """Return a table of Spearman's ρ of each pair of metrics, with the number of rows."""
    rows = (
        (
            metric_label(name),
            *(
                f"{NOTHING if value is None else f'{value:.2f}'} ({n:,})"
                for value, n in zip(values, pairs, strict=True)
            ),
        )
        for name, values, pairs in zip(part.metrics, part.spearman, part.rows, strict=True)
    )
    title = "Spearman's rank correlation (rows with both values)"
    return Table(("Spearman's ρ", *map(metric_label, part.metrics)), rows, title=title)


def labelled_table(part: Iterable[LabelMetrics]) -> Table:
    """Return a table of the ranking and calibration of each metric against the labels."""
    rows = (
        (
            metric_label(metric.metric),
            *(
                number(value, digits=3)
                for value in (metric.auroc, metric.ece, metric.brier, metric.base_rate_brier)
            ),
            f"{metric.rows:,}",
        )
        for metric in part
    )
    columns = (
        "metric",
        "AUROC",
        "calibration error (ECE)",
        "Brier score",
        "Brier score of base rate",
        "rows",
    )
    return Table(columns, rows, title="Metrics against labels")


def reasons_table(reasons: Iterable[Reason], *, longest: int = 300) -> Table:
    """Return a table of the most frequent reasons for missing values."""
    rows = (
        (f"{why.rows:,}", why.status, metric_label(why.metric), formatting.shorten(why.reason, longest))
        for why in reasons
    )
    columns = ("rows", "status", "metric", "reason")
    return Table(columns, rows, title="Rows without a value: most frequent reasons", left=columns[1:])


def usage_table(usage: Mapping[str, Usage]) -> Table:
    """Return a table of the calls, tokens and cost of each judge."""
    rows = (
        (
            judge,
            *(
                f"{n:,}"
                for n in (
                    *(used.calls, used.cached, used.retries, used.unanswered),
                    *(used.input_tokens, used.output_tokens),
                )
            ),
            "unknown" if used.cost is None else f"{used.cost:.4f}",
        )
        for judge, used in usage.items()
    )
    columns = ("judge", "calls", "from cache", "retries", "failed", "input tokens", "output tokens")
    return Table((*columns, "US dollars"), rows, title="Judge usage")


def unpaired_lines(comparison: Comparison) -> Iterator[str]:
    """Yield lines about rows and metrics of only one of the two runs; the comparison leaves them out."""
    base, new = comparison.base, comparison.new
    for name, rows in ((base, comparison.only_base), (new, comparison.only_new)):
        if rows:
            yield f"Rows only in {name}, left out: {rows:,}"
    for name, metrics in ((base, comparison.only_base_metrics), (new, comparison.only_new_metrics)):
        if metrics:
            yield f"Metrics only in {name}: {', '.join(metrics)}"


def comparison_tables(comparison: Comparison, shares: Collection[str]) -> list[Table]:
    """Return the tables of differences, binary metrics and missing values; ``shares`` are in percent."""
    metrics = comparison.metrics
    tables = [
        _differences(comparison, shares),
        _margins(comparison, shares),
        Table(
            ("binary metric", "1 → 0", "0 → 1", "p", "McNemar's test"),
            chain.from_iterable(map(_mcnemar, metrics)),
            title="Binary metrics: McNemar's test",
        ),
        Table(
            ("missing values", "base", "new", "pairs"),
            (
                (metric_label(metric.metric), gap.base, gap.new, f"{gap.pairs:,}")
                for metric in metrics
                for gap in metric.lacking
            ),
            title="Pairs with a missing value",
            left=("base", "new"),
        ),
    ]
    return [table for table in tables if table.rows]


def _mcnemar(metric: MetricComparison) -> Iterator[tuple[str, ...]]:
    test = metric.mcnemar
    if test is not None:
        yield (
            metric_label(metric.metric),
            f"{test.lost:,}",
            f"{test.gained:,}",
            probability(test.p),
            test.method,
        )


def _margins(comparison: Comparison, shares: Collection[str]) -> Table:
    rows = []
    for metric in comparison.metrics:
        test, form = metric.margin, MetricFormat.of(metric.metric, metric.metric in shares)
        if test is not None:
            margin = form.difference(test.margin)
            words = test.verdict.replace("no worse", f"no worse than {margin}")
            words = words.replace("equal", f"equal within {margin}")
            numbers = (probability(test.p_no_worse), probability(test.p_equal))
            rows.append((metric_label(metric.metric), *numbers, words))
    columns = ("margin", "p (no worse)", "p (equal)", "verdict")
    return Table(columns, rows, title="No worse than a margin, or equal within it", left=["verdict"])


def _differences(comparison: Comparison, shares: Collection[str]) -> Table:
    rows = []
    for metric in comparison.metrics:
        paired, form = metric.difference, MetricFormat.of(metric.metric, metric.metric in shares)
        row = (
            metric_label(metric.metric),
            form.value(paired.first),
            form.value(paired.second),
            Cell(form.difference(paired.difference, sign="+"), css="strong"),
            Cell(form.interval(paired.interval), tooltip=paired.no_interval),
            probability(paired.p),
            probability(metric.adjusted_p),
            Cell(form.difference(paired.smallest), tooltip=paired.no_smallest),
            f"{paired.pairs:,}",
            Cell(metric.verdict, css=f"verdict {metric.verdict.replace(' ', '-')}"),
        )
        rows.append(row)
    numbers = ("base", "new", "new − base", "95 % interval", "p", "p (Holm)", "detectable", "pairs")
    title = f"Paired differences: {pluralize(comparison.pairs, 'pair')}"
    return Table(("metric", *numbers, "verdict"), rows, title=title, left=["verdict"])
