"""Markdown page of a run, of a comparison or of a leaderboard."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from sgi.kernel.short_text import metric_label, pluralize
from sgi.reporting import formatting
from sgi.reporting.answers_to_check import has_evidence, reason_to_check
from sgi.reporting.descriptions import describe_distribution, describe_plane, describe_scatter
from sgi.reporting.diagnosis_tables import diagnosis_tables
from sgi.reporting.evidence_lines import evidence_markdown
from sgi.reporting.formatting import (
    MetricFormat,
    beginning,
    format_scaled,
    has_findings,
    main_metric,
    number,
    shorten,
)
from sgi.reporting.label_tables import audited_table
from sgi.reporting.leaderboard_view import (
    difference_tables,
    leaderboard_tables,
    pareto_table,
    passages_table,
    system_class_tables,
    system_group_tables,
)
from sgi.reporting.overview import evidence, overview_sentence
from sgi.reporting.row_details import row_maps
from sgi.reporting.safe_text import code, escape
from sgi.reporting.section_findings import leaderboard_findings
from sgi.reporting.tables import (
    class_lines,
    comparison_tables,
    correlation_table,
    group_tables,
    labelled_table,
    reasons_table,
    summary_tables,
    unpaired_lines,
    usage_table,
)
from sgi.reporting.views.headline import headline_notes
from sgi.reporting.views.run_header import state_of, stop_reason, stored_means

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sgi.reporting.leaderboard_view import LeaderboardView
    from sgi.reporting.table import Table
    from sgi.reporting.views.comparison import ComparisonView
    from sgi.reporting.views.metric_pairs import Disagreement
    from sgi.reporting.views.row_view import LowestRows, SampleView
    from sgi.reporting.views.run_view import RunView
    from sgi.store.run_queries import RunRecord

LONGEST = 300
"""Maximum characters of a text; longer texts are cut, and their length is given."""
_CALIBRATION = (
    "The calibration error (ECE) and the Brier score use probabilities from Platt scaling, fitted"
    " out of fold. A useful metric has a lower Brier score than the base rate."
)


def run_markdown(view: RunView) -> str:
    """Render a run as Markdown, with long texts shortened."""
    first = main_metric(view.headline.metrics)
    main = [part for part in view.worst if first is not None and part.metric == first.metric]
    parts: Iterator[str] = chain(
        _title(
            view.record,
            overview_sentence(view.headline.metrics, view.headline.blank),
            evidence(view.headline.metrics),
        ),
        *(_worst(part, view.record) for part in main),
        _headline(view),
        _section(
            "## What is wrong", _titled(() if view.diagnosis is None else diagnosis_tables(view.diagnosis))
        ),
        _figures(view),
        *(
            _section(f"## By {escape(part.by)}", _plain(group_tables(part.by, part.groups)))
            for part in view.groups
        ),
        _section(
            "## Rank correlation of metrics",
            _plain(() if view.correlation is None else [correlation_table(view.correlation)]),
        ),
        _section(
            "## Metrics against labels",
            (labelled_table(view.labelled).markdown(), _CALIBRATION) if view.labelled else (),
        ),
        _section(
            "## Means, corrected by an audit", _plain([audited_table(view.audits)] if view.audits else ())
        ),
        _disagreement(view.disagreement),
        *(_worst(part, view.record) for part in view.worst if part not in main),
        _section(
            "## Rows without a value",
            _plain([reasons_table(view.reasons, longest=LONGEST)] if view.reasons else ()),
        ),
        _section("## Judge usage", _plain([usage_table(view.usage)] if view.usage else ())),
        _origin(view.record),
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
        [f"{len(board.systems)} systems, {pluralize(board.units, board.unit)}"],
        [_list_lines(map(escape, leaderboard_findings(board)))],
        _section("## Leaderboard", _titled(leaderboard_tables(board))),
        _section("## Classes", _titled(system_class_tables(board))),
        _section(
            "## Passages", _titled([passages_table(view.passages, board.unit)] if view.passages else ())
        ),
        _section("## By group", _titled(system_group_tables(board))),
        _section("## Pareto front", _titled(() if view.pareto is None else [pareto_table(view.pareto)])),
        _section("## Pairs of systems", _titled(difference_tables(board))),
        _remarks(view.notes),
        [
            "## Provenance",
            _list_lines(f"{escape(run.label)}: {code(run.signature)}" for run in view.runs),
        ],
    )
    return "\n\n".join(parts) + "\n"


def _section(heading: str, blocks: Iterable[str]) -> Iterator[str]:
    """Yield the heading and the blocks; nothing if there are none."""
    for place, block in enumerate(blocks):
        if not place:
            yield heading
        yield block


def _titled(tables: Iterable[Table]) -> Iterator[str]:
    for table in tables:
        yield from (f"### {escape(table.title)}", table.markdown())


def _plain(tables: Iterable[Table]) -> Iterator[str]:
    return (table.markdown() for table in tables)


def _title(head: RunRecord, sentence: str, evidence: Iterable[str]) -> Iterator[str]:
    yield f"# {escape(head.label)}"
    yield f"**{escape(sentence)}**"
    yield from _remarks(evidence)
    rows = f"{head.rows:,}" if head.scored == head.rows else f"{head.scored:,} of {head.rows:,}"
    facts = {"run": code(head.id), "data": escape(head.dataset_name), "rows": rows}
    if head.rejected:
        facts["rejected"] = f"{pluralize(head.rejected, 'row')} that could not be parsed"
    why = stop_reason(head)
    facts["state"] = state_of(head) + (f": {escape(why)}" if why else "")
    facts["started"] = formatting.moment(head.created_at)
    if head.finished_at:
        facts["finished"] = formatting.moment(head.finished_at)
    if head.tags:
        facts["tags"] = ", ".join(map(escape, head.tags))
    yield _list_lines(f"{name}: {text}" for name, text in facts.items())


def _headline(view: RunView) -> Iterator[str]:
    summary = view.headline
    yield "## Summary"
    means, *others = summary_tables(summary, rows=view.record.rows)
    yield means.markdown() if means.rows else "No rows are scored yet."
    if classes := class_lines(summary.metrics):
        yield _list_lines(map(escape, classes))
    yield from _titled(others)
    yield from _remarks(headline_notes(summary))


def _figures(view: RunView) -> Iterator[str]:
    """Return descriptions of the charts of the run in text."""
    lines = [describe_distribution(part) for part in view.distributions]
    if view.plane is not None:
        lines.append(describe_plane(view.plane))
    if view.scatter is not None:
        lines.append(describe_scatter(view.scatter))
    return _section("## Distributions", _remarks(lines))


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


def _worst(part: LowestRows[SampleView], head: RunRecord) -> Iterator[str]:
    if not part.samples:
        return
    name, side = escape(metric_label(part.metric)), "lowest" if part.higher_is_better else "highest"
    flagged = has_findings(part.metric)  # their flagged rows come first
    yield f"## Rows to check by {name}, flagged rows first" if flagged else f"## Rows with the {side} {name}"
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


def _value(sample: SampleView, metric: str, head: RunRecord) -> str:
    score = sample.scores.get(metric)
    _, is_share = stored_means(head).get(metric, (None, False))
    return format_scaled(None if score is None else score.value, is_share)


def _row(sample: SampleView, value: str, metric: str = "") -> str:
    """Return a row as a list item with why it is one to check and its texts below."""
    label = "" if sample.label is None else f", label {int(sample.label)}"
    texts = {"why": reason_to_check(sample, metric)} if metric and has_evidence(sample, metric) else {}
    texts |= {"question": sample.question, "response": sample.response, "reference": sample.reference or ""}
    texts |= {f"passage {place}": text for place, text in enumerate(sample.contexts, 1)}
    texts |= {"no response": sample.reason}
    system = f", {escape(beginning(sample.system, 60))}" if sample.system else ""
    return _item(sample.id, f"{value}{label}{system}", texts)


def _item(name: str, text: str, texts: Mapping[str, str]) -> str:
    """Return a row as a list item with its texts below; empty texts are left out."""
    parts = (f"  - {key}: {escape(shorten(part, LONGEST))}" for key, part in texts.items() if part)
    return "\n".join([f"- {code(name)}: {text}", *parts])


def _origin(head: RunRecord) -> Iterator[str]:
    yield "## Provenance"
    yield code(head.signature)
    if head.versions:
        yield ", ".join(f"{escape(name)} {escape(version)}" for name, version in head.versions.items())


def _pairs(view: ComparisonView) -> Iterator[str]:
    comparison = view.comparison
    yield f"base: {escape(view.base.label)} ({code(view.base.id)}), data {escape(view.base.dataset_name)}"
    yield f"new: {escape(view.new.label)} ({code(view.new.id)}), data {escape(view.new.dataset_name)}"
    yield pluralize(comparison.pairs, "pair of rows", "pairs of rows")
    yield from map(escape, unpaired_lines(comparison))


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
        items.append(_item(row.after.id, f"{escape(metric_label(row.metric))} {change}", texts))
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
