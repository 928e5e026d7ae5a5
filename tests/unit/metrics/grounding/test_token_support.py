from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sgi.metrics.grounding.passage_index import PassageIndex, Window
from sgi.metrics.grounding.token_support import TokenSupport, worst_window
from sgi.metrics.grounding.words import LONGEST_RUN, split_words

TEXTS = st.lists(st.sampled_from(["tower", "river", "the", "of", "1889", "old"]), max_size=30).map(" ".join)


def halves(said, at):
    """Two sentences that meet at a word."""
    at = min(at, len(said))
    return [slice(0, at), slice(at, len(said))]


def whole(response, passages, claims=None):
    """The backing of a response of one sentence."""
    words = split_words(response)
    return TokenSupport.of(words, [slice(0, len(words))], PassageIndex.of(passages), claims)


def longest_runs(said, passage):
    """How long the longest shared run over each word is, by trying every one."""
    theirs, result = passage.stems, [0] * len(said)
    for start in range(len(said)):
        for length in range(1, LONGEST_RUN + 1):
            run = said.stems[start : start + length]
            if len(run) == length and run in {theirs[at : at + length] for at in range(len(theirs))}:
                for place in range(start, start + length):
                    result[place] = max(result[place], length)
    return result


@given(TEXTS, st.integers(0, 30), st.lists(TEXTS, max_size=3))
def test_runs_are_those_found_by_trying_every_one_in_the_passages_of_its_places(response, at, passages):
    said = split_words(response)
    result = TokenSupport.of(said, halves(said, at), PassageIndex.of(passages))
    for number, words in enumerate(halves(said, at)):
        shared = [longest_runs(said, split_words(passages[place.passage])) for place in result.places[number]]
        expected = np.max([[0] * len(said), *shared], axis=0)[words]
        assert result.run[words].tolist() == expected.tolist()


@given(TEXTS, st.integers(0, 30), st.lists(TEXTS, max_size=3))
def test_pairs_are_those_that_a_passage_of_its_places_has(response, at, passages):
    said = split_words(response)
    result = TokenSupport.of(said, halves(said, at), PassageIndex.of(passages))
    content = np.flatnonzero(said.content).tolist()
    for number, words in enumerate(halves(said, at)):
        pairs = set().union(*(split_words(passages[place.passage]).pairs for place in result.places[number]))
        for order, place in enumerate(content):
            beside = [content[k] for k in (order - 1, order + 1) if 0 <= k < len(content)]
            stems = [tuple(said.stems[k] for k in sorted((place, other))) for other in beside]
            if place in range(*words.indices(len(said))):
                assert result.paired[place] == any(pair in pairs for pair in stems)


@given(TEXTS)
def test_a_copy_is_backed_whole(response):
    result = whole(response, [response])
    assert result.known.all()
    content = result.words.content
    assert result.paired[content].all() or content.sum() < 2
    assert (result.run == min(LONGEST_RUN, len(result.words))).all()


@given(TEXTS, st.lists(TEXTS, max_size=2), st.integers(0, 2))
def test_the_content_of_a_copy_is_known_in_whatever_company(response, others, at):
    result = whole(response, [*others[:at], response, *others[at:]])
    assert result.known[result.words.content].all()


@given(TEXTS, st.lists(st.sampled_from(["bee", "wax", "hive"]), max_size=60).map(" ".join))
def test_a_passage_of_other_words_changes_nothing(response, other):
    alone, beside = whole(response, ["the old tower"]), whole(response, [other, "the old tower"])
    assert alone.known.tolist() == beside.known.tolist()
    assert alone.run.tolist() == beside.run.tolist()


@given(st.permutations(range(3)), st.permutations(range(12)), st.sets(st.integers(0, 7), min_size=3))
def test_where_nothing_ties_the_order_of_passages_says_nothing(order, mixed, counts):
    counts = sorted(counts)[-3:]
    passages = [" ".join(f"{name}{k}" for k in range(8)) for name in ("ant", "bee", "cat")]
    words = [f"{name}{k}" for name, n in zip(("ant", "bee", "cat"), counts, strict=True) for k in range(n)]
    assume(len(words) >= len(mixed))
    words = [words[k] for k in mixed] + words[len(mixed) :]
    first, other = whole(" ".join(words), passages), whole(" ".join(words), [passages[k] for k in order])
    for name in ("known", "paired", "run"):
        assert getattr(first, name).tolist() == getattr(other, name).tolist()
    assert [order[place.passage] for place in other.places[0]] == [place.passage for place in first.places[0]]


def test_a_word_counts_only_at_a_place_that_backs_its_sentence():
    passages = ["The old tower is red.", "Spanish bees sleep."]
    result = whole("The old red tower is Spanish", passages)
    known = dict(zip(result.words.stems, result.known.tolist(), strict=True))
    assert known == {"the": True, "old": True, "red": True, "tower": True, "is": True, "spanish": False}
    assert result.places == ((Window(0, 1),),)
    assert result.nearest(0) == (0, 1)


def test_a_sentence_has_its_own_places():
    words = split_words("Old tower red. Bees sleep long.")
    result = TokenSupport.of(
        words, [slice(0, 3), slice(3, 6)], PassageIndex.of(["Bees sleep long.", "Old tower red."])
    )
    assert [[place.passage for place in places] for places in result.places] == [[1], [0]]
    assert [result.nearest(number) for number in (0, 1)] == [(1, 0), (0, 1)]


def test_what_claims_nothing_is_not_looked_for():
    claims = np.array([False, False, True, True])
    assert whole("old tower bees sleep", ["An old tower.", "Bees."], claims).places == ((Window(1, 0),),)
    assert whole("old tower", ["An old tower."], np.zeros(2, dtype=bool)).places == ((),)


@pytest.mark.parametrize("passages", [[], [""], ["", " \n"], ["… — 🎉"]])
def test_no_words_back_nothing(passages):
    result = whole("the old tower", passages)
    assert result.places == ((),)
    assert not result.known.any()
    assert not result.paired.any()
    assert result.run.tolist() == [0, 0, 0]
    assert result.nearest(0) == tuple(range(len(passages)))


@pytest.mark.parametrize("response", ["", " ", "…", "🎉"])
def test_a_response_without_words_has_no_backing(response):
    result = whole(response, ["The old tower."])
    assert (result.known.shape, result.paired.shape, result.run.shape) == ((0,), (0,), (0,))
    assert result.places == ((),)


def test_a_response_without_sentences_has_no_places():
    assert TokenSupport.of(split_words(""), [], PassageIndex.of(["The old tower."])).places == ()


@pytest.mark.parametrize(
    ("values", "size", "expected"),
    [([], 3, None), ([1], 3, 1), ([1, 0, 0, 1], 2, 0), ([0.5, 1.0, 0.0, 1.0], 4, 0.625)],
)
def test_the_worst_window_is_the_weakest_stretch(values, size, expected):
    result = worst_window(values, size)
    assert np.isnan(result) if expected is None else result == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(1, 60))
def test_the_worst_window_is_that_found_by_trying_every_one(values, size):
    column = np.array(values)
    expected = min(column[at : at + size].mean() for at in range(max(1, len(column) - size + 1)))
    assert worst_window(values, size) == pytest.approx(expected, abs=1e-12)
