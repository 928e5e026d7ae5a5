import json

import numpy as np
import pandas as pd
import pytest

from sgi.io.dataset import open_dataset
from sgi.io.mapping import Source, clean_name, resolve
from sgi.kernel.errors import DataError, UsageError

LOG = {
    "inputs": {"q": "Who?"},
    "outputs": {"answer": "Nobody.", "docs": [{"content": "a", "n": 1}, {"content": "b", "n": 2}]},
    "ctx_1": "one",
    "ctx_2": "two",
}
PATHS = {"question": "inputs.q", "response": "outputs.answer", "contexts": "outputs.docs.*.content"}


def read(rows, columns, on_reject=None):
    return list(open_dataset(rows, columns=columns).samples(on_reject=on_reject))


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("answer", ("answer",), {"answer": Source("answer", "answer")}),
        ("answer", ("\ufeffanswer",), {"answer": Source("answer", "\ufeffanswer")}),
        ("a.b.c", ("a.b", "a"), {"a.b.c": Source("a.b.c", "a.b", "c")}),
        ("a, b", ("a", "c"), {"a": Source("a", "a"), "b": None}),
        ("answer", (" answer", "answer "), {"answer": None}),
        ("", ("answer",), {}),
    ],
)
def test_where_a_value_is(text, columns, expected):
    assert resolve(text, columns) == expected


def test_invisible_characters_around_a_name_do_not_count():
    assert clean_name("\ufeff\u200b a b\u2060 ") == "a b"


def test_paths_lead_into_objects_and_lists():
    (sample,) = read([LOG], PATHS)

    assert (sample.question, sample.response, sample.contexts) == ("Who?", "Nobody.", ("a", "b"))
    assert sample.metadata == {"ctx_1": "one", "ctx_2": "two"}


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "parquet", "json", "pandas", "objects"])
def test_paths_and_joins_work_in_every_format(tmp_path, kind):
    frame = pd.DataFrame([LOG])
    data = tmp_path / f"a.{kind}"
    if kind in {"csv", "tsv"}:
        text = frame.assign(**{name: frame[name].map(json.dumps) for name in ("inputs", "outputs")})
        text.to_csv(data, sep="\t" if kind == "tsv" else ",")
    elif kind == "parquet":
        frame.to_parquet(data)
    elif kind in {"json", "jsonl"}:
        data.write_text(json.dumps([LOG] if kind == "json" else LOG))
    else:
        data = frame if kind == "pandas" else [LOG]

    (sample,) = read(data, PATHS | {"reference": "ctx_1,ctx_2"})

    assert (sample.question, sample.response, sample.contexts) == ("Who?", "Nobody.", ("a", "b"))
    assert sample.references == ("one", "two")


def test_columns_are_joined_without_those_that_are_null():
    rows = [{"a": ["1", "2"], "b": None, "c": "3"}, {"c": np.array(["4"]), "a": {"text": "5"}}, {"b": None}]
    rows = [{"response": "r", **row} for row in rows]

    samples = read(rows, {"contexts": "a, b ,c"})

    assert [sample.contexts for sample in samples] == [("1", "2", "3"), ("5", "4"), ()]
    assert "contexts" not in samples[2].model_fields_set


def test_a_field_can_be_dropped():
    (sample,) = read([{"response": "r", "label": "a topic"}], {"label": ""})

    assert (sample.label, sample.metadata) == (None, {"label": "a topic"})


def test_a_dropped_field_takes_no_other_column():
    (sample,) = read([{"response": "r", "answer": "gold"}], {"reference": "answer", "contexts": ""})

    assert (sample.response, sample.reference) == ("r", "gold")


def test_what_a_row_lacks_is_absent():
    rows = [LOG, {"outputs": None}, {"outputs": {"error": "timeout"}}, {"outputs": {"answer": None}}]

    samples = read(rows, {"response": "outputs.answer", "question": "inputs.q"})

    assert ["response" in sample.model_fields_set for sample in samples] == [True, False, False, False]


@pytest.mark.parametrize(
    ("row", "columns", "message"),
    [
        (
            {"outputs": "text"},
            PATHS,
            "field 'response': no outputs.answer: column 'outputs' holds text 'text', not JSON",
        ),
        ({"outputs": ["a"]}, PATHS, "no answer: outputs is a list of 1"),
        (
            {"outputs": {"docs": [{"content": "a"}, {"text": "b"}]}},
            {"contexts": "outputs.docs.*.content"},
            "field 'contexts': in column 'outputs': no docs.*.content: docs.1 is an object with 'text'",
        ),
        (
            {"outputs": {"docs": ["a", 3]}},
            {"contexts": "outputs.docs.*"},
            "field 'contexts': passage 2: expected text, found number 3 in column 'outputs.docs.*'",
        ),
        ({"a": "1", "b": "2"}, {"response": "a,b"}, "response takes one column, not 'a,b'"),
    ],
)
def test_what_does_not_fit_is_refused_with_id_and_field(row, columns, message):
    with pytest.raises(DataError) as caught:
        read([{"id": "x", **row}], columns)

    assert message in str(caught.value)
    assert str(caught.value).startswith("row 1")


@pytest.mark.parametrize("path", ["outputs..answer", "outputs.", "outputs.a[0]", "outputs. a"])
def test_a_path_that_cannot_be_read_is_the_callers_error(path):
    with pytest.raises(UsageError, match="The field path"):
        read([LOG | {"response": "r"}], {"reference": path})


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (
            [LOG],
            {"response": "outputs.anser"},
            "no row has a value at 'outputs.anser': no anser: outputs is an object",
        ),
        ([LOG, LOG], {"contexts": "ctx_1,ctx_3", "response": "ctx_2"}, "no column is called 'ctx_3'"),
        ([{**LOG, "response": "r"}], {"question": "input.q"}, "no column is called 'input.q'"),
    ],
)
def test_a_mapping_that_no_row_follows_is_an_error(rows, columns, message):
    with pytest.raises(DataError, match=r"^no ") as caught:
        read([{"response": "r", **row} for row in rows], columns)

    assert message in str(caught.value)


def test_a_path_to_nothing_but_nulls_is_no_error():
    (sample,) = read([{"response": "r", "outputs": {"label": None}}], {"label": "outputs.label"})

    assert sample.label is None
