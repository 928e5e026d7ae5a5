"""Whatever is thrown at the readers: samples, or an error that says where; and nothing is lost."""

import json
import string
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import orjson
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.io import open_dataset, open_writer
from sgi.io.column_names import NAMES
from sgi.io.columns import recognise
from sgi.io.printed_list import read_list
from sgi.io.write import escape_formula
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.sample import Field, Sample

# A busy machine can take its time over a file.
SOME = settings(deadline=None)
MANY = settings(deadline=None, max_examples=300)
FEW = settings(deadline=None, max_examples=10)  # each example starts a process
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ANY_TEXT = st.text(st.characters(), max_size=10)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | ANY_TEXT
    | st.binary(max_size=4)
    | st.dates()
    | st.decimals()
    | st.uuids(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT | st.integers(), inner, max_size=3),
    max_leaves=8,
)
COLUMNS = st.sampled_from([name for names in NAMES.values() for name in names]) | st.sampled_from(
    ["right_answer", "hallucinated_answer", "Question", "other"]
)


@st.composite
def samples(draw):
    names = draw(st.lists(TEXTS.filter(str.strip), unique=True, min_size=1, max_size=5))
    optional = {
        "question": TEXTS,
        "contexts": st.lists(TEXTS, max_size=3),
        "response": TEXTS,
        "reference": TEXTS,
        "label": st.booleans(),
        "metadata": st.dictionaries(TEXTS, JSON, max_size=3),
    }
    keys = st.lists(st.sampled_from(sorted(optional)), unique=True)
    rows = [{"id": name, "response": ""} | {key: draw(optional[key]) for key in draw(keys)} for name in names]
    return [Sample.model_validate(row) for row in rows]


def read_all(path, **options):
    bad = []
    found = list(open_dataset(path, **options).samples(on_reject=bad.append))
    return found, bad


@SOME
@given(samples())
def test_samples_written_as_json_lines_come_back_equal(given_samples):
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        with open_writer(path) as out:
            out.write(sample.model_dump(mode="json", exclude_unset=True) for sample in given_samples)

        found, bad = read_all(path)

    assert not bad
    assert found == given_samples
    assert [s.model_fields_set for s in found] == [s.model_fields_set for s in given_samples]


@FEW
@given(samples())
def test_samples_written_as_parquet_come_back_equal(given_samples):
    pytest.importorskip("pyarrow")
    rows = [
        sample.model_dump(mode="json", include={"id", "question", "contexts", "response"})
        for sample in given_samples
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.parquet")
        with open_writer(path) as out:
            out.write(rows)

        found, bad = read_all(path)

    assert not bad
    assert [
        s.model_dump(mode="json", include={"id", "question", "contexts", "response"}) for s in found
    ] == rows


@SOME
@given(samples())
def test_samples_passed_as_objects_are_those_passed_as_dicts(given_samples):
    rows = [sample.model_dump(exclude_unset=True) for sample in given_samples]

    assert list(open_dataset(given_samples).samples()) == list(open_dataset(rows).samples())


# Texts that a spreadsheet would run are altered on purpose, and CSV cannot tell a blank text from none.
@SOME
@given(
    st.lists(
        st.text(string.printable + "é漢🧪\x00\u2028", min_size=1).filter(
            lambda text: escape_formula(text) == text
        ),
        min_size=1,
    )
)
def test_texts_written_as_csv_come_back_equal(texts):
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        with open_writer(path) as out:
            out.write({"question": text, "response": text} for text in texts)
        if "\x00" in path.read_bytes().decode()[:4096]:
            return  # so much of a short file may look like binary data

        found, bad = read_all(path)

    assert not bad
    assert [(sample.question, sample.response) for sample in found] == [(text, text) for text in texts]


LINES = st.one_of(
    st.dictionaries(COLUMNS, JSON, max_size=4).map(lambda row: json.dumps(row).encode()),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")),
    st.sampled_from(
        [b"", b"  ", b"{", b'{"question": NaN}', b'{"question": "\\ud800"}', b'{"id": 1, "response": ""}']
    ),
)


@MANY
@given(st.lists(LINES, max_size=8))
def test_every_line_that_is_not_blank_is_a_sample_or_refused_with_its_number(lines):
    lines = [b'{"id": "first of all", "response": "so that the file is text"}', *lines]
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(b"\n".join(lines))
        try:
            found, bad = read_all(path)
        except DataError as error:
            if "binary data" in error.message:  # so may random bytes look
                return
            raise

    filled = {number for number, line in enumerate(lines, 1) if line.strip()}
    pairs = sum(sample.id.endswith("-hallucinated") for sample in found)
    refused = [row.error.line for row in bad]
    assert len(found) - pairs + len(bad) == len(filled)
    assert set(refused) <= filled
    assert refused == sorted(set(refused))
    assert len({sample.id for sample in found}) == len(found)
    orjson.dumps([row.row for row in bad])


@MANY
@given(
    st.lists(st.dictionaries(COLUMNS | ANY_TEXT | st.integers(), ANYTHING, max_size=5) | ANYTHING, max_size=4)
)
def test_any_python_objects_give_samples_that_can_be_written_or_are_refused(rows):
    bad = []
    with suppress(DataError):  # no row at all had a known column
        found = list(open_dataset(rows).samples(on_reject=bad.append))
        for sample in found:
            json.dumps(sample.model_dump(), allow_nan=False, ensure_ascii=False).encode()
    for row in bad:
        json.dumps(row.row, allow_nan=False, ensure_ascii=False).encode()


@SOME
@given(st.lists(COLUMNS | TEXTS, unique=True, max_size=8))
def test_every_column_goes_to_exactly_one_place(columns):
    with suppress(DataError):
        plan = recognise(tuple(columns))
        placed = [*plan.fields.values(), *(plan.pair or ()), *plan.spare]
        assert sorted(placed) == sorted(columns)


@SOME
@given(
    st.dictionaries(COLUMNS | TEXTS, COLUMNS | TEXTS, max_size=4), st.lists(COLUMNS, unique=True, min_size=1)
)
def test_any_mapping_is_followed_or_refused(mapping, columns):
    rows = [dict.fromkeys(columns, "1")]
    try:
        (sample, *_) = open_dataset(rows, columns=mapping).samples()
    except (DataError, UsageError):
        return
    assert all(field in NAMES and column in columns for field, column in mapping.items())
    assert "response" not in mapping or sample.response == "1"


KEYS = st.sampled_from(["a", "b", "a.b", "a,b", " a", "answer", "context", "0"])
NESTED = st.recursive(
    st.none() | TEXTS | st.integers() | st.sampled_from(['{"a": "x"}', '["x"]', "['x' 'y']"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
PLACES = st.lists(st.sampled_from(["a", "b", ".", ",", "*", " ", "0", "[", "a.b", "a.*.b"]), max_size=5).map(
    "".join
)


@MANY
@given(
    st.lists(st.dictionaries(KEYS, NESTED, min_size=1, max_size=4), min_size=1, max_size=4),
    st.dictionaries(st.sampled_from(list(NAMES)), PLACES, max_size=3),
)
def test_any_mapping_into_any_objects_gives_samples_or_an_error_in_plain_words(rows, mapping):
    bad = []
    try:
        found = list(open_dataset(rows, columns=mapping).samples(on_reject=bad.append))
    except (DataError, UsageError):
        return
    assert len(found) + len(bad) == len(rows)
    assert all(row.error.line and row.error.file is None for row in bad)
    for sample in found:
        assert all(not sample.has(name) for name in Field if name in mapping and not mapping[name].strip())
        json.dumps(sample.model_dump(), allow_nan=False, ensure_ascii=False).encode()


@MANY
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=6),
    st.sampled_from(["python", "numpy", "repr", "json"]),
)
def test_a_list_of_any_texts_is_read_as_it_was_printed(texts, way):
    array = np.array([*texts, None], dtype=object)[:-1]  # NumPy drops NUL characters from arrays of text
    printed = {"python": str(texts), "numpy": str(array), "repr": repr(array), "json": json.dumps(texts)}

    assert read_list(printed[way]) == texts


PRINTED = st.lists(
    st.sampled_from(
        ["[", "]", "'a'", '"b"', ",", " ", "...", "{", "}", ":", "array(", ")", "\\", "'", "None", "1.5"]
    ),
    max_size=14,
).map("".join)


@MANY
@given(PRINTED | st.text(max_size=20).map("['{}".format) | st.text(max_size=20).map("['a', {}]".format))
def test_any_cell_is_a_list_a_text_or_refused(cell):
    with suppress(ValueError):
        found = read_list(cell)
        assert found is None or isinstance(found, list)
        if found is not None:
            assert read_list(json.dumps(found)) == found


@MANY
@given(
    st.binary(max_size=200),
    st.sampled_from(
        [
            None,
            None,
            *[
                *("utf-8", "utf-16", "utf-16-le", "utf-32", "cp1252", "shift_jis", "utf-7", "iso2022_jp"),
                "cp037",
            ],
        ]
    ),
    st.sampled_from([".jsonl", ".json", ".csv", ".tsv", ".jsonl.gz"]),
)
def test_any_bytes_in_any_encoding_give_samples_or_an_error_that_names_the_file(data, encoding, suffix):
    with TemporaryDirectory() as folder:
        path = Path(folder, f"a{suffix}")
        path.write_bytes(data)
        try:
            _, bad = read_all(path, encoding=encoding)
        except DataError as error:
            assert error.file == str(path)
        else:
            assert all(row.error.file == str(path) and row.error.line for row in bad)
            orjson.dumps([row.row for row in bad])


PASSAGES = st.none() | st.lists(st.sampled_from(["a", "b's", 'c "d"', "e\nf"]), min_size=1, max_size=3)


@FEW
@given(st.lists(st.tuples(PASSAGES, PASSAGES, PASSAGES), min_size=1, max_size=6))
def test_every_format_takes_the_same_passages(rows):
    pytest.importorskip("pyarrow")
    names = ("retrieved_contexts", "context", "documents")
    frame = pd.DataFrame([{"response": "r", **dict(zip(names, row, strict=True))} for row in rows])
    filled = [name for name in names if frame[name].notna().any()]
    expected = [tuple(passages or ()) for passages in frame[filled[0]]] if filled else [()] * len(rows)
    with TemporaryDirectory() as folder:
        frame.to_csv(Path(folder, "a.csv"))
        frame.to_json(Path(folder, "a.jsonl"), orient="records", lines=True)
        frame.to_parquet(Path(folder, "a.parquet"))
        for data in (frame, *map(str, Path(folder).iterdir())):
            assert [sample.contexts for sample in open_dataset(data).samples()] == expected
