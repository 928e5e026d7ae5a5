"""Writes a gate report as JUnit XML for build servers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from sgi.analysis.gate.gate import check_name, worst_lines

if TYPE_CHECKING:
    from sgi.analysis.gate.checks import Check
    from sgi.analysis.gate.gate import GateReport

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
