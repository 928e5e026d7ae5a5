"""Tables of the commands that read stored runs."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from sgi.cli.console import one_line, with_options
from sgi.kernel.short_text import metric_label
from sgi.reporting.answers_to_check import reason_to_check
from sgi.reporting.formatting import MetricFormat, importance, moment
from sgi.reporting.table import Cell, Table
from sgi.reporting.terminal_style import sparkline
from sgi.reporting.views.run_header import metric_summaries, run_state, state_of, stop_reason

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from sgi.analysis.compare import Comparison
    from sgi.analysis.gate.gate import GateReport
    from sgi.reporting.views.row_view import LowestRows, SampleView
    from sgi.store.run_queries import RunRecord


def run_facts(record: RunRecord) -> dict[str, Any]:
    """Return the facts of a run for a list of runs, as JSON values."""
    return run_state(record) | {
        "stopped": record.stopped,
        "damage": record.damage or None,
        "metrics": {name: summary.get("mean") for name, summary in metric_summaries(record).items()},
        "no_texts": record.no_texts,
    }


def state(record: RunRecord, *, longest: int = 60) -> str:
    """Return the state of a run with its reason, shortened."""
    why = stop_reason(record)
    reason = f": {one_line(with_options(why), longest=longest)}" if why else ""
    return f"{state_of(record)}{reason}"


def progress_of(record: RunRecord) -> str:
    """Return the number of scored rows, and of all rows if some are not scored."""
    if record.scored == record.rows:
        return f"{record.rows:,}"
    return f"{record.scored:,} of {record.rows:,}"


def runs_table(records: Iterable[RunRecord], *, percent: bool) -> Table:
    """Return a table of runs, with one line for each metric or tag of a run."""
    rows = [row for record in records for row in _run_rows(record, percent=percent)]
    return Table(
        ("id", "name", "tags", "data", "rows", "metrics", "state", "created"), rows, title="Runs", left=_LEFT
    )


def _run_rows(record: RunRecord, *, percent: bool) -> Iterator[tuple[str, ...]]:
    means = [_mean_line(*metric, percent=percent) for metric in metric_summaries(record).items()]
    first, *others = zip_longest(record.tags or ("",), means or ("",), fillvalue="")
    start = map(one_line, (record.id, record.name or "", first[0], record.dataset_name))
    end = (Cell(state(record), css=state_of(record)), moment(record.created_at))
    yield *start, progress_of(record), first[1], *end
    yield from (("", "", one_line(tag), "", "", mean, "", "") for tag, mean in others)


def trend_table(records: Iterable[RunRecord], *, percent: bool) -> Table:
    """Return a table with the means of the main metric over the runs of each data, the oldest run first.

    The main metric is the most important one with a mean in the newest run. Data with one run is left out.
    """
    by_data: dict[str, list[dict[str, dict[str, Any]]]] = {}
    for record in records:  # the newest first
        summaries = metric_summaries(record)
        means = {name: each for name, each in summaries.items() if each.get("mean") is not None}
        by_data.setdefault(record.dataset_name, []).append(means)
    rows = []
    for data, runs in by_data.items():
        main = min(runs[0], key=importance, default=None)
        points = [run[main] for run in reversed(runs) if main in run]
        if main is None or len(points) < _MIN_TREND:
            continue
        form = MetricFormat.of(main, percent and points[-1].get("is_share", False))
        ends = (form.value(points[0]["mean"]), form.value(points[-1]["mean"]))
        line = sparkline(point["mean"] for point in points)
        rows.append((one_line(data), metric_label(main), f"{len(points):,}", Cell(line, css="trend"), *ends))
    columns = ("data", "metric", "runs", "trend", "first", "last")
    return Table(columns, rows, title="Means over the runs of the same data", left=("metric", "trend"))


_MIN_TREND = 2
_MAX_REASON = 800
_LEFT = ("name", "tags", "data", "metrics", "state", "created")


def _mean_line(name: str, summary: dict[str, Any], *, percent: bool) -> str:
    mean = MetricFormat.of(name, percent and summary.get("is_share", False)).value(summary.get("mean"))
    return f"{one_line(name)} {mean}" if summary else one_line(name)


def worst_facts(lowest_rows: LowestRows[SampleView]) -> dict[str, Any]:
    """Return the rows with the worst values of a metric as JSON values."""
    rows = [
        {
            "id": row.id,
            **({"system": row.system} if row.system else {}),
            "value": row.scores[lowest_rows.metric].value,
            "label": row.label,
            "why": reason_to_check(row, lowest_rows.metric),
            "question": row.question,
            "response": row.response,
        }
        for row in lowest_rows.samples
    ]
    return {"metric": lowest_rows.metric, "higher_is_better": lowest_rows.higher_is_better, "worst": rows}


def changed_table(comparison: Comparison, shares: Collection[str]) -> Table:
    """Return a table of the rows that changed most in each metric; metrics in `shares` are in percent."""
    rows = []
    for metric in comparison.metrics:
        form = MetricFormat.of(metric.metric, metric.metric in shares)
        for index, row in enumerate(metric.changed):
            numbers = [form.value(number) for number in (row.before, row.after)]
            change = form.difference(row.difference, sign="+")
            name = row.id if row.id == row.new_id else f"{row.id} → {row.new_id}"
            rows.append(("" if index else metric_label(metric.metric), name, *numbers, change))
    return Table(("most changed", "id", "base", "new", "new − base"), rows, left=["id"])


def worst_tables(report: GateReport) -> list[Table]:
    """Return one table per failed rule, with its worst rows."""
    tables = []
    for check in report.checks:
        before = any(row.before is not None for row in check.worst)
        columns = ("id", *(["before"] if before else []), "value", "response")
        rows = [
            ("", row.id, *map(check.format, numbers), row.response)
            for row in check.worst
            for numbers in [[row.before, row.value] if before else [row.value]]
        ]
        tables.append(Table((f"worst for {check.rule}", *columns), rows, left=("id", "response")))
    return tables


def gate_reasons(report: GateReport) -> list[str]:
    """Return a line for each failed rule with the reason, and an empty line after them."""
    from sgi.analysis.gate.gate import check_name

    lines = [
        one_line(f"{check_name(check)} FAILED: {with_options(check.reason)}", longest=_MAX_REASON)
        for check in report.checks
        if not check.passed
    ]
    return [*lines, ""] if lines else []


def gate_table(report: GateReport) -> Table:
    """Return a table with one row per rule; "gate number" counts the gates on these questions so far."""
    from sgi.analysis.gate.gate import check_name

    rows = [
        (
            check_name(check),
            check.format(check.value),
            check.format(check.bound),
            f"{check.questions:,}",
            f"{check.coverage:.1%}",
            "–" if check.look is None else str(check.look),
            Cell("passed", css="passed") if check.passed else Cell("FAILED", css="failed"),
        )
        for check in report.checks
    ]
    return Table(
        ("rule", "value", "bound", "questions", "coverage", "gate number", "verdict"), rows, left=["verdict"]
    )
