"""Summary of a gate for the page of a CI job: metrics, rules and failing rows, as HTML inside Markdown.

Every text that comes from data is escaped, in a ``<code>`` element of an HTML block. So GitHub makes no link,
mention, image or HTML of it, and a text cannot leave its cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from sgi.analysis.gate.gate import check_name
from sgi.kernel.names import metric_label
from sgi.reporting import formatting, safe_text
from sgi.reporting.formatting import beginning
from sgi.reporting.metric_format import MetricFormat
from sgi.reporting.views.headline import headline_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.analysis.compare import Comparison
    from sgi.analysis.gate.gate import GateReport
    from sgi.reporting.views.failing_rows import FailingRow
    from sgi.reporting.views.headline import Headline

_LONGEST = 300
_MAX_ROWS = 50
_PASSED, _FAILED = "✅ passed", "❌ failed"


def gate_summary(
    report: GateReport,
    headline: Headline,
    rows: Sequence[FailingRow],
    worst: Sequence[FailingRow],
    *,
    data: str | None,
    comparison: Comparison | None = None,
    notes: Iterable[str] = (),
) -> str:
    """Return the summary of a gate as Markdown for GitHub and GitLab.

    Args:
        report: the decisions.
        headline: the metrics of the run.
        rows: the failing rows; at most 50 are shown.
        worst: the rows with the worst values of the metrics whose rules passed; at most 50 are shown.
        data: name of the data file; None if unknown.
        comparison: the differences to the baseline run; None without a baseline.
        notes: further notes.
    """
    verdict = f"{'✅' if report.passed else '❌'} SGI gate: {report.verdict}"
    blocks = [
        Markup("<h2>{}</h2>").format(verdict),
        Markup("<p>Run {}{}</p>").format(_quote(report.run), _of_data(headline, data)),
        _metrics(headline, comparison),
        Markup("<h3>Rules</h3>"),
        _rules(report),
        *_row_table("Failing rows", "rule", rows),
        *_row_table("Worst rows of metrics that passed", "metric", worst),
        *_notes([*report.notes, *notes, *headline_notes(headline)]),
    ]
    return "\n\n".join(map(str, blocks)) + "\n"


def _of_data(headline: Headline, data: str | None) -> Markup:
    name = Markup("") if data is None else Markup(", data {}").format(_quote(data))
    return Markup("{}, {} rows").format(name, f"{headline.rows:,}") if headline.rows else name


def _metrics(headline: Headline, comparison: Comparison | None) -> Markup:
    """Return the table of metrics; three more columns show the difference to the baseline."""
    compared = {} if comparison is None else {part.metric: part for part in comparison.metrics}
    rows = []
    for metric in headline.metrics:
        row = [
            _quote(metric_label(metric.metric)),
            _plain(formatting.format_mean(metric)),
            _plain(formatting.format_interval(metric)),
            _plain(f"{metric.ok:,} of {metric.rows:,}"),
            _plain(formatting.missing_values(metric, metric.rows)),
        ]
        if comparison is not None:
            part = compared.get(metric.metric)
            paired, form = (
                None if part is None else part.difference,
                MetricFormat(metric.unit, metric.is_share),
            )
            row += map(
                _plain,
                ("–", "–", "–")
                if paired is None
                else (
                    form.value(paired.first),
                    form.difference(paired.difference, sign="+"),
                    form.interval(paired.interval),
                ),
            )
        rows.append(row)
    names = ["metric", "mean", "95 % interval", "rows with a value", "rows without a value"]
    extra = [] if comparison is None else ["baseline", "difference", "95 % interval of the difference"]
    return _table([*names, *extra], rows)


def _rules(report: GateReport) -> Markup:
    rows = [
        [
            _plain(_PASSED if check.passed else _FAILED),
            _quote(check_name(check)),
            _plain(check.format(check.value)),
            _plain(check.format(check.bound)),
            _plain(f"{check.coverage:.1%}"),
            _quote(check.reason),
        ]
        for check in report.checks
    ]
    return _table(["", "rule", "value", "end of the interval", "coverage", "reason"], rows)


def _row_table(title: str, by: str, rows: Sequence[FailingRow]) -> Iterator[Markup]:
    if not rows:
        return
    yield Markup("<h3>{}</h3>").format(title)
    cells = [
        [
            _quote(row.id),
            _plain("–" if row.line is None else str(row.line)),
            _quote(row.rule),
            _quote(row.result),
            _quote(row.response),
        ]
        for row in rows[:_MAX_ROWS]
    ]
    yield _table(["row", "line", by, "value", "response"], cells)
    if len(rows) > _MAX_ROWS:
        yield Markup("<p>{} more rows are not shown.</p>").format(f"{len(rows) - _MAX_ROWS:,}")


def _notes(notes: Iterable[str]) -> Iterator[Markup]:
    items = Markup("").join(Markup("<li>{}</li>").format(_quote(note)) for note in dict.fromkeys(notes))
    if items:
        yield Markup("<ul>{}</ul>").format(items)


def _table(names: Iterable[str], rows: Iterable[Iterable[Markup]]) -> Markup:
    """Return an HTML table without blank lines, because a blank line would end the HTML in Markdown."""
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in names)
    lines = [
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row))
        for row in rows
    ]
    return Markup("\n").join(
        [Markup("<table>"), Markup("<tr>{}</tr>").format(head), *lines, Markup("</table>")]
    )


def _plain(text: str) -> Markup:
    return Markup("{}").format(text)


def _quote(text: str) -> Markup:
    """Return a text as escaped code on one line; an empty text stays empty."""
    line = beginning(safe_text.plain(text), _LONGEST)
    return Markup("<code>{}</code>").format(line) if line else Markup("")
