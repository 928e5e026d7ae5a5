"""Verdicts on the labelled pairs of tests/data/facts that were used to choose the rules, and whole scores."""

import json
from pathlib import Path

import pytest

from sgi import evaluate
from sgi.metrics.grounding.check_facts import Verdict, check_facts

DATA = Path(__file__).parents[3] / "data" / "facts"
SEVERITY = (Verdict.CONTRADICTED, Verdict.ABSENT, Verdict.SUPPORTED)
ERRORS = {Verdict.CONTRADICTED, Verdict.ABSENT}


def verdict(pair):
    """Return the most severe verdict on the facts that overlap the fact of a pair; "none" without one."""
    end = pair["start"] + len(pair["fact"])
    checks = check_facts(pair["sentence"], [pair["passage"]])
    found = {check.verdict for check in checks if check.fact.start < end and pair["start"] < check.fact.end}
    return next((one for one in SEVERITY if one in found), "none")


@pytest.fixture(scope="module")
def verdicts():
    """Pairs of the expected and the given verdict."""
    pairs = [
        json.loads(line) for file in DATA.glob("*.jsonl") for line in file.read_text("utf-8").splitlines()
    ]
    return [(pair["expected"], verdict(pair)) for pair in pairs if pair["part"] == "choice"]


def test_verdicts_are_mostly_right(verdicts):
    def share(hit, among):
        rows = [pair for pair in verdicts if among(*pair)]
        return sum(hit(*pair) for pair in rows) / len(rows)

    def flagged(_expected, given):
        return given in ERRORS

    assert (
        share(lambda expected, _: expected == "contradicted", lambda _, given: given == "contradicted")
        >= 0.92
    )
    assert share(lambda expected, _: expected in ERRORS, lambda _, given: given == "absent") >= 0.75
    assert share(flagged, lambda expected, _: expected in ERRORS) >= 0.87
    assert share(flagged, lambda expected, _: expected not in ERRORS) <= 0.09


def test_scores_of_pairs_in_which_one_value_or_negation_decides():
    lines = (DATA.parent / "grounded_pairs.jsonl").read_text("utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    rows = [{"contexts": [pair["passage"]], "response": pair["response"]} for pair in pairs]

    scores = evaluate(rows, ["grounding"], cache=False)["grounding"]

    wrong = [
        (pair["passage"], pair["response"], value)
        for pair, value, details in zip(pairs, scores.values, scores.details, strict=True)
        if pair["grounded"] != (value >= 0.5 and not _contradicted(details))
    ]
    assert not wrong


def _contradicted(details):
    checks = [check for sentence in details["sentences"] for check in sentence["checks"]]
    return any(check["verdict"] == "contradicted" for check in checks)
