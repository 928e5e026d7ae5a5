"""Places against a reference that tries every one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding.passage_index import WIDTH, PassageIndex, Window
from sgi.metrics.grounding.words import split_words

WANTED = ("red", "tower", "pari", "may", "1889")
_STRETCH = st.tuples(st.sampled_from(WANTED), st.sampled_from([0, 0, 1, 3, WIDTH - 2, WIDTH - 1, WIDTH]))
PASSAGES = st.lists(
    st.lists(_STRETCH, max_size=9).map(
        lambda found: "".join(f"{word} " + "bee " * gap for word, gap in found)
    ),
    max_size=4,
)
SENTENCES = st.lists(st.lists(st.booleans(), min_size=len(WANTED), max_size=len(WANTED)), max_size=3).map(
    lambda rows: np.array(rows, dtype=np.bool_).reshape(-1, len(WANTED))
)
MOST_PLACES = 3


def every_place(passages):
    """All places that begin with a wanted word, and which of them they have."""
    for passage, text in enumerate(passages):
        stems = split_words(text).stems
        for start, stem in enumerate(stems):
            if stem in WANTED:
                inside = stems[start : start + WIDTH]
                yield Window(passage, start), np.array([word in inside for word in WANTED])


def standing(passages):
    """How many of the wanted words each passage has."""
    return [len(set(WANTED) & split_words(text).vocabulary) for text in passages]


def best_places(sentence, places, words):
    """The place with most of what is missing, again and again; of equals that whose passage has most."""
    missing, chosen = sentence.copy(), []
    for fewest in (1, 2, 2):
        gains = [((has & missing).sum(), words[place.passage]) for place, has in places]
        if not gains or max(gains)[0] < fewest:
            break
        place, has = places[gains.index(max(gains))]
        chosen.append(place)
        missing &= ~has
    return tuple(chosen), sentence & ~missing


@given(PASSAGES)
def test_coverage_is_that_of_every_place(passages):
    coverage = PassageIndex.of(passages).coverage(WANTED)
    expected = list(every_place(passages))
    assert list(map(Window, coverage.passage.tolist(), coverage.start.tolist())) == [
        place for place, _ in expected
    ]
    assert coverage.has.T.tolist() == [has.tolist() for _, has in expected]


@given(PASSAGES, SENTENCES)
def test_the_best_places_are_chosen_greedily(passages, sentences):
    chosen, has = PassageIndex.of(passages).coverage(WANTED).choose(sentences)
    places = list(every_place(passages))
    expected = [best_places(sentence, places, standing(passages)) for sentence in sentences]
    assert chosen == [where for where, _ in expected]
    assert has.tolist() == [found.tolist() for _, found in expected]
    assert all(len(where) <= MOST_PLACES for where in chosen)


@given(PASSAGES, SENTENCES)
def test_the_best_window_of_a_passage_has_most_words_in_one_place(passages, sentences):
    coverage = PassageIndex.of(passages).coverage(WANTED)
    for sentence in sentences:
        most = [0] * len(passages)
        for place, has in every_place(passages):
            most[place.passage] = max(most[place.passage], int((has & sentence).sum()))
        assert coverage.most(sentence[None], len(passages)).tolist() == [most]


@given(PASSAGES, SENTENCES, PASSAGES)
def test_a_further_passage_is_chosen_first_only_where_it_has_more(passages, sentences, further):
    before, _ = PassageIndex.of(passages).coverage(WANTED).choose(sentences)
    after, _ = PassageIndex.of([*passages, *further]).coverage(WANTED).choose(sentences)
    covered, words = dict(every_place([*passages, *further])), standing([*passages, *further])
    for sentence, *first in zip(sentences, before, after, strict=True):
        old, new = (
            [((covered[place] & sentence).sum(), words[place.passage]) for place in where[:1]]
            for where in first
        )
        assert new > old if first[0][:1] != first[1][:1] else new == old


@pytest.mark.parametrize("passages", [(), ("",), ("", "…")])
def test_passages_without_words_have_no_places(passages):
    coverage = PassageIndex.of(passages).coverage(WANTED)
    chosen, has = coverage.choose(np.ones((2, len(WANTED)), dtype=np.bool_))
    assert coverage.has.shape == (len(WANTED), 0)
    assert (chosen, has.any()) == ([(), ()], False)
    assert coverage.most(np.ones((1, len(WANTED)), dtype=np.bool_), len(passages)).tolist() == [
        [0] * len(passages)
    ]


def test_no_sentences_and_no_words_have_no_places():
    coverage = PassageIndex.of(["red tower"]).coverage([])
    assert coverage.choose(np.zeros((1, 0), dtype=np.bool_))[0] == [()]
    assert PassageIndex.of(["red"]).coverage(["red"]).choose(np.zeros((0, 1), dtype=np.bool_))[0] == []


def test_a_stem_is_in_the_sentences_whose_words_have_it():
    index = PassageIndex.of(["… Red! It is a tall tower.\n- 1889 -\n…", "", "Towers.", "Tall? No; red, red."])
    stems = ["red", "tall", "tower", "1889", "no", "bee"]
    found = [split_words(sentence.text).vocabulary for sentence in index.sentences]
    expected = [[stem in vocabulary for vocabulary in found] for stem in stems]
    assert index.in_sentences(stems).tolist() == expected
    assert [sentence.passage for sentence in index.sentences] == [0, 0, 0, 2, 3, 3]


def test_the_occurrences_of_much_repeated_words_are_bounded():
    rows, positions = PassageIndex.of(["a b " * 3000]).occurrences(["a"] * 3000)

    assert len(rows) == len(positions) <= 4_000_000
    assert set(rows.tolist()) == set(range(3000))
