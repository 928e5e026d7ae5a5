"""The grounding detector on labelled answers, embedded by the model that travels with the package."""

import numpy as np
import pytest

import sgi
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
