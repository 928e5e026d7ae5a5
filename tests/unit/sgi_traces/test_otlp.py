import json
import sys
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from sgi.io import open_dataset
from sgi.kernel.errors import DataError, MissingExtraError, UnknownNameError, UsageError
from sgi_traces.group_spans import by_trace
from sgi_traces.otlp_json import request_spans
from sgi_traces.otlp_protobuf import framing_of, message_spans

EXPORTS = Path(__file__).parents[2] / "data" / "exports"
TEXTS = {"input.value": "Who?", "output.value": "She."}


def span(trace=1, number=1, attributes=TEXTS, **fields):
    values = [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else value}
        for key, value in attributes.items()
    ]
    return {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "attributes": values} | fields


def request(*spans):
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


@pytest.fixture
def read(tmp_path):
    def read(text, name="traces.jsonl", prefix=""):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else json.dumps(text) + "\n", encoding="utf-8")
        rejected = []
        samples = list(
            open_dataset(f"{prefix}{path}").samples(on_reject=lambda row: rejected.append(row.error))
        )
        return samples, [str(error).removeprefix(f"{path}:") for error in rejected]

    return read


@pytest.mark.parametrize("name", ["traces.jsonl", "traces.json", "traces.txt", "traces"])
def test_a_file_is_recognised_by_its_content(read, name):
    assert read(request(span()), name)[0][0].question == "Who?"


@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_and_a_list_of_requests_are_read(read, indent):
    for document in (request(span(1), span(2)), [request(span(1)), request(span(2))]):
        assert len(read(json.dumps(document, indent=indent))[0]) == 2


def test_rows_are_in_the_order_of_the_first_spans(read):
    lines = [request(span(2, 1)), request(span(1, 1)), request(span(2, 2, {}, parentSpanId=f"{1:016x}"))]
    samples, _ = read("".join(json.dumps(line) + "\n" for line in lines))

    assert [sample.id for sample in samples] == [f"{2:032x}", f"{1:032x}"]


def test_scattered_spans_give_the_same_rows_from_the_temporary_database():
    spans = [item for n in range(300) for item in request_spans(request(span(n % 50 + 1, n + 1)), n)]

    assert list(by_trace(spans, memory=1000)) == list(by_trace(spans))


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (
            span(traceId="12"),
            "id '0000000000000001': field 'traceId': expected 32 hexadecimal digits, found text '12'",
        ),
        (span(trace=0), "field 'traceId': expected an id, found only zeros"),
        (span(spanId=None), "1: field 'spanId': expected 16 hexadecimal digits, found nothing"),
        (span(endTimeUnixNano="soon"), "field 'endTimeUnixNano': expected a whole number, found text 'soon'"),
        (span(attributes={"input.value": 3}), "field 'input.value': expected an object such as stringValue"),
        (span(events=[3]), "field 'events': expected an object, found number 3"),
    ],
)
def test_a_wrong_span_is_rejected_with_its_place(read, wrong, error):
    samples, errors = read(json.dumps(request(wrong)) + "\n" + json.dumps(request(span(2))))

    assert len(samples) == 1
    assert errors[0].startswith("1: ")
    assert error in errors[0]


def test_a_row_among_exports_is_rejected_and_other_signals_are_ignored(read):
    row = {"question": "Who?", "response": "She."}
    lines = [request(span()), row, {"resourceLogs": []}, {}]
    samples, errors = read("".join(json.dumps(line) + "\n" for line in lines))

    assert len(samples) == 1
    assert errors == ["2: is not an export of OpenTelemetry, which has resourceSpans"]


def test_a_broken_line_is_rejected_and_a_broken_document_stops(read):
    whole = json.dumps(request(span()))
    assert read(f"{whole}\n{whole[:60]}\n")[1][0].startswith("2: invalid JSON")

    with pytest.raises(DataError, match=r":\d+: invalid JSON"):
        read(json.dumps(request(span()), indent=2)[:-10])


def test_deep_values_are_rejected(read):
    value = {"stringValue": "x"}
    for _ in range(70):
        value = {"arrayValue": {"values": [value]}}

    assert "nested deeper than 60 levels" in read(request(span(attributes={"input.value": value})))[1][0]


def test_limits_apply_to_lines_and_rows(read, monkeypatch):
    monkeypatch.setenv("SGI_MAX_CELL", "1KB")
    text = "x" * 2000
    assert "larger than 1 KB" in read(request(span(attributes={**TEXTS, "input.value": text})))[1][0]

    monkeypatch.setenv("SGI_MAX_FILE", "1KB")
    with pytest.raises(DataError, match="--max-file"):
        read(request(span(attributes={**TEXTS, "unused": text})))


def test_a_trace_above_the_limit_is_rejected(read, monkeypatch):
    monkeypatch.setenv("SGI_MAX_FILE", "2KB")
    lines = [request(span(1, n, {**TEXTS, "input.value": "x" * 500})) for n in range(1, 9)]

    assert "the trace is larger than 2 KB" in read("".join(json.dumps(line) + "\n" for line in lines))[1][0]


@pytest.mark.parametrize("text", ['{"resourceSpans": []}', '{"resourceSpans": [{}]}', " "])
def test_a_file_without_spans_is_an_error(read, text):
    with pytest.raises(DataError, match="has no spans"):
        read(text, prefix="otel:")


def test_ids_may_be_base64(read):
    ids = {"traceId": "AAAAAAAAAAAAAAAAAAAAAQ==", "spanId": "AAAAAAAAAAE="}

    assert read(request(span(**ids)))[0][0].id == f"{1:032x}"


def test_a_parent_of_zeros_is_not_a_parent():
    (read_json,) = request_spans(request(span(parentSpanId="0" * 16)), 1)
    ids = {"trace_id": b"t" * 16, "span_id": b"s" * 8, "parent_span_id": bytes(8)}
    message = TracesData(resource_spans=[{"scope_spans": [{"spans": [ids]}]}])
    (read_protobuf,) = message_spans(message.SerializeToString(), 1)
    assert read_json.parent_id is None
    assert read_protobuf.parent_id is None


def test_protobuf_ids_of_zeros_are_refused():
    ids = {"trace_id": bytes(16), "span_id": b"s" * 8}
    message = TracesData(resource_spans=[{"scope_spans": [{"spans": [ids]}]}])
    (row,) = message_spans(message.SerializeToString(), 1)
    assert (row.values.field, row.values.sample_id) == ("traceId", b"s".hex() * 8)


def test_names_of_formats(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("{}")
    with pytest.raises(UsageError, match="otel"):
        open_dataset(f"otel(a=b):{path}")
    with pytest.raises(UsageError):
        open_dataset("otel:")
    with pytest.raises(UnknownNameError) as caught:
        open_dataset("otell:a.jsonl")
    assert (caught.value.name, "otel" in caught.value.suggestions) == ("otell", True)


def test_text_is_not_protobuf():
    assert framing_of(b"") is None
    assert framing_of(json.dumps(request(span())).encode()) is None


@pytest.mark.parametrize("name", ["pb", "delimited.pb", "collector.pb"])
def test_protobuf_that_is_cut_off_is_an_error(tmp_path, name):
    path = tmp_path / f"cut.{name}"
    path.write_bytes((EXPORTS / f"genai.otlp.{name}").read_bytes()[:-10])

    with pytest.raises(DataError):
        list(open_dataset(path).samples(on_reject=lambda _: None))


def test_a_protobuf_file_needs_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.trace.v1.trace_pb2", None)
    with pytest.raises(MissingExtraError) as caught:
        list(open_dataset(EXPORTS / "genai.otlp.pb").samples())
    assert caught.value.extra == "otlp"


def test_a_trace_with_a_span_that_cannot_be_read_has_no_contexts(read):
    documents = {"openinference.span.kind": "RETRIEVER", "retrieval.documents.0.document.content": "She did."}
    parent = {"parentSpanId": f"{1:016x}"}
    broken = span(1, 3, documents, startTimeUnixNano="yesterday", **parent)
    (sample,), errors = read(request(span(), span(1, 2, documents, **parent), broken))

    assert len(errors) == 1
    assert sample.response == "She."
    assert sample.metadata["absent"] == {"contexts": "1 of the trace's spans cannot be read"}


def test_the_place_of_a_protobuf_span_that_cannot_be_read_is_in_its_trace():
    span = {"trace_id": b"t" * 16, "span_id": b"short"}
    message = TracesData(resource_spans=[{"scope_spans": [{"spans": [span]}]}])
    error, place = message_spans(message.SerializeToString(), 1)

    assert (error.values.field, error.values.sample_id) == ("spanId", b"short".hex())
    assert (place.trace_id, place.is_readable) == (b"t".hex() * 16, False)


def test_an_evaluation_keeps_its_annotator_beside_its_event(read):
    evaluation = {"name": "grounding", "label": "ok", "score": {"doubleValue": 0.5}, "annotator_kind": "CODE"}
    attributes = {f"evaluations.0.evaluation.{key}": value for key, value in evaluation.items()}
    values = {"name": "grounding", "score.value": {"doubleValue": 0.5}, "score.label": "ok"}
    event = span(attributes={f"gen_ai.evaluation.{key}": value for key, value in values.items()})
    event = {"name": "gen_ai.evaluation.result", "attributes": event["attributes"]}
    (sample,), _ = read(request(span(attributes=TEXTS | attributes, events=[event])))

    assert sample.metadata["evaluations"]["grounding"]["annotator"] == "CODE"
