"""A gate's report as JUnit XML, which build servers show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

if TYPE_CHECKING:
    from sgi.engine.gating.gate import Check, GateReport

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: GateReport) -> bytes:
    """The report as one test suite with a test case for each rule, in UTF-8.

    Characters that XML 1.0 cannot hold become U+FFFD.

    Source: the reports of JUnit's Ant task, which build servers took up.

    >>> from sgi.engine.gating.gate import Check, GateReport
    >>> junit(GateReport("last", (Check("sgi", "sgi > 1.0", 1.2, 1.1, 1.0, True, ""),))).count(b"<testcase")
    1
    """
    failures = str(sum(not check.passed for check in report.checks))
    counts = {"tests": str(len(report.checks)), "failures": failures, "errors": "0"}
    root = Element("testsuites", counts)
    suite = SubElement(root, "testsuite", {"name": _clean(report.run), **counts})
    for check in report.checks:
        case = SubElement(suite, "testcase", classname="sgi.gate", name=_clean(check.wanted))
        if not check.passed:
            failure = SubElement(case, "failure", message=_clean(check.reason), type="NotMet")
            failure.text = _clean(_numbers(check))
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _numbers(check: Check) -> str:
    return f"value {check.value}, bound {check.bound}, coverage {check.coverage:.4f}"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
