from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from sgi.analysis.gate.checks import Check, WorstRow
from sgi.analysis.gate.gate import GateReport
from sgi.reporting.gate_summary import junit


def parsed(document):
    return ET.fromstring(document)


def report(*checks, run="last"):
    return GateReport(run, checks)


def met(wanted="sgi > 1.0"):
    return Check("sgi", wanted, ">=", 1.2, 1.1, 1.0, passed=True, reason="")


def missed(reason, wanted="rouge_l >= 0.3"):
    worst = (WorstRow("q7", 0.125, 0.5, "Nobody knows."),)
    facts = {"decided_on": "mean", "questions": 12, "needed": 40, "look": 3, "worst": worst}
    return Check("rouge_l", wanted, ">=", 0.25, None, 0.5, passed=False, reason=reason, **facts)


def test_one_case_a_rule_and_failures_with_their_reason():
    root = parsed(junit(report(met(), missed("only 50.0% & <few>"))))
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.attrib == {"name": "last", "tests": "2", "failures": "1", "errors": "0"}
    good, bad = suite
    assert (good.attrib["name"], good.attrib["classname"], len(good)) == ("sgi > 1.0", "sgi.gate", 0)
    (failure,) = bad
    assert failure.attrib["message"] == "only 50.0% & <few>"
    assert bad.attrib["name"] == "rouge_l >= 0.3 (on the mean)"
    assert failure.text.splitlines() == [
        (
            "value 0.2500, coverage 0.5000, questions 12, about 40 needed, decided on mean,"
            " gate 3 on these questions"
        ),
        "  q7  0.5 → 0.125  Nobody knows.",
    ]


def test_it_says_which_encoding_it_is_in():
    made = junit(report(met("naïve ≥ 東京")))
    assert made.startswith(b"<?xml version='1.0' encoding='utf-8'?>")
    assert parsed(made)[0][0].attrib["name"] == "naïve ≥ 東京"


def test_what_xml_cannot_hold_is_replaced():
    made = parsed(junit(report(missed("a\x00b\x0b\ud800\ufffe\x1bc\td"), run="x\x07")))
    assert made[0][0][0].attrib["message"] == "a\ufffdb\ufffd\ufffd\ufffd\ufffdc\td"
    assert made[0].attrib["name"] == "x\ufffd"


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_any_text_parses_back(reason, wanted):
    made = parsed(junit(report(missed(reason, wanted))))
    read = made[0][0].attrib["name"].removesuffix(" (on the mean)"), made[0][0][0].attrib["message"]
    for text, back in zip((wanted, reason), read, strict=True):
        assert len(back) == len(text)
        assert all(other in {one, "\ufffd"} for one, other in zip(text, back, strict=True))
