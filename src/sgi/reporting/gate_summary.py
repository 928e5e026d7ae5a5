"""The result of a gate for build servers: HTML summary in Markdown, annotations of the data file, JUnit XML.

Every text that comes from data is escaped, in a ``<code>`` element of an HTML block. So GitHub makes no link,
mention, image or HTML of it, and a text cannot leave its cell.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from sgi.analysis.gate.gate import check_name, worst_lines
from sgi.kernel.short_text import metric_label
from sgi.reporting import formatting, safe_text
from sgi.reporting.formatting import MetricFormat, beginning
from sgi.reporting.safe_text import plain
from sgi.reporting.views.headline import headline_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.analysis.compare import Comparison
    from sgi.analysis.gate.checks import Check
    from sgi.analysis.gate.gate import GateReport
    from sgi.reporting.views.failing_rows import FailingRow
    from sgi.reporting.views.headline import Headline

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: GateReport) -> bytes:
    """Write the report as one test suite with a test case for each rule, in UTF-8.

    Characters that XML 1.0 cannot hold become U+FFFD.

    Source: the report format of JUnit's Ant task.

    >>> from sgi.analysis.gate.checks import Check
    >>> from sgi.analysis.gate.gate import GateReport
    >>> check = Check("rouge_l", "rouge_l >= 0.3", ">=", 0.4, 0.35, 1.0, True, "")
    >>> junit(GateReport("last", (check,))).count(b"<testcase")
    1
    """
    failures = str(sum(not check.passed for check in report.checks))
    counts = {"tests": str(len(report.checks)), "failures": failures, "errors": "0"}
    root = Element("testsuites", counts)
    suite = SubElement(root, "testsuite", {"name": _clean(report.run), **counts})
    for check in report.checks:
        case = SubElement(suite, "testcase", classname="sgi.gate", name=_clean(check_name(check)))
        if not check.passed:
            failure = SubElement(case, "failure", message=_clean(check.reason), type="RuleFailed")
            failure.text = _clean("\n".join([_numbers(check), *worst_lines(check)]))
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _numbers(check: Check) -> str:
    known = {"value": check.value, "bound": check.bound}
    numbers = "".join(
        f"{name} {check.format(number)}, " for name, number in known.items() if number is not None
    )
    needed = "" if check.needed is None else f", about {check.needed} needed"
    look = "" if check.look is None else f", gate {check.look} on these questions"
    covered = f"coverage {check.coverage:.4f}, questions {check.questions}{needed}"
    return f"{numbers}{covered}, decided on {check.decided_on}{look}"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


MAX_ANNOTATIONS = 10
"""GitHub shows at most 10 error annotations of a step."""
_MAX_ANNOTATION = 300
_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = str.maketrans(_IN_MESSAGE | {":": "%3A", ",": "%2C"})
_MESSAGE = str.maketrans(_IN_MESSAGE)


def github_commands(report: GateReport, rows: Sequence[FailingRow], file: str | None) -> Iterator[str]:
    r"""Yield one workflow command for the failed gate, then one for each failing row, at most 10 in all.

    The rules take turns, so that each of them has rows among the first.

    Args:
        report: the decisions; a gate that passed gives no command.
        rows: the failing rows.
        file: the data file, relative to the root of the repository; None if unknown.

    Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions.

    >>> from sgi.analysis.gate.checks import Check
    >>> from sgi.analysis.gate.gate import GateReport
    >>> check = Check("sgi", "sgi >= 1", ">=", 0.8, 0.7, 1.0, False, "100 % sure:\nno")
    >>> print(*github_commands(GateReport("last", (check,)), [], "rows,1.jsonl"))
    ::error file=rows%2C1.jsonl,title=SGI gate%3A 1 of 1 rules failed::sgi >= 1: 100 %25 sure:%0Ano
    """
    if report.passed:
        return
    reasons = [f"{check.rule}: {check.reason}" for check in report.checks if not check.passed]
    yield _command(f"SGI gate: {report.verdict}", "\n".join(reasons), file, None)
    for row in _in_turns(rows)[: MAX_ANNOTATIONS - 1]:
        yield _command(f"{row.rule}: {row.result}", _text(row), file, row.line)


def code_quality(rows: Iterable[FailingRow], file: str | None) -> list[dict[str, Any]]:
    """Return the failing rows as issues of a GitLab Code Quality report.

    A row whose line is unknown is reported at line 1.

    Source: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
    """
    return [
        {
            "description": plain(f"{row.rule}: {row.result}. {_text(row)}"),
            "check_name": plain(row.rule),
            "fingerprint": sha256(repr((row.rule, row.id, file)).encode()).hexdigest(),
            "severity": "major",
            "location": {"path": file or "unknown", "lines": {"begin": row.line or 1}},
        }
        for row in rows
    ]


def file_in_repository(path: Path | None) -> str | None:
    """Return a path relative to the checkout of the CI job, or to the working folder without one."""
    if path is None:
        return None
    root = os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or os.curdir
    try:
        return path.resolve().relative_to(Path(root).resolve()).as_posix()
    except ValueError:
        return path.as_posix()


def _in_turns(rows: Sequence[FailingRow]) -> list[FailingRow]:
    """Order the rows: the first of each rule, then the second of each rule, and so on."""
    by_rule: dict[str, list[FailingRow]] = {}
    for row in rows:
        by_rule.setdefault(row.rule, []).append(row)
    return [row for turn in zip_longest(*by_rule.values()) for row in turn if row is not None]


def _text(row: FailingRow) -> str:
    response = beginning(row.response, _MAX_ANNOTATION)
    return f"row {row.id}: {response}" if response else f"row {row.id}"


def _command(title: str, message: str, file: str | None, line: int | None) -> str:
    properties = {"file": file, "line": None if file is None or line is None else str(line), "title": title}
    shown = ",".join(
        f"{name}={plain(value).translate(_IN_PROPERTY)}"
        for name, value in properties.items()
        if value is not None
    )
    return f"::error {shown}::{plain(message).translate(_MESSAGE)}"


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
