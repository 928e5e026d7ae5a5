"""Identities that hold for all vectors."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sgi.geometry import angle, bounded_grounding_index, bounds, compute_sgi, cosine, grounding_index, unit
from sgi_lab.paper.geometry.sphere import exp_map, log_map, parallel_transport
from support.sphere_points import frechet_mean


def vectors(dimension):
    entries = st.floats(-100.0, 100.0, allow_subnormal=False)
    return arrays(np.float64, (3, dimension), elements=entries)


@st.composite
def triples(draw):
    """Question, context and response as unit rows, of any dimension from 2."""
    made = draw(vectors(draw(st.integers(2, 12))))
    assume(np.all(np.max(np.abs(made), axis=1) > 1e-3))
    return unit(made)


def angles(triple):
    q, c, r = (row[None] for row in triple)
    return angle(r, q)[0], angle(r, c)[0], angle(q, c)[0]


@given(triples())
def test_angles_are_a_metric_on_the_sphere(triple):
    rq, rc, qc = angles(triple)
    for one, two, three in ((rq, rc, qc), (rc, qc, rq), (qc, rq, rc)):
        assert 0.0 <= one <= np.pi
        assert one <= two + three + 1e-12
    assert rq + rc + qc <= 2 * np.pi + 1e-12


@given(triples())
def test_angle_and_cosine_are_symmetric_to_the_bit(triple):
    q, _, r = (row[None] for row in triple)
    assert angle(r, q).tobytes() == angle(q, r).tobytes()
    assert cosine(r, q).tobytes() == cosine(q, r).tobytes()


@given(triples())
def test_sgi_lies_in_its_bounds(triple):
    rq, rc, qc = angles(triple)
    assume(rc > 1e-6)
    low, high = bounds(qc, rc)
    index = grounding_index(rq, rc, epsilon=0.0)
    slack = 1e-12 / rc
    assert low - slack <= index <= high + slack


@given(triples())
def test_swapping_question_and_context_gives_the_inverse(triple):
    rq, rc, _ = angles(triple)
    assume(min(rq, rc) > 1e-6)
    product = grounding_index(rq, rc, epsilon=0.0) * grounding_index(rc, rq, epsilon=0.0)
    assert product == pytest.approx(1.0, rel=1e-14)


@given(triples())
def test_above_one_is_the_sign_of_a_cosine_difference(triple):
    q, c, r = (row[None] for row in triple)
    rq, rc, _ = angles(triple)
    assume(rc > 1e-3)
    lead = cosine(r, c)[0] - cosine(r, q)[0]
    index = grounding_index(rq, rc, epsilon=0.0)
    assume(abs(lead) > 1e-12)
    assert (index > 1.0) == (lead > 0.0)


@given(triples())
def test_the_bounded_form_agrees_in_sign_and_range(triple):
    rq, rc, qc = angles(triple)
    assume(qc > 0.0)
    found = bounded_grounding_index(rq, rc, qc)
    assert -1.0 <= found <= 1.0
    assert (found > 0) == (rq > rc)


@settings(max_examples=50)
@given(triples(), st.integers(0, 2**32 - 1))
def test_rotation_changes_nothing(triple, seed):
    dimension = triple.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(dimension, dimension)))[0]
    before, after = compute_sgi(*triple), compute_sgi(*(triple @ rotation))
    assert after.theta_rq == pytest.approx(before.theta_rq, abs=1e-12)
    assert after.theta_rc == pytest.approx(before.theta_rc, abs=1e-12)


@given(triples(), st.tuples(*[st.floats(1e-200, 1e200)] * 3))
def test_positive_scaling_changes_nothing(triple, sizes):
    scaled = compute_sgi(*(row * size for row, size in zip(triple, sizes, strict=True)))
    plain = compute_sgi(*triple)
    assert scaled.theta_rq == pytest.approx(plain.theta_rq, abs=1e-14)
    assert scaled.theta_rc == pytest.approx(plain.theta_rc, abs=1e-14)


@given(arrays(np.float64, 4, elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_any_vector_has_a_finite_grounding_or_a_clear_error(vector):
    try:
        found = compute_sgi([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], vector)
    except ValueError as error:
        assert "zero or not finite" in str(error)
        assert not np.isfinite(vector).all() or not vector.any()
    else:
        assert np.isfinite([found.sgi, found.theta_rq, found.theta_rc]).all()


@st.composite
def points(draw, count):
    """Unit rows of any dimension from 2, often equal, opposite or on axes."""
    dimension = draw(st.integers(2, 10))
    entries = st.floats(-100.0, 100.0, allow_subnormal=False) | st.sampled_from([0.0, 1.0, -1.0])
    made = draw(arrays(np.float64, (count, dimension), elements=entries))
    assume(np.all(np.max(np.abs(made), axis=1) > 1e-3))
    return unit(made)


@st.composite
def gathered(draw):
    """Points within 0.6 of one of them, and weights."""
    count, dimension = draw(st.integers(1, 6)), draw(st.integers(2, 10))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    centre = unit(generator.normal(size=dimension))
    ways = generator.normal(size=(count, dimension))
    ways -= (ways @ centre)[:, None] * centre
    reach = draw(st.sampled_from([0.0, 1e-9, 1e-3, 0.6]))
    lengths = np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-3)
    return exp_map(np.repeat(centre[None], count, axis=0), reach * ways / lengths), generator.uniform(
        0.1, 1, count
    )


def rows(*one_each):
    return [row[None] for row in one_each]


@given(points(2))
def test_exp_undoes_log(pair):
    start, end = rows(*pair)
    assume(angle(start, end)[0] < np.pi - 1e-6)
    assert exp_map(start, log_map(start, end)) == pytest.approx(end, abs=1e-13)


@given(points(2), st.floats(0.0, 3.14))
def test_log_undoes_exp_within_half_a_turn(pair, length):
    start, end = rows(*pair)
    assume(1e-6 < angle(start, end)[0] < np.pi - 1e-6)
    way = log_map(start, end)
    way *= length / np.linalg.norm(way)
    assert log_map(start, exp_map(start, way)) == pytest.approx(way, abs=1e-10)


@given(points(2))
def test_a_log_is_tangent_and_as_long_as_the_angle(pair):
    start, end = rows(*pair)
    theta = angle(start, end)[0]
    assume(theta < np.pi - 1e-9)
    way = log_map(start, end)
    assert np.linalg.norm(way) == pytest.approx(theta, rel=1e-9, abs=1e-14)
    assert abs(np.vecdot(start, way)[0]) <= 1e-14


@given(points(4))
def test_transport_keeps_inner_products_and_ends_in_the_other_tangent_space(quadruple):
    start, end, one, two = rows(*quadruple)
    assume(max(angle(start, other)[0] for other in (end, one, two)) < np.pi - 1e-3)
    ways = [log_map(start, other) for other in (one, two)]
    carried = [parallel_transport(start, end, way) for way in ways]
    for way in carried:
        assert abs(np.vecdot(end, way)[0]) <= 1e-11
    for first, second in ((0, 0), (0, 1), (1, 1)):
        before, after = (np.vecdot(vectors[first], vectors[second])[0] for vectors in (ways, carried))
        assert after == pytest.approx(before, abs=1e-10)


@given(points(2))
def test_transport_turns_a_great_circle_s_own_way_along_it(pair):
    start, end = rows(*pair)
    assume(angle(start, end)[0] < np.pi - 1e-3)
    carried = parallel_transport(start, end, log_map(start, end))
    assert carried == pytest.approx(-log_map(end, start), abs=1e-10)


@given(gathered())
def test_at_the_frechet_mean_the_logs_cancel_out(made):
    found, weights = made
    mean = np.repeat(frechet_mean(found, weights)[None], len(found), axis=0)
    assert np.linalg.norm(weights @ log_map(mean, found)) <= 1e-9 * weights.sum()
