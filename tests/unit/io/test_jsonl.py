import io
import json
import os

import pytest

from sgi.io.dataset import open_dataset
from sgi.io.jsonl import stream_rows
from sgi.kernel.errors import DataError, UsageError

ROW = b'{"id": "a", "question": "q", "response": "r"}'


def stream(data, **options):
    return list(stream_rows(io.BytesIO(data), name="stdin", **options))


def refused(data):
    with pytest.raises(DataError) as caught:
        stream(data)
    return caught.value


@pytest.mark.parametrize(
    "data",
    [
        ROW,
        ROW + b"\r\n",
        b"\xef\xbb\xbf" + ROW,
        b"\n\n" + ROW + b"\n  \n",
        (ROW.decode() + "\r\n").encode("utf-16"),
    ],
)
def test_one_row_in_many_dresses(data):
    (sample,) = stream(data)

    assert (sample.id, sample.question, sample.response) == ("a", "q", "r")


@pytest.mark.parametrize(
    "text",
    ["\x00", "\u2028\u2029\x85", "🧪👩‍🔬", "\ufeff", "\\"],
)
def test_any_text_survives(text):
    line = json.dumps({"response": text}, ensure_ascii=False).encode()

    assert stream(line)[0].response == text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{oops", "invalid JSON"),
        (b'{"question": "q"} {"question": "p"}', "invalid JSON"),
        (b"[" * 100_000, "invalid JSON"),
        (b"[NaN]", "JSON has no number nan"),
        (b'["question"]', "expected an object, found a list"),
        (b"null", "expected an object, found null"),
        (b'{"question": "q", "meta": {"x": [1, -Infinity]}}', "field 'meta': JSON has no number -inf"),
        (
            b'{"id": "x", "question": "\\ud800 half"}',
            "field 'question': the text has a lone surrogate at character 1",
        ),
        (b'{"question": "na\xefve"}', "byte 17 (0xef) is not UTF-8"),
        (b'{"question": "\xed\xa0\x80"}', "byte 15 begins a lone surrogate"),
    ],
)
def test_a_broken_line_is_named(line, message):
    error = refused(ROW + b"\n\n" + line + b"\n")

    assert error.line == 3
    assert str(error).startswith("stdin:3: ")
    assert message in str(error)


def test_a_lone_surrogate_is_named_with_the_id_of_its_row(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 7, "question": "\\ud800"}\n')
    with pytest.raises(DataError) as caught:
        list(open_dataset(path).samples())
    assert (caught.value.line, caught.value.sample_id, caught.value.field) == (1, "7", "question")


def test_refused_lines_are_handed_over_as_they_stood():
    bad = []
    data = b"{oops\r\n" + ROW + b'\n{"response": "na\xefve"}\n[1]\n{"question": "\\ud800"}'

    samples = stream(data, on_reject=bad.append)

    assert [sample.id for sample in samples] == ["a"]
    assert [(row.error.line, row.row) for row in bad] == [
        (1, "{oops"),
        (3, '{"response": "na\\xefve"}'),
        (4, "[1]"),
        (5, '{"question": "\\ud800"}'),
    ]


def test_a_stream_gives_each_sample_as_soon_as_its_line_is_there():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as sink:
        sink.write(ROW + b"\n")
        samples = stream_rows(source, name="stdin")
        assert next(samples).id == "a"
        sink.write(b'{"id": "b", "response": ""}\n')
        assert next(samples).id == "b"


def saved(tmp_path, text, **options):
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8", **options)
    return path


def ids(path):
    return [sample.id for sample in open_dataset(path).samples()]


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "a", "question": "q"}, {"id": "b", "question": "q"}]',
        '{"data": [{"id": "a", "question": "q"}, {"id": "b", "question": "q"}]}',
        '{"v": {"n": 1}, "rows": [{"id": "a", "question": "q"},\n {"id": "b", "question": "q"}], "n": 2}',
        '\n{"id": "a", "question": "q"}\n{"id": "b", "question": "q"}\n',
        '\ufeff[\n{"id": "a",\n"question": "q"},\n\n{"id": "b", "question": "q"}\n]\n',
        '{"id": ["a", "b"], "question": ["q", "q"], "contexts": [["c"], []]}',
        '{"id": {"0": "a", "1": "b"}, "question": {"0": "q", "1": "q"}}',
        '{"columns": ["id", "question"], "index": [0, 1], "data": [["a", "q"], ["b", "q"]]}',
    ],
)
def test_a_json_file_in_its_forms(tmp_path, text):
    assert ids(saved(tmp_path, text)) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[{"question": "q"},\n\n {"question": 3}]', 3, "expected text, found number 3"),
        ('[{"question": "q"},\n{"id": "x", "response": "\\ud800"}]', 2, "lone surrogate"),
        ('[{"question": "q"},\n{"question": NaN}]', 2, "invalid JSON: there is no number NaN"),
        ('[{"question": "q"}\n{"question": "p"}]', 2, "invalid JSON: expected ','"),
        ('[{"question": "q"}]\n]', 2, "something follows the end"),
        ('{"data": [\n3]}', 2, "expected an object, found number 3"),
        ('{"columns": ["id", "question"],\n"data": [["a"]]}', 2, "expected an object, found a list"),
        ('{"columns": [["id"]],\n"data": [["a"]]}', 2, "expected an object, found a list"),
        ('{"id": ["a"], "question": ["q", "r"]}', 1, "found a list"),
        ('{"id": {"0": "a"}, "question": {"1": "q"}}', 1, "found an object"),
        ("[\n" * 100_000, None, "nested too deeply"),
    ],
)
def test_a_broken_json_file_is_told_with_its_line(tmp_path, text, line, message):
    path = saved(tmp_path, text)

    with pytest.raises(DataError) as caught:
        ids(path)

    assert message in str(caught.value)
    assert caught.value.file == str(path)
    assert line in (None, caught.value.line)


@pytest.mark.parametrize("text", ["[]", '{"data": []}', " \n"])
def test_a_json_file_without_rows_is_told(tmp_path, text):
    with pytest.raises(DataError, match=r"a\.json"):
        ids(saved(tmp_path, text))


def test_rows_of_a_json_list_can_be_refused(tmp_path):
    bad = []
    path = saved(tmp_path, '[{"question": 3},\n 4,\n {"id": "c", "question": "q"}]')

    samples = list(open_dataset(path).samples(on_reject=bad.append))

    assert [sample.id for sample in samples] == ["c"]
    assert [(row.error.line, row.row) for row in bad] == [(1, {"question": 3}), (2, "4")]


class TestNestedLists:
    ROWS = ({"question": "Who?", "response": "She."}, {"question": "When?", "response": "1815."})

    def _write(self, path, value):
        path.write_text(json.dumps(value))
        return path

    def test_a_list_of_results_has_the_rows(self, tmp_path):
        path = self._write(tmp_path / "a.json", {"version": 1, "results": self.ROWS})
        assert [sample.question for sample in open_dataset(path).samples()] == ["Who?", "When?"]

    def test_of_several_lists_one_of_a_usual_name_is_named(self, tmp_path):
        report = {"results": {"prompts": [{"raw": "p"}], "results": self.ROWS}}
        with pytest.raises(DataError, match=r"json\(rows=results.results\)"):
            list(open_dataset(self._write(tmp_path / "a.json", report)).samples())

    def test_another_list_is_named_by_the_error_and_read_by_its_path(self, tmp_path):
        path = self._write(
            tmp_path / "a.json", {"n": [1], "eval": {"x": {"y": {}}, "cases": self.ROWS}, "z": []}
        )
        with pytest.raises(DataError) as caught:
            list(open_dataset(path).samples())
        data = caught.value.hint.split("'")[-2]
        assert data == f"json(rows=eval.cases):{path}"
        assert [sample.response for sample in open_dataset(data).samples()] == ["She.", "1815."]

    @pytest.mark.parametrize("at", ["eval.none", "eval", "n.0", "none"])
    def test_a_path_without_a_list_is_an_error(self, tmp_path, at):
        path = self._write(tmp_path / "a.json", {"n": [1], "eval": {"cases": self.ROWS}})
        with pytest.raises(DataError, match=f"has no list at '{at}'"):
            list(open_dataset(f"json(rows={at}):{path}").samples())

    @pytest.mark.parametrize("name", ["json:", "json(lines=a):", "json(rows=a..b):", "json(rows=a):"])
    def test_a_name_without_a_path_says_the_form(self, tmp_path, name):
        path = tmp_path / "a.json" if name != "json(rows=a):" else ""
        with pytest.raises(UsageError, match=r"json\(rows=eval\.results\):log\.json"):
            open_dataset(f"{name}{path}")
