import numpy as np
import pytest

from sgi.geometry import angle, unit
from sgi_lab.paper.geometry.displacement import (
    Neighbours,
    directional_grounding_index,
    displacement_consistency,
    displacement_magnitude_ratio,
    expected_response_deviation,
    in_blocks,
    local_grounding_index,
    tangent_space_residual,
)
from sgi_lab.paper.geometry.sphere import exp_map, log_map, parallel_transport
from support.sphere_points import frechet_mean, rows, scored_rows

SCORES = [
    displacement_consistency,
    displacement_magnitude_ratio,
    expected_response_deviation,
    local_grounding_index,
    tangent_space_residual,
]


@pytest.fixture
def parts():
    return scored_rows(0.3)


def neighbours_of(parts, row):
    """Questions, responses and weights of one row's neighbours."""
    near = parts[2]
    chosen = near.indices[row]
    return near.questions[chosen], near.responses[chosen], near.weights[row]


def at(point, *others):
    """Rows of one point, as many as the others have."""
    return np.repeat(point[None], len(others[0]), axis=0)


def expected(parts, row):
    """v̄ of one row, neighbour by neighbour."""
    question = parts[0][row]
    total = np.zeros(len(question))
    for start, end, weight in zip(*neighbours_of(parts, row), strict=True):
        way = log_map(start[None], end[None])
        total += weight * parallel_transport(start[None], question[None], way)[0]
    return total


def test_weights_are_a_softmax_of_the_angles(parts):
    questions, _, near = parts
    for row in range(len(near)):
        theirs, _, weights = neighbours_of(parts, row)
        angles = angle(at(questions[row], theirs), theirs)
        assert near.angles[row].tolist() == angles.tolist()
        assert weights == pytest.approx(np.exp(-angles / 0.3) / np.exp(-angles / 0.3).sum(), rel=1e-12)


def test_a_small_temperature_leaves_the_nearest_alone():
    eye = np.eye(3)
    near = Neighbours.of(eye[:1], np.array([[1, 0]]), 1e-6, questions=eye, responses=eye)
    assert near.weights.tolist() == [[0.0, 1.0]]


def test_consistency_is_that_of_a_plain_loop(parts):
    questions, responses, near = parts
    values = displacement_consistency(questions, responses, near)
    for row, value in enumerate(values):
        way, mean = log_map(questions[[row]], responses[[row]])[0], expected(parts, row)
        assert value == pytest.approx(way @ mean / np.linalg.norm(way) / np.linalg.norm(mean), rel=1e-12)


def test_deviation_is_that_of_a_plain_loop(parts):
    questions, responses, near = parts
    values = expected_response_deviation(questions, responses, near)
    for row, value in enumerate(values):
        end = exp_map(questions[[row]], expected(parts, row)[None])
        assert value == pytest.approx(angle(responses[[row]], end)[0], rel=1e-12)


def test_magnitude_ratio_is_that_of_a_plain_loop(parts):
    questions, responses, near = parts
    values = displacement_magnitude_ratio(questions, responses, near)
    for row, value in enumerate(values):
        starts, ends, weights = neighbours_of(parts, row)
        own = angle(questions[[row]], responses[[row]])[0]
        assert value == pytest.approx(abs(np.log(own / (weights @ angle(starts, ends)))), rel=1e-10)


def test_local_index_is_a_ratio_of_means(parts):
    questions, responses, near = parts
    values = local_grounding_index(questions, responses, near)
    for row, value in enumerate(values):
        starts, ends, weights = neighbours_of(parts, row)
        above = weights @ angle(at(responses[row], ends), ends)
        assert value == pytest.approx(
            above / (weights @ angle(at(questions[row], starts), starts)), rel=1e-12
        )


def residuals_outside(points, point):
    """What of a point lies outside the first 0, 1, … principal axes of others about their mean, by SVD."""
    mean = points.mean(axis=0)
    axes = np.linalg.svd(points - mean, full_matrices=False)[2]
    return np.array(
        [
            np.linalg.norm((point - mean) - axes[:m].T @ (axes[:m] @ (point - mean)))
            for m in range(len(points))
        ]
    )


def test_tangent_residual_is_that_of_a_plain_loop(parts):
    questions, responses, near = parts
    values = tangent_space_residual(questions, responses, near)
    numbers = []
    for row, value in enumerate(values):
        _, ends, _ = neighbours_of(parts, row)
        mean = frechet_mean(ends)
        ways = log_map(at(mean, ends), ends)
        left_out = np.array([residuals_outside(np.delete(ways, i, axis=0), ways[i])[:5] for i in range(6)])
        losses = np.square(left_out) / (23 - np.arange(5))
        best = losses.mean(axis=0).argmin()
        error = losses[:, best].std(ddof=1) / np.sqrt(6)
        number = np.flatnonzero(losses.mean(axis=0) <= losses[:, best].mean() + error)[0]
        own = residuals_outside(ways, log_map(mean[None], responses[[row]])[0])[number]
        assert value == pytest.approx(own / np.median(left_out[:, number]), rel=1e-9)
        numbers.append(number)
    assert len(set(numbers)) > 1  # the rule chooses


def test_the_residual_of_points_around_an_arc_sees_what_leaves_it():
    generator = np.random.default_rng(1)
    arc = np.eye(24)[0] + np.outer(np.linspace(-0.8, 0.8, 10), np.eye(24)[1])
    arc = unit(arc + 0.02 * generator.normal(size=arc.shape))
    along = np.eye(24)[0] + np.outer([0.3, 0.7, 1.2], np.eye(24)[1])
    off = np.eye(24)[0] + np.outer([0.3, 0.7, 1.2], np.eye(24)[2])
    near = Neighbours.of(arc[:3], np.tile(np.arange(10), (3, 1)), 1.0, questions=arc, responses=arc)
    assert tangent_space_residual(arc[:3], unit(along), near).max() < 1.0
    residual = tangent_space_residual(arc[:3], unit(off), near)
    assert residual.min() > 2.0
    assert np.all(np.diff(residual) > 0)


def test_a_response_that_goes_where_all_go_is_as_grounded_as_can_be():
    # Every question is moved by the same angle toward the same pole, from the same great circle.
    turns = np.linspace(0.0, 0.4, 6)
    questions = np.stack([np.cos(turns), np.sin(turns), 0 * turns], axis=1)
    responses = unit(questions + np.array([0.0, 0.0, 0.5]))
    near = Neighbours.of(
        questions[:1], np.array([[1, 2, 3, 4, 5]]), 0.2, questions=questions, responses=responses
    )
    assert displacement_consistency(questions[:1], responses[:1], near) == pytest.approx(1.0, abs=1e-12)
    assert displacement_magnitude_ratio(questions[:1], responses[:1], near) == pytest.approx(0.0, abs=1e-12)
    assert expected_response_deviation(questions[:1], responses[:1], near) == pytest.approx(0.0, abs=1e-12)
    away = unit(questions[:1] - np.array([0.0, 0.0, 0.5]))
    assert displacement_consistency(questions[:1], away, near) == pytest.approx(-1.0, abs=1e-12)
    assert expected_response_deviation(questions[:1], away, near) > 0.9


def test_a_response_that_is_its_question_has_no_direction(parts):
    questions, responses, near = parts
    still = np.concatenate([questions[:1], responses[1:]])
    assert np.isnan(displacement_consistency(questions, still, near)).tolist() == [True] + [False] * 6
    assert displacement_magnitude_ratio(questions, still, near)[0] == np.inf
    assert np.isfinite(expected_response_deviation(questions, still, near)).all()
    assert (
        np.isnan(directional_grounding_index(questions, still, rows(7, 5))).tolist() == [True] + [False] * 6
    )


def test_a_neighbour_at_its_antipode_takes_the_value_of_its_row_alone(parts):
    questions, responses, near = parts
    answers = near.responses.copy()
    answers[near.indices[0, 0]] = -near.questions[near.indices[0, 0]]
    bent = Neighbours(near.indices, near.weights, near.angles, near.questions, answers)
    has_it = (near.indices == near.indices[0, 0]).any(axis=1)
    for score in (displacement_consistency, expected_response_deviation):
        assert np.isnan(score(questions, responses, bent)).tolist() == has_it.tolist()
    assert not has_it.all()


def test_neighbours_that_answer_alike_or_oppositely_span_no_tangent_space():
    eye = np.eye(5)
    answers = np.concatenate(
        [np.repeat(eye[:1], 3, axis=0), eye[[1]], -eye[[1]], eye[[2]], -eye[[2]], rows(4, 1, 5)]
    )
    chosen = np.array([[0, 1, 2, 0], [3, 4, 5, 6], [7, 8, 9, 10]])
    near = Neighbours.of(eye[:3], chosen, 1.0, questions=rows(len(answers), 2, 5), responses=answers)
    assert np.isnan(tangent_space_residual(eye[:3], eye[2:], near)).tolist() == [True, True, False]


def test_nothing_over_nothing_has_no_value():
    eye = np.eye(3)
    near = Neighbours.of(eye[:1], np.array([[0]]), 1.0, questions=eye[:1], responses=eye[:1])
    assert np.isnan(local_grounding_index(eye[:1], eye[:1], near)).all()
    assert np.isnan(displacement_magnitude_ratio(eye[:1], eye[:1], near)).all()
    assert local_grounding_index(eye[:1], eye[1:2], near).tolist() == [np.inf]


@pytest.mark.parametrize("score", SCORES)
def test_no_rows_have_no_scores(parts, score):
    questions, responses, near = parts
    assert score(questions[:0], responses[:0], near[:0]).shape == (0,)


@pytest.mark.parametrize("score", SCORES)
def test_rows_that_do_not_fit_are_refused(parts, score):
    questions, responses, near = parts
    for asked, answered in ((questions[:3], responses), (questions, responses[:3])):
        with pytest.raises(ValueError, match="must have the same number of rows"):
            score(asked, answered, near)


@pytest.mark.parametrize("score", [score for score in SCORES if score is not local_grounding_index])
def test_responses_of_another_length_are_refused(parts, score):
    questions, responses, near = parts
    with pytest.raises(ValueError, match="must have length 1"):
        score(questions, 2 * responses, near)


def test_a_score_sees_its_own_rows_and_neighbours(parts):
    questions, responses, near = parts
    blocks = []

    @in_blocks
    def score(starts, ends, theirs):
        blocks.append((starts, ends, theirs.indices))
        return np.zeros(len(starts))

    score(questions, responses, near)
    for place, whole in enumerate((questions, responses, near.indices)):
        assert np.array_equal(np.concatenate([block[place] for block in blocks]), whole)


def test_the_directional_index_is_a_cosine_with_one_or_each_direction(parts):
    questions, responses, _ = parts
    directions = rows(7, 5)
    values = directional_grounding_index(questions, responses, directions)
    assert values == pytest.approx(np.vecdot(unit(responses - questions), directions), rel=1e-12)
    one = directional_grounding_index(questions, responses, directions[0])
    assert one[0] == values[0]
    assert directional_grounding_index(questions, questions + 0.1 * directions, directions) == pytest.approx(
        1.0
    )
