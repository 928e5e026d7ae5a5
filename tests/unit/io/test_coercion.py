import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pytest

from sgi.io import coercion as cells
from sgi.io.columns import recognise, table_row
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError

LONE = "half \ud800 a character"


@pytest.mark.parametrize(
    "value",
    [None, float("nan"), pd.NA, pd.NaT, decimal.Decimal("nan")],
)
def test_what_stands_for_nothing_is_absent(value):
    assert raw_values.is_absent(value)


@pytest.mark.parametrize(
    "value", ["", 0, 0.0, False, [], {}, (), np.array([np.nan]), np.array([]), "nan", b""]
)
def test_what_is_empty_or_zero_is_not_absent(value):
    assert not raw_values.is_absent(value)


@pytest.mark.parametrize("text", ["", "a", "\x00", "naïve", "漢字", "🧪", "שלום", "a\u2028b", "\ufeff"])
def test_any_text_is_text(text):
    assert raw_values.as_text(text) == text


@pytest.mark.parametrize(
    ("value", "found"),
    [(3, "number 3"), (None, "null"), (["a"], "a list"), (b"a", "bytes")],
)
def test_what_is_no_text_is_named(value, found):
    with pytest.raises(DataError, match=f"^expected text, found {found}$"):
        raw_values.as_text(value)


def test_a_lone_surrogate_is_refused_with_its_place():
    with pytest.raises(DataError):
        raw_values.as_text(LONE)


@pytest.mark.parametrize(
    ("value", "expected"), [("a", "a"), (7, "7"), (np.int32(7), "7"), (2**70, str(2**70)), (" b ", " b ")]
)
def test_an_id_is_text_or_a_whole_number(value, expected):
    assert raw_values.as_id(value) == expected


@pytest.mark.parametrize("value", ["", " \t", True, 1.5, [1], LONE])
def test_other_ids_are_refused(value):
    with pytest.raises(DataError):
        raw_values.as_id(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("one", ("one",)),
        ([], ()),
        (np.array(["a", "b"], dtype=object), ("a", "b")),
        ([{"text": "a"}, {"content": "b"}, {"page_content": "c", "metadata": {"n": 1}}], ("a", "b", "c")),
        ([{"lc": 1, "kwargs": {"page_content": "a"}}], ("a",)),
    ],
)
def test_passages_come_in_many_forms(value, expected):
    assert cells.as_passages(value) == expected


@pytest.mark.parametrize(
    ("value", "place"),
    [(3, ""), (["a", 3], "passage 2: "), ([["a"]], "passage 1: "), (["a", LONE], "passage 2: ")],
)
def test_other_passages_are_refused_with_their_number(value, place):
    with pytest.raises(DataError, match=f"^{place}"):
        cells.as_passages(value)


@pytest.mark.parametrize(
    "value", [1, True, 1.0, "1", "true", "Yes", " TRUE ", np.True_, np.int8(1), np.float32(1)]
)
def test_labels_that_are_true(value):
    assert cells.as_label(value) is True


@pytest.mark.parametrize("value", [0, False, 0.0, "0", "false", "No", np.False_, np.int64(0)])
def test_labels_that_are_false(value):
    assert cells.as_label(value) is False


@pytest.mark.parametrize(
    "value", [2, -1, 0.5, "", "maybe", "PASS", [1], {}, None, float("inf"), np.array([1])]
)
def test_other_labels_are_refused(value):
    with pytest.raises(DataError):
        cells.as_label(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (dt.datetime(2025, 1, 2, 3, 4, tzinfo=dt.UTC), "2025-01-02T03:04:00+00:00"),
        (np.datetime64("2025-01-02"), "2025-01-02"),
        (decimal.Decimal("1.50"), 1.5),
        (b"caf\xc3\xa9", "café"),
        (np.float32(0.5), 0.5),
        (np.arange(3), [0, 1, 2]),
        ({1: float("nan")}, {"1": None}),
    ],
)
def test_values_of_frames_become_json(value, expected):
    found = cells.as_json(value)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("inf"), "JSON has no number inf"),
        (b"\xff\xfe", "2 bytes that are not UTF-8"),
        ({1, 2}, "found set"),
        ({True: 1}, "key must be text, found true"),
        ({"a": [LONE]}, "lone surrogate"),
    ],
)
def test_what_has_no_json_is_named(value, message):
    with pytest.raises(DataError, match=message):
        cells.as_json(value)


def nested(depth):
    value = "leaf"
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_bounded():
    assert cells.as_json(nested(100)) == nested(100)
    with pytest.raises(DataError, match="100"):
        cells.as_json(nested(102))


def test_metadata_must_be_an_object():
    assert cells.as_object({"a": np.int64(1)}) == {"a": 1}
    with pytest.raises(DataError):
        cells.as_object([1])


@pytest.mark.parametrize(
    "value", [{1, 2}, LONE, {LONE: LONE}, {"a": nested(50_000)}, float("inf"), b"\xff", {"a": object()}]
)
def test_anything_refused_can_be_shown(value):
    import orjson

    assert orjson.dumps(cells.any_json(value))


def test_what_is_shown_keeps_its_content():
    assert cells.any_json({"a": LONE, "b": [1], "c": {3}}) == {
        "a": "half \\ud800 a character",
        "b": [1],
        "c": "{3}",
    }


PLAN = recognise(("contexts", "reference", "metadata", "response", "other"))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', 'b\\'s']", ["a", "b's"]),
        ('[{"text": "a"}]', [{"text": "a"}]),
        ("[1] as shown in [2]", "[1] as shown in [2]"),
        ("[" * 5000 + "]" * 5000, "[" * 5000 + "]" * 5000),
        ("[__import__('os').getcwd()]", "[__import__('os').getcwd()]"),
    ],
)
def test_a_cell_can_hold_a_list(cell, expected):
    row = {"contexts": cell, "reference": cell, "metadata": None, "response": cell, "other": cell}

    read = table_row(row, PLAN)

    assert read == row | {"contexts": expected, "reference": expected}


@pytest.mark.parametrize(("cell", "expected"), [('{"a": 1}', {"a": 1}), ("[1]", "[1]"), ("text", "text")])
def test_a_metadata_cell_can_hold_an_object(cell, expected):
    row = {"contexts": None, "reference": None, "metadata": cell, "response": "", "other": cell}

    assert table_row(row, PLAN)["metadata"] == expected
