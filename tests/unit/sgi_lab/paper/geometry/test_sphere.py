import numpy as np
import pytest

from sgi.geometry import angle, unit
from sgi_lab.paper.geometry.sphere import exp_map, karcher_means, log_map, parallel_transport
from support.sphere_points import frechet_mean


def rows(n, seed, d=16):
    return unit(np.random.default_rng(seed).normal(size=(n, d)))


def towards(theta, d=3):
    """The point at this angle from the first axis, in the plane of the first two."""
    point = np.zeros((1, d))
    point[0, :2] = np.cos(theta), np.sin(theta)
    return point


def base(d=3):
    return np.eye(d)[:1]


@pytest.mark.parametrize("theta", [1e-300, 1e-12, 1e-8, 1e-3, 1.0, np.pi / 2, 2.0, 3.14])
def test_a_log_has_the_angle_as_its_length_and_points_the_right_way(theta):
    values = log_map(base(), towards(theta))
    assert values[0].tolist() == pytest.approx([0.0, theta, 0.0], rel=1e-12, abs=1e-15 * theta)


@pytest.mark.parametrize("short", [1e-3, 1e-8, 1e-12])
def test_a_log_keeps_its_direction_next_to_the_antipode(short):
    point = np.array([[-np.cos(short), np.sin(short), 0.0]])
    found = log_map(base(), point)[0]
    assert found.tolist() == pytest.approx([0.0, np.pi - short, 0.0], abs=1e-14)


def test_the_log_of_the_base_is_zero_and_that_of_its_antipode_has_no_value():
    points = rows(50, 1, d=384)
    assert not log_map(points, points).any()
    assert np.isnan(log_map(points, -points)).all()


def test_one_antipode_leaves_the_other_rows_alone():
    points, ends = rows(3, 1), rows(3, 2)
    ends[1] = -points[1]
    values = log_map(points, ends)
    assert np.isnan(values).all(axis=1).tolist() == [False, True, False]
    assert values[[0, 2]].tobytes() == log_map(points[[0, 2]], ends[[0, 2]]).tobytes()


def test_logs_of_float32_rows_are_those_of_their_directions():
    start, end = rows(20, 1).astype(np.float32), rows(20, 2).astype(np.float32)
    values = log_map(start, end)
    assert values.dtype == np.float64
    assert np.abs(np.vecdot(values, unit(start))).max() < 1e-15
    assert np.allclose(np.linalg.norm(values, axis=1), angle(start, end), atol=1e-7)


def test_leading_axes_broadcast():
    start, ends = rows(4, 1), rows(12, 2).reshape(4, 3, 16)
    values = log_map(start[:, None], ends)
    plain = log_map(np.repeat(start, 3, axis=0), ends.reshape(12, 16))
    assert values.reshape(12, 16).tobytes() == plain.tobytes()
    assert exp_map(start[:, None], values).shape == (4, 3, 16)


@pytest.mark.parametrize("turns", [0.0, 1.0, 2.5])
def test_exp_goes_round_the_great_circle(turns):
    theta = 0.7 + 2 * np.pi * turns
    assert exp_map(base(), [[0.0, theta, 0.0]])[0] == pytest.approx(towards(theta)[0], abs=1e-14)


def test_exp_of_zero_is_the_base_and_of_nan_has_no_value():
    points = rows(5, 1)
    assert np.allclose(exp_map(points, np.zeros_like(points)), points, rtol=0, atol=1e-15)
    assert np.isnan(exp_map(points, np.full_like(points, np.nan))).all()


def test_transport_along_a_quarter_turns_what_lies_in_it_and_keeps_what_stands_on_it():
    eye = np.eye(3)
    assert parallel_transport(eye[:1], eye[1:2], eye[1:2])[0] == pytest.approx([-1.0, 0.0, 0.0])
    assert parallel_transport(eye[:1], eye[1:2], eye[2:])[0] == pytest.approx([0.0, 0.0, 1.0])


def test_transport_to_the_start_changes_nothing_and_to_the_antipode_has_no_value():
    start = rows(5, 1)
    ways = log_map(start, rows(5, 2))
    assert np.allclose(parallel_transport(start, start, ways), ways, rtol=0, atol=1e-15)
    assert np.isnan(parallel_transport(start, -start, ways)).all()


def test_transport_next_to_the_antipode_keeps_lengths():
    end = np.array([[-np.cos(1e-7), np.sin(1e-7), 0.0]])
    values = parallel_transport(base(), end, [[0.0, 3.0, 4.0]])
    assert np.linalg.norm(values) == pytest.approx(5.0, rel=1e-9)
    assert abs(values @ end.T) < 1e-8


@pytest.mark.parametrize("bad", [np.zeros((1, 3)), np.full((1, 3), np.nan), [[np.inf, 0, 0]], [[2.0, 0, 0]]])
def test_rows_that_are_no_directions_are_refused(bad):
    calls = (
        lambda: log_map(bad, base()),
        lambda: log_map(base(), bad),
        lambda: exp_map(bad, base()),
        lambda: karcher_means(np.array([bad]), np.ones((1, 1))),
    )
    for call in calls:
        with pytest.raises(ValueError, match="Row 0 must have length 1"):
            call()


def test_no_rows_have_no_logs():
    empty = np.empty((0, 4))
    assert log_map(empty, empty).shape == exp_map(empty, empty).shape == (0, 4)


def test_a_set_without_a_mean_leaves_the_others_alone():
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
    means = karcher_means(np.stack([np.eye(2), opposite]), np.full((2, 2), 0.5))
    assert np.isnan(means).all(axis=1).tolist() == [False, True]
    assert means[0] == pytest.approx(unit(np.ones(2)))


def test_a_set_that_does_not_converge_is_an_error_and_never_a_number():
    points = unit(rows(10, 1) + 0.2 * base(16))
    means = karcher_means(
        np.stack([points, np.repeat(points[:1], 10, axis=0)]), np.full((2, 10), 0.1), 1e-10, 1
    )
    assert np.isnan(means).all(axis=1).tolist() == [True, False]


def test_an_antipode_met_on_the_way_leaves_a_set_without_a_mean():
    # Their mean direction is the first axis, and the second point is its antipode.
    assert np.isnan(frechet_mean(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([2.0, 1.0]))).all()


def test_no_sets_have_no_means():
    assert karcher_means(np.empty((0, 2, 3)), np.empty((0, 2))).shape == (0, 3)
