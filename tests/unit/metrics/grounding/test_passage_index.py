"""Places against a reference that tries every one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding.passage_index import WIDTH, PassageIndex, Window
from sgi.metrics.grounding.token_support import TokenSupport, worst_window
from sgi.metrics.grounding.words import LONGEST_RUN, split_words

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
