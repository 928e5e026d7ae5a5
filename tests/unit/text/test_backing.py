from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.text.backing import Backing, worst_window
from sgi.text.wording import LONGEST_RUN, wording

WORDS = st.lists(st.sampled_from(["tower", "river", "the", "of", "1889", "old"]), max_size=30).map(" ".join)


@given(WORDS, st.lists(WORDS, max_size=3))
def test_runs_are_those_found_by_trying_every_one(response, passages):
    found = Backing.of(response, passages)
    stems = wording(response).stems
    for number, passage in enumerate(passages):
        theirs = wording(passage).stems
        expected = [0] * len(stems)
        for start in range(len(stems)):
            for length in range(1, LONGEST_RUN + 1):
                run = stems[start : start + length]
                if len(run) == length and any(
                    theirs[at : at + length] == run for at in range(len(theirs) - length + 1)
                ):
                    for place in range(start, start + length):
                        expected[place] = max(expected[place], length)
        assert found.run[number].tolist() == expected


@given(WORDS, WORDS)
def test_a_copy_is_backed_whole(response, other):
    found = Backing.of(response, [other, response])
    assert found.known[1].all()
    content = found.words.content
    assert found.paired[1][content].all() or content.sum() < 2
    assert (found.run[1] >= min(LONGEST_RUN, len(found.words))).all()


@given(WORDS, st.lists(WORDS, max_size=2), WORDS)
def test_a_further_passage_takes_no_backing_away(response, passages, further):
    before, after = Backing.of(response, passages), Backing.of(response, [*passages, further])
    assert (after.known.any(axis=0) >= before.known.any(axis=0)).all()
    assert (after.run.max(axis=0, initial=0) >= before.run.max(axis=0, initial=0)).all()


def test_no_passages_back_nothing():
    found = Backing.of("the old tower", [])
    assert found.known.shape == (0, 3)
    assert found.run.max(axis=0, initial=0).tolist() == [0, 0, 0]


def test_the_question_is_told_apart():
    assert Backing.of("The tower is old", ["tower"], "How old is it?").asked.tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("values", "size", "expected"),
    [([], 3, None), ([1], 3, 1), ([1, 0, 0, 1], 2, 0), ([0.5, 1.0, 0.0, 1.0], 4, 0.625)],
)
def test_the_worst_window_is_the_weakest_stretch(values, size, expected):
    found = worst_window(np.array(values, dtype=np.float64), size)
    assert np.isnan(found) if expected is None else found == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(1, 60))
def test_the_worst_window_is_never_above_the_mean_of_all(values, size):
    column = np.array(values)
    expected = min(column[at : at + size].mean() for at in range(max(1, len(column) - size + 1)))
    assert worst_window(column, size) == pytest.approx(expected, abs=1e-12)
