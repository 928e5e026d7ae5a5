import json
from contextlib import suppress

import numpy as np
import pytest

from sgi.io.printed_list import MAX_DEPTH, read_list

TEXTS = [
    "plain",
    "it's",
    'say "hi"',
    "both ' and \"",
    "two\nlines",
    "tab\t",
    "back\\slash",
    "é漢🧪",
    "",
    "[1, 2]",
    "a, b",
]


@pytest.mark.parametrize(
    "printed",
    [
        json.dumps(TEXTS),
        json.dumps(TEXTS, ensure_ascii=False, indent=1),
        str(TEXTS),
        str(np.array(TEXTS, dtype=object)),
        repr(np.array(TEXTS, dtype=object)),
        str(np.array(TEXTS)),
        repr(np.array(TEXTS)),
        repr(list(np.array(TEXTS))),
        repr([np.str_(text) for text in TEXTS]),
    ],
    ids=[
        "json",
        "indented json",
        "str",
        "str of objects",
        "repr of objects",
        "str of texts",
        "repr",
        "list",
        "np.str_",
    ],
)
def test_what_json_python_and_numpy_print_comes_back(printed):
    assert read_list(printed) == TEXTS


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("['a' 'b']", ["a", "b"]),
        ("  ['a',]  ", ["a"]),
        ("array([], dtype=object)", []),
        ("list(['a', 'b'])", ["a", "b"]),
        ("[{'text': 'a', 'n': 1.5, 'm': None, 'k': [True]} {'text': \"b\"}]", None),
        ("['\\x41' '\\u0042' '\\U0001f9ea']", ["A", "B", "🧪"]),
        ("[nan 'a']", [None, "a"]),
        ("[array(['a', 'b'], dtype=object)]", [["a", "b"]]),
    ],
)
def test_forms_of_a_list(cell, expected):
    if expected is None:
        expected = [{"text": "a", "n": 1.5, "m": None, "k": [True]}, {"text": "b"}]
    assert read_list(cell) == expected


@pytest.mark.parametrize(
    "cell",
    [
        "plain",
        "[1]",
        "[1] as shown in [2]",
        '["Yes," said the man.]',
        "['a'] is a list",
        "['a''b']",
        "[__import__('os').getcwd()]",
        "['unclosed text",
        "(['a'])",
        "[b'a']",
    ],
)
def test_other_texts_are_plain(cell):
    assert read_list(cell) is None


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("['a', 'b", "has a text without closing quote at character 7"),
        ("['a', 'b'", "is cut off at character 10"),
        ("['a' 'b' ... 'y' 'z']", r"was shortened when it was printed \('...'\) at character 10"),
        ("['a', 'b' 'c']", "has both commas and spaces"),
        ("['a', 'b'] and more", "is followed by more text"),
        ("['a', __import__('os')]", None),
        ("['a', 'b', exit()]", "is broken at character 12"),
        ("['a' '\\d']", "has the unknown escape"),
        ("['a', 'c', " + "[" * 50 + "'b'" + "]" * 51, f"is nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_a_list_that_is_broken_is_an_error_and_no_text(cell, problem):
    if problem is None:  # nothing says that this is a list
        assert read_list(cell) is None
        return
    with pytest.raises(ValueError, match=problem):
        read_list(cell)


@pytest.mark.parametrize(
    "cell",
    [
        "[" + "'a' " * 200_000,
        "['" + "\\'" * 400_000 + "']",
        "['" + "\\" * 400_000,
        "[" + "\\" * 400_000,
        "['a'" + " " * 400_000,
        "[" + "{'a': " * 100_000,
        "['a'," + "[" * 400_000,
        "['a', " + "1" * 400_000 + "x]",
        "array(" * 100_000,
        "[" + "array([" * 100_000,
    ],
)
def test_a_huge_cell_is_read_or_refused_in_the_end(cell):
    with suppress(ValueError):
        assert read_list(cell) is None or set(cell) <= set("[]' a\\")
