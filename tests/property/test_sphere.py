"""Identities of the sphere that hold for all points."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sgi.geometry import angle, unit
from sgi_lab.paper.geometry.sphere import exp_map, log_map, parallel_transport
from support.sphere_points import frechet_mean


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


def rotation(seed, dimension):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dimension, dimension)))[0]


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


@settings(max_examples=50)
@given(points(4), st.integers(0, 2**32 - 1))
def test_maps_turn_with_the_sphere(quadruple, seed):
    start, end, other, _ = rows(*quadruple)
    assume(max(angle(start, end)[0], angle(start, other)[0]) < np.pi - 1e-3)
    turn = rotation(seed, start.shape[1])
    way = log_map(start, end)
    assert log_map(start @ turn, end @ turn) == pytest.approx(way @ turn, abs=1e-11)
    carried = parallel_transport(start, other, way)
    assert parallel_transport(start @ turn, other @ turn, way @ turn) == pytest.approx(
        carried @ turn, abs=1e-10
    )


@given(points(1), st.integers(1, 7))
def test_the_mean_of_one_point_is_itself_however_often(point, times):
    often = np.repeat(point, times, axis=0)
    assert frechet_mean(often) == pytest.approx(point[0], abs=1e-14)


@given(points(2))
def test_the_mean_of_two_points_is_midway(pair):
    one, two = rows(*pair)
    theta = angle(one, two)[0]
    assume(theta < 3.0)
    mean = frechet_mean(pair)[None]
    assert angle(mean, one)[0] == pytest.approx(theta / 2, abs=1e-8)
    assert angle(mean, two)[0] == pytest.approx(theta / 2, abs=1e-8)


@given(gathered())
def test_at_the_frechet_mean_the_logs_cancel_out(made):
    found, weights = made
    mean = np.repeat(frechet_mean(found, weights)[None], len(found), axis=0)
    assert np.linalg.norm(weights @ log_map(mean, found)) <= 1e-9 * weights.sum()


@given(gathered(), st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_means_turn_with_the_sphere_and_know_no_order_or_scale(made, seed, scale):
    found, weights = made
    turn = rotation(seed, found.shape[1])
    order = np.random.default_rng(seed).permutation(len(found))
    expected = frechet_mean(found, weights)
    turned = frechet_mean((found @ turn)[order], scale * weights[order])
    assert turned == pytest.approx(expected @ turn, abs=1e-9)
