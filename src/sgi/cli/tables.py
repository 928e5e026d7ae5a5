"""Tables of the commands that read stored runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from sgi.analysis.groups import class_tables
from sgi.cli.console import MEANS, add_row, means_cells, new_table, one_line, scaled, span
from sgi.report import formatting
from sgi.report.formatting import beginning, moment, probability
from sgi.report.views.run_header import state_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rich.table import Table

    from sgi.analysis.compare import Comparison, MetricComparison
    from sgi.analysis.gate.gate import GateReport
    from sgi.analysis.groups import ClassTable, Group
    from sgi.kernel.scored import MetricColumn
    from sgi.report.views.lowest import WorstRows
    from sgi.store.run_queries import RunRecord


def run_facts(record: RunRecord) -> dict[str, Any]:
    """Facts of a run for a list of runs, as JSON values."""
    return {
        "id": record.id,
        "name": record.name,
        "data": record.dataset_name,
        "rows": record.rows,
        "scored": record.scored,
        "rejected": record.rejected,
        "state": state_of(record),
        "stopped": record.stopped,
        "damage": record.damage or None,
        "created_at": record.created_at,
        "finished_at": record.finished_at,
        "metrics": {name: known.get("mean") for name, known in _metric_summaries(record).items()},
        "tags": list(record.tags),
        "signature": record.signature,
        "no_texts": record.no_texts,
    }


def state(record: RunRecord, *, longest: int = 60) -> str:
    """State of a run with its reason, shortened."""
    why = record.damage or ("" if record.finished else record.stopped or "")
    reason = f": {one_line(why, longest=longest)}" if why else ""
    return f"{state_of(record)}{reason}"


def progress_of(record: RunRecord) -> str:
    """Number of scored rows, and of all rows if some are left."""
    if record.scored == record.rows:
        return f"{record.rows:,}"
    return f"{record.scored:,} of {record.rows:,}"


def _metric_summaries(record: RunRecord) -> dict[str, dict[str, Any]]:
    """The summary of each metric; empty entries without a summary."""
    entries = {entry["metric"]: entry for entry in (record.summary or {}).get("metrics", ())}
    return {name: entries.get(name, {}) for name in record.metrics}


def runs_table(records: Iterable[RunRecord], *, percent: bool) -> Table:
    """One row per run, with one line per metric."""
    table = new_table("id", "name", "tags", "data", "rows", "metrics", "state", "created", left=_LEFT)
    for record in records:
        names = (_cell(record.id), _cell(record.name or ""), Text("\n".join(map(one_line, record.tags))))
        data = (record.dataset_name, progress_of(record))
        end = (state(record), moment(record.created_at))
        means = "\n".join(
            _mean_line(*metric, percent=percent) for metric in _metric_summaries(record).items()
        )
        table.add_row(*names, *map(_cell, data), Text(means), *map(_cell, end))
    return table


_BEGINNING = 80
_LEFT = ("name", "tags", "data", "metrics", "state", "created")


def _cell(text: str) -> Text:
    return Text(one_line(text))


def _mean_line(name: str, known: dict[str, Any], *, percent: bool) -> str:
    mean = scaled(known.get("mean"), percent=percent and known.get("is_share", False))
    return f"{one_line(name)} {mean}" if known else one_line(name)


def groups_tables(by: str, groups: Sequence[Group], *, percent: bool) -> list[Table]:
    """One row per group and metric; then a table of class counts for each metric with classes."""
    table = new_table(by, "rows", "metric", MEANS[0], "best", "worst", *MEANS[1:], left=("metric",))
    for group in groups:
        for place, made in enumerate(group.metrics):
            head = ("", "") if place else (one_line(group.name), f"{group.rows:,}")
            mean, *others = means_cells(made, percent=percent)
            ends = (formatting.end_of(end, made, percent=percent) for end in (made.best, made.worst))
            add_row(table, *head, made.metric, mean, *ends, *others)
    return [table, *(_classes_table(by, found) for found in class_tables(groups))]


def _classes_table(by: str, found: ClassTable) -> Table:
    table = new_table(f"{found.metric} by {by}", *found.classes)
    for group, made in found.groups.items():
        add_row(table, one_line(group), *(formatting.class_of(made, name) for name in found.classes))
    return table


def worst_table(found: WorstRows, column: MetricColumn, *, percent: bool) -> Table:
    """The rows with the worst values of a metric, with the start of their texts."""
    table = new_table("id", found.metric, "label", "question", "response", left=("question", "response"))
    for row in found.samples:
        value = row.scores[found.metric].value
        shown = (
            f"{value:.2f} %" if column.is_percentage else scaled(value, percent=percent and column.is_share)
        )
        label = "" if row.label is None else str(int(row.label))
        texts = (beginning(text, _BEGINNING) for text in (row.question, row.response))
        add_row(table, row.id, shown, label, *texts)
    return table


def worst_facts(found: WorstRows) -> dict[str, Any]:
    """The same rows as JSON values."""
    rows = [
        {
            "id": row.id,
            "value": row.scores[found.metric].value,
            "label": row.label,
            "question": row.question,
            "response": row.response,
        }
        for row in found.samples
    ]
    return {"metric": found.metric, "higher_is_better": found.higher_is_better, "worst": rows}


def comparison_tables(made: Comparison, shares: Collection[str], *, percent: bool) -> list[Table]:
    """Tables of differences, yes/no metrics, pairs without a value, and most changed rows.

    Args:
        made: the comparison.
        shares: metrics that can be shown as percent.
        percent: whether to show them so.
    """
    scale = {found.metric: percent and found.metric in shares for found in made.metrics}
    tables = [
        _differences(made.metrics, scale),
        _yes_or_no(made.metrics),
        _lacking(made.metrics),
        _changed(made.metrics, scale),
    ]
    return [table for table in tables if table.row_count]


def _differences(metrics: Iterable[MetricComparison], scale: dict[str, bool]) -> Table:
    columns = (
        "base",
        "new",
        "new − base",
        "95 % interval",
        "p",
        "p (Holm)",
        "detectable",
        "pairs",
        "verdict",
    )
    table = new_table("metric", *columns, left=("verdict",))
    for made in metrics:
        found, percent = made.difference, scale[made.metric]
        add_row(
            table,
            made.metric,
            scaled(found.first, percent=percent),
            scaled(found.second, percent=percent),
            scaled(found.difference, percent=percent, unit="pp", sign="+"),
            span(found.interval, percent=percent),
            probability(found.p),
            probability(made.adjusted_p),
            scaled(found.smallest, percent=percent, unit="pp"),
            f"{found.pairs:,}",
            made.verdict,
        )
    return table


def _yes_or_no(metrics: Iterable[MetricComparison]) -> Table:
    table = new_table("yes or no", "1 → 0", "0 → 1", "p", "McNemar's test")
    for made in metrics:
        if made.mcnemar is not None:
            test = made.mcnemar
            add_row(
                table, made.metric, f"{test.lost:,}", f"{test.gained:,}", probability(test.p), test.method
            )
    return table


def _lacking(metrics: Iterable[MetricComparison]) -> Table:
    table = new_table("missing values", "base", "new", "pairs")
    for made in metrics:
        for found in made.lacking:
            add_row(table, made.metric, found.base, found.new, f"{found.pairs:,}")
    return table


def _changed(metrics: Iterable[MetricComparison], scale: dict[str, bool]) -> Table:
    table = new_table("most changed", "id", "base", "new", "new − base", left=("id",))
    for made in metrics:
        percent = scale[made.metric]
        for place, row in enumerate(made.changed):
            numbers = [scaled(number, percent=percent) for number in (row.before, row.after)]
            change = scaled(row.difference, percent=percent, unit="pp", sign="+")
            name = row.id if row.id == row.new_id else f"{row.id} → {row.new_id}"
            add_row(table, "" if place else made.metric, name, *numbers, change)
    return table


def worst_tables(report: GateReport) -> list[Table]:
    """The worst rows of each failed rule."""
    tables = []
    for check in report.checks:
        before = any(row.before is not None for row in check.worst)
        columns = ("id", *(["before"] if before else []), "value", "response")
        table = new_table(f"worst for {one_line(check.rule)}", *columns, left=("id", "response"))
        for row in check.worst:
            numbers = [row.before, row.value] if before else [row.value]
            add_row(table, "", row.id, *(scaled(number, percent=False) for number in numbers), row.response)
        tables.append(table)
    return [table for table in tables if table.row_count]


def gate_table(report: GateReport) -> Table:
    """One row per rule: value, end of the interval, questions, coverage and verdict."""
    from sgi.analysis.gate.gate import check_name

    table = new_table("rule", "value", "bound", "questions", "coverage", "look", "", left=("",))
    for check in report.checks:
        numbers = [scaled(number, percent=False) for number in (check.value, check.bound)]
        verdict = "met" if check.passed else f"NOT MET: {check.reason}"
        facts = (
            f"{check.questions:,}",
            f"{check.coverage:.1%}",
            "–" if check.look is None else str(check.look),
        )
        add_row(table, check_name(check), *numbers, *facts, verdict)
    return table
