import json
from pathlib import Path

import pytest

ITEM = {
    "knowledge": "Paris is the capital of France.",
    "dialogue_history": "[Human]: What is the capital of France?",
    "right_response": "It is Paris.",
    "hallucinated_response": "It is Lyon, I believe.",
}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "dialogue.jsonl"
    path.write_text(json.dumps(ITEM) + "\n")
    return path


def test_a_benchmark_is_run_by_its_name(sgi, data):
    result = sgi("run", "halueval_dialogue:dialogue.jsonl", "-m", "sgi", "-o", "out.jsonl", "-q")

    assert result.code == 0, result.err
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [
        "halueval_dialogue-1-right",
        "halueval_dialogue-1-hallucinated",
    ]
    assert [row["label"] for row in rows] == [True, False]


def test_a_run_of_a_benchmark_is_resumed(sgi, data):
    first = sgi("run", "halueval_dialogue:dialogue.jsonl", "-m", "rouge_l", "--name", "first", "-q")
    again = sgi("run", "--resume", "first", "-q")

    assert (first.code, again.code) == (0, 0), again.err


def test_score_reads_one_too(sgi, data):
    result = sgi("score", "halueval_dialogue:dialogue.jsonl", "-m", "rouge_l")

    assert result.code == 0, result.err
    assert len(result.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("halueval_dialog:dialogue.jsonl", "Did you mean 'halueval_dialogue'"),
        ("halueval_qa:dialogue.jsonl", "is not HaluEval QA"),
        ("halueval_dialogue:gone.jsonl", "does not exist"),
    ],
)
def test_unreadable_data_is_an_error(sgi, data, name, message):
    result = sgi("run", name, "-m", "rouge_l", "-q")

    assert result.code == 2
    assert message in " ".join(result.err.split())
