"""Results of LightRAG: answers, failures, and citations of files."""

from pathlib import Path

import pytest

from sgi.kernel.sample import Field
from support.export_files import only, read, rows, write

EXPORT = Path(__file__).parents[2] / "data" / "exports" / "graphrag_lightrag.jsonl"
RESULT = {"status": "success", "message": "done", "data": {"chunks": []}, "metadata": {"query_mode": "mix"}}
REPLY = {"content": "Ann.", "llm_generated": True}
UNANSWERED = {
    "a failure": ({"status": "failure", "data": {}, "llm_response": REPLY, "answer": "Sorry"}, "done"),
    "a canned text": (
        {"llm_response": {**REPLY, "llm_generated": False}},
        "no language model wrote the text: llm_response.llm_generated is false",
    ),
    "a stream": ({"llm_response": {**REPLY, "content": None}}, "llm_response.content is null"),
    "only data": ({}, "the row has no answer"),
    "an error": ({"error": "timed out"}, "no answer, but an error: timed out"),
}


@pytest.mark.parametrize("form", UNANSWERED)
def test_results_of_lightrag_without_an_answer_have_the_reason(tmp_path, form):
    columns, reason = UNANSWERED[form]
    path = write(tmp_path, {"question": "Who?", **RESULT, **columns})

    (sample,), rejected, line = read(path)

    assert not rejected
    assert not sample.has(Field.RESPONSE)
    assert sample.metadata["absent"]["response"] == reason
    assert sample.metadata["method"] == "mix"
    assert f"1 row has no response: {reason} (1)." in line


def test_what_lightrag_says_when_it_found_nothing_is_the_answer():
    _, sample = read(EXPORT)[0]

    assert sample.response.startswith("Sorry, I'm not able to provide an answer")


def test_a_number_that_lightrag_cites_names_the_chunks_of_a_file(tmp_path):
    chunks = [
        {"chunk_id": f"c{k}", "content": f"Text {k}.", "reference_id": "1" if k else "2"} for k in range(3)
    ]
    content = "It is old [1].\n\n### References\n\n- [1] a.md"
    data = {"entities": [], "relationships": [], "chunks": chunks}
    sample = only(tmp_path, "graphrag", {**RESULT, "data": data, "llm_response": {"content": content}})
    assert (sample.response, [one.passage for one in sample.citations]) == (
        "It is old.",
        ["source:c1", "source:c2"],
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id": "g", "status": "partial"}, "id 'g': field 'status': expected success or failure, found text"),
        ({"id": "g", "llm_response": "Ann."}, "id 'g': field 'llm_response': expected an object, found text"),
        (
            {"status": "failure", "message": "timed out", "llm_response": REPLY},
            "the row has no question, no answer and no passages: timed out",
        ),
    ],
)
def test_an_error_of_a_result_names_file_line_id_and_field(tmp_path, changes, problem):
    _, (error,), _ = rows(tmp_path, "graphrag", {"question": "Who?", **RESULT}, {**RESULT, **changes})

    assert error.startswith(f"{tmp_path / 'export.jsonl'}:2: {problem}")
