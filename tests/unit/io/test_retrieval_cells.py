import json

import pytest

from sgi.io.dataset import open_dataset
from sgi.io.raw_rows import RawRow
from sgi.io.rows import read_rows
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Sample
from sgi.kernel.sample_parts import Citation, Turn

ROW = {
    "id": "q1",
    "question": "Who wrote Emma?",
    "response": "Jane Austen wrote it [1].",
    "contexts": ["Emma is by Jane Austen.", "Persuasion is, too."],
    "retrieved_ids": ["d7", 9],
    "retrieval_scores": [0.75, 1],
    "gold_ids": ["d7", "d8"],
    "qrels": [2, 1],
    "reference_contexts": ["Emma is by Jane Austen."],
    "citations": ["d7", 2, {"passage": "d7", "start": 0, "end": 20}],
    "answerable": "yes",
    "turns": [{"role": "human", "content": "Hi"}, {"role": "assistant", "text": "Hello", "contexts": ["p"]}],
}
SAMPLE = Sample(
    id="q1",
    question="Who wrote Emma?",
    response="Jane Austen wrote it [1].",
    contexts=("Emma is by Jane Austen.", "Persuasion is, too."),
    context_ids=("d7", "9"),
    context_scores=(0.75, 1.0),
    relevance={"d7": 2, "d8": 1},
    gold_passages=("Emma is by Jane Austen.",),
    citations=(Citation(passage="d7"), Citation(passage=2), Citation(passage="d7", start=0, end=20)),
    answerable=True,
    turns=(Turn(role="user", text="Hi"), Turn(role="assistant", text="Hello", contexts=("p",))),
)


def read(row, kind="object"):
    (sample,) = read_rows([RawRow(3, row, kind=kind)], file="a.jsonl")
    return sample


def test_every_field_is_read():
    assert read(ROW) == SAMPLE


def test_cells_of_a_table_hold_json():
    cells = {name: value if isinstance(value, str) else json.dumps(value) for name, value in ROW.items()}

    assert read(cells, "csv") == SAMPLE


def test_cells_of_a_table_hold_what_python_prints():
    printed = {
        "response": "r",
        "context_ids": "['d1' 'd2']",
        "relevance": "{'d1': 2}",
        "context_scores": "[1 2]",
    }

    assert read(printed, "table") == Sample(
        id="1", response="r", context_ids=("d1", "d2"), relevance={"d1": 2}, context_scores=(1.0, 2.0)
    )


def test_nothing_retrieved_and_nothing_relevant_are_not_absent():
    sample = read({"context_ids": [], "gold_ids": []})

    assert sample.model_fields_set == {"id", "context_ids", "relevance"}
    assert read({"context_ids": None, "gold_ids": None, "response": "r"}).model_fields_set == {
        "id",
        "response",
    }


@pytest.mark.parametrize(
    ("relevance", "grades"),
    [
        ({"gold_ids": "d1"}, {"d1": 1}),
        ({"gold_ids": ["d1", "d2"], "relevance": [0, True]}, {"d1": 0, "d2": 1}),
        ({"relevance": {"d1": 3, "d2": None, "d3": -1}}, {"d1": 3, "d3": -1}),
        ({"qrels": {"é": 2.0}}, {"é": 2}),
    ],
)
def test_relevance_has_several_forms(relevance, grades):
    assert read({"response": "r", **relevance}).relevance == grades


@pytest.mark.parametrize(
    ("field", "values", "message"),
    [
        ("context_ids", ["d1", "d2", "d1"], "the id 'd1' occurs twice"),
        ("context_ids", ["d1", " "], "id 2: the id is blank"),
        ("context_ids", ["d1", None], "id 2: expected text or a whole number, found null"),
        ("context_ids", [["d1"]], "id 1: expected text or a whole number, found a list"),
        ("context_ids", [1.5], "id 1: expected text or a whole number, found number 1.5"),
        ("context_ids", ["\ud800"], "id 1: the text has a lone surrogate"),
        ("context_ids", {"d1": 1}, "expected a list of ids, found an object"),
        ("context_ids", "d1, d2", "expected a list of ids, found text 'd1, d2'. Write a JSON list"),
        ("context_scores", [0.5, "high"], "score 2: expected a number, found text 'high'"),
        ("context_scores", [10**400], "score 1: expected a finite number"),
        ("context_scores", [True], "score 1: expected a number, found true"),
        ("context_scores", 0.5, "expected a list of numbers, found number 0.5"),
        ("gold_ids", ["d1", "d1"], "the id 'd1' occurs twice"),
        ("gold_ids", [{}], "id 1: expected text or a whole number, found an object"),
        ("relevance", 4, "expected an object {id: grade}, found number 4"),
        ("relevance", [1, 2], "a list of grades needs gold_ids"),
        ("relevance", {"d1": 0.5}, "id 'd1': expected a whole number below 2147483648, found number 0.5"),
        ("relevance", {"d1": 2**31}, "id 'd1': expected a whole number below 2147483648"),
        ("relevance", {"d1": {"d2": 1}}, "id 'd1': expected a number, found an object"),
        ("relevance", {" ": 1}, "the id is blank"),
        ("gold_passages", [1], "passage 1: expected text, found number 1"),
        ("gold_passages", [{"id": 1}], "passage 1: expected text, found an object without the key text"),
        ("citations", "d1", "expected a list of citations, found text 'd1'"),
        ("citations", [0], "citation 1: passage: expected a whole number from 1, found number 0"),
        ("citations", [["d1"]], "citation 1: expected an id, a position or an object, found a list"),
        ("citations", [{"start": 1, "end": 2}], "citation 1: it has no passage"),
        ("citations", [{"passage": 1, "start": 1}], "citation 1: start and end must be given together"),
        ("citations", [{"passage": 1, "start": 2, "end": 2}], "citation 1: start 2 is not before end 2"),
        ("citations", [{"passage": 1, "start": -1, "end": 2}], "start: expected a whole number from 0"),
        (
            "citations",
            [{"passage": 1, "start": 0, "end": 9}],
            "citation 1 ends at 9, but the response has 1 ",
        ),
        (
            "citations",
            [{"passage": 1, "page": 2}],
            "citation 1: unknown key 'page'; the keys are passage, start",
        ),
        ("citations", [{"passage": " "}], "citation 1: the id is blank"),
        ("answerable", "perhaps", "expected true/false, 1/0 or yes/no, found text 'perhaps'"),
        ("answerable", [True], "expected true/false, 1/0 or yes/no, found a list"),
        ("turns", "Hi", "expected a list of turns, found text 'Hi'"),
        ("turns", ["Hi"], "turn 1: expected an object, found text 'Hi'"),
        ("turns", [{"role": "user"}], "turn 1: it needs the key text or content"),
        (
            "turns",
            [{"role": "critic", "text": ""}],
            "the role must be user, assistant, system or tool, found",
        ),
        ("turns", [{"role": "user", "text": 1}], "turn 1: text: expected text, found number 1"),
        (
            "turns",
            [{"role": "user", "text": "", "contexts": 1}],
            "turn 1: contexts: expected text or a list of texts",
        ),
    ],
)
def test_bad_values_are_rejected_with_file_line_id_and_field(field, values, message):
    with pytest.raises(DataError) as caught:
        read({"id": "q7", "response": "r", field: values})
    assert str(caught.value).startswith(f"a.jsonl:3: id 'q7': field '{field}': ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"contexts": ["a"], "context_ids": ["1", "2"]},
            "field 'context_ids': it has 2 values, but contexts has 1",
        ),
        (
            {"contexts": [], "context_scores": [1.0]},
            "field 'context_scores': it has 1 values, but contexts has 0",
        ),
        (
            {"context_ids": ["1"], "context_scores": [1, 2]},
            "field 'context_scores': it has 2 values, but context_ids",
        ),
        ({"gold_ids": ["a"], "relevance": {"a": 1}}, "field 'relevance': gold_ids has ids too"),
        (
            {"gold_ids": ["a"], "relevance": [1, 2]},
            "field 'relevance': it has 2 grades, but gold_ids has 1 ids",
        ),
    ],
)
def test_fields_that_do_not_fit_each_other_are_rejected(row, message):
    with pytest.raises(DataError, match=r"a\.jsonl:3: id 'q7': ") as caught:
        read({"id": "q7", "response": "r", **row})
    assert message in str(caught.value)


def test_a_sample_is_checked_like_a_row():
    for given in ({"context_ids": ["a", "a"]}, {"contexts": ["a"], "context_scores": []}):
        with pytest.raises(ValueError, match=r"occurs twice|it has 0 values"):
            Sample(id="1", **given)


def test_a_huge_list_is_read():
    ids = [f"d{number}" for number in range(100_000)]
    sample = read({"context_ids": ids, "gold_ids": ids})

    assert (len(sample.context_ids), len(sample.relevance)) == (100_000, 100_000)


def test_a_column_with_another_meaning_can_be_dropped():
    data = open_dataset([{"response": "r", "relevance": 4}], columns={"relevance": ""})

    assert [sample.metadata for sample in data.samples()] == [{"relevance": 4}]
