"""The grounding detector on labelled answers, embedded by the model that travels with the package."""

import json
from pathlib import Path

import numpy as np
import pytest

import sgi
from sgi import evaluate
from sgi.metrics.grounding.check_facts import Verdict, check_facts
from sgi.text.tokenizers import sentences
from support.grounded import evidence_maps_of, is_consistent, supported_rows

RAGTRUTH, BEGIN = 15, 25


@pytest.fixture(scope="module")
def rows(data_folder):
    """Supported answers, of two sets, no two with the same passages."""
    files = {"ragtruth_qa_test.jsonl": RAGTRUTH, "begin.jsonl": BEGIN}
    return [sample for file, n in files.items() for sample in supported_rows(data_folder / file, n)]


@pytest.fixture(scope="module")
def scores(rows):
    """Of the rows as they are."""
    return grounding(rows)


def grounding(samples):
    return sgi.evaluate(samples, "grounding")["grounding"]


def beginning(sample):
    """The first two sentences of the first passage."""
    return " ".join(sentences(sample.contexts[0])[:2])


def others(rows):
    """For each row another of the same set."""
    return [*np.roll(np.arange(RAGTRUTH), 7), *(RAGTRUTH + np.roll(np.arange(BEGIN), 7))]


def answered(rows, responses):
    return [row.model_copy(update={"response": text}) for row, text in zip(rows, responses, strict=True)]


def test_there_is_a_value_of_every_row(scores):
    assert scores.ok.all()
    assert ((scores.values > 0) & (scores.values < 1)).all()


def test_a_verbatim_copy_is_supported(rows):
    assert grounding(answered(rows, map(beginning, rows))).values.min() >= 0.9


def test_the_answer_to_another_question_is_not(rows, scores):
    found = grounding(answered(rows, [rows[at].response for at in others(rows)])).values
    assert np.median(found) <= 0.05
    assert np.sort(found)[-3] <= 0.13
    assert found.max() <= 0.4
    assert (found < scores.values).all()


@pytest.mark.parametrize("behind", [True, False])
def test_irrelevant_passages_change_next_to_nothing(rows, scores, behind):
    added = [rows[at].contexts for at in others(rows)]
    more = [
        row.model_copy(update={"contexts": row.contexts + far if behind else far + row.contexts})
        for row, far in zip(rows, added, strict=True)
    ]
    changes = np.abs(grounding(more).values - scores.values)
    assert changes.mean() <= 0.02
    assert np.median(changes) <= 0.001


def test_the_evidence_of_every_row_is_sound(rows, scores):
    assert all(
        is_consistent(evidence, sample)
        for sample, evidence in zip(rows, evidence_maps_of(scores), strict=True)
    )


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
