import numpy as np
import pytest

from sgi_lab.paper.geometry.subspace import fewest_axes, held_out_residuals, principal_axes, squared_residuals


def vectors(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def test_axes_are_those_of_a_singular_value_decomposition():
    points = vectors(5, 30)
    values, coefficients = principal_axes(points @ points.T)
    singular, axes = np.linalg.svd(points, full_matrices=False)[1:]
    assert values == pytest.approx(singular**2, rel=1e-10)
    found = coefficients.T @ points
    assert np.abs(np.vecdot(found, axes)) == pytest.approx(1.0, abs=1e-10)


def test_residuals_are_those_of_a_projection():
    points, point = vectors(5, 30), vectors(30, seed=1)
    axes = np.linalg.svd(points, full_matrices=False)[2]
    _, coefficients = principal_axes(points @ points.T)
    residuals = squared_residuals(coefficients, points @ point, point @ point)
    expected = [np.sum((point - axes[:m].T @ axes[:m] @ point) ** 2) for m in range(6)]
    assert residuals == pytest.approx(expected, rel=1e-10)
    assert np.all(np.diff(residuals) <= 0)


def test_an_axis_that_is_rounding_is_none():
    points = np.repeat(vectors(1, 30), 4, axis=0)  # four vectors, one axis
    values, coefficients = principal_axes(points @ points.T)
    assert values[1:].tolist() == [0.0] * 3
    assert not coefficients[:, 1:].any()
    point = vectors(30, seed=1)
    residuals = squared_residuals(coefficients, points @ point, point @ point)
    assert residuals[1:].tolist() == [residuals[1]] * 4
    assert 0 < residuals[1] < residuals[0]


def test_no_vector_at_all_has_no_axis():
    values, coefficients = principal_axes(np.zeros((3, 3)))
    assert not values.any()
    assert not coefficients.any()


def test_what_is_inside_leaves_nothing_and_never_less():
    points = vectors(3, 30)
    _, coefficients = principal_axes(points @ points.T)
    for point in (*points, vectors(3, seed=1) @ points):
        residuals = squared_residuals(coefficients, points @ point, point @ point)
        assert 0.0 <= residuals[-1] < 1e-12 * residuals[0]


def test_held_out_residuals_are_those_of_a_plain_loop():
    points = vectors(6, 30)
    residuals = held_out_residuals(points @ points.T)
    assert residuals.shape == (6, 6)
    for place, point in enumerate(points):
        others = np.delete(points, place, axis=0)
        centred = others - others.mean(axis=0)
        axes = np.linalg.svd(centred, full_matrices=False)[2]
        away = point - others.mean(axis=0)
        expected = [np.sum((away - axes[:m].T @ axes[:m] @ away) ** 2) for m in range(5)]
        assert residuals[place, :5] == pytest.approx(expected, rel=1e-9)


def test_where_the_origin_lies_is_nothing_to_a_held_out_residual():
    points = vectors(6, 30)
    moved = points + vectors(30, seed=1)
    assert held_out_residuals(moved @ moved.T) == pytest.approx(
        held_out_residuals(points @ points.T), rel=1e-9
    )


def test_sets_are_measured_one_by_one():
    sets = vectors(4, 5, 30)
    gram = sets @ sets.mT
    held_out = held_out_residuals(gram)
    assert held_out.shape == (4, 5, 5)
    for place in range(4):
        assert held_out[place] == pytest.approx(held_out_residuals(gram[place]), rel=1e-12)
        assert fewest_axes(held_out, 30)[place] == fewest_axes(held_out[place], 30)


def test_the_fewest_axes_are_within_one_standard_error_of_the_best():
    best, error = np.array([1.0, 2.0, 3.0, 2.0]), np.sqrt(2 / 3) / 2
    for lead, number in ((0.99 * error, 1), (1.01 * error, 2)):
        losses = np.stack([best + 5.0, best + lead, best], axis=1)
        assert fewest_axes(losses * [100, 99, 98], 100) == number


@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0])
def test_points_on_a_line_need_one_axis(spread):
    line = np.outer(np.linspace(-3, 3, 10), vectors(30)) + spread * 1e-3 * vectors(10, 30, seed=1)
    assert fewest_axes(held_out_residuals(line @ line.T)[..., :9], 30) == 1


def test_points_that_scatter_alike_in_all_dimensions_need_none_as_a_rule():
    clouds = vectors(400, 10, 384)
    numbers = fewest_axes(held_out_residuals(clouds @ clouds.mT)[..., :9], 384)
    assert np.mean(numbers == 0) > 0.75


def test_equal_losses_need_no_axis():
    assert fewest_axes(np.full((4, 3), 0.1) * [3, 2, 1], 3) == 0
