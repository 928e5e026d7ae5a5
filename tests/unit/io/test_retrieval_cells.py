import json

import pytest

from sgi.io.dataset import open_dataset
from sgi.io.raw_rows import RawRow
from sgi.io.rows import read_rows
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


def test_messages_of_chat_completions_are_turns():
    call = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Who"}, {"type": "text", "text": "is it?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "name": "search", "content": "It was she."},
        {"role": "assistant", "content": "She.", "refusal": None, "annotations": []},
    ]

    (sample,) = open_dataset([{"turns": messages}]).samples()

    assert [turn.role for turn in sample.turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert (sample.question, sample.response) == ("Who\nis it?", "She.")
