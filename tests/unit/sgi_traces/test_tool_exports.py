"""Files that other tools' clients wrote give the turns that were recorded, without an option."""

import json
from pathlib import Path

import pytest

from sgi.io import open_dataset
from sgi.kernel.sample import Field

EXPORTS = Path(__file__).parents[2] / "data" / "exports"
TURNS = {
    turn["name"]: turn for turn in json.loads((EXPORTS.parent / "exported_turns.json").read_text("utf-8"))
}
ALL = [*TURNS]
ANSWERED = [name for name in ALL if name != "timeout"]
SINGLE = [name for name in ANSWERED if not name.startswith("tour")]
TOUR = ["tour-1", "tour-2", "tour-3"]
TRACES = {"references": ["opening"], "session": True}

FILES = {
    "langfuse_observations.jsonl": {"turns": ANSWERED, "session": True},
    "langfuse_observations.csv": {"turns": ANSWERED, "session": True},
    "langfuse_blob_export.jsonl": {"turns": ANSWERED, "session": True},
    "langfuse_traces.json": {"turns": ANSWERED, "session": True},
    "langsmith_runs.jsonl": {"turns": ANSWERED, "session": True},
    "langsmith_query.jsonl": {"turns": ANSWERED, "session": True},
    "langsmith_runs.csv": {"turns": ANSWERED, "session": True},
    "mlflow_traces.jsonl": {"turns": ANSWERED, **TRACES},
    "mlflow_frame.jsonl": {"turns": ANSWERED, **TRACES},
    "mlflow_frame.csv": {"turns": ANSWERED, **TRACES},
    "mlflow_frame.parquet": {"turns": ANSWERED, **TRACES},
    "mlflow_trace.json": {"turns": ["opening"], "references": ["opening"]},
    "trulens_events.jsonl": {"turns": ANSWERED, "session": True},
    # TruLens stores the failed record with an empty output.
    "trulens_records.jsonl": {"turns": ALL, "contexts": [], "session": True},
    "trulens_records.csv": {"turns": ALL, "contexts": [], "session": True},
    "deepeval_test_run.json": {"turns": SINGLE, "references": ["opening"]},
    "deepeval_conversation.json": {"turns": TOUR, "session": True},
    "deepeval_dataset.json": {"turns": SINGLE, "references": ["opening"]},
    "deepeval_dataset.jsonl": {"turns": SINGLE, "references": ["opening"]},
    "deepeval_dataset.csv": {"turns": SINGLE, "references": ["opening"]},
    "ragas_multi_turn.jsonl": {"turns": [*TOUR, "high_water"], "contexts": []},
    "openai_chat_log.jsonl": {"turns": ANSWERED, "session": True},
    "openai_completions.jsonl": {"turns": ANSWERED, "contexts": [], "questions": False},
    "openai_batch_output.jsonl": {"turns": SINGLE, "contexts": [], "questions": False},
    "openai_batch_joined.jsonl": {"turns": SINGLE},
    "openai_fine_tuning.jsonl": {
        "turns": [name for name in [*SINGLE, *TOUR] if name != "empty_answer"],
        "contexts": [name for name in SINGLE if name not in {"ids_only", "empty_answer"}],
    },
    "openai_responses.jsonl": {"turns": ANSWERED},
}


def read(path, **options):
    use = []
    samples = list(open_dataset(path, **options).samples(on_columns=use.append))
    return samples, use[-1]


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_the_turns_that_were_recorded(name):
    expected = FILES[name]
    samples, _ = read(EXPORTS / name)
    turns = [TURNS[name] for name in expected["turns"]]

    assert [sample.response for sample in samples] == [turn["answer"] for turn in turns]
    for sample, turn in zip(samples, turns, strict=True):
        if expected.get("questions", True):
            assert sample.question == turn["question"]
        else:
            assert not sample.has(Field.QUESTION)
        if turn["passages"] and turn["name"] in expected.get("contexts", ALL):
            assert sample.contexts == tuple(turn["passages"])
        else:
            assert not sample.has(Field.CONTEXTS)
            assert sample.metadata["absent"]["contexts"]
        assert sample.reference == (
            turn["reference"] if turn["name"] in expected.get("references", ()) else None
        )
        if expected.get("session") and turn["session"]:
            assert sample.metadata["session_id"] == turn["session"]


@pytest.mark.parametrize("name", FILES)
def test_a_prefix_forces_the_format(name):
    prefix = name.partition("_")[0]

    assert read(f"{prefix}:{EXPORTS / name}")[0] == read(EXPORTS / name)[0]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("prefix", ["", "ragas:"])
def test_single_turns_of_ragas_are_columns(prefix, suffix):
    samples, _ = read(f"{prefix}{EXPORTS / 'ragas_dataset'}.{suffix}")
    turns = [turn for turn in TURNS.values() if turn["session"] is None]

    assert [sample.question for sample in samples] == [turn["question"] for turn in turns]
    assert [sample.response for sample in samples] == [turn["answer"] for turn in turns]
    assert [sample.reference for sample in samples] == [turn["reference"] for turn in turns]
    for sample, turn in zip(samples, turns, strict=True):
        assert sample.contexts == tuple(turn["passages"])
        assert sample.has(Field.CONTEXTS) is bool(turn["passages"])


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("langfuse_traces.json", "question ← CHAIN input; contexts ← RETRIEVER output, RERANKER output"),
        ("langsmith_runs.csv", "question ← CHAIN inputs; contexts ← RETRIEVER outputs, RERANKER outputs"),
        ("mlflow_frame.parquet", "question ← CHAIN inputs; contexts ← RETRIEVER outputs, RERANKER outputs"),
        (
            "trulens_events.jsonl",
            "question ← CHAIN record_root.input; contexts ← RETRIEVER retrieval.retrieved_contexts",
        ),
    ],
)
def test_the_report_has_the_names_of_the_tool_and_the_error_of_a_failed_run(name, fields):
    line = read(EXPORTS / name)[1].line()

    assert fields in line
    assert "1 turn gave no row: no answer, but an error: " in line
    assert "TimeoutError: the model did not answer within 30 s (1)." in line


def test_the_report_of_a_log_counts_records():
    line = read(EXPORTS / "openai_chat_log.jsonl")[1].line()

    assert line == (
        "OpenAI: 10 records gave 9 rows: question ← messages, role user, contexts ← tool search_documents,"
        " response ← messages, role assistant."
        " 1 turn gave no row: the request failed: TimeoutError: the model did not answer within 30 s (1)."
        " 1 row has no contexts: 2 retrieved documents have no text (1)."
    )
