"""HTML of results in notebooks: tables, static charts and evidence maps."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sgi.analysis.compare import Comparison
from sgi.analysis.diagnosis.diagnosis import Diagnosis
from sgi.analysis.diagnosis.over_runs import DiagnosisComparison
from sgi.analysis.duel.duel_result import Duel
from sgi.analysis.leaderboard_result import Leaderboard
from sgi.analysis.pareto import Pareto
from sgi.analysis.repeats import Repeats
from sgi.engine.grounding_report import GroundingReport
from sgi.engine.run import Run
from sgi.engine.summary import Summary, reasons_without_interval
from sgi.kernel.errors import install_target
from sgi.kernel.short_text import pluralize
from sgi.reporting.diagnosis_tables import comparison_of_causes, diagnosis_tables
from sgi.reporting.duel_tables import duel_lines, duel_tables
from sgi.reporting.html_page import asset, environment, inline
from sgi.reporting.leaderboard_view import leaderboard_tables, pareto_table
from sgi.reporting.overview import evidence, overview_sentence
from sgi.reporting.repeats_tables import repeats_tables
from sgi.reporting.safe_text import plain, plain_json
from sgi.reporting.tables import comparison_tables, summary_tables, unpaired_lines
from sgi.reporting.views.evidence_view import citation_view, evidence_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.engine.summary import NotebookRepr
    from sgi.reporting.charts import Chart
    from sgi.reporting.table import Table
    from sgi.reporting.views.evidence_view import MapView

_CHARTS = 4
"""Maximum number of charts; the first metrics are drawn."""

_INK = "#767676"
# Readable on a light and on a dark background: a notebook does not report its theme.
_CHART_CONFIG: dict[str, Any] = {
    "background": "transparent",
    "view": {"stroke": None},
    "axis": {
        "labelColor": _INK,
        "titleColor": _INK,
        "domainColor": _INK,
        "tickColor": _INK,
        "gridColor": _INK,
        "gridOpacity": 0.25,
    },
    "legend": {"labelColor": _INK, "titleColor": _INK},
    "title": {"color": _INK},
}


_BLOCK = Markup('<div class="sgi-result">\n<style>{}</style>\n{}\n</div>')
"""The style applies to its own element only."""


def notebook_html(shown: NotebookRepr) -> str:
    """Return the HTML of a result: tables, charts, and the evidence map of a grounding report.

    Charts are images with a description and need the extra ``images``. All text is escaped; there are no
    scripts and no external resources. Colours follow the theme of JupyterLab, VS Code and Colab.

    Raises:
        TypeError: the object is none of these.

    >>> from sgi.engine.evaluate import evaluate
    >>> page = notebook_html(evaluate([{"response": "a", "reference": "<b>"}], ["squad_em"]).summary())
    >>> ">squad_em</th>" in page, "<b>" in page
    (True, False)
    """
    return html_block(_parts(shown))


def html_block(parts: Iterable[str]) -> str:
    """Return HTML parts as one element with the style of notebooks."""
    parts = map(Markup, parts)
    return str(_BLOCK.format(inline(asset("notebook.css")), Markup("\n").join(parts)))


def _parts(shown: NotebookRepr) -> Iterator[str]:
    match shown:
        case Run():
            yield from _summary(shown.summary())
            if shown.rejected:
                yield small(f"{pluralize(len(shown.rejected), 'row')} could not be parsed.")
            yield from pictures(_distributions(shown))
        case Summary():
            yield from _summary(shown)
        case Comparison():
            yield from (*_comparison(shown), *pictures(_differences(shown)))
        case GroundingReport():
            yield from _evidence(shown)
        case _:
            yield from _study_parts(shown)


def _study_parts(shown: NotebookRepr) -> Iterator[str]:
    match shown:
        case Leaderboard():
            yield from (*_tables(leaderboard_tables(shown)), *pictures(_systems(shown)))
            yield from map(small, shown.notes)
        case Pareto():
            yield from (pareto_table(shown).html(), *pictures(_front(shown)), *map(small, shown.notes))
        case Duel():
            for part in shown.criteria:
                yield from (*_tables(duel_tables(part)), *map(small, duel_lines(part)))
            yield from map(small, (*shown.notes, shown.judge))
        case Repeats():
            yield from _tables(repeats_tables(shown))
        case Diagnosis() | DiagnosisComparison():
            yield from (*_tables(_causes(shown)), *map(small, shown.notes))
        case _:
            raise TypeError(f"{type(shown).__name__} cannot be displayed in a notebook.")


def _causes(shown: Diagnosis | DiagnosisComparison) -> Iterator[Table]:
    return diagnosis_tables(shown) if isinstance(shown, Diagnosis) else comparison_of_causes(shown)


def _evidence(report: GroundingReport) -> Iterator[str]:
    """Yield the evidence map, and the citation map if there is one."""
    if report.evidence is None:
        yield small(str(report))
        return
    yield '<div class="sgi-evidence">'
    yield strong(f"grounding {report.value:.2f}")
    yield _map(evidence_view(report.evidence, report.contexts, report.citations))
    if report.citations is not None:
        yield strong("citations")
        yield _map(citation_view(report.citations))
    yield "</div>"


def _map(view: MapView) -> str:
    source = '{% from "evidence.html" import evidence_map %}{{ evidence_map(view) }}'
    return environment().from_string(source).render(view=view)


def _tables(tables: Iterable[Table]) -> Iterator[str]:
    return (table.html() for table in tables)


def _summary(summary: Summary) -> Iterator[str]:
    yield strong(overview_sentence(summary.metrics, summary.blank))
    yield from map(small, evidence(summary.metrics))
    yield from _tables(summary_tables(summary, rows=summary.rows))
    warnings = () if summary.calibration is None else summary.calibration.notes()
    for line in (*reasons_without_interval(summary.metrics), *warnings, summary.signature):
        yield small(line)


def _comparison(comparison: Comparison) -> Iterator[str]:
    pairs = pluralize(comparison.pairs, "pair of rows", "pairs of rows")
    yield small(f"{comparison.base} → {comparison.new}: {pairs}")
    yield from map(small, unpaired_lines(comparison))
    yield from _tables(comparison_tables(comparison, ()))
    for difference in comparison.differences:
        yield small(f"Differs in more than the responses: {difference}.")
    for line in (*comparison.notes, *dict.fromkeys((comparison.base_signature, comparison.new_signature))):
        yield small(line)


def strong(text: str) -> str:
    """Return a paragraph of bold text."""
    return str(Markup("<p><strong>{}</strong></p>").format(plain(text)))


def small(text: str) -> str:
    """Return a paragraph of small text."""
    return str(Markup("<p><small>{}</small></p>").format(plain(text)))


def _distributions(run: Run) -> Iterator[Chart]:
    """Yield the distributions of the first metrics."""
    from sgi.reporting.figures import distribution_figure
    from sgi.reporting.views.headline import ScoredRows
    from sgi.reporting.views.metric_values import distributions

    labels = [-1 if sample.label is None else int(sample.label) for sample in run.samples]
    columns = ScoredRows(run, np.array(labels, dtype=np.int8), (), {})
    yield from map(distribution_figure, distributions(columns)[:_CHARTS])


def _differences(comparison: Comparison) -> Iterator[Chart]:
    from sgi.reporting.chart_specs import has_differences
    from sgi.reporting.figures import comparison_figure

    if has_differences(comparison):
        yield comparison_figure(comparison)


def _systems(board: Leaderboard) -> Iterator[Chart]:
    from sgi.reporting.leaderboard_figures import systems_figure

    for metric in board.metrics[:_CHARTS]:
        if metric.units:
            yield systems_figure(metric, board.unit)


def _front(front: Pareto) -> Iterator[Chart]:
    from sgi.reporting.leaderboard_figures import pareto_figure

    yield pareto_figure(front)


def pictures(charts: Iterable[Chart]) -> Iterator[str]:
    """Yield charts as images, so that their ids cannot conflict with others in the notebook."""
    try:
        import vl_convert
    except ImportError:
        yield small(f"To see charts here, run: pip install {install_target('images')}")
        return
    for chart in charts:
        # A control character in a text would end the process.
        svg = vl_convert.vegalite_to_svg(plain_json(chart) | {"config": _CHART_CONFIG})
        data = base64.b64encode(svg.encode()).decode()
        picture = Markup('<img src="data:image/svg+xml;base64,{}" alt="{}">')
        yield str(picture.format(data, plain(chart["description"])))
