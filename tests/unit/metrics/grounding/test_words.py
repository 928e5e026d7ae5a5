from __future__ import annotations

import re
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding import words
from sgi.metrics.grounding.language_tables import language_named
from sgi.metrics.grounding.words import split_words


@given(st.text())
def test_any_text_is_words_with_their_places(text):
    words = split_words(text)
    assert len(words.starts) == len(words.ends) == len(words.content) == len(words)
    assert all(start < end for start, end in zip(words.starts, words.ends, strict=True))
    assert all(before <= after for before, after in zip(words.ends, words.starts[1:], strict=False))
    assert all(text[start:end].strip() for start, end in zip(words.starts, words.ends, strict=True))


def test_numbers_keep_their_marks_and_do_not_take_the_full_stop():
    assert split_words("It cost 2,500.50. Then 3.").stems[2::2] == ("2,500.50", "3")


def test_endings_are_cut_and_function_words_told_apart():
    words = split_words("Cities were growing in the valley's shadow")
    assert words.stems[:3] == ("citi", "were", "grow")
    assert [stem for stem, carries in zip(words.stems, words.content, strict=True) if carries] == [
        "citi",
        "grow",
        "valley",
        "shadow",
    ]


def test_pairs_reach_over_function_words():
    assert split_words("the tower of the city").pairs == frozenset({("tower", "citi")})


def test_a_text_without_words_has_none():
    words = split_words("… — !!! 🎉")
    assert (len(words), words.pairs, words.vocabulary) == (0, frozenset(), frozenset())


def test_threads_stem_as_one_does():
    from concurrent.futures import ThreadPoolExecutor

    english = language_named("en")
    stems = ("beauti", "fly", "relat", "cit", "nation", "hope")
    words = [f"{stem}{last}{number}ing" for number in range(40) for stem in stems for last in ("ful", "ies")]
    alone = [english.stem(word) for word in words]
    english._stems.clear()
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(english.stem, words))
    assert together == alone


def test_words_that_skip_the_stemmer_have_the_same_stem():
    text = (files("sgi") / "data" / "halueval_qa_sample.jsonl").read_text(encoding="utf-8").casefold()
    own = set(re.findall(r"[^\W_]+", text)) - language_named("en").numbers.keys()
    skipped = sorted(word for word in own if word[-1] in words._KEPT_ENDS)
    assert len(skipped) > 900
    assert [language_named("en")._stemmer.stemWord(word) for word in skipped] == skipped
