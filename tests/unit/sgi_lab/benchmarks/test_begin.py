import json

import pytest

from sgi.kernel.errors import DataError
from sgi_lab.benchmarks import open_benchmark

COLUMNS = ("model_name", "data_source", "knowledge", "message", "response", "begin_label")


def tsv(folder, *rows, columns=COLUMNS):
    path = folder / "begin_dev_cmu.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in (columns, *rows)), encoding="utf-8")
    return path


def row(label="Fully attributable", response="r", **changed):
    values = {
        "model_name": "ctrl",
        "data_source": "cmu",
        "knowledge": "k",
        "message": "m",
        "response": response,
        "begin_label": label,
    } | changed
    return tuple(values.values())


def read(path, **options):
    return list(open_benchmark("begin", path).samples(**options))


def test_a_row_is_a_sample(tmp_path):
    (sample,) = read(tsv(tmp_path, row()))

    assert sample.id == "begin-1"
    assert (sample.question, sample.contexts, sample.response) == ("m", ("k",), "r")
    assert sample.metadata == {
        "begin_label": "Fully attributable",
        "model": "ctrl",
        "data_source": "cmu",
    }


def test_only_fully_attributable_is_true_and_generic_has_no_label(tmp_path):
    labels = ("Fully attributable", "Not fully attributable", "Generic", "FULLY ATTRIBUTABLE ")

    samples = read(tsv(tmp_path, *map(row, labels)))

    assert [sample.label for sample in samples] == [True, False, None, True]


def test_quotation_marks_are_characters_like_any_other(tmp_path):
    responses = ['"quoted" at first', 'an inch is 1"', '"', '"" and ""']

    samples = read(tsv(tmp_path, *(row(response=response) for response in responses)))

    assert [sample.response for sample in samples] == responses


def test_the_labels_of_another_release_are_refused_with_their_line(tmp_path):
    path = tsv(tmp_path, row(), row("entailment"))

    with pytest.raises(DataError, match=r"cmu.tsv:3: field 'begin_label': the label 'entailment'"):
        read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a\tb\n\n", r"expected 6 cells, found 2"),
        (b"ctrl\tcmu\tk\tm\t\xff\tGeneric\n", r"byte 14 \(0xff\) is not UTF-8"),
        (b"ctrl\tcmu\tk\tm\tr\tGeneric\tmore\n", r"expected 6 cells, found 7"),
    ],
)
def test_broken_lines_are_told_and_the_rest_is_read(tmp_path, text, message):
    path = tsv(tmp_path, row())
    path.write_bytes(path.read_bytes() + text + "\t".join(row()).encode())
    refused = []

    samples = read(path, on_reject=refused.append)

    assert [sample.id for sample in samples] == ["begin-1", "begin-3"]
    with pytest.raises(DataError, match=rf"cmu.tsv:3: {message}"):
        raise refused[0].error


def test_a_column_twice_or_missing_is_told(tmp_path):
    with pytest.raises(DataError, match=r"tsv:1: two columns are called 'knowledge'"):
        read(tsv(tmp_path, row(), columns=(*COLUMNS[:2], "knowledge", "knowledge", *COLUMNS[4:])))
    with pytest.raises(DataError, match=r"tsv:2: is not BEGIN, whose rows have knowledge, message, response"):
        read(tsv(tmp_path, row(), columns=(*COLUMNS[:5], "gold label")))


def test_the_same_in_json_lines(tmp_path):
    path = tmp_path / "b.jsonl"
    values = {"message": "m", "knowledge": "k", "response": "", "begin_label": "Generic", "model": "t5"}
    path.write_text(json.dumps(values))

    (sample,) = read(path)

    assert (sample.response, sample.label, sample.metadata["model"]) == ("", None, "t5")


def test_the_turns_here_are_read(data_folder):
    samples = read(data_folder / "begin.jsonl")

    assert len(samples) == 1497
    assert [sum(s.label is label for s in samples) for label in (True, False, None)] == [549, 927, 21]
