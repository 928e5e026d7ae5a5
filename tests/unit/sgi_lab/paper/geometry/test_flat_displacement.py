from types import SimpleNamespace

import numpy as np
import pytest

from sgi.geometry import angle, unit
from sgi_lab.paper.geometry import displacement as measured
from sgi_lab.paper.geometry.displacement import Neighbours
from sgi_lab.paper.geometry.flat_displacement import (
    flat_displacement_consistency,
    flat_displacement_magnitude_ratio,
    flat_expected_response_deviation,
    flat_local_density_ratio,
    flat_local_grounding_index,
    flat_response_rank,
    flat_tangent_space_residual,
)
from support.sphere_points import rows, scored_rows

SCORES = [
    flat_displacement_consistency,
    flat_displacement_magnitude_ratio,
    flat_expected_response_deviation,
    flat_local_density_ratio,
    flat_local_grounding_index,
    flat_response_rank,
    flat_tangent_space_residual,
]


@pytest.fixture
def parts():
    return scored_rows(0.1)


def each(parts):
    """Every row with its neighbours: questions, responses, weights, and angles on both sides."""
    questions, responses, near = parts
    for row, chosen in enumerate(near.indices):
        starts, ends = near.questions[chosen], near.responses[chosen]
        yield SimpleNamespace(
            q=questions[row],
            r=responses[row],
            starts=starts,
            ends=ends,
            weights=near.weights[row],
            asked=angle(np.repeat(questions[[row]], len(chosen), axis=0), starts),
            answered=angle(np.repeat(responses[[row]], len(chosen), axis=0), ends),
        )


def cosine(one, two):
    return one @ two / np.linalg.norm(one) / np.linalg.norm(two)


def residual(row):
    mean = row.ends.mean(axis=0)
    singular, axes = np.linalg.svd(row.ends - mean, full_matrices=False)[1:]
    share = np.cumsum(singular**2) / np.sum(singular**2)
    number = max(3, 1 + np.flatnonzero(share >= 0.95)[0])
    away = row.r - mean
    return np.linalg.norm(away - axes[:number].T @ axes[:number] @ away)


def rank(row):
    pairs = [angle(row.ends[[i]], row.ends[[j]])[0] for i in range(6) for j in range(i)]
    return np.mean(np.array(pairs) < row.answered.mean())


PLAIN = {
    flat_displacement_consistency: lambda row: cosine(row.r - row.q, row.weights @ (row.ends - row.starts)),
    flat_expected_response_deviation: lambda row: np.arccos(cosine(row.r, row.weights @ row.ends)),
    flat_displacement_magnitude_ratio: lambda row: abs(
        np.log(
            np.linalg.norm(row.r - row.q) / (row.weights @ np.linalg.norm(row.ends - row.starts, axis=1))
            + 1e-8
        )
    ),
    flat_tangent_space_residual: residual,
    flat_local_grounding_index: lambda row: np.mean(row.answered / row.asked),
    flat_response_rank: rank,
    flat_local_density_ratio: lambda row: np.log(row.asked.mean() / row.answered.mean()),
}


@pytest.mark.parametrize("score", SCORES)
def test_a_score_is_that_of_a_plain_loop(parts, score):
    expected = [PLAIN[score](row) for row in each(parts)]
    assert score(*parts) == pytest.approx(expected, rel=1e-9)
    assert len(set(expected)) > 1


def scattered(pull, seed):
    """Ten reference responses, the more alike the more they are pulled together."""
    return unit(rows(10, seed) + pull * rows(1, 5))


def test_the_residual_takes_axes_to_95_percent_and_three_at_least():
    spread = np.array([3.0, 2.0, 1.0, 0.8, 0.6, 0.05, 0.04, 0.03, 0.02, 0.01])
    for factors in (spread, np.where(spread < 3, 0.003 * spread, spread)):
        ends = unit(np.eye(24)[0] * 9 + factors[:, None] * np.eye(24)[1:11])
        near = Neighbours.of(rows(1, 1), np.arange(10)[None], 0.1, questions=rows(10, 3), responses=ends)
        parts = (rows(1, 1), rows(1, 2), near)
        assert flat_tangent_space_residual(*parts) == pytest.approx([residual(next(each(parts)))], rel=1e-9)


def test_the_rank_goes_from_none_below_to_all():
    ends, questions = scattered(2.0, 4), rows(10, 3)
    near = Neighbours.of(rows(2, 1), np.tile(np.arange(10), (2, 1)), 0.1, questions=questions, responses=ends)
    responses = np.concatenate([unit(ends.mean(axis=0))[None], -ends[:1]])
    assert flat_response_rank(rows(2, 1), responses, near).tolist() == [0.0, 1.0]


def test_equal_angles_count_half_in_a_rank():
    eye = np.eye(4)
    near = Neighbours.of(eye[:1], np.array([[0, 1, 2]]), 0.1, questions=eye, responses=eye)
    assert flat_response_rank(eye[:1], eye[3:], near).tolist() == [0.5]


@pytest.fixture
def own(parts):
    """The parts with one neighbour of the first row that is its question itself."""
    questions, responses, near = parts
    starts = near.questions.copy()
    starts[near.indices[0, 2]] = questions[0]
    return (
        questions,
        responses,
        Neighbours.of(questions, near.indices, 0.1, questions=starts, responses=near.responses),
    )


def test_the_local_index_alone_drops_a_neighbour_that_is_the_question_itself(own):
    questions, responses, near = own
    without = np.delete(near.indices[:1], 2, axis=1)
    places = {"questions": near.questions, "responses": near.responses}
    left = questions[:1], responses[:1], Neighbours.of(questions[:1], without, 0.1, **places)
    dropping = [score for score in SCORES if score(*own)[0] == pytest.approx(score(*left)[0], rel=1e-6)]
    assert dropping == [flat_local_grounding_index]
    assert near.weights[0, 2] > 0.9  # which is what the leak of the other scores rests on


def test_the_density_counts_a_neighbour_that_is_the_question_itself(own):
    row = next(each(own))
    assert row.asked[2] == 0.0
    assert flat_local_density_ratio(*own)[0] == pytest.approx(PLAIN[flat_local_density_ratio](row), rel=1e-9)


def test_the_local_index_has_no_value_where_all_neighbours_are_the_question():
    eye = np.eye(3)
    near = Neighbours.of(eye[:1], np.array([[0, 1]]), 0.1, questions=eye[[0, 0]], responses=eye[1:])
    assert np.isnan(flat_local_grounding_index(eye[:1], eye[1:2], near)).all()


def test_a_density_without_distances_is_infinite():
    eye = np.eye(3)
    starts, ends, chosen = eye[[0, 0, 1, 1]], eye[[1, 1, 2, 2]], np.array([[0, 1], [0, 1], [2, 3], [2, 3]])
    near = Neighbours.of(eye[[0, 0, 0, 0]], chosen, 0.1, questions=starts, responses=ends)
    values = flat_local_density_ratio(eye[[0, 0, 0, 0]], eye[[2, 1, 2, 1]], near)
    assert values.tolist() == pytest.approx([-np.inf, np.nan, np.inf, 0.0], nan_ok=True)


def test_degenerate_rows_have_no_direction_or_an_infinite_ratio():
    eye = np.eye(3)
    opposite = np.stack([eye[0], -eye[0]])
    still = Neighbours.of(eye[1:2], np.array([[0, 1]]), 1.0, questions=opposite, responses=opposite)
    assert np.isnan(flat_displacement_consistency(eye[1:2], eye[:1], still)).all()
    assert flat_displacement_magnitude_ratio(eye[1:2], eye[:1], still).tolist() == [np.inf]
    assert np.isnan(flat_displacement_magnitude_ratio(eye[1:2], eye[1:2], still)).all()
    assert np.isnan(flat_expected_response_deviation(eye[1:2], eye[:1], still)).all()
    same = Neighbours.of(eye[1:2], np.array([[0, 1]]), 1.0, questions=opposite, responses=eye[[2, 2]])
    assert flat_tangent_space_residual(eye[1:2], eye[:1], same) == pytest.approx([np.sqrt(2)])
    assert flat_local_density_ratio(eye[1:2], eye[2:], same).tolist() == [np.inf]


@pytest.mark.parametrize("score", SCORES)
def test_blocks_and_float32_change_rounding_alone(parts, score, monkeypatch):
    questions, responses, near = parts
    whole = score(*parts)
    monkeypatch.setattr(measured, "_BLOCK_BYTES", 1)
    assert score(*parts) == pytest.approx(whole, rel=1e-12)
    half = Neighbours(
        near.indices, near.weights, near.angles, near.questions.astype("f4"), near.responses.astype("f4")
    )
    found = score(questions.astype("f4"), responses.astype("f4"), half)
    assert found.dtype == np.float64
    assert found == pytest.approx(whole, rel=1e-5, abs=1e-5)
