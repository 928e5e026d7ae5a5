"""Methods, ids and files of answers: folders, and how files are recognised."""

import json

import pytest

from sgi.io import open_dataset
from sgi.io.readers import recognise
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Batch
from sgi.kernel.vectors import Features
from sgi.metrics.citations.cited_row import NO_KINDS
from sgi.metrics.citations.markers import CitationValidity
from support.export_files import read, rows, write

ASKED = {"query": "Who?", "response": "Ann."}


def fill(folder, files):
    for name, records in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(records))


@pytest.mark.parametrize("prefix", ["", "graphrag:"])
def test_a_folder_has_a_method_for_each_subfolder_or_file(tmp_path, prefix):
    row = {**ASKED, "context_data": {"sources": [{"id": "3", "text": "Ann hired Bob."}]}}
    fill(
        tmp_path,
        {
            "basic-1.5.json": [{"id": "q1", **row}],
            "global/answers.json": [{"id": "q1", **ASKED}, ASKED],
            "local/answers.json": [{**ASKED, "method": "drift"}],
            ".cache/other.json": [{"id": "q1", **ASKED}],
        },
    )
    (tmp_path / "notes.txt").write_text("not an answer")

    samples, rejected, line = read(f"{prefix}{tmp_path}")

    assert not rejected
    assert {sample.id: sample.metadata["method"] for sample in samples} == {
        "q1": "basic-1.5",
        "q1 (global)": "global",
        "global/answers.json-2": "global",
        "local/answers.json-1": "drift",
    }
    assert line.startswith("GraphRAG: 4 records gave 4 rows: ")
    assert line.endswith("3 rows have no contexts: the row has no context_data (3).")
    assert [sample.id for sample in open_dataset(f"{prefix}{tmp_path}").samples()] == [
        sample.id for sample in samples
    ]


def test_retrieval_results_of_benchmark_qed_belong_to_the_answers_beside_them(tmp_path):
    answer = {"question_id": "a1", "question": "Who?", "answer": "Ann [Data: Reports (2)]."}
    found = {"question_id": "a1", "text": "Who?", "context": [{"chunk_id": "9", "text": "Ann hired Bob."}]}
    fill(
        tmp_path,
        {
            "rag/local_answers.json": [answer, {**answer, "question_id": "a2"}],
            "rag/local_retrieval_results.json": [found],
            "other/global_retrieval_results.json": [found],
            "local_questions_text.json": [{"question_id": "a1", "question_text": "Who?"}],
            "local_assertions.json": [{"question_id": "a1", "assertions": []}],
        },
    )
    (other, first, second), rejected, _ = read(f"graphrag:{tmp_path}")

    assert not rejected
    assert (first.contexts, first.context_ids) == (("Ann hired Bob.",), ("9",))
    metric = CitationValidity()  # the results have chunks only: whether the report exists is unknown
    scores = metric.score(metric.prepare(Batch.of([first])), Features())
    assert (first.response, scores.reasons[0]) == ("Ann.", NO_KINDS)
    assert second.metadata["absent"] == {"contexts": "the retrieval results do not have this question_id"}
    assert (other.question, other.contexts) == ("Who?", first.contexts)
    assert other.metadata["absent"] == {"response": "the row has no answer"}
    assert recognise(tmp_path / "other/global_retrieval_results.json").name == "graphrag"
    (tmp_path / "rag/local_retrieval_results.json").write_text('[{"question_id": "a1", "context": [5]}]')
    with pytest.raises(DataError, match=r"local_retrieval_results\.json:1: .*'context\.sources': row 1"):
        read(f"graphrag:{tmp_path}")


@pytest.mark.parametrize("names", [[], [f"{number}.json" for number in range(1001)]])
def test_a_folder_without_answers_or_with_too_many_files_is_an_error(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("[]")

    with pytest.raises(DataError, match=r"has (no|more than 1,000) JSON file"):
        list(open_dataset(f"graphrag:{tmp_path}").samples())


def test_the_same_id_of_another_method_gets_the_method(tmp_path):
    records = [{"id": "q1", **ASKED, "method": method} for method in ("local", "global", "local")]
    samples, (error,), _ = rows(tmp_path, "graphrag", *records)

    assert [sample.id for sample in samples] == ["q1", "q1 (global)"]
    assert error.startswith(f"{tmp_path / 'export.jsonl'}:3: id 'q1': field 'id': the id 'q1' is there twice")


def test_a_text_with_separators_is_recognised(tmp_path):
    path = write(tmp_path, {**ASKED, "context": "Ann hired Bob.--New Chunk--\nHe left."})

    assert recognise(path).name == "graphrag"


def test_a_row_without_a_method_among_rows_with_one_has_none(tmp_path):
    first, second = {**ASKED, "id": "q1"}, {**ASKED, "id": "q2", "method": "local"}
    (unnamed, _), _, line = read(f"graphrag:{write(tmp_path, first, second)}")

    assert "method" not in unnamed.metadata
    assert "1 row has no method: other rows name theirs (1)." in line
