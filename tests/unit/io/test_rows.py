import tracemalloc

import pytest

from sgi.io.raw_rows import RawRow, SeenIds
from sgi.io.rows import RejectedRow, read_rows
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Sample


def read(*rows, file="a.jsonl", **options):
    return list(read_rows((RawRow(line, row) for line, row in enumerate(rows, 1)), file=file, **options))


def refused(*rows, **options):
    with pytest.raises(DataError) as caught:
        read(*rows, **options)
    return str(caught.value)


def test_a_row_becomes_a_sample():
    row = {
        "id": 7,
        "query": "q",
        "context": ["a", "b"],
        "answer": "r",
        "ground_truths": ["x", "y"],
        "label": "yes",
        "meta": {"k": [1]},
        "source": "s",
    }

    assert read(row) == [
        Sample(
            id="7",
            question="q",
            contexts=("a", "b"),
            response="r",
            reference="x",
            alternatives=("y",),
            label=True,
            metadata={"k": [1], "source": "s"},
        )
    ]


def test_null_is_absent_and_blank_is_not():
    (sample,) = read(
        {"question": None, "contexts": None, "response": "", "reference": [], "label": None, "extra": None}
    )

    assert sample.model_fields_set == {"id", "response"}


def test_reference_and_alternatives_join():
    (sample,) = read({"reference": ["a", "b"], "alternatives": ["c"]})

    assert sample.references == ("a", "b", "c")


def test_rows_without_an_id_take_their_number():
    assert [sample.id for sample in read({"response": "a"}, {"response": "b", "id": None})] == ["1", "2"]


def test_an_error_names_file_line_id_field_and_column():
    assert (
        refused({"response": "fine"}, {"id": "q7", "answer": 3})
        == "a.jsonl:2: id 'q7': field 'response': expected text, found number 3 in column 'answer'"
    )


def test_an_error_of_python_objects_names_the_row():
    assert refused({"question": ["q"]}, file=None) == "row 1: field 'question': expected text, found a list"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"response": "r", "colour": {1}},
            "field 'metadata': expected a JSON value, found set in column 'colour'",
        ),
        ({3: 1}, "a column's name must be text, found 3"),
    ],
)
def test_bad_rows_are_refused_in_plain_words(row, message):
    assert message in refused(row)


def test_the_same_id_twice_names_both_lines():
    message = refused(
        {"id": "a", "response": "1"}, {"id": "b", "response": "2"}, {"id": "a", "response": "3"}
    )

    assert message.startswith("a.jsonl:3: id 'a': field 'id': a.jsonl:1 has the same id")


def test_a_made_up_id_does_not_clash_silently():
    assert "row 1 has the same id" in refused({"id": "2", "response": "1"}, {"response": "2"}, file=None)


def test_a_refused_row_does_not_keep_its_id():
    bad = []

    samples = read({"id": "a", "response": 1}, {"id": "a", "response": "2"}, on_reject=bad.append)

    assert [sample.id for sample in samples] == ["a"]
    assert [str(row.error) for row in bad] == [
        "a.jsonl:1: id 'a': field 'response': expected text, found number 1"
    ]


def test_a_refused_row_carries_what_it_held():
    bad = []

    read({"response": "fine"}, {"id": "x", "response": 3, "more": "\ud800"}, on_reject=bad.append)

    assert [row.row for row in bad] == [{"id": "x", "response": 3, "more": "\\ud800"}]
    assert isinstance(bad[0], RejectedRow)
    assert (bad[0].error.file, bad[0].error.line, bad[0].error.sample_id, bad[0].error.field) == (
        "a.jsonl",
        2,
        "x",
        "response",
    )


def test_an_unparsed_row_carries_its_text():
    bad = []
    rows = [RawRow(4, DataError("no JSON"), "{oops"), RawRow(5, {"response": "r"})]

    list(read_rows(rows, file="f", on_reject=bad.append))

    assert [(str(row.error), row.row) for row in bad] == [("f:4: no JSON", "{oops")]


def test_rows_of_which_none_is_recognised_are_one_error_even_when_rows_may_be_refused():
    with pytest.raises(DataError, match="foo"):
        read({"foo": 1}, {"foo": 2}, on_reject=[].append)


def test_a_mapped_column_may_be_missing_in_some_rows():
    samples = read({"ask": "q"}, {"answer": "r"}, columns={"question": "ask"})

    assert [sample.question for sample in samples] == ["q", ""]


def test_a_mapped_column_that_no_row_has_is_told():
    message = refused({"answer": "r"}, {"answer": "s", "asked": 1}, columns={"question": "ask"})

    expected = "no column is called 'ask'; there are: 'answer', 'asked'. Did you mean 'asked'?"
    assert message == f"a.jsonl: {expected}"


def test_labels_of_hallucination_are_turned_round():
    samples = read(
        {"answer": "a", "hallucination": "yes"}, {"answer": "b", "hallucination": "no"}, {"answer": "c"}
    )

    assert [sample.label for sample in samples] == [False, True, None]


HALUEVAL = {"knowledge": "k", "question": "q", "right_answer": "r", "hallucinated_answer": "h"}


def test_a_row_of_halueval_is_two_samples():
    common = {"question": "q", "contexts": ("k",), "reference": "r", "metadata": {"item": 1}}

    assert read(HALUEVAL, file="data/halueval_qa.jsonl") == [
        Sample(id="halueval_qa-1-right", response="r", label=True, **common),
        Sample(id="halueval_qa-1-hallucinated", response="h", label=False, **common),
    ]


def test_halueval_keeps_ids_and_columns_of_its_own():
    right, _ = read(HALUEVAL | {"id": "x", "level": "hard"})

    assert right.id == "x-right"
    assert right.metadata == {"level": "hard", "item": 1}


@pytest.mark.parametrize("answer", ["right_answer", "hallucinated_answer"])
def test_halueval_without_an_answer_is_refused(answer):
    assert f"expected text, found null in column '{answer}'" in refused(HALUEVAL | {answer: None})


def test_metadata_and_columns_of_one_name_are_both_kept():
    (sample,) = read({"response": "r", "metadata": {"source": 1}, "source": 2, "source (column)": 3})

    assert sorted(sample.metadata.values()) == [1, 2, 3]


def test_samples_pass_as_they_are():
    given = Sample(id="a", question="q")

    (sample,) = read(given, file=None, columns={"question": "ask"})

    assert sample is given


def test_a_sample_that_cannot_be_written_is_refused():
    bad = []

    read(Sample(id="a", contexts=("fine", "\ud800")), on_reject=bad.append, file=None)

    assert str(bad[0].error).startswith("row 1: field 'contexts': the text has a lone surrogate")
    assert bad[0].row == {"id": "a", "contexts": "('fine', '\\ud800')"}


def test_ids_are_remembered_in_a_hundred_bytes_each():
    ids = SeenIds(None)
    names = [f"a rather long name of a sample, number {number}" for number in range(100_000)]
    tracemalloc.start()
    try:
        for line, name in enumerate(names):
            ids.add(name, line)
        used = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert used / len(names) < 100


def test_a_stem_begins_the_ids_of_rows_that_have_none():
    pair = {"question": "q", "right_answer": "r", "hallucinated_answer": "h"}

    samples = read({"response": "r"}, pair, {"id": "own", "response": "r"}, stem="set")

    assert [sample.id for sample in samples] == ["set-1", "set-2-right", "set-2-hallucinated", "own"]


def halves(values, number):
    """Two rows of one; the second half must be text."""
    return [{"id": f"{number}-{key}", "response": values[key]} for key in ("a", "b")]


def test_one_row_may_be_converted_into_several():
    samples = read({"a": "1", "b": "2"}, {"a": "3", "b": "4"}, convert=halves)

    assert [(sample.id, sample.response) for sample in samples] == [
        ("1-a", "1"),
        ("1-b", "2"),
        ("2-a", "3"),
        ("2-b", "4"),
    ]


def test_a_row_with_a_bad_part_is_refused_whole_and_as_it_was():
    bad, refused = {"a": "1", "b": 2}, []

    samples = read(bad, {"a": "3", "b": "4"}, convert=halves, on_reject=refused.append)

    assert [sample.id for sample in samples] == ["2-a", "2-b"]
    assert [item.row for item in refused] == [bad]
    assert "a.jsonl:1: id '1-b': field 'response': expected text, found number 2" in str(refused[0].error)
