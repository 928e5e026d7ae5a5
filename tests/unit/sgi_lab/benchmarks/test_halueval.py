import json
from pathlib import Path

import pytest

from sgi.io import open_dataset
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Field
from sgi_lab.benchmarks import open_benchmark

QA = {"knowledge": "k", "question": "q", "right_answer": "r", "hallucinated_answer": "h"}
DIALOGUE = {
    "knowledge": "k",
    "dialogue_history": "[Human]: q",
    "right_response": "r",
    "hallucinated_response": "h",
}
SUMMARY = {"document": "d", "right_summary": "r", "hallucinated_summary": "h"}
PUBLISHED = {"halueval_qa": QA, "halueval_dialogue": DIALOGUE, "halueval_summarization": SUMMARY}
SAMPLES = {
    "halueval_qa": {"knowledge": "k", "question": "q", "answer": "a", "hallucination": "yes"},
    "halueval_dialogue": {
        "knowledge": "k",
        "dialogue_history": "[Human]: q",
        "response": "a",
        "hallucination": "yes",
    },
    "halueval_summarization": {"document": "d", "summary": "a", "hallucination": "yes"},
}
GIVEN = {
    "halueval_qa": ("q", ("k",)),
    "halueval_dialogue": ("[Human]: q", ("k",)),
    "halueval_summarization": ("", ("d",)),
}


def save(folder, *rows, name="any name.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_row_is_two_samples_whose_ids_do_not_know_the_file(tmp_path, name):
    path = save(tmp_path, PUBLISHED[name], PUBLISHED[name])

    right, wrong, *others = open_benchmark(name, path).samples()

    assert (right.id, right.response, right.label) == (f"{name}-1-right", "r", True)
    assert (wrong.id, wrong.response, wrong.label) == (f"{name}-1-hallucinated", "h", False)
    assert (right.question, right.contexts) == (wrong.question, wrong.contexts) == GIVEN[name]
    assert right.reference == wrong.reference == "r"
    assert [sample.metadata for sample in (wrong, *others)] == [{"item": 1}, {"item": 2}, {"item": 2}]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(("answer", "label"), [("yes", False), ("no", True)])
def test_a_row_with_one_answer_is_one_sample(tmp_path, name, answer, label):
    path = save(tmp_path, SAMPLES[name] | {"hallucination": answer})

    (sample,) = open_benchmark(name, path).samples()

    assert (sample.id, sample.response, sample.label) == (f"{name}-1", "a", label)
    assert (sample.question, sample.contexts) == GIVEN[name]
    assert sample.has(Field.QUESTION) is bool(sample.question)


@pytest.mark.parametrize("name", PUBLISHED)
def test_rows_of_our_own_stay_what_they_are(tmp_path, name):
    row = {"id": "x", "question": "q", "context": "c", "response": "r", "label": 1, "meta": {"item": 3}}
    path = save(tmp_path, row)

    assert list(open_benchmark(name, path).samples()) == list(open_dataset(path).samples())


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("row", [*PUBLISHED.values(), {"question": "q", "answer": "a"}])
def test_another_set_is_refused(tmp_path, name, row):
    if row is PUBLISHED[name]:
        return
    path = save(tmp_path, row)

    with pytest.raises(DataError, match=r"any name.jsonl:1: is not HaluEval .* right_\w+ and hallucinated_"):
        list(open_benchmark(name, path).samples())


@pytest.mark.parametrize("value", [None, 3, ["r"]])
def test_a_bad_answer_is_named_and_the_row_refused_whole(tmp_path, value):
    bad = QA | {"hallucinated_answer": value}
    path = save(tmp_path, QA, bad, QA)
    refused = []

    samples = list(open_benchmark("halueval_qa", path).samples(on_reject=refused.append))

    assert [sample.id for sample in samples] == [
        f"halueval_qa-{item}-{kind}" for item in (1, 3) for kind in ("right", "hallucinated")
    ]
    assert [item.row for item in refused] == [bad]
    assert "any name.jsonl:2: field 'response'" in str(refused[0].error)


def test_pairs_of_all_three_are_known_without_the_benchmark(tmp_path):
    for row in PUBLISHED.values():
        path = save(tmp_path, row, name="a.jsonl")
        assert [sample.id for sample in open_dataset(path).samples()] == ["a-1-right", "a-1-hallucinated"]


def test_the_dialogues_here_are_read(data_folder):
    path = Path(data_folder, "halueval_dialogue.jsonl")

    samples = list(open_benchmark("halueval_dialogue", path).samples())

    assert len(samples) == 2000
    assert sum(bool(sample.label) for sample in samples) == 1000
