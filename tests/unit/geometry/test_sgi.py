import subprocess
import sys

import numpy as np
import pytest

from sgi.geometry import (
    EPSILON,
    Grounding,
    angle,
    bounded_grounding_index,
    bounds,
    compute_sgi,
    grounding_index,
)


def test_the_index_is_the_ratio_with_epsilon():
    assert grounding_index(1.2, 0.4).tolist() == 1.2 / (0.4 + 1e-8)
    assert grounding_index([1.0], [0.0]).tolist() == [1.0 / EPSILON]
    assert grounding_index(0.0, 0.0).tolist() == 0.0
    assert grounding_index(1.0, 1.0, epsilon=1.0).tolist() == 0.5


def test_compute_sgi_by_hand():
    grounding = compute_sgi(q_emb=[1.0, 0.0], c_emb=[0.0, 1.0], r_emb=[np.sin(0.3), np.cos(0.3)])
    assert isinstance(grounding, Grounding)
    assert grounding.theta_rc == pytest.approx(0.3, rel=1e-14)
    assert grounding.theta_rq == pytest.approx(np.pi / 2 - 0.3, rel=1e-14)
    assert grounding.sgi == grounding.theta_rq / (grounding.theta_rc + 1e-8)
    assert {type(value) for value in (grounding.sgi, grounding.theta_rq, grounding.theta_rc)} == {float}


def test_the_published_formula_gives_the_same_number():
    generator = np.random.default_rng(0)
    for _ in range(50):
        q, c, r = (vector / np.linalg.norm(vector) for vector in generator.normal(size=(3, 384)))
        theta_rq, theta_rc = (np.arccos(np.clip(r @ other, -1, 1)) for other in (q, c))
        assert compute_sgi(q, c, r).sgi == pytest.approx(theta_rq / (theta_rc + 1e-8), rel=1e-12)


@pytest.mark.parametrize("kind", [list, tuple, np.float32, np.float64, np.float16, np.int64])
def test_vectors_of_any_kind_are_taken(kind):
    vectors = [[3, 4, 0], [0, 4, 3], [1, 1, 1]]
    vectors = [kind(row) if kind in (list, tuple) else np.array(row, dtype=kind) for row in vectors]
    assert compute_sgi(*vectors) == compute_sgi(*vectors)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [-np.inf, 0.0]])
def test_vectors_without_direction_are_refused_by_name(place, bad):
    vectors = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    vectors[place] = bad
    name = ("q_emb", "c_emb", "r_emb")[place]
    with pytest.raises(ValueError, match=f"^{name}: The vector is zero or not finite"):
        compute_sgi(*vectors)


@pytest.mark.parametrize(
    "vectors",
    [
        ([1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0]),
        ([[1.0, 0.0]], [[1.0, 0.0]], [[1.0, 0.0]]),
        (1.0, 1.0, 1.0),
        ([1.0], [[1.0]], [1.0]),
    ],
)
def test_shapes_that_do_not_fit_are_refused_and_shown(vectors):
    with pytest.raises(ValueError, match="q_emb"):
        compute_sgi(*vectors)


def test_text_is_refused():
    with pytest.raises(ValueError, match="q_emb"):
        compute_sgi(["a", "b"], [1.0, 0.0], [0.0, 1.0])


def test_where_points_coincide_the_number_is_the_formulas():
    v, w = [1.0, 2.0, 3.0], [3.0, -1.0, 0.0]
    assert compute_sgi(v, w, w).sgi == compute_sgi(v, w, w).theta_rq / EPSILON  # response = context
    assert compute_sgi(v, w, v).sgi == 0.0  # response = question
    assert compute_sgi(v, v, w).sgi == pytest.approx(1.0, abs=1e-7)  # question = context
    assert compute_sgi(v, v, v).sgi == 0.0  # all the same


def test_bounded_ends_and_nothing_over_nothing():
    assert bounded_grounding_index(0.5, 0.0, 0.5).tolist() == 1.0
    assert bounded_grounding_index(0.0, 0.5, 0.5).tolist() == -1.0
    assert bounded_grounding_index(0.5 + 1e-16, 0.0, 0.5 - 1e-15).tolist() == 1.0
    assert np.isnan(bounded_grounding_index([0.3], [0.3], [0.0])).all()


def test_bounds_keep_the_modulus_and_know_the_sphere():
    assert [float(end) for end in bounds(1.0, 2.0)] == [0.5, 1.5]
    low, high = bounds(3.0, 2.5)  # 2π − a − x is the lesser
    assert float(high) == pytest.approx((2 * np.pi - 5.5) / 2.5)
    assert float(low) == pytest.approx(0.2)


def test_bounds_are_reached_on_the_great_circle():
    def at(turn):
        return np.array([[np.cos(turn), np.sin(turn)]])

    a, x = 1.0, 0.4
    low, high = bounds(a, x)
    for turn, end in ((a - x, low), (a + x, high)):
        rq, rc = angle(at(turn), at(0.0)), angle(at(turn), at(a))
        assert grounding_index(rq, rc, epsilon=0.0)[0] == pytest.approx(float(end), rel=1e-12)


def test_bounds_without_distance():
    low, high = bounds([0.5, 0.0], [0.0, 0.0])
    assert low[0] == high[0] == np.inf
    assert np.isnan([low[1], high[1]]).all()


def test_geometry_needs_numpy_alone():
    heavy = {"scipy", "sklearn", "onnxruntime", "pandas"}
    code = f"import sys, sgi.geometry; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
