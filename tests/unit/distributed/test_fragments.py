import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.distributed.fragments import Fragment, FragmentDataset, fragment_size, raw_rows, split_file
from sgi.distributed.storage import find_sources
from sgi.io.dataset import open_dataset
from sgi.io.files import file_rows
from sgi.kernel.errors import DataError

SIGNS = st.text(st.sampled_from('ab"\\{} \u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\té\U0001f600'), max_size=12)
"""Letters, what JSON escapes, and signs that end lines elsewhere but not here."""


def _line(values):
    """A row as JSON, with signs such as U+2028 as they are; control characters must be escaped."""
    return json.dumps(values, ensure_ascii=False).encode()


ROWS = st.builds(
    lambda response, known: _line({"response": response, "reference": "a"} | known),
    SIGNS,
    st.one_of(st.just({}), st.builds(lambda n: {"id": f"own {n}"}, st.integers(0, 60))),
)
PAIRS = st.builds(
    lambda text: _line({"question": text, "right_answer": "b", "hallucinated_answer": text}), SIGNS
)
ODD = st.sampled_from(
    [b"", b" ", b"\t \x0c", b"{", b"[1]", b"\xff\xfe!", b'{"response": NaN}', b"\xef\xbb\xbf{}"]
)
FILES = st.builds(
    lambda mark, lines, last: mark + b"".join(line + end for line, end in lines) + last,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(st.one_of(ROWS, PAIRS, ODD), st.sampled_from([b"\n", b"\r\n", b"\n\n"])), min_size=1),
    st.one_of(st.just(b""), ROWS),
)


def _source(path):
    (source,) = find_sources(str(path))
    return source


def _read(samples):
    """The samples, and what was refused with its place."""
    refused = []
    found = list(samples(on_reject=lambda row: refused.append((str(row.error), row.row))))
    return found, refused


@given(FILES, st.integers(1, 300))
def test_any_cut_gives_the_rows_of_the_whole_file(tmp_path_factory, content, size):
    path = tmp_path_factory.mktemp("cut") / "rows.jsonl"
    path.write_bytes(content)
    fragments = list(split_file(_source(path), size))
    whole = list(file_rows(path))
    parts = [row for fragment in fragments for row in raw_rows(fragment)]
    assert [(row.line, str(row.values), row.text) for row in parts] == [
        (row.line, str(row.values), row.text) for row in whole
    ]


@given(
    st.lists(st.one_of(ROWS, PAIRS, st.sampled_from([b"", b"{", b'{"response": 3, "x": [1]}'])), min_size=1)
)
def test_samples_have_the_ids_and_the_refusals_of_the_whole_file(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("ids") / "rows.jsonl"
    path.write_bytes(b"\n".join([b'{"response": "a", "reference": "b"}', *lines]) + b"\n")
    whole, refused = _read(open_dataset(path).samples)
    repeated = any("the same id" in reason for reason, _ in refused)
    found, also_refused = [], []
    for fragment in split_file(_source(path), 100):
        some, bad = _read(FragmentDataset(fragment).samples)
        found += some
        also_refused += bad
    if not repeated:  # an id in two fragments is for the survey to find
        assert [sample.model_dump() for sample in found] == [sample.model_dump() for sample in whole]
        assert also_refused == refused


def test_fragments_lie_beside_one_another_and_none_is_empty(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"response": "a"}\n' * 100)
    fragments = list(split_file(_source(path), 50))
    assert len(fragments) == 34  # of three lines each, the last of one
    assert all(a.begin + 18 * a.parts == b.begin for a, b in pairwise(fragments))
    assert all(a.first_line + a.parts == b.first_line for a, b in pairwise(fragments))
    assert fragments[-1].parts == 1


def test_a_line_longer_than_a_fragment_stays_whole(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(_line({"response": "x" * 200_000}) + b"\n" + _line({"response": "y"}))
    first, second = split_file(_source(path), 1000)
    assert [row.values["response"][:1] for part in (first, second) for row in raw_rows(part)] == ["x", "y"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.json", "rows.jsonl.gz", "wide.jsonl"])
def test_what_cannot_be_cut_is_one_fragment(tmp_path, name):
    import gzip

    contents = {
        "rows.csv": b'response,reference\n"a\nb",c\nd,e\n',
        "rows.json": b'[{"response": "a"},\n {"response": "d"}]',
        "rows.jsonl.gz": gzip.compress(b'{"response": "a"}\n{"response": "d"}\n'),
        "wide.jsonl": '{"response": "a"}\n{"response": "d"}\n'.encode("utf-16"),
    }
    path = tmp_path / name
    path.write_bytes(contents[name])
    (fragment,) = split_file(_source(path), 1)
    assert list(map(str, raw_rows(fragment))) == list(map(str, file_rows(path)))
    assert [sample.id for sample in FragmentDataset(fragment).samples()] == ["1", "2"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("values", [[None] * 40, [None, "found", None] * 10, [None] * 30 + ["found"]])
def test_every_fragment_uses_the_columns_of_the_whole_file(tmp_path, kind, values):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / f"rows.{kind}"
    rows = [{"context": "ideal", "retrieval_context": value, "response": "r" * 200} for value in values]
    if kind == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=14)
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    fragments = list(split_file(_source(path), 500))
    assert len(fragments) > 2
    found = [sample for fragment in fragments for sample in FragmentDataset(fragment).samples()]
    assert found == list(open_dataset(path).samples())


def test_a_file_with_an_encoding_is_one_fragment(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes("".join(f'{{"response": "é{n}"}}\n' for n in range(9)).encode("cp1252"))
    (source,) = find_sources(str(path), "cp1252")
    (fragment,) = split_file(source, 1)
    assert Fragment.from_dict(fragment.to_dict()) == fragment
    found = list(FragmentDataset(fragment).samples())
    assert found == list(open_dataset(path, encoding="cp1252").samples())


@pytest.mark.parametrize("size", [1, 2000, 10**9])
def test_parquet_is_cut_between_row_groups(tmp_path, size):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    table = pa.table({"response": [f"answer {n}" for n in range(35)], "reference": ["b"] * 35})
    parquet.write_table(table, path, row_group_size=10)
    fragments = list(split_file(_source(path), size))
    assert {1: 4, 10**9: 1}.get(size, len(fragments)) == len(fragments)
    found = [row for fragment in fragments for row in raw_rows(fragment)]
    assert [(row.line, str(row.values)) for row in found] == [
        (row.line, str(row.values)) for row in file_rows(path)
    ]
    ids = [sample.id for fragment in fragments for sample in FragmentDataset(fragment).samples()]
    assert ids == [str(n) for n in range(1, 36)]


def test_a_broken_parquet_file_is_named(tmp_path):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(DataError, match=r"rows\.parquet: cannot be read as Parquet"):
        list(split_file(_source(path), 10))


def test_a_fragment_survives_json():
    from sgi.distributed.storage import Source

    fragment = Fragment(Source("/a/b.jsonl", "b.jsonl", 9, "b"), 3, 2, 4, 5)
    assert Fragment.from_dict(json.loads(json.dumps(fragment.to_dict()))) == fragment


@given(st.integers(0, 2**50), st.integers(1, 10_000))
def test_a_fragment_is_neither_tiny_nor_huge(total, workers):
    assert 2**16 <= fragment_size(total, workers) <= 2**22
