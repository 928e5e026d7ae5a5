"""Pairs and options that a reference set refuses."""

import numpy as np
import pytest

from sgi.kernel.errors import DataError, UsageError
from sgi_lab.paper.geometry.near_duplicates import Pairs
from sgi_lab.paper.geometry.reference import ReferenceSet
from support.labelled_pairs import COUNT, FRESH, NEW, Answers, changed


@pytest.fixture
def pairs():
    return Answers()


def test_contradictions_are_refused(pairs):
    known = pairs.reference()
    with pytest.raises(UsageError, match="leaky=True and exclude='group' contradict each other"):
        known.neighbours(Pairs.of(*pairs.columns()), exclude="group", leaky=True)


@pytest.mark.parametrize("k", [0, -1, COUNT + 1])
def test_a_number_of_neighbours_that_cannot_be_is_refused(pairs, k):
    with pytest.raises(UsageError, match=f"`k` must be from 1 to {COUNT}, .*, not {k}"):
        pairs.reference().neighbours(Pairs.of(*changed(pairs.columns(slice(1)), **FRESH)), k=k)


def test_too_few_neighbours_of_other_groups_name_the_pair(pairs):
    known = pairs.reference(slice(3))
    with pytest.raises(UsageError, match="Id 'good-1' has fewer than 3 reference pairs of other groups"):
        known.neighbours(Pairs.of(*pairs.columns(slice(1, 4))), k=3, temperature=1.0, exclude="group")
    with pytest.raises(UsageError, match="Id 'good-0' has fewer than 3"):
        known.temperature(3)


def test_an_empty_reference_is_refused(pairs):
    with pytest.raises(DataError, match="The reference set has no pair"):
        pairs.reference(slice(0))


@pytest.mark.parametrize("place", range(6))
def test_columns_of_other_lengths_are_refused(pairs, place):
    columns = [*pairs.columns(slice(4)), pairs.response_rows[:4]]
    columns[place] = columns[place][:3]
    with pytest.raises(ValueError, match=r"zip\(\) argument|must have the same shape"):
        ReferenceSet.fit(Pairs.of(*columns[:5]), columns[5])


def test_rows_that_are_no_directions_are_refused(pairs):
    with pytest.raises(ValueError, match="must have length 1"):
        ReferenceSet.fit(Pairs.of(*pairs.columns()), 2 * pairs.response_rows)
    long, short = np.sqrt(1.5) * pairs.question_rows, np.sqrt(0.5) * pairs.response_rows
    with pytest.raises(ValueError, match="must have length 1"):
        ReferenceSet.fit(Pairs.of(*pairs.columns()[:4], long), short)  # of unit length on average
    columns = changed(pairs.columns(slice(1)), **NEW, question_rows=2 * pairs.question_rows[:1])
    with pytest.raises(ValueError, match="must have length 1"):
        pairs.reference().neighbours(Pairs.of(*columns))
    with pytest.raises(ValueError, match="dimensions"):
        pairs.reference().neighbours(Pairs.of(*changed(columns, question_rows=np.eye(3)[:1])))


def test_no_scored_pairs_have_no_neighbours(pairs):
    near = pairs.reference().neighbours(Pairs.of(*pairs.columns(slice(0))), k=4)
    assert near.indices.shape == near.weights.shape == (0, 4)
    assert pairs.reference().directions(Pairs.of(*pairs.columns(slice(0)))).shape == (0, 16)
