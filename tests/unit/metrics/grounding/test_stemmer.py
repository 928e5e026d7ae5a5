"""The faster stemmer, compared with that of the library."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snowballstemmer.english_stemmer import EnglishStemmer

from sgi.metrics.grounding.stemmer import FastStemmer

LIBRARY, OURS = EnglishStemmer(), FastStemmer()
ENDINGS = [
    *("", "s", "es", "ies", "ied", "sses", "us", "ss", "'", "'s", "'s'", "ed", "eed", "ing", "edly", "eedly"),
    *("ingly", "y", "Y", "ational", "tional", "ization", "izer", "ator", "iveness", "fulness", "ousness"),
    *("ogist", "logi", "li", "abli", "alli", "fulli", "lessli", "icate", "ative", "alize", "iciti", "ical"),
    *("ful", "ness", "ement", "ment", "ance", "ible", "ism", "ion", "sion", "e", "l", "ll", "succeed"),
]


@pytest.mark.slow
def test_the_words_of_the_vocabulary_have_the_stems_of_the_library():
    pieces = (files("sgi") / "data" / "bert_vocab.txt").read_text(encoding="utf-8").split()
    words = [piece for piece in pieces if piece.isalpha()]
    assert len(words) > 20_000
    assert [OURS.stemWord(word) for word in words] == [LIBRARY.stemWord(word) for word in words]


@given(st.text("abcdegilnorstuyv'é", max_size=6), st.lists(st.sampled_from(ENDINGS), max_size=3))
def test_any_word_has_the_stem_of_the_library(start, endings):
    word = "".join([start, *endings])
    assert OURS.stemWord(word) == LIBRARY.stemWord(word)
