"""Self-contained HTML report of a run, of a comparison or of a leaderboard."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sgi.kernel.names import metric_label
from sgi.reporting.chart_specs import (
    cause_charts,
    comparison_charts,
    label_charts,
    leaderboard_charts,
    run_charts,
)
from sgi.reporting.formatting import beginning
from sgi.reporting.html_page import render_page
from sgi.reporting.metric_format import importance, main_metric
from sgi.reporting.size_limit import fit_to_budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.reporting.leaderboard_view import LeaderboardView
    from sgi.reporting.views.comparison import ChangedSample, ComparisonView
    from sgi.reporting.views.headline import Headline
    from sgi.reporting.views.metric_pairs import Disagreement
    from sgi.reporting.views.row_view import LowestRows, SampleView
    from sgi.reporting.views.run_view import RunView
    from sgi.store.row_query import Cell, RowLine, RowPage

_TEXTS = 4_000_000
"""Maximum characters of questions and responses in the table of all rows."""
_LONGEST, _SHORTEST = 160, 24
_DIGITS = 6
_FIRST = 50


def run_report(view: RunView, rows: RowPage, *, export: str | None) -> str:
    """Render a run as one HTML file with texts, charts, tables and scripts; all texts are escaped.

    Content that would make the file too large is cut, with a note. ``export`` links to a file with all rows.
    """
    main = main_metric(view.headline.metrics)
    first = "" if main is None else main.metric
    order = sorted(view.worst, key=lambda lowest: (lowest.metric != first, importance(lowest.metric)))
    details, section_rows = _row_details(order, view.disagreement)
    charts = run_charts(view) | label_charts(view.labelled)
    charts |= {} if view.diagnosis is None else cause_charts(view.diagnosis)
    return render_page(
        "report.html",
        charts,
        {"rows": {"run": view.record.id, **_row_columns(rows, details)}},
        view=view,
        head=view.record,
        worst=order,
        section_rows=section_rows,
        rows=rows,
        first=replace(rows, rows=rows.rows[:_FIRST]),
        export=export,
        command=f"sgi runs export {shlex.quote(view.record.id)} -o rows.jsonl",
    )


def comparison_report(view: ComparisonView, base: Headline, new: Headline) -> str:
    """Render a comparison of two runs as HTML."""
    changed = _fit_changes(view.changed)
    return render_page(
        "comparison.html",
        comparison_charts(view),
        {},
        view=view,
        head=view.new,
        base=base,
        new=new,
        changed={
            metric.metric: [row for row in changed if row.metric == metric.metric]
            for metric in view.comparison.metrics
        },
    )


def leaderboard_report(view: LeaderboardView) -> str:
    """Render a leaderboard as HTML."""
    return render_page("leaderboard_report.html", leaderboard_charts(view), {}, view=view)


def _row_details(
    worst: Sequence[LowestRows[SampleView]], gaps: Disagreement[SampleView] | None
) -> tuple[dict[int, SampleView], dict[str, list[tuple[SampleView, bool]]]]:
    """Return rows by position, and per section its rows, each with whether it appears for the first time."""
    sections = {f"worst-{place}": made.samples for place, made in enumerate(worst)}
    if gaps is not None:
        sections["disagreement"] = tuple(row.sample for row in gaps.rows)
    distinct = {sample.position: sample for samples in sections.values() for sample in samples}
    whole = dict(zip(distinct, fit_to_budget(tuple(distinct.values())), strict=True))
    shown: set[int] = set()
    rows: dict[str, list[tuple[SampleView, bool]]] = {}
    for name in sorted(sections, key=lambda name: name == "disagreement"):
        rows[name] = []
        for sample in sections[name]:
            rows[name].append((whole[sample.position], sample.position not in shown))
            shown.add(sample.position)
    return whole, rows


def _fit_changes(changed: Sequence[ChangedSample]) -> list[ChangedSample]:
    rows = fit_to_budget([sample for row in changed for sample in (row.before, row.after)])
    pairs = zip(changed, rows[::2], rows[1::2], strict=True)
    return [replace(row, before=before, after=after) for row, before, after in pairs]


def _row_columns(page: RowPage, details: dict[int, SampleView]) -> dict[str, Any]:
    """Return the rows of a page as columns, which are smaller than one object per row."""
    size = _text_length(page.rows)
    reasons: dict[str, int] = {}
    return {
        "metrics": list(map(metric_label, page.metrics)),
        "ids": [row.id for row in page.rows],
        "positions": [row.position for row in page.rows],
        "labels": [None if row.label is None else int(row.label) for row in page.rows],
        "questions": [beginning(row.question, size) for row in page.rows],
        "responses": [beginning(row.response, size) for row in page.rows],
        "columns": [_cell_column(page, metric, reasons) for metric in page.metrics],
        "reasons": list(reasons),
        "detailed": sorted(details),
    }


def _text_length(rows: Sequence[RowLine]) -> int:
    """Return the maximum characters of each text so that all rows fit in the file."""
    whole = sum(min(len(row.question), _LONGEST) + min(len(row.response), _LONGEST) for row in rows)
    return _LONGEST if whole <= _TEXTS else max(_SHORTEST, _TEXTS // (2 * len(rows)))


def _cell_column(page: RowPage, metric: str, reasons: dict[str, int]) -> dict[str, Any]:
    """Return the values of a metric; for a missing value, its status and the index of its reason."""
    cells = [row.cells.get(metric) for row in page.rows]
    missing = {
        place: _missing_cell(cell, reasons) for place, cell in enumerate(cells) if _value(cell) is None
    }
    return {"values": [_value(cell) for cell in cells], "lacking": missing}


def _value(cell: Cell | None) -> float | None:
    if cell is None or cell.value is None or not math.isfinite(cell.value):
        return None
    return float(f"{cell.value:.{_DIGITS}g}")


def _missing_cell(cell: Cell | None, reasons: dict[str, int]) -> list[Any]:
    status = "missing" if cell is None else cell.status
    reason = "" if cell is None else beginning(cell.reason, 400)
    return [status, reasons.setdefault(reason, len(reasons))]
