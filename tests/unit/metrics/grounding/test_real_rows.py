"""The grounding detector on labelled answers, embedded by the model that travels with the package."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sgi
from sgi.text.sentences import sentences
from support.grounded import evidence_maps_of, is_consistent, supported_rows

RAGTRUTH, BEGIN = 15, 25
_NUMBER = re.compile(r"(?<![\w.,$-])([1-9]\d{1,3})(?![\w.,:%-]| to )")  # and no range


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
    assert np.sort(found)[-3] <= 0.12
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


def test_a_swapped_number_in_a_copy_is_contradicted_by_the_number_it_was(rows):
    right, wrong, swapped = [], [], []
    for sample in rows:
        text = beginning(sample)
        match = _NUMBER.search(text)
        if match is not None:
            other = str(int(match[0]) + 3)
            right.append(sample.model_copy(update={"response": text}))
            wrong.append(
                sample.model_copy(update={"response": text[: match.start()] + other + text[match.end() :]})
            )
            swapped.append((match[0], other))
    before, after = grounding(right), grounding(wrong)
    failed = [
        [
            check
            for sentence in match.sentences
            for check in sentence.checks
            if check.verdict == "contradicted"
        ]
        for match in evidence_maps_of(after)
    ]
    assert len(swapped) >= 6
    assert (after.values < before.values).all()
    found = [
        any(new in check.fact and old in check.found for check in checks)
        for (old, new), checks in zip(swapped, failed, strict=True)
    ]
    assert sum(found) >= 0.8 * len(found)


def test_the_evidence_of_every_row_is_sound(rows, scores):
    assert all(
        is_consistent(evidence, sample)
        for sample, evidence in zip(rows, evidence_maps_of(scores), strict=True)
    )


def test_neither_order_nor_company_changes_a_bit(rows, scores):
    turned = grounding(rows[::-1])
    assert turned.values[::-1].tobytes() == scores.values.tobytes()
    assert turned.details[::-1] == scores.details
    for at in (0, 3, RAGTRUTH, len(rows) - 1):
        alone = grounding([rows[at]])
        assert alone.values.tobytes() == scores.values[at : at + 1].tobytes()
        assert alone.details[0] == scores.details[at]
