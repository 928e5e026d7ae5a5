import gzip

import pandas as pd
import pytest

from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, UsageError


@pytest.fixture
def read(tmp_path):
    def reading(text, name="a.csv", encoding="utf-8", on_reject=None, columns=None):
        data = text if isinstance(text, bytes) else text.encode(encoding)
        (tmp_path / name).write_bytes(data)
        return list(open_dataset(tmp_path / name, columns=columns).samples(on_reject=on_reject))

    return reading


@pytest.mark.parametrize(
    ("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.csv", "\t"), ("a.tsv", "\t")]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_in_many_dresses(read, name, delimiter, end, encoding):
    rows = [["id", "question", "answer"], ["a", "Où, donc?", "là; oui"], ["b", "漢字", '"🧪"']]
    text = end.join(delimiter.join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) for row in rows)

    samples = read(text + end, name, encoding)

    assert [(s.id, s.question, s.response) for s in samples] == [
        ("a", "Où, donc?", "là; oui"),
        ("b", "漢字", '"🧪"'),
    ]


def test_the_name_of_a_tsv_settles_its_delimiter(read):
    (sample,) = read("response,x\tquestion\na,b\tc\n", "a.tsv")

    assert (sample.question, sample.metadata) == ("c", {"response,x": "a,b"})


def test_an_empty_cell_is_absent_but_an_empty_response_is_an_answer(read):
    (sample,) = read("id,question,contexts,answer,reference,label,topic\na,,,,,,\n")

    assert sample.model_fields_set == {"id", "response"}
    assert (sample.id, sample.response) == ("a", "")


def test_lists_stand_in_cells_as_json_or_as_pandas_writes_them(read):
    samples = read(
        'contexts,ground_truths,meta\n"[""a"", ""b""]","[\'x\']","{""n"": 1}"\n'
        '"[\'a\', ""b\'s""]",y,\nplain,,\n'
    )

    assert [sample.contexts for sample in samples] == [("a", "b"), ("a", "b's"), ("plain",)]
    assert [sample.reference for sample in samples] == ["x", "y", None]
    assert samples[0].metadata == {"n": 1}


def test_the_index_that_pandas_writes_is_left_out(read):
    (sample,) = read(",question,answer\n7,q,a\n")

    assert (sample.id, sample.question, sample.response, sample.metadata) == ("1", "q", "a", {})


def test_the_index_can_be_mapped(read):
    (sample,) = read(",question\nx,q\n", columns={"id": "Unnamed: 0"})

    assert sample.id == "x"


@pytest.mark.parametrize("mark", ["", "\ufeff", "\ufeff\ufeff"])
@pytest.mark.parametrize(
    "header", ["question , response", " question,response ", "\tquestion, \ufeffresponse"]
)
def test_spaces_and_marks_around_names_do_not_count(read, mark, header):
    for columns in (None, {"question": "question", "response": "response"}):
        (sample,) = read(f"{mark}{header}\nq,r\n", columns=columns)
        assert (sample.question, sample.response) == ("q", "r")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.csv.gz"])
def test_text_files_have_an_encoding(tmp_path, name):
    separator = "\t" if "tsv" in name else ","
    text = '{"question": "Où?", "response": "là"}'
    if "json" not in name:
        text = separator.join(["question", "response"]) + "\n" + separator.join(["Où?", "là"])
    data = text.encode("cp1252")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)

    with pytest.raises(DataError):
        list(open_dataset(tmp_path / name).samples())
    (sample,) = open_dataset(tmp_path / name, encoding="cp1252").samples()
    assert (sample.question, sample.response) == ("Où?", "là")


@pytest.mark.parametrize(
    "data", [[{"response": "r"}], pd.DataFrame({"response": ["r"]}), "rows.parquet", "stsb:a.csv"]
)
def test_other_data_has_no_encoding(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"response": ["r"]}).to_parquet("rows.parquet")
    (tmp_path / "a.csv").write_text("sentence1,sentence2,score\na,b,1\n")

    with pytest.raises(UsageError, match="encoding"):
        open_dataset(data, encoding="cp1252")


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("['a' 'b' ... 'z']", "a printed list was shortened when it was printed ('...') at character 10"),
        ("['a', 'b", "a printed list has a text without closing quote at character 7"),
    ],
)
def test_a_printed_list_that_is_not_whole_is_refused_with_its_place(read, cell, problem):
    with pytest.raises(DataError) as caught:
        read(f'id,context,response\nx,"{cell}",r\n')

    error = caught.value
    assert (error.line, error.sample_id, error.field) == (2, "x", "contexts")
    assert f"{problem} in column 'context'. Write it again as JSON." in str(error)


def test_lines_are_counted_through_quoted_breaks_and_blank_lines(read):
    bad = []
    text = 'id,question,label\n"a","one\ntwo\n\nthree",1\n\nb,q,maybe\nc,q,1\n'

    samples = read(text, on_reject=bad.append)

    assert [(s.id, s.question) for s in samples] == [("a", "one\ntwo\n\nthree"), ("c", "q")]
    assert str(bad[0].error).startswith(f"{bad[0].error.file}:7: id 'b': field 'label': expected true/false")
    assert bad[0].row == {"id": "b", "question": "q", "label": "maybe"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,q", "expected 3 cells, found 2"),
        ("a,q,r,s", "expected 3 cells, found 4"),
        ('a,"q"x,r', "invalid CSV"),
        ('a,"q,r\n', "invalid CSV"),
        ("a,q\rq,r", "invalid CSV"),
    ],
)
def test_a_row_of_another_shape_is_refused(read, row, message):
    with pytest.raises(DataError, match=message) as caught:
        read(f"id,question,response\nfirst,q,r\n{row}\n")

    assert caught.value.line == 3


def test_reading_goes_on_after_a_broken_row_which_keeps_its_text(read):
    bad = []

    samples = read('id,question\na,"q"x\nb\nc,q\n', on_reject=bad.append)

    assert [sample.id for sample in samples] == ["c"]
    assert [(row.error.line, row.row) for row in bad] == [(2, 'a,"q"x'), (3, "b")]


def test_bytes_that_are_not_utf_8_are_refused_with_their_line(read):
    bad = []

    samples = read(b"id,question\na,fine\nb,na\xefve\nc,fine\n", on_reject=bad.append)

    assert [sample.id for sample in samples] == ["a", "c"]
    assert [(row.error.line, row.error.message, row.row) for row in bad] == [
        (3, "byte 0xef at character 5 of line 3 is not UTF-8", "b,na\\xefve")
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,\na,b\n", "a.csv:2: column 2 has a value but no name"),
        ("sep=;\nquestion;response\na;b;c\n", "a.csv:3: expected 2 cells, found 3"),
        ("question,question\na,b\n", "a.csv:1: two columns are called 'question'"),
        ("foo,bar\na,b\n", "a.csv:1: no column is recognised: found 'foo', 'bar'"),
        ("question,response\n", "a.csv: holds no rows"),
        ("question\rresponse\na,b\n", "a.csv:1: invalid CSV"),
    ],
)
def test_an_unusable_table_is_told(read, text, message):
    with pytest.raises(DataError, match=message):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffQuestion,Answer,,\r\nq,r,,\r\n,,,\r\ns,t, ,\r\n,,,\r\n,,,\r\n",  # empty columns and rows
        "sep=;\r\nquestion;answer\r\nq;r\r\ns;t\r\n",  # Excel in Europe
    ],
)
def test_tables_of_spreadsheets_are_read(read, text):
    assert [(row.question, row.response) for row in read(text)] == [("q", "r"), ("s", "t")]


def test_a_mapped_column_that_is_not_there_is_told_before_any_row(read):
    bad = []

    with pytest.raises(DataError, match="ask"):
        read("question\n\n", columns={"question": "ask"}, on_reject=bad.append)

    assert bad == []


def test_nul_in_a_cell_is_text(read):
    (sample,) = read("question,response\na rather long question,an answer with \x00 inside it\n")

    assert sample.response == "an answer with \x00 inside it"
