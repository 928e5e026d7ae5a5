from decimal import Decimal, localcontext

import numpy as np
import pytest

from sgi.geometry import angle, angles_to, cosine, unit


def rows(n, d, seed=0, dtype=np.float32):
    return unit(np.random.default_rng(seed).normal(size=(n, d))).astype(dtype)


def pairs_at(theta, n=200, d=384, dtype=np.float32):
    """Pairs of unit rows with this true angle, before rounding to ``dtype``."""
    generator = np.random.default_rng(7)
    u = unit(generator.normal(size=(n, d)))
    side = generator.normal(size=(n, d))
    side = unit(side - np.sum(side * u, axis=1, keepdims=True) * u)
    return u.astype(dtype), (np.cos(theta) * u + np.sin(theta) * side).astype(dtype)


def test_right_angles_and_their_kin():
    u = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.6, 0.8]])
    v = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.8, 0.6]])
    expected = [0.0, np.pi / 2, np.pi, np.arccos(0.96)]
    np.testing.assert_allclose(angle(u, v), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("theta", [0.05, 0.5, 1.5, 3.0])
def test_equals_arccos_of_the_clipped_dot_within_rounding(dtype, theta):
    u, v = pairs_at(theta, dtype=dtype)
    dots = np.sum(u.astype(np.float64) * v.astype(np.float64), axis=1)
    rounding = 2e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(angle(u, v), np.arccos(np.clip(dots, -1.0, 1.0)), rtol=rounding / theta)


def test_small_angles_of_float32_rows_keep_five_digits_where_arccos_loses_them():
    u, v = pairs_at(1e-3)
    assert np.max(np.abs(angle(u, v) / 1e-3 - 1.0)) <= 1e-5
    dots = np.sum(u.astype(np.float32) * v.astype(np.float32), axis=1)
    assert np.max(np.abs(np.arccos(np.clip(dots, -1.0, 1.0)) / 1e-3 - 1.0)) > 1e-3


def test_float64_rows_keep_float64_digits_at_tiny_angles():
    theta = 1e-7
    u = np.array([[1.0, 0.0]])
    v = np.array([[np.cos(theta), np.sin(theta)]])
    cos, sin = Decimal(float(v[0, 0])), Decimal(float(v[0, 1]))
    with localcontext(prec=50):
        tangent = sin / cos
        exact = tangent - tangent**3 / 3
        assert abs(Decimal(float(angle(u, v)[0])) / exact - 1) < Decimal("1e-15")


def test_angles_near_pi_keep_their_digits():
    u, v = pairs_at(1e-3)
    np.testing.assert_allclose(np.pi - angle(u, -v), 1e-3, rtol=1e-5)


def by_definition(u, v):
    """The angles of these very rows, in float64, from differences and sums."""
    u, v = u.astype(np.float64), v.astype(np.float64)
    return 2 * np.arctan2(np.linalg.norm(u - v, axis=1), np.linalg.norm(u + v, axis=1))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-11)])
@pytest.mark.parametrize(
    ("least", "most"), [(1e-4, 1e-2), (0.03, 2.0)], ids=["near pi", "towards the middle"]
)
def test_angles_of_nearly_opposite_rows_are_those_of_the_definition(dtype, tolerance, least, most):
    """Each row of 500, so of several blocks, is another distance from π away."""
    u, v = pairs_at(np.geomspace(least, most, 500)[:, None], n=500, dtype=dtype)
    np.testing.assert_allclose(np.pi - angle(u, -v), np.pi - by_definition(u, -v), rtol=tolerance)


def test_cosine_is_that_of_the_angle_and_exact_at_the_ends():
    u, v = rows(500, 64, 1), rows(500, 64, 2)
    np.testing.assert_allclose(cosine(u, v), np.cos(angle(u, v)), atol=1e-15)
    np.testing.assert_allclose(cosine(u, v), np.vecdot(u.astype(float), v.astype(float)), atol=3e-7)
    assert cosine(u, u).tolist() == [1.0] * 500
    assert cosine(u, -u).tolist() == [-1.0] * 500
    assert angle(u, u).tolist() == [0.0] * 500


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimension", [1, 3, 384, 1000])
def test_a_row_has_the_same_bits_in_any_company(dtype, dimension):
    n = 700  # several blocks at the greater dimensions
    u, v = rows(n, dimension, 3, dtype), rows(n, dimension, 4, dtype)
    whole = angle(u, v)
    for step in (1, 7, 333):
        parts = [angle(u[at : at + step], v[at : at + step]) for at in range(0, n, step)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()
    assert angle(u[::-1], v[::-1])[::-1].tobytes() == whole.tobytes()
    assert angle(np.asfortranarray(u), v).tobytes() == whole.tobytes()


def test_input_is_left_alone_and_may_be_read_only():
    u, v = rows(10, 8, 5), rows(10, 8, 6)
    before = u.copy()
    u.setflags(write=False)
    v.setflags(write=False)
    angle(u, v)
    assert np.array_equal(u, before)


def test_half_precision_and_mixed_types_and_lists_are_taken():
    u, v = rows(20, 16, 1), rows(20, 16, 2)
    expected = angle(u.astype(np.float64), v.astype(np.float64))
    np.testing.assert_allclose(angle(u.astype(np.float64), v), expected, rtol=1e-12)
    np.testing.assert_allclose(angle(u.astype(np.float16), v.astype(np.float16)), expected, atol=2e-3)
    assert angle([[1, 0]], [[0, 1]]).tolist() == [np.pi / 2]


def test_no_rows_have_no_angles():
    assert angle(np.zeros((0, 4)), np.zeros((0, 4))).shape == (0,)
    assert cosine(np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32)).shape == (0,)


@pytest.mark.parametrize("bad", [0.0, 1.01, 3.0, np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_without_unit_length_are_refused_with_their_number(bad, side, dtype):
    pair = [rows(4, 8, 1, dtype), rows(4, 8, 2, dtype)]
    pair[side][2] *= dtype(bad)
    with pytest.raises(ValueError, match="Row 2 must have length 1"):
        angle(*pair)
    with pytest.raises(ValueError, match="Row 2 must have length 1"):
        cosine(*pair)


@pytest.mark.parametrize(
    ("u", "v"),
    [
        (np.eye(2), np.eye(3)),
        (np.eye(2), np.eye(2)[:1]),
        (np.eye(2)[0], np.eye(2)[0]),
        (np.eye(2)[None], np.eye(2)[None]),
    ],
)
def test_shapes_that_do_not_fit_are_refused(u, v):
    with pytest.raises(ValueError, match="the same shape"):
        angle(u, v)


@pytest.mark.parametrize("bad", [[["a", "b"]], [[1j, 0]], [[True, False]], [[None, 1.0]]])
def test_anything_but_real_numbers_is_refused(bad):
    with pytest.raises(ValueError, match="real numbers"):
        angle(bad, bad)


def test_unit_takes_any_size_of_vector():
    for size in (5e-324, 1e-300, 1e-30, 1.0, 1e30, 1e300):
        np.testing.assert_allclose(unit(np.array([1.0, 0.0]) * size), [1.0, 0.0], rtol=1e-15)
    np.testing.assert_allclose(unit([[3, 4], [0, -2]]), [[0.6, 0.8], [0.0, -1.0]], rtol=1e-15)
    assert unit(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], []])
def test_unit_refuses_vectors_without_direction(bad):
    with pytest.raises(ValueError, match="The vector is zero or not finite"):
        unit(bad)
    with pytest.raises(ValueError, match="Row 1 of the vectors"):
        unit([np.ones(len(bad)), bad]) if bad else unit(np.array([[1.0], [0.0]]))


def test_unit_refuses_other_shapes():
    for bad in (np.float64(1.0), np.ones((1, 1, 1))):
        with pytest.raises(ValueError, match="shape"):
            unit(bad)


@pytest.mark.parametrize(
    "kinds", [(np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float32)]
)
def test_angles_to_several_are_those_to_each_to_the_bit(kinds):
    u, near = rows(700, 384, 1), rows(700, 384, 2, kinds[0])
    far = -near.astype(kinds[1])
    for angles, v in zip(angles_to(u, near, far), (near, far), strict=True):
        np.testing.assert_array_equal(angles, angle(u, v))
    assert angles_to(u) == ()


def test_a_row_of_another_length_is_told_whichever_array_holds_it():
    u, bad = rows(5, 3), rows(5, 3).copy()
    bad[3] *= 2
    for arrays in ((u, u, bad), (u, bad, u), (bad, bad)):
        with pytest.raises(ValueError, match="Row 3 must have length 1"):
            angles_to(*arrays)
    with pytest.raises(ValueError, match="Both arrays must have the same shape"):
        angles_to(u, u, u[:4])
