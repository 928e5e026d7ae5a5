"""Rows of the files that real SDKs and clients wrote (tests/data/exports/README.md)."""

import gzip
from pathlib import Path

import pytest

from sgi.io import open_dataset
from sgi.kernel.sample import CONTEXTS, Field

CHANGED = {"service", "start", "document_scores"}
EXPORTS = Path(__file__).parents[2] / "data" / "exports"


def read(name, **options):
    use = []
    samples = list(open_dataset(EXPORTS / name, **options).samples(on_columns=use.append))
    return samples, use[-1]


def test_openinference_spans_give_a_row_per_turn():
    samples, use = read("openinference.otlp.jsonl")

    assert [sample.question for sample in samples] == [
        "Why does steam come out of the outdoor unit?",
        "What do I check before winter?",
        "The display shows E7 and 1.2 bar. What now?",
        *["How loud is quiet mode?", "And what is the factory setting of the heating curve?"] * 2,
        "May I add glycol?",
    ]
    assert use.line() == (
        "OpenTelemetry: 31 spans in 8 traces gave 8 rows:"
        " question ← CHAIN input.value, AGENT input.value;"
        " contexts ← RETRIEVER retrieval.documents, RERANKER reranker.output_documents;"
        " response ← CHAIN output.value, AGENT output.value."
        " 1 turn gave no row: no answer: no output and no call of a language model (1)."
        " 1 row has no contexts: 2 retrieved documents have no text (1)."
    )


def test_a_reranker_replaces_the_documents_of_two_retrievals():
    sample = read("openinference.otlp.jsonl")[0][1]

    assert [text[:9] for text in sample.contexts] == ["Clean the", "The syste"]
    assert sample.metadata["retrievals"] == 2
    assert not {"document_ids", "document_scores"} & sample.metadata.keys()
    assert (sample.context_ids, sample.context_scores) == (("d4", "d5"), (0.97, 0.93))


def test_the_output_of_a_tool_is_metadata():
    sample = read("openinference.otlp.jsonl")[0][2]

    assert sample.metadata["tools"] == ["read_sensors"]
    assert sample.metadata["tool_outputs"] == ['{"flow": 6.1, "pressure": 1.2}']
    assert len(sample.contexts) == 3
    assert not any("6.1" in text for text in sample.contexts)


def test_turns_of_a_session_have_its_id():
    samples = read("openinference.otlp.jsonl")[0]

    assert [sample.metadata.get("session_id") for sample in samples[3:7]] == ["session-1"] * 2 + [
        "session-2"
    ] * 2
    assert len({sample.metadata["trace_id"] for sample in samples[5:7]}) == 1
    assert all(sample.id.endswith(sample.metadata["span_id"]) for sample in samples[5:7])


def test_documents_without_text_leave_the_contexts_out():
    sample = read("openinference.otlp.jsonl")[0][7]

    assert not sample.has(Field.CONTEXTS)
    assert (
        sample.missing_reason(CONTEXTS) == "the sample has no contexts (2 retrieved documents have no text)"
    )


@pytest.mark.parametrize("name", ["genai.otlp.jsonl"])
def test_genai_spans_give_rows(name):
    samples, _ = read(name)

    assert [(sample.question, sample.response) for sample in samples] == [
        ("How often do I clean the strainer?", "Once a year, before the heating season."),
        ("What does E7 mean?", "The flow is below 8 litres per minute."),
        ("Is 1.7 bar right?", "Yes, 1.5 to 2.0 bar is right."),
    ]
    assert [len(sample.contexts) for sample in samples] == [2, 0, 2]
    assert samples[0].metadata["session_id"] == "conversation-9"
    assert samples[0].metadata["evaluations"] == {"relevance": {"score": 0.9, "label": "relevant"}}


def test_an_evaluation_can_be_the_label():
    columns = {"label": "metadata.evaluations.correctness.score"}

    assert read("openinference.otlp.jsonl", columns=columns)[0][0].label is True


@pytest.mark.parametrize("framing", ["pb", "delimited.pb", "collector.pb"])
@pytest.mark.parametrize("name", ["openinference", "genai"])
def test_protobuf_gives_the_same_rows_as_json(name, framing, tmp_path):
    file = EXPORTS / f"{name}.otlp.{framing}"

    assert read(file)[0] == read(f"{name}.otlp.jsonl")[0]
    packed = tmp_path / f"{file.name}.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read(packed)[0] == read(file)[0]


@pytest.mark.parametrize(
    "name",
    [
        "phoenix_spans.parquet",
        "phoenix_spans.csv",
        "phoenix_spans_records.json",
        "phoenix_spans_lines.jsonl",
        "phoenix_get_spans.json",
        "phoenix_rest_spans.json",
        "phoenix_otlp_spans.json",
    ],
)
def test_phoenix_gives_the_same_rows_as_opentelemetry(name):
    def rows(samples):  # Phoenix changes times, scores and the name of the service
        kept = [
            sample.model_dump(exclude={"context_scores": True, "metadata": CHANGED}) for sample in samples
        ]
        return sorted(kept, key=lambda row: row["id"])

    samples, use = read(name)

    assert rows(samples) == rows(read("openinference.otlp.jsonl")[0])
    assert use.line().startswith("Phoenix: 31 spans in 8 traces gave 8 rows: question ← ")
