"""Ordinary tables stay ordinary, also if they have columns of other tools."""

import json

import pytest

from sgi.io import open_dataset
from sgi.io.readers import recognise
from sgi.io.rows import RowDataset

QA = {"question": "Who?", "contexts": ["It was she."], "response": "She."}
TALK = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "She."}]

NEAR_MISSES = {
    "ids of spans": {"id": "1", "trace_id": "t", "span_id": "s", **QA},
    "Langfuse without times": {"id": "1", "traceId": "t", "type": "SPAN", **QA},
    "Langfuse with a type of its own": {
        "id": "1",
        "trace_id": "t",
        "start_time": "12:00",
        "type": "qa",
        **QA,
    },
    "Langfuse's session columns": {"id": "1", "timestamp": "12:00", "session_id": "s", "user_id": "u", **QA},
    "observations of another kind": {"id": "1", "timestamp": 5, "observations": [{"bird": "wren"}], **QA},
    "no observations": {"id": "1", "timestamp": 5, "observations": [], **QA},
    "LangSmith without times": {"id": "1", "run_type": "chain", "inputs": "Who?", "trace_id": "t", **QA},
    "LangSmith with another run type": {"id": "1", "run_type": "nightly", "inputs": 1, "trace_id": "t", **QA},
    "MLflow without its metadata": {"trace_id": "t", "request": "Who?", "execution_duration": 5, **QA},
    "a log of a service": {"request_id": "r", "execution_time_ms": 5, "request": "Who?", "tags": [], **QA},
    "info and data": {"info": {"trace_id": "t"}, "data": {"rows": []}, **QA},
    "TruLens without its columns": {"record_id": "r", "app_id": "a", "input": "Who?", "output": "She."},
    "DeepEval's names of columns": {"input": "Who?", "actual_output": "She.", "retrieval_context": ["a|b"]},
    "ragas' names of columns": {"user_input": "Who?", "retrieved_contexts": ["a"], "response": "She."},
    "messages beside our columns": {"messages": TALK, **QA},
    "texts called messages": {"messages": ["Who?"], **QA},
    "a batch of another kind": {"custom_id": "1", "response": "She.", "question": "Who?"},
    "a request of another kind": {"request": {"url": "/"}, "response": "She.", "question": "Who?"},
    "an object of another kind": {"object": "response", "output": "She.", "question": "Who?"},
    "context_data of another kind": {"context_data": {"page": 3}, "method": "bm25", **QA},
    "context_data that is text": {"context_data": "It was she.", **QA},
    "a reply of a service": {"status": "success", "message": "ok", "data": {"rows": []}, **QA},
    "ids of questions": {"question_id": "1", "question": "Who?", "context": ["It."], "answer": "She."},
    "ids of passages": {"question_id": "1", "context": [{"id": "d1", "text": "It."}], "answer": "She."},
    "a prediction of GraphRAG-Bench": {
        "id": "Novel-1",
        "question": "Who?",
        "source": "Novel",
        "context": ["It was she."],
        "evidence": ["It was she."],
        "question_type": "Fact Retrieval",
        "generated_answer": "She.",
        "ground_truth": "She.",
    },
}


@pytest.mark.parametrize("kind", NEAR_MISSES)
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_a_table_with_columns_of_a_tool_is_a_table(tmp_path, kind, suffix):
    path = tmp_path / f"rows{suffix}"
    path.write_text(json.dumps(NEAR_MISSES[kind]) + "\n")

    dataset = open_dataset(path)

    assert isinstance(dataset, RowDataset)
    assert [sample.response for sample in dataset.samples()] == ["She."]


BROKEN = [
    "[",
    "[]",
    "{",
    "{}",
    "[5]",
    '"a"',
    '{"a"',
    '{"a": [1, "b',
    "[[",
    '{"data": []}',
    "a,b",
    "\x00",
    "[" * 70_000,
]


@pytest.mark.parametrize("text", BROKEN)
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".parquet", ".jsonl.gz"])
def test_the_beginning_of_any_file_can_be_examined(tmp_path, text, suffix):
    path = tmp_path / f"rows{suffix}"
    path.write_text(text)

    assert recognise(path) is None


@pytest.mark.parametrize("spaces", ["", " "])
def test_a_first_record_larger_than_the_head_is_recognised(tmp_path, spaces):
    texts = [{"role": "user", "content": "Who? " * 100_000}, {"role": "assistant", "content": "She."}]
    path = tmp_path / "rows.jsonl"
    path.write_text(spaces + json.dumps({"messages": [TALK[0], *texts]}) + "\n")

    assert recognise(path).name == "openai"
