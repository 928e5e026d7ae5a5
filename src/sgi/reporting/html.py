"""Self-contained HTML report of a run, of a comparison or of a leaderboard."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sgi.kernel.short_text import metric_label
from sgi.metrics.citations.citation_map import CitationMap
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.reporting.chart_specs import (
    cause_charts,
    comparison_charts,
    label_charts,
    leaderboard_charts,
    run_charts,
)
from sgi.reporting.formatting import beginning, importance, main_metric, shorten
from sgi.reporting.html_page import render_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.reporting.leaderboard_view import LeaderboardView
    from sgi.reporting.views.comparison import ChangedSample, ComparisonView
    from sgi.reporting.views.headline import Headline
    from sgi.reporting.views.metric_pairs import Disagreement
    from sgi.reporting.views.row_view import LowestRows, SampleView, ScoreView
    from sgi.reporting.views.run_view import RunView
    from sgi.store.row_query import Cell, RowLine, RowPage

TEXT_BUDGET = 3_000_000
"""Maximum characters of texts, details and evidence in a file, over all rows shown in full."""

_MAX_LENGTHS = (100_000, 20_000, 5_000, 1_000, 200)
_ITEMS = 200
_MAX_DEPTH = 12


def fit_to_budget(samples: Sequence[SampleView], *, budget: int = TEXT_BUDGET) -> tuple[SampleView, ...]:
    """Cut the texts of rows so that all rows together fit in ``budget`` characters.

    All texts are cut to the same length, the largest possible one of a few. A cut text, or a list cut to 200
    parts, ends with a note. An evidence map keeps all parts: `evidence_view` limits how many are shown.
    """
    sizes = [[len(text) for text in _texts(sample)] for sample in samples]
    for length in _MAX_LENGTHS:
        if sum(min(size, length) for row in sizes for size in row) <= budget:
            break
    return tuple(_shorten_sample(sample, length) for sample in samples)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts of a row."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for item in pair for text in _texts(item))
    elif isinstance(value, (list, tuple)):
        yield from (text for item in value for text in _texts(item))
    elif hasattr(value, "__dataclass_fields__"):
        yield from _texts(vars(value))


def _shorten_sample(sample: SampleView, length: int) -> SampleView:
    return replace(
        sample,
        question=shorten(sample.question, length),
        contexts=tuple(_few([shorten(text, length) for text in sample.contexts])),
        response=shorten(sample.response, length),
        reference=None if sample.reference is None else shorten(sample.reference, length),
        alternatives=tuple(_few([shorten(text, length) for text in sample.alternatives])),
        further=_shorten_value(dict(sample.further), length),
        metadata=_shorten_value(dict(sample.metadata), length),
        reason=shorten(sample.reason, length),
        scores={name: _shorten_score(score, length) for name, score in sample.scores.items()},
    )


def _shorten_score(score: ScoreView, length: int) -> ScoreView:
    return replace(
        score,
        reason=shorten(score.reason, length),
        details=_shorten_details(dict(score.details), length),
        evidence=_shorten_value(dict(score.evidence), length),
    )


def _shorten_details(details: dict[str, Any], length: int) -> Any:
    kind = next((kind for kind in (EvidenceMap, CitationMap) if kind.read(details) is not None), None)
    if kind is None:
        return _shorten_value(details, length)
    rest = kind.further(details)
    parts = {key: value for key, value in details.items() if key not in rest}
    return _shorten_value(parts, length, items=None) | _shorten_value(rest, length)


def _shorten_value(value: Any, length: int, depth: int = 0, items: int | None = _ITEMS) -> Any:
    if isinstance(value, str):
        return shorten(value, length)
    if depth == _MAX_DEPTH:
        return "…" if isinstance(value, (dict, list)) else value
    if isinstance(value, dict):
        return {
            shorten(str(key), length): _shorten_value(item, length, depth + 1, items)
            for key, item in value.items()
        }
    if isinstance(value, list):
        whole = [_shorten_value(item, length, depth + 1, items) for item in value]
        return whole if items is None else _few(whole)
    return value


def _few(items: Iterable[Any]) -> list[Any]:
    values = list(items)
    more = len(values) - _ITEMS
    return values if more <= 0 else [*values[:_ITEMS], f"… [{more:,} more items omitted]"]


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
