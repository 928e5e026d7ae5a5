from __future__ import annotations

import unicodedata

import pytest

from sgi.text.sentences import sentences
from sgi_lab.metric_bench.catalogue import PERTURBATIONS


def changed(name, sample, others, seed=0):
    result = PERTURBATIONS[name].apply(sample, others, seed=seed)
    return None if result is None else result.response


@pytest.mark.parametrize(
    ("name", "text", "result"),
    [
        ("contractions", "It does not stay.", "It doesn't stay."),
        ("contractions", "It doesn’t stay.", "It does not stay."),
        ("contractions", "I know they are late.", "I know they're late."),
        ("synonyms", "The film often runs.", "The film frequently runs."),
        ("number_words", "He has 3 sons and 7 daughters.", "He has three sons and seven daughters."),
        ("number_words", "He has three sons.", "He has 3 sons."),
        ("clause_order", "In 1950, the mill burnt.", "The mill burnt in 1950."),
        ("clause_order", "The mill burnt in 1950.", "In 1950, the mill burnt."),
        ("clause_order", "Ada Stone left in 1950. So it is.", "In 1950, Ada Stone left. So it is."),
        ("bullets", "One came. Two left.", "- One came.\n- Two left."),
    ],
)
def test_the_same_is_said_otherwise(row, others, name, text, result):
    assert changed(name, row(text), others) == result


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("contractions", "Yes, it is."),
        ("contractions", "It was late."),
        ("contractions", "It is Ada’s mill."),
        ("synonyms", "It was a large film; however, it failed."),
        ("synonyms", "The Film Society met."),
        ("number_words", "See passage 3 for all."),
        ("number_words", "On March 3 the mill burnt."),
        ("number_words", "It is 4 by 6 feet and cost $3 million."),
        ("number_words", "It has three hundred doors."),
        ("clause_order", "She was born in 1900 and died in 1950."),
        ("clause_order", "In 1950, the mill burnt, and the dam broke."),
        ("bullets", "Only one sentence."),
        ("bullets", "- One came.\n- Two left."),
        ("unicode_form", "Plain words only."),
    ],
)
def test_what_would_not_be_safe_is_left(row, others, name, text):
    assert changed(name, row(text), others) is None


def test_a_frame_stands_before_the_answer(row, others):
    result = {changed("framed", row("In Rome."), others, seed) for seed in range(12)}
    assert len(result) == 3
    assert all(text.endswith(": In Rome.") for text in result)


def test_other_blanks_hold_the_same_words(row, others):
    text = "One two three\nfour five six."
    result = changed("white_space", row(text), others)
    assert result.split() == text.split()
    assert result.count("\n") == 2
    assert len(sentences(result)) == len(sentences(text))


def test_another_form_of_unicode_is_the_same_to_a_reader(row, others):
    result = changed("unicode_form", row("Café isn't up-to-date."), others)
    assert result == "Cafe\u0301 isn’t up\u2011to\u2011date."
    assert unicodedata.normalize("NFC", result).startswith("Café")
