"""Failing rows of a gate as annotations of the data file: GitHub workflow commands, GitLab Code Quality."""

from __future__ import annotations

import os
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.reporting.formatting import beginning
from sgi.reporting.safe_text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.analysis.gate.gate import GateReport
    from sgi.reporting.views.failing_rows import FailingRow

MAX_ANNOTATIONS = 10
"""GitHub shows at most 10 error annotations of a step."""
_LONGEST = 300
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
    response = beginning(row.response, _LONGEST)
    return f"row {row.id}: {response}" if response else f"row {row.id}"


def _command(title: str, message: str, file: str | None, line: int | None) -> str:
    properties = {"file": file, "line": None if file is None or line is None else str(line), "title": title}
    shown = ",".join(
        f"{name}={plain(value).translate(_IN_PROPERTY)}"
        for name, value in properties.items()
        if value is not None
    )
    return f"::error {shown}::{plain(message).translate(_MESSAGE)}"
