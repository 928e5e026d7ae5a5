from itertools import pairwise

import numpy as np
import pytest

from sgi.geometry import angle, unit
from sgi_lab.paper.geometry import context_displacement as measured
from sgi_lab.paper.geometry.context_displacement import (
    context_displacement_consistency,
    context_local_grounding_index,
    context_tangent_residual,
    displacement_alignment,
)
from sgi_lab.paper.geometry.sphere import log_map
from support.sphere_points import rows

LENGTHS = [3, 0, 1, 8, 2, 3]
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])


@pytest.fixture
def parts():
    """Questions, contexts and responses of six rows, and sentences of theirs, of 0 to 8 a row."""
    return rows(6, 1), rows(6, 2), rows(6, 3), rows(sum(LENGTHS), 4)


def sentences_of(sentences, row):
    return sentences[OFFSETS[row] : OFFSETS[row + 1]]


def at(point, others):
    return np.repeat(point[None], len(others), axis=0)


def cosine(one, two):
    return one @ two / np.linalg.norm(one) / np.linalg.norm(two)


def test_consistency_is_that_of_a_plain_loop_with_no_value_under_two_sentences(parts):
    _, contexts, _, sentences = parts
    values = context_displacement_consistency(contexts, sentences, OFFSETS)
    assert np.isnan(values).tolist() == [length < 2 for length in LENGTHS]
    for row in np.flatnonzero(np.array(LENGTHS) > 1):
        theirs = sentences_of(sentences, row)
        ways = log_map(at(contexts[row], theirs), theirs)
        assert values[row] == pytest.approx(np.mean([cosine(*pair) for pair in pairwise(ways)]))


def test_a_sentence_that_is_the_context_has_no_direction_and_counts_in_no_pair(parts):
    _, contexts, _, sentences = parts
    bent = sentences.copy()
    bent[OFFSETS[3]] = contexts[3]  # the first of eight
    bent[OFFSETS[4]] = contexts[4]  # the first of two
    values = context_displacement_consistency(contexts, bent, OFFSETS)
    theirs = sentences_of(bent, 3)[1:]
    assert values[3] == pytest.approx(context_displacement_consistency(contexts[[3]], theirs, [0, 7])[0])
    assert np.isnan(values).tolist() == [False, True, True, False, True, False]


def test_the_residual_is_that_of_a_plain_loop(parts):
    _, contexts, responses, sentences = parts
    for axes in (1, 3, 20):
        values = context_tangent_residual(contexts, responses, sentences, OFFSETS, axes=axes)
        assert np.isnan(values).tolist() == [length < 1 for length in LENGTHS]
        for row in np.flatnonzero(LENGTHS):
            theirs = sentences_of(sentences, row)
            way = log_map(contexts[[row]], responses[[row]])[0]
            span = np.linalg.svd(log_map(at(contexts[row], theirs), theirs), full_matrices=False)[2][:axes]
            assert values[row] == pytest.approx(
                np.linalg.norm(way - span.T @ span @ way) / np.linalg.norm(way)
            )


def test_the_residual_has_no_value_without_a_way_or_a_span(parts):
    _, contexts, responses, sentences = parts
    bent, still = sentences.copy(), responses.copy()
    bent[OFFSETS[2]] = contexts[2]  # its only one
    still[0], still[3] = contexts[0], -contexts[3]
    values = context_tangent_residual(contexts, still, bent, OFFSETS)
    assert np.isnan(values).tolist() == [True, True, True, True, False, False]


def test_a_response_among_the_context_s_sentences_leaves_nothing_outside(parts):
    _, contexts, _, sentences = parts
    values = context_tangent_residual(contexts[[0]], sentences[:1], sentences[:3], [0, 3])
    assert values == pytest.approx([0.0], abs=1e-7)


def test_equal_counts_are_taken_a_few_at_a_time(parts, monkeypatch):
    _, contexts, responses, sentences = parts
    whole = context_tangent_residual(contexts, responses, sentences, OFFSETS)
    monkeypatch.setattr(measured, "_BLOCK_BYTES", 1)
    assert context_tangent_residual(contexts, responses, sentences, OFFSETS) == pytest.approx(
        whole, rel=1e-12, nan_ok=True
    )


def test_the_local_index_is_a_ratio_of_sums(parts):
    questions, contexts, _, sentences = parts
    values = context_local_grounding_index(questions, contexts, sentences, OFFSETS)
    assert np.isnan(values[1])
    for row in np.flatnonzero(LENGTHS):
        theirs = sentences_of(sentences, row)
        above, below = (angle(at(point[row], theirs), theirs).sum() for point in (questions, contexts))
        assert values[row] == pytest.approx(above / below)


def test_the_local_index_is_infinite_where_every_sentence_is_the_context():
    eye = np.eye(3)
    assert context_local_grounding_index(eye[:1], eye[1:2], eye[[1, 1]], [0, 2]).tolist() == [np.inf]


def test_alignment_is_the_angle_at_the_question(parts):
    questions, contexts, responses, _ = parts
    values = displacement_alignment(questions, contexts, responses)
    rq, qc, rc = angle(responses, questions), angle(questions, contexts), angle(responses, contexts)
    # The spherical law of cosines.
    assert values == pytest.approx((np.cos(rc) - np.cos(rq) * np.cos(qc)) / (np.sin(rq) * np.sin(qc)))


def test_alignment_is_one_on_the_way_and_has_no_value_without_one(parts):
    questions, contexts, responses, _ = parts
    assert displacement_alignment(questions, contexts, unit(questions + contexts)) == pytest.approx(1.0)
    assert displacement_alignment(questions, contexts, unit(2 * questions - contexts)) == pytest.approx(-1.0)
    assert np.isnan(displacement_alignment(questions, questions, responses)).all()
    assert np.isnan(displacement_alignment(questions, contexts, questions)).all()
    assert np.isnan(displacement_alignment(questions, contexts, -questions)).all()


def test_no_rows_have_no_scores():
    empty, offsets = np.empty((0, 24)), [0]
    assert context_displacement_consistency(empty, empty, offsets).shape == (0,)
    assert context_tangent_residual(empty, empty, empty, offsets).shape == (0,)
    assert context_local_grounding_index(empty, empty, empty, offsets).shape == (0,)
