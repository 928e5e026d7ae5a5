"""What holds of every displacement score, whatever the vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.geometry import unit
from sgi.geometry.passages import LEAST_SEPARATION
from sgi.kernel.errors import SgiError
from sgi_lab.paper.geometry import displacement as sphere
from sgi_lab.paper.geometry import flat_displacement as flat
from sgi_lab.paper.geometry.displacement import Neighbours
from sgi_lab.paper.geometry.near_duplicates import Pairs
from sgi_lab.paper.geometry.reference import ReferenceSet

# Every score with the least and the greatest value it can have.
SCORES = {
    sphere.displacement_consistency: (-1.0, 1.0),
    sphere.displacement_magnitude_ratio: (0.0, np.inf),
    sphere.expected_response_deviation: (0.0, np.pi),
    sphere.local_grounding_index: (0.0, np.inf),
    sphere.tangent_space_residual: (0.0, np.inf),
    flat.flat_displacement_consistency: (-1.0, 1.0),
    flat.flat_displacement_magnitude_ratio: (0.0, np.inf),
    flat.flat_expected_response_deviation: (0.0, np.pi),
    flat.flat_local_density_ratio: (-np.inf, np.inf),
    flat.flat_local_grounding_index: (0.0, np.inf),
    flat.flat_response_rank: (0.0, 1.0),
    flat.flat_tangent_space_residual: (0.0, 2.0),
}
each_score = pytest.mark.parametrize("score", SCORES)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def parts(draw, least=4):
    """Questions, responses and neighbours: scattered, gathered, or as float32."""
    generator = np.random.default_rng(draw(seeds))
    count, known, dimension = draw(st.integers(1, 4)), draw(st.integers(least, 9)), draw(st.integers(5, 16))
    pull = draw(st.sampled_from([0.0, 1.0, 5.0])) * generator.normal(size=dimension)
    kind = draw(st.sampled_from([np.float64, np.float32]))

    def some(number):
        return unit(generator.normal(size=(number, dimension)) + pull).astype(kind)

    k = draw(st.integers(least, known))
    indices = np.array([generator.permutation(known)[:k] for _ in range(count)])
    questions, responses = some(count), some(count)
    temperature = draw(st.sampled_from([0.01, 0.1, 1.0]))
    near = Neighbours.of(questions, indices, temperature, questions=some(known), responses=some(known))
    return questions, responses, near


@each_score
@settings(max_examples=40)
@given(parts())
def test_a_score_is_finite_and_in_its_range(score, made):
    low, high = SCORES[score]
    found = score(*made)
    assert np.isfinite(found).all()
    assert np.all((found >= low) & (found <= high))


few = st.integers(0, 3)
texts = st.sampled_from(
    [
        *("a", "A", "a ", "a?", "b", "ｂ", "b\u200b", "", "!", "c\u0000", "c\ufeff", "ß", "SS", "\u00a0c"),
        "s\u034fs",
    ]
)
texts |= st.integers(0, 99).map(lambda number: "abcs"[number % 4] * (number // 4))
names = st.sampled_from(["0", "0 ", "1", "g", "G ", "g\u200d", None]) | st.integers(0, 99).map(str)


@st.composite
def columns(draw, count):
    """Ids, groups, questions and responses that collide all the time."""
    of = [
        draw(st.lists(kind, min_size=count, max_size=count))
        for kind in (st.integers(0, 49), names, texts, texts)
    ]
    rows = np.random.default_rng(draw(seeds)).normal(size=(count, 3))
    rows[: draw(few)] = draw(st.sampled_from([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0001], [3.0, 2.0, 1.0]]))
    return [f"{draw(st.sampled_from(['', ' ']))}{i}" for i in of[0]], of[1], of[2], of[3], unit(rows)


def same(text):
    return "".join(character for character in text.casefold().replace("ｂ", "b") if character in "abcs")


def same_name(name):
    """NaN is not equal to itself, and so shared by none."""
    return float("nan") if name is None else name.strip().strip("\u200d").lower()


ALIKE = ((0, same_name), (1, same_name), (2, same))


@settings(max_examples=100)
@given(columns(6), columns(3), st.booleans())
def test_no_chosen_neighbour_shares_anything_whatever_collides(reference, scored, exclude):
    known = ReferenceSet.fit(Pairs.of(*reference), reference[4])
    try:
        near = known.neighbours(Pairs.of(*scored), k=1, temperature=1.0, exclude="group" if exclude else None)
    except SgiError as error:
        assert "pair" in str(error)
        return
    assert near.angles.min() >= LEAST_SEPARATION
    for row, (neighbour,) in enumerate(near.indices):
        for place, like in ALIKE:
            assert like(scored[place][row]) != like(reference[place][neighbour])
    if not exclude:
        for place, like in ALIKE:
            assert not {like(mark) for mark in scored[place]} & {like(mark) for mark in reference[place]}
