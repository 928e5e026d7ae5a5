"""Details of other tools' exports: forms that the files in tests/data/exports lack, and broken records."""

import gzip
import json
from pathlib import Path

import pytest

from sgi.io import open_dataset
from sgi.kernel.errors import DataError
from sgi.kernel.sample import Field
from support.export_files import COMPLETION, QUESTION, REPLY, only, read, rows, write

EXPORTS = Path(__file__).parents[2] / "data" / "exports"
OBSERVATION = {"id": "o", "traceId": "t", "type": "CHAIN", "startTime": "2026-01-31T12:00:00Z", "name": "app"}
WITH_ANSWER = {**OBSERVATION, "input": "Who?", "output": "She."}
RUN = {"id": "r", "trace_id": "r", "run_type": "chain", "start_time": "2026-01-31T12:00:00", "name": "app"}


BROKEN = {
    "langfuse": ({**WITH_ANSWER, "startTime": "noon"}, "id 'o': field 'startTime': expected a time"),
    "langsmith": ({**RUN, "inputs": ["Who?"]}, "id 'r': field 'inputs': expected an object, found a list"),
    "mlflow": (
        {"info": {"trace_id": "tr"}, "data": {"spans": [{"name": "a", "span_id": 1.5}]}},
        "id 'tr': field 'spans.0.span_id': expected text or a whole number",
    ),
    "trulens": (
        {"record_id": "r", "app_id": "a", "perf_json": {}, "output": 3},
        "field 'output': expected text, found number 3",
    ),
    "deepeval": (
        {"testCases": [{"name": "n", "input": 5}]},
        "id 'n': field 'testCases.0.input': expected text, found number 5",
    ),
    "ragas": (
        {"user_input": [{"type": "human", "content": "Who?"}, {"type": "robot", "content": ""}]},
        "field 'user_input': message 2: expected an object with content and type human, ai or tool",
    ),
    "openai": (
        {"messages": [QUESTION, {"role": "assistant", "content": "", "tool_calls": 5}]},
        "field 'tool_calls': expected a list, found number 5",
    ),
    "graphrag": (
        {"id": "g", "query": "Who?", "context_data": {"reports": 5}},
        "id 'g': field 'context_data.reports': expected a table: a list of objects",
    ),
}


@pytest.mark.parametrize("prefix", BROKEN)
def test_an_error_names_file_line_id_and_field(tmp_path, prefix):
    record, message = BROKEN[prefix]
    path = write(tmp_path, record)

    with pytest.raises(DataError) as caught:
        list(open_dataset(f"{prefix}:{path}").samples())

    assert str(caught.value).startswith(f"{path}:1")
    assert message in str(caught.value)


@pytest.mark.parametrize("prefix", BROKEN)
def test_records_of_another_tool_are_rejected(tmp_path, prefix):
    names = sorted(path.name for path in EXPORTS.glob(f"{prefix}_*.jsonl"))
    good = (EXPORTS / names[0]).read_text()
    path = tmp_path / "export.jsonl"
    path.write_text(good + '{"bird": "wren"}\n')

    samples, rejected, _ = read(f"{prefix}:{path}")

    assert samples == read(f"{prefix}:{EXPORTS / names[0]}")[0]
    (error,) = rejected
    assert f":{len(good.splitlines()) + 1}" in error


@pytest.mark.parametrize("name", ["langfuse_observations.csv", "langsmith_runs.jsonl", "mlflow_frame.csv"])
def test_a_byte_order_mark_and_compression_change_nothing(tmp_path, name):
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + (EXPORTS / name).read_bytes()))

    assert read(path)[0] == read(EXPORTS / name)[0]


@pytest.mark.parametrize(
    "name",
    ["openinference.otlp.jsonl", "langfuse_observations.jsonl", "langsmith_runs.csv", "mlflow_trace.json"],
)
def test_a_file_in_utf_16_is_recognised(tmp_path, name):
    path = tmp_path / name
    path.write_bytes((EXPORTS / name).read_text("utf-8").encode("utf-16"))

    assert read(path)[0] == read(EXPORTS / name)[0]


def test_a_trace_id_that_cannot_be_encoded_rejects_its_span_alone(tmp_path):
    lines = (EXPORTS / "langfuse_observations.jsonl").read_text("utf-8").splitlines()
    broken = {**json.loads(lines[0]), "trace_id": "\ud800", "traceId": "\ud800"}
    path = tmp_path / "export.json"
    path.write_text(f"[{','.join([*lines, json.dumps(broken)])}]", "utf-8")

    samples, rejected, _ = read(path)

    assert samples == read(EXPORTS / "langfuse_observations.jsonl")[0]
    assert len(rejected) == 1


@pytest.mark.parametrize(
    ("prefix", "record", "field"),
    [
        ("trulens", {"record_attributes": {"ai.observability.record_id": "r"}, "trace": {}}, "trace.span_id"),
        ("trulens", {"record_attributes": {}, "trace": {"span_id": "s"}}, "trace.trace_id"),
    ],
)
def test_a_missing_id_is_named(tmp_path, prefix, record, field):
    first = (EXPORTS / "trulens_events.jsonl").read_text("utf-8").splitlines()[0]
    path = tmp_path / "export.jsonl"
    path.write_text(f"{first}\n{json.dumps(record)}\n", "utf-8")

    assert f"field '{field}'" in read(f"{prefix}:{path}")[1][0]


def test_a_cut_off_file_loses_only_its_last_line(tmp_path):
    text = (EXPORTS / "openai_chat_log.jsonl").read_text()
    path = tmp_path / "export.jsonl"
    path.write_text(text[: text.rindex("{") + 5])

    samples, rejected, _ = read(path)

    assert samples == read(EXPORTS / "openai_chat_log.jsonl")[0][:-1]
    assert len(rejected) == 1
    assert "invalid JSON" in rejected[0]


def test_a_file_of_failures_is_an_error_with_the_reasons(tmp_path):
    line = {"request": {"messages": [QUESTION]}, "response": None, "error": "overloaded"}
    path = write(tmp_path, line, line)

    with pytest.raises(DataError):
        list(open_dataset(path).samples())


def test_many_different_errors_are_counted_together(tmp_path):
    lines = [
        {"request": {"messages": [QUESTION]}, "response": None, "error": f"{number}"}
        for number in range(1200)
    ]
    _, _, line = rows(tmp_path, "openai", COMPLETION, *lines)

    assert "1,200 turns gave no row: another reason (200)" in line


def test_the_same_observation_twice_gives_one_row(tmp_path):
    assert only(tmp_path, "langfuse", WITH_ANSWER, WITH_ANSWER).response == "She."


def test_the_same_response_twice_is_rejected(tmp_path):
    samples, rejected, _ = rows(tmp_path, "openai", COMPLETION, COMPLETION)

    assert [sample.id for sample in samples] == ["c"]
    assert "has the same id" in rejected[0]


class TestLangfuse:
    def test_generations_alone_give_question_and_answer(self, tmp_path):
        call = {**OBSERVATION, "type": "GENERATION", "parentObservationId": "x", "model": "m"}
        sample = only(tmp_path, "langfuse", {**call, "input": [QUESTION], "output": REPLY})

        assert (sample.question, sample.response, sample.metadata["model"]) == ("Who?", "She.", "m")
        assert sample.metadata["absent"] == {"contexts": "the trace has no retrieval"}

    def test_a_table_of_traces_gives_question_and_answer(self, tmp_path):
        trace = {"id": "t", "timestamp": "2026-01-31T12:00:00Z", "bookmarked": False, "public": False}
        more = {"sessionId": "s", "input": {"question": "Who?"}, "output": "She.", "scores": {"quality": 0.5}}
        path = write(tmp_path, {**trace, **more})

        (sample,), _, _ = read(path)

        assert (sample.id, sample.question, sample.response) == ("t", "Who?", "She.")
        assert sample.metadata["evaluations"] == {"quality": {"score": 0.5}}
        assert sample.metadata["session_id"] == "s"

    def test_a_trace_of_the_api_gives_question_answer_and_passages(self, tmp_path):
        trace = {"id": "t", "timestamp": "2026-01-31T12:00:00Z", "input": {"question": "Who?"}}
        path = write(tmp_path, {**trace, "output": {"answer": "She.", "contexts": ["It was she."]}})

        (sample,), _, _ = read(path)

        assert (sample.question, sample.response, sample.contexts) == ("Who?", "She.", ("It was she.",))

    def test_empty_texts_of_a_scheduled_export_are_null(self, tmp_path):
        row = {"id": "o", "trace_id": "t", "type": "CHAIN", "start_time": "2026-01-31 12:00:00.5", "name": ""}
        call = {**row, "id": "g", "type": "GENERATION", "parent_observation_id": "o", "output": "She."}
        sample = only(
            tmp_path, "langfuse", {**row, "input": "Who?", "output": "", "parent_observation_id": ""}, call
        )

        assert sample.response == "She."

    def test_spans_of_older_clients_are_retrievals_by_their_name(self, tmp_path):
        found = {
            **OBSERVATION,
            "id": "f",
            "parentObservationId": "o",
            "type": "SPAN",
            "name": "vector-retriever",
        }
        texts = {"documents": [{"page_content": "It was she.", "metadata": {}}]}
        sample = only(tmp_path, "langfuse", WITH_ANSWER, {**found, "output": texts})

        assert sample.contexts == ("It was she.",)

    @pytest.mark.parametrize(("name", "contexts"), [("search_docs", ("It was she.",)), ("list_users", ())])
    def test_a_tool_that_searches_gives_passages(self, tmp_path, name, contexts):
        tool = {**OBSERVATION, "id": "f", "parentObservationId": "o", "type": "TOOL", "name": name}
        sample = only(
            tmp_path, "langfuse", WITH_ANSWER, {**tool, "output": [{"id": "1", "text": "It was she."}]}
        )

        assert sample.contexts == contexts
        assert sample.has(Field.CONTEXTS) is bool(contexts)

    def test_a_span_that_cannot_be_read_leaves_the_passages_unknown(self, tmp_path):
        found = {
            **OBSERVATION,
            "id": "f",
            "parentObservationId": "o",
            "type": "RETRIEVER",
            "output": ["It was she."],
        }
        broken = {**found, "id": "g", "startTime": "noon", "output": ["And he."]}
        samples, rejected, _ = rows(tmp_path, "langfuse", WITH_ANSWER, found, broken)

        assert len(rejected) == 1
        assert not samples[0].has(Field.CONTEXTS)
        assert samples[0].metadata["absent"] == {"contexts": "1 of the trace's spans cannot be read"}


class TestLangSmith:
    def test_child_runs_inside_their_run_are_read(self, tmp_path):
        child = {**RUN, "id": "f", "run_type": "retriever", "inputs": {"query": "Who?"}, "trace_id": None}
        child["outputs"] = {"documents": [{"page_content": "It was she."}]}
        run = {**RUN, "inputs": {"question": "Who?"}, "outputs": {"answer": "She."}, "child_runs": [child]}
        sample = only(tmp_path, "langsmith", run)

        assert sample.contexts == ("It was she.",)

    def test_a_thread_and_feedback_are_metadata(self, tmp_path):
        extra = {"metadata": {"thread_id": "s", "plan": "pro"}}
        run = {
            **RUN,
            "inputs": {"question": "Who?"},
            "outputs": {"answer": "She."},
            "extra": extra,
            "tags": ["a"],
        }
        sample = only(tmp_path, "langsmith", {**run, "feedback_stats": {"quality": {"n": 2, "avg": 0.5}}})

        known = {"session_id": "s", "plan": "pro", "tags": ["a"], "evaluations": {"quality": {"score": 0.5}}}
        assert {name: sample.metadata.get(name) for name in known} == known

    def test_parquet_of_a_bulk_export_is_recognised(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        runs = [json.loads(line) for line in (EXPORTS / "langsmith_runs.jsonl").read_text().splitlines()]
        columns = {
            key: [run[key] for run in runs] for key in ("id", "name", "start_time", "run_type", "trace_id")
        }
        columns |= {key: [json.dumps(run[key]) for run in runs] for key in ("inputs", "outputs", "extra")}
        columns["parent_run_id"] = [run["parent_run_id"] for run in runs]
        parquet.write_table(pa.table(columns), tmp_path / "runs.parquet")

        samples = read(tmp_path / "runs.parquet")[0]

        assert [sample.contexts for sample in samples] == [
            sample.contexts for sample in read(EXPORTS / "langsmith_runs.jsonl")[0]
        ]

    @pytest.mark.parametrize(
        "outputs",
        [
            {"answer": "She.", "context": [{"page_content": "It was she.", "metadata": {"source": "a"}}]},
            {"result": "She.", "source_documents": [{"kwargs": {"page_content": "It was she."}}]},
            {"answer": "She.", "documents": [{"lc": 1, "kwargs": {"page_content": "It was she."}}]},
            {"answer": "She.", "contexts": ["It was she.", "It was she."]},
            {"answer": "She.", "context": "It was she."},
            {"answer": "She.", "retrieved_documents": [{"page_content": "It was she."}]},
        ],
    )
    @pytest.mark.parametrize("name", ["app", "RetrievalQA"])
    def test_documents_beside_the_answer_of_a_chain_are_passages(self, tmp_path, outputs, name):
        sample = only(
            tmp_path, "langsmith", {**RUN, "name": name, "inputs": {"query": "Who?"}, "outputs": outputs}
        )

        assert (sample.question, sample.response, sample.contexts) == ("Who?", "She.", ("It was she.",))

    def test_documents_of_a_retriever_come_before_those_of_the_chain(self, tmp_path):
        run = {
            **RUN,
            "inputs": {"query": "Who?"},
            "outputs": {"answer": "She.", "context": ["Of the chain."]},
        }
        search = {
            **RUN,
            "id": "s",
            "parent_run_id": "r",
            "run_type": "retriever",
            "inputs": {"query": "Who?"},
        }
        found = {"documents": [{"page_content": "It was she."}]}

        assert only(tmp_path, "langsmith", run, {**search, "outputs": found}).contexts == ("It was she.",)
        silent = only(tmp_path, "langsmith", run, {**search, "outputs": None})
        assert silent.contexts == ("Of the chain.",)


class TestMLflow:
    def test_spans_of_version_2_are_read(self, tmp_path):
        attributes = {"mlflow.spanInputs": '{"question": "Who?"}', "mlflow.spanOutputs": '"She."'}
        span = {"name": "app", "context": {"span_id": "0x1", "trace_id": "0x2"}, "parent_id": None}
        span |= {"start_time": 1_700_000_000_000_000_000, "end_time": None, "attributes": attributes}
        info = {"request_id": "tr", "timestamp_ms": 1, "status": "OK", "tags": {}}
        sample = only(tmp_path, "mlflow", {"info": info, "data": {"spans": [span]}})

        assert (sample.id, sample.question, sample.response) == ("tr", "Who?", "She.")
        assert sample.metadata["start"].startswith("2023-11-14T22:13:20")

    def test_a_trace_without_spans_has_its_request_and_response(self, tmp_path):
        row = {"trace_id": "tr", "state": "OK", "request_time": 1, "execution_duration": 5, "tags": {}}
        sample = only(
            tmp_path, "mlflow", {**row, "request": {"question": "Who?"}, "response": "She.", "spans": []}
        )

        assert (sample.question, sample.response) == ("Who?", "She.")

    def test_feedback_is_an_evaluation_and_an_expectation_the_reference(self):
        sample = read(EXPORTS / "mlflow_traces.jsonl")[0][0]

        assert sample.reference == "May 1987"
        assert sample.metadata["evaluations"] == {"helpfulness": {"score": 0.9}}


class TestTruLens:
    def test_feedback_is_an_evaluation_in_records_and_events(self):
        for name in ("trulens_records.jsonl", "trulens_events.jsonl"):
            assert read(EXPORTS / name)[0][0].metadata["evaluations"] == {"Length": {"score": 0.55}}


class TestDeepEval:
    def test_passages_may_be_objects_with_a_source(self, tmp_path):
        case = {
            "input": "Who?",
            "actualOutput": "She.",
            "retrievalContext": [{"context": "It was she.", "source": "a"}],
        }

        assert only(tmp_path, "deepeval", case).contexts == ("It was she.",)

    def test_the_latest_run_holds_the_run_inside(self, tmp_path):
        case = {
            "name": "a",
            "input": "Who?",
            "actualOutput": "She.",
            "metricsData": [{"name": "M", "success": False}],
        }
        path = write(tmp_path, {"testRunData": {"testCases": [case]}, "testRunLink": None})

        (sample,), _, _ = read(path)

        assert sample.id == "a"
        assert sample.metadata["evaluations"] == {"M": {"label": "failed"}}

    def test_cases_with_the_same_name_get_a_number(self, tmp_path):
        case = {"name": "a", "input": "Who?", "actualOutput": "She."}
        samples, _, _ = rows(tmp_path, "deepeval", {"testCases": [case, case]})

        assert [sample.id for sample in samples] == ["a", "a-2"]

    def test_only_a_single_case_must_fit_the_limits(self, monkeypatch):
        monkeypatch.setenv("SGI_MAX_ROW", "2KB")

        assert len(read(EXPORTS / "deepeval_test_run.json")[0]) == 6
