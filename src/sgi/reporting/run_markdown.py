"""Markdown page of a run, of a comparison or of a leaderboard."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from sgi.kernel.names import metric_label
from sgi.reporting import formatting
from sgi.reporting.answers_to_check import flags_tables, has_evidence, reason_to_check
from sgi.reporting.descriptions import describe_distribution, describe_plane, describe_scatter
from sgi.reporting.diagnosis_tables import diagnosis_tables
from sgi.reporting.evidence_lines import evidence_markdown
from sgi.reporting.formatting import code, escape, format_scaled, number, shorten
from sgi.reporting.leaderboard_tables import (
    difference_tables,
    leaderboard_tables,
    pareto_table,
    system_group_tables,
)
from sgi.reporting.metric_format import MetricFormat, main_metric
from sgi.reporting.overview import evidence, overview_sentence
from sgi.reporting.row_details import row_maps
from sgi.reporting.tables import (
    class_lines,
    comparison_tables,
    correlation_table,
    group_tables,
    labelled_table,
    ranking_table,
    reasons_table,
    refusal_tables,
    summary_table,
    usage_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sgi.kernel.protocols import Usage
    from sgi.reporting.table import Table
    from sgi.reporting.views.comparison import ComparisonView
    from sgi.reporting.views.correlation_view import Correlation
    from sgi.reporting.views.disagreement import Disagreement
    from sgi.reporting.views.group_view import GroupTable
    from sgi.reporting.views.label_metrics import LabelMetrics
    from sgi.reporting.views.leaderboard_view import LeaderboardView
    from sgi.reporting.views.lowest import LowestRows
    from sgi.reporting.views.row_view import SampleView
    from sgi.reporting.views.run_header import RunHeader
    from sgi.reporting.views.run_view import RunView
    from sgi.store.scored_runs import Reason

LONGEST = 300
"""Maximum characters of a text; longer texts are cut, and their length is given."""


def run_markdown(view: RunView) -> str:
    """Render a run as Markdown, with long texts shortened."""
    first = main_metric(view.headline.metrics)
    main = [part for part in view.worst if first is not None and part.metric == first.metric]
    parts: Iterator[str] = chain(
        _title(
            view.head,
            overview_sentence(view.headline.metrics, view.headline.blank),
            evidence(view.headline.metrics),
        ),
        *(_worst(part, view.head) for part in main),
        _headline(view),
        _titled_tables(
            "## What is wrong", () if view.diagnosis is None else diagnosis_tables(view.diagnosis)
        ),
        _figures(view),
        *(_groups(part) for part in view.groups),
        _correlation(view.correlation),
        _against_labels(view.labelled),
        _disagreement(view.disagreement),
        *(_worst(part, view.head) for part in view.worst if part not in main),
        _reasons(view.reasons),
        _usage(view.usage),
        _origin(view.head),
    )
    return "\n\n".join(parts) + "\n"


def comparison_markdown(view: ComparisonView) -> str:
    """Render a comparison of two runs as Markdown."""
    parts: Iterator[str] = chain(
        [f"# {escape(view.base.label)} → {escape(view.new.label)}"],
        [_list_lines(_pairs(view))],
        _differences(view),
        _changed_rows(view),
        _remarks(view.notes),
        ["## Provenance", _list_lines(_signatures(view))],
    )
    return "\n\n".join(parts) + "\n"


def leaderboard_markdown(view: LeaderboardView) -> str:
    """Render a leaderboard as Markdown."""
    board = view.leaderboard
    parts: Iterator[str] = chain(
        [f"# {escape(view.title)}"],
        [f"{len(board.systems)} systems, {board.units:,} {board.unit}s"],
        _titled_tables("## Leaderboard", leaderboard_tables(board)),
        _titled_tables("## By group", () if view.groups is None else system_group_tables(view.groups)),
        _titled_tables("## Pareto front", () if view.pareto is None else [pareto_table(view.pareto)]),
        _titled_tables("## Pairs of systems", difference_tables(board)),
        _remarks(view.notes),
        [
            "## Provenance",
            _list_lines(f"{escape(run.label)}: {code(run.signature)}" for run in view.runs),
        ],
    )
    return "\n\n".join(parts) + "\n"


def _titled_tables(heading: str, tables: Iterable[Table]) -> Iterator[str]:
    for place, table in enumerate(tables):
        if not place:
            yield heading
        yield f"### {escape(table.title)}"
        yield table.markdown()


def _title(head: RunHeader, sentence: str, evidence: Iterable[str]) -> Iterator[str]:
    yield f"# {escape(head.label)}"
    yield f"**{escape(sentence)}**"
    yield from _remarks(evidence)
    rows = f"{head.rows:,}" if head.scored == head.rows else f"{head.scored:,} of {head.rows:,}"
    facts = {"run": code(head.id), "data": escape(head.data), "rows": rows}
    if head.rejected:
        facts["rejected"] = f"{head.rejected:,} rows that could not be parsed"
    facts["state"] = head.state + (f": {escape(head.stopped)}" if head.stopped else "")
    facts["started"] = formatting.moment(head.created_at)
    if head.finished_at:
        facts["finished"] = formatting.moment(head.finished_at)
    if head.tags:
        facts["tags"] = ", ".join(map(escape, head.tags))
    yield _list_lines(f"{name}: {text}" for name, text in facts.items())


def _headline(view: RunView) -> Iterator[str]:
    summary = view.headline
    yield "## Summary"
    if summary.metrics:
        yield summary_table(summary.metrics, rows=view.head.rows).markdown()
    else:
        yield "No rows are scored yet."
    if classes := class_lines(summary.metrics):
        yield _list_lines(map(escape, classes))
    for table in (*flags_tables(summary.metrics), *refusal_tables(summary.metrics)):
        yield f"### {escape(table.title)}"
        yield table.markdown()
    ranking = ranking_table(summary.metrics, summary.baselines)
    if ranking.rows:
        yield ranking.markdown()
    yield from _remarks(formatting.notes(summary))


def _figures(view: RunView) -> Iterator[str]:
    """Yield descriptions of the charts of the run in text."""
    descriptions = [describe_distribution(part) for part in view.distributions]
    if view.plane is not None:
        descriptions.append(describe_plane(view.plane))
    if view.scatter is not None:
        descriptions.append(describe_scatter(view.scatter))
    if descriptions:
        yield "## Distributions"
        yield _list_lines(map(escape, descriptions))


def _groups(part: GroupTable) -> Iterator[str]:
    yield f"## By {escape(part.by)}"
    yield from (table.markdown() for table in group_tables(part.by, part.groups))


def _correlation(part: Correlation | None) -> Iterator[str]:
    if part is not None:
        yield "## Rank correlation of metrics"
        yield correlation_table(part).markdown()


def _against_labels(part: Sequence[LabelMetrics]) -> Iterator[str]:
    if part:
        yield "## Metrics against labels"
        yield labelled_table(part).markdown()
        yield (
            "The calibration error (ECE) and the Brier score use probabilities from Platt scaling, fitted"
            " out of fold. A useful metric has a lower Brier score than the base rate."
        )


def _disagreement(part: Disagreement[SampleView] | None) -> Iterator[str]:
    if part is None or not part.rows:
        return
    yield f"## Disagreements between {escape(part.semantic)} and {escape(part.lexical)}"
    yield "Rank difference: rank by the first metric minus rank by the second, as a share of the rows."
    yield "\n".join(
        _row(
            row.sample,
            f"rank difference {row.gap:+.2f}: {number(row.semantic)} and {number(row.lexical)}",
        )
        for row in part.rows
    )


def _worst(part: LowestRows[SampleView], head: RunHeader) -> Iterator[str]:
    if not part.samples:
        return
    side = "lowest" if part.higher_is_better else "highest"
    yield f"## Rows with the {side} {escape(metric_label(part.metric))}"
    yield "\n".join(
        line
        for sample in part.samples
        for line in (
            _row(sample, _value(sample, part.metric, head), part.metric),
            *_evidence(sample, part.metric),
        )
    )


def _evidence(sample: SampleView, metric: str) -> Iterator[str]:
    """Yield the evidence map of a score, if it has one."""
    found = row_maps(sample).get(metric)
    if found is not None and found.view is not None and not found.view.is_of_citations:
        yield from evidence_markdown(found.view, longest=LONGEST)


def _value(sample: SampleView, metric: str, head: RunHeader) -> str:
    score = sample.scores.get(metric)
    return format_scaled(None if score is None else score.value, metric in head.shares)


def _row(sample: SampleView, value: str, metric: str = "") -> str:
    """Return a row as a list item with why it is one to check and its texts below."""
    label = "" if sample.label is None else f", label {int(sample.label)}"
    texts = {"why": reason_to_check(sample, metric)} if metric and has_evidence(sample, metric) else {}
    texts |= {"question": sample.question, "response": sample.response, "reference": sample.reference or ""}
    texts |= {f"passage {place}": text for place, text in enumerate(sample.contexts, 1)}
    texts |= {"no response": sample.reason}
    lines = [f"- {code(sample.id)}: {value}{label}"]
    lines += [f"  - {name}: {escape(shorten(text, LONGEST))}" for name, text in texts.items() if text]
    return "\n".join(lines)


def _reasons(reasons: Sequence[Reason]) -> Iterator[str]:
    if reasons:
        yield "## Rows without a value"
        yield reasons_table(reasons, longest=LONGEST).markdown()


def _usage(usage: Mapping[str, Usage]) -> Iterator[str]:
    if usage:
        yield "## Judge usage"
        yield usage_table(usage).markdown()


def _origin(head: RunHeader) -> Iterator[str]:
    yield "## Provenance"
    yield code(head.signature)
    if head.versions:
        yield ", ".join(f"{escape(name)} {escape(version)}" for name, version in head.versions.items())


def _pairs(view: ComparisonView) -> Iterator[str]:
    comparison = view.comparison
    yield f"base: {escape(view.base.label)} ({code(view.base.id)}), data {escape(view.base.data)}"
    yield f"new: {escape(view.new.label)} ({code(view.new.id)}), data {escape(view.new.data)}"
    alone = f"{comparison.only_base:,} only in base and {comparison.only_new:,} only in new"
    yield f"{comparison.pairs:,} pairs of rows; {alone}"
    for name, metrics in (("base", comparison.only_base_metrics), ("new", comparison.only_new_metrics)):
        if metrics:
            yield f"metrics only in {name}: {', '.join(map(escape, metrics))}"


def _differences(view: ComparisonView) -> Iterator[str]:
    yield "## Differences"
    tables = comparison_tables(view.comparison, view.shares)
    yield from (table.markdown() for table in tables)
    if not view.comparison.metrics:
        yield "No metric can be compared."


def _changed_rows(view: ComparisonView) -> Iterator[str]:
    if not view.changed:
        return
    yield "## Rows that changed most"
    items = []
    for row in view.changed:
        form = MetricFormat.of(row.metric, row.metric in view.shares)
        change = form.difference(row.difference, sign="+")
        texts = {"question": row.after.question, "before": row.before.response, "after": row.after.response}
        lines = [f"- {code(row.after.id)}: {escape(metric_label(row.metric))} {change}"]
        items += [
            *lines,
            *(f"  - {name}: {escape(shorten(text, LONGEST))}" for name, text in texts.items() if text),
        ]
    yield "\n".join(items)


def _signatures(view: ComparisonView) -> Iterator[str]:
    comparison = view.comparison
    yield f"base: {code(comparison.base_signature)}"
    if comparison.new_signature != comparison.base_signature:
        yield f"new: {code(comparison.new_signature)}"


def _remarks(notes: Iterable[str]) -> Iterator[str]:
    lines = list(map(escape, notes))
    if lines:
        yield _list_lines(lines)


def _list_lines(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
