import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.geometry import unit
from sgi_lab.paper.geometry.near_duplicates import Pairs, duplicate_codes, same_name, same_text, ties


def named(groups, *, ids=None, rows=None):
    count = len(groups)
    texts = [f"Number {i}?" for i in range(count)]
    rows = np.eye(count) if rows is None else rows
    return Pairs.of(ids or [f"id-{i}" for i in range(count)], groups, texts, texts, rows)


def firsts(name, *sets):
    return dict(ties(*sets))[name].tolist()


def is_unseen(text):
    return same_name(f"a{text}b") == "ab"


# Texts and names.


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\x1f", "\x85"])
def test_white_space_is_one_blank(space):
    assert same_text(f"{space}a{space}{space}b{space}") == "a b"


HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180d\u180e\u180f\u200b\u200c\u200d\u200e\u200f\u202a\u202e"
    "\u2060\u2063\u2066\u2069\u3164\ufe00\ufe0f\ufeff\uffa0\ufff0\ufff8\ufff9\U000e0001\U000e0100\U000e0fff\x00\x7f"
)


@pytest.mark.parametrize("character", list(HIDDEN))
def test_what_does_not_show_is_left_out(character):
    assert is_unseen(character)
    assert same_text(f"What{character} is\u00e9{character}\u0301 it?{character}") == same_text(
        "what is\u00e9\u0301 it"
    )


def test_marks_that_something_unseen_held_apart_take_their_order():
    assert same_text("q\u0307\u034f\u0323") == same_text("q\u0323\u0307")


@pytest.mark.parametrize(
    "character", ["x", "\u0301", "-", "\u0600\u0661", "\u09cd", "\U0001f600", "+", "\ufffd"]
)
def test_what_shows_stays(character):
    assert not is_unseen(character)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("ﬁve", "FIVE"),
        ("caf\u00e9", "CAFE\u0301"),
        ("½", "1⁄2"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("\u0391\u0345", "\u03b1\u0399"),
        ("Who is it?", "who is it"),
        ("¿Quién?", "quién!"),
        ("“Why…”", "(why)"),
        ("?", ""),
    ],
)
def test_texts_that_are_one(one, other):
    assert same_text(one) == same_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is 1.5?", "What is 15?"),
        ("C++", "C"),
        ("ab", "a b"),
        ("resume", "résumé"),
        ("o", "\u043e"),
        ("don't", "dont"),
    ],
)
def test_texts_that_are_two(one, other):
    assert same_text(one) != same_text(other)


@given(st.text())
def test_a_text_as_compared_is_so_already_and_in_any_case(text):
    assert same_text(same_text(text)) == same_text(text)
    assert same_name(same_name(text)) == same_name(text)
    assert same_text(f" {text}\u200b ?") == same_text(text)
    assert same_name(text.casefold()) == same_name(text)


def test_names_keep_their_punctuation():
    assert same_name(" G-1. ") == "g-1."
    assert same_name("1 12") != same_name("11 2")


# Groups.


def test_groups_are_names():
    assert firsts("group", named(["G0", "g0 "]), named(["G0.", "x"])) == [0, 0, 2, 3]


def test_missing_groups_are_two():
    assert firsts("group", named([None, None, "none"])) == [0, 1, 2]


# Vectors.


def test_rows_on_one_point_are_found_however_they_are_written():
    rng = np.random.default_rng(0)
    rows = unit(rng.normal(size=(50, 24)))
    near = unit(rows + 1e-5 * rng.normal(size=rows.shape))
    zero = np.where(np.eye(24)[:1] == 0.0, -0.0, 1.0)
    sets = (
        named([None] * 50, rows=rows.astype(np.float32)),
        named([None] * 50, rows=near),
        named([None] * 2, rows=np.concatenate([np.eye(24)[:1], zero])),
    )
    assert firsts("question vector", *sets) == [*range(50), *range(50), 100, 100]


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.floats(0.0, 0.002))
def test_rows_on_one_point_are_those_of_a_plain_loop(seed, dimension, spread):
    rng = np.random.default_rng(seed)
    centres = unit(rng.normal(size=(4, dimension)))
    rows = unit(centres[rng.integers(4, size=24)] + spread * rng.normal(size=(24, dimension)))
    code = list(range(24))
    for _ in range(24):  # until the chains of near ones have run through
        for i in range(24):
            for j in range(24):
                if 2 * np.arcsin(min(1.0, np.linalg.norm(rows[i] - rows[j]) / 2)) < 1e-3:
                    code[i] = code[j] = min(code[i], code[j])
    assert firsts("question vector", named([None] * 24, rows=rows)) == code


# Near duplicates.


def test_kin_of_kin_are_kin_across_ties_and_sets():
    eye = np.eye(5)
    first = named(["g", "g", None], ids=["a", "b", "c"], rows=eye[:3])
    second = Pairs.of(["B", "y"], [None, None], ["Other?", "number 2"], ["", ""], eye[[3, 4]])
    assert duplicate_codes(ties(first, second)).tolist() == [0, 0, 2, 0, 2]
    joined = Pairs.of(["B", "y"], [None, None], ["Other?", "number 2"], ["", ""], eye[[3, 0]])
    assert duplicate_codes(ties(first, joined)).tolist() == [0, 0, 0, 0, 0]
