"""Make the OpenTelemetry files in tests/data/exports with the real SDK and exporters.

Needs opentelemetry-sdk, opentelemetry-exporter-otlp-json-file, opentelemetry-exporter-otlp-proto-common and
openinference-instrumentation. Run: ``python scripts/exports/make_otel.py [FOLDER]``. Ids and times are fixed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import openinference.instrumentation as oi
from google.protobuf.internal.encoder import _VarintBytes
from opentelemetry import trace
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Status, StatusCode

FOLDER = Path(__file__).parents[2] / "tests" / "data" / "exports"
SECOND = 1_000_000_000
BEGIN = 1_790_000_000 * SECOND
MODEL = "gpt-4.1-mini"

DEFROST = (
    "A heat pump defrosts its outdoor coil when frost forms on it. During a defrost, which takes 5 to 10 "
    "minutes, steam may rise from the unit and the fan stops."
)
QUIET = (
    "Quiet mode lowers the fan speed of the outdoor unit. It lowers the sound level to 41 dB(A) at 1 metre."
)
CURVE = (
    "The heating curve sets the flow temperature for each outdoor temperature. The factory setting is 0.6."
)
FILTER = "Clean the strainer in the return pipe once a year, before the heating season."
PRESSURE = "The system pressure should be between 1.5 and 2.0 bar when the system is cold."
FAULT = "Fault E7 means that the flow switch measured less than 8 litres per minute."
GLYCOL = "Do not add glycol to the heating water: it lowers the heat capacity."


class FixedIds(IdGenerator):
    """Ids from a seeded generator, so that the files do not change."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - ids of test data

    def generate_span_id(self) -> int:
        return self.random.getrandbits(64)

    def generate_trace_id(self) -> int:
        return self.random.getrandbits(128)


@dataclass
class Recorder:
    """Records spans with fixed times; each step takes a quarter of a second."""

    tracer: trace.Tracer
    clock: Any = field(default_factory=lambda: count(BEGIN, SECOND // 4))

    def span(
        self, name: str, attributes: dict[str, Any], parent: Span | None = None, events: tuple = ()
    ) -> Span:
        """Start a span; `end` ends it."""
        context = None if parent is None else trace.set_span_in_context(parent)
        span = self.tracer.start_span(name, context, attributes=attributes, start_time=next(self.clock))
        for event, values in events:
            span.add_event(event, values, timestamp=next(self.clock))
        return span

    def end(self, *spans: Span) -> None:
        """End spans in this order."""
        for span in spans:
            span.end(next(self.clock))

    def step(
        self, name: str, attributes: dict[str, Any], parent: Span | None = None, events: tuple = ()
    ) -> None:
        """Record a span without children."""
        self.end(self.span(name, attributes, parent, events))


class Keep(SpanExporter):
    """Keeps the finished spans in batches."""

    def __init__(self) -> None:
        self.batches: list[list[ReadableSpan]] = []

    def export(self, spans: Any) -> SpanExportResult:
        self.batches.append(list(spans))
        return SpanExportResult.SUCCESS


def kind(name: str) -> dict[str, Any]:
    """The attribute of a span's kind."""
    return oi.get_span_kind_attributes(name)


def texts(question: str | None = None, answer: str | None = None) -> dict[str, Any]:
    """The attributes of input and output."""
    given = {} if question is None else oi.get_input_attributes(question)
    return given if answer is None else given | oi.get_output_attributes(answer)


def documents(*pairs: tuple[str, str | None, float]) -> list[dict[str, Any]]:
    """Documents with id, text and score."""
    return [
        {"id": name, "score": score, "metadata": {"source": "manual.pdf"}}
        | ({} if text is None else {"content": text})
        for name, text, score in pairs
    ]


def retriever(query: str, *pairs: tuple[str, str | None, float]) -> dict[str, Any]:
    """The attributes of a retrieval."""
    found = documents(*pairs)
    return kind("retriever") | texts(query) | oi.get_retriever_attributes(documents=found)


def model(asked: list[dict[str, Any]], reply: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a call of a language model."""
    return kind("llm") | oi.get_llm_attributes(
        model_name=MODEL, provider="openai", input_messages=asked, output_messages=[reply],
        token_count={"prompt": 210, "completion": 40, "total": 250},
    )  # fmt: skip


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    """A message of the model."""
    return {"role": "assistant", "content": text}


def prompt(question: str, *passages: str) -> list[dict[str, Any]]:
    """The messages to the model: instructions, and passages with the question."""
    system = {"role": "system", "content": "Answer from the passages only."}
    return [system, user("\n\n".join(["Passages:", *passages, f"Question: {question}"]))]


def openinference(record: Recorder) -> None:
    """Record the cases of a RAG application with OpenInference attributes."""
    simple(record)
    reranked(record)
    with_tool(record)
    session_of_traces(record)
    session_in_one_trace(record)
    without_text(record)
    without_answer(record)


def simple(record: Recorder) -> None:
    """One retrieval and one call; a person has judged the answer."""
    question = "Why does steam come out of the outdoor unit?"
    answer = "That is normal during a defrost, which takes 5 to 10 minutes."
    verdict = {"name": "correctness", "score": 1.0, "label": "correct", "annotator_kind": "HUMAN"}
    root = record.span(
        "answer",
        kind("chain") | texts(question, answer) | oi.get_metadata_attributes(metadata={"tenant": "north"})
        | oi.get_evaluation_attributes(evaluations=[verdict]),
    )  # fmt: skip
    record.step("search", retriever(question, ("d1", DEFROST, 0.91), ("d2", QUIET, 0.44)), root)
    record.step("chat", model(prompt(question, DEFROST, QUIET), assistant(answer)), root)
    record.end(root)


def reranked(record: Recorder) -> None:
    """Two retrievals, joined and reranked."""
    question = "What do I check before winter?"
    answer = "Clean the strainer and check that the pressure is between 1.5 and 2.0 bar."
    root = record.span("answer", kind("chain") | texts(question, answer))
    first = (("d4", FILTER, 0.8), ("d2", QUIET, 0.5))
    second = (("d5", PRESSURE, 0.75), ("d4", FILTER, 0.7))
    record.step("search", retriever("annual maintenance", *first), root)
    record.step("search", retriever("system pressure winter", *second), root)
    ranked = oi.get_reranker_attributes(
        query=question, model_name="rerank-english", top_k=2,
        input_documents=documents(*first, second[0]),
        output_documents=documents(("d4", FILTER, 0.97), ("d5", PRESSURE, 0.93)),
    )  # fmt: skip
    record.step("rerank", kind("reranker") | ranked, root)
    record.step("chat", model(prompt(question, FILTER, PRESSURE), assistant(answer)), root)
    record.end(root)


def with_tool(record: Recorder) -> None:
    """An agent that calls a tool and searches."""
    question = "The display shows E7 and 1.2 bar. What now?"
    answer = "E7 means too little flow. Refill the system to 1.5 to 2.0 bar and clean the strainer."
    call = {"id": "c1", "function": {"name": "read_sensors", "arguments": {"unit": 17}}}
    root = record.span("agent", kind("agent") | texts(question, answer))
    record.step("chat", model([user(question)], {"role": "assistant", "tool_calls": [call]}), root)
    tool = kind("tool") | oi.get_tool_attributes(name="read_sensors", parameters={"unit": "integer"})
    record.step("read_sensors", tool | texts('{"unit": 17}', '{"flow": 6.1, "pressure": 1.2}'), root)
    found = (("d6", FAULT, 0.95), ("d5", PRESSURE, 0.81), ("d4", FILTER, 0.64))
    record.step("search", retriever("fault E7 flow switch", *found), root)
    record.step("chat", model(prompt(question, FAULT, PRESSURE, FILTER), assistant(answer)), root)
    record.end(root)


TURNS = (
    ("How loud is quiet mode?", "It is 41 dB(A) at one metre.", ("d2", QUIET, 0.9)),
    ("And what is the factory setting of the heating curve?", "It is 0.6.", ("d3", CURVE, 0.88)),
)


def session_of_traces(record: Recorder) -> None:
    """Two turns of a session, each a trace."""
    for question, answer, document in TURNS:
        session = oi.get_session_attributes(session_id="session-1")
        root = record.span("answer", kind("chain") | texts(question, answer) | session)
        record.step("search", retriever(question, document), root)
        record.step("chat", model(prompt(question, document[1]), assistant(answer)), root)
        record.end(root)


def session_in_one_trace(record: Recorder) -> None:
    """Two turns in one trace, under the span of the connection."""
    socket = record.span("websocket", {"session.id": "session-2"})
    for question, answer, document in TURNS:
        turn = record.span("answer", kind("chain") | texts(question, answer), socket)
        record.step("search", retriever(question, document), turn)
        record.step("chat", model(prompt(question, document[1]), assistant(answer)), turn)
        record.end(turn)
    record.end(socket)


def without_text(record: Recorder) -> None:
    """A retrieval that records ids and scores only."""
    question, answer = "May I add glycol?", "No, because it lowers the heat capacity."
    root = record.span("answer", kind("chain") | texts(question, answer))
    record.step("search", retriever(question, ("d7", None, 0.9), ("d5", None, 0.3)), root)
    record.step("chat", model(prompt(question, GLYCOL), assistant(answer)), root)
    record.end(root)


def without_answer(record: Recorder) -> None:
    """A request that failed before the model was called."""
    root = record.span("answer", kind("chain") | texts("Which refrigerant does the unit use?"))
    record.step("search", kind("retriever") | texts("refrigerant"), root)
    root.set_status(Status(StatusCode.ERROR, "the index is not available"))
    record.end(root)


def message(role: str, text: str) -> dict[str, Any]:
    """A message as the GenAI conventions have it."""
    return {"role": role, "parts": [{"type": "text", "content": text}]}


CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": MODEL, "gen_ai.provider.name": "openai"}


def retrieved(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The attributes of a retrieval."""
    return {
        "gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "manuals",
        "gen_ai.retrieval.query.text": "How often do I clean the strainer?",
        "gen_ai.retrieval.documents": json.dumps(found),
    }  # fmt: skip


def genai(record: Recorder) -> None:
    """Record the cases of the OpenTelemetry GenAI conventions and of OpenLLMetry."""
    genai_agent(record)
    genai_events(record)
    openllmetry(record)


def genai_agent(record: Recorder) -> None:
    """An agent with messages in attributes."""
    question = "How often do I clean the strainer?"
    answer = "Once a year, before the heating season."
    agent = record.span(
        "invoke_agent helpdesk",
        {
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helpdesk",
            "gen_ai.conversation.id": "conversation-9",
            "gen_ai.input.messages": json.dumps([message("user", question)]),
            "gen_ai.output.messages": json.dumps([message("assistant", answer) | {"finish_reason": "stop"}]),
        },
    )  # fmt: skip
    texts_found = [
        {"id": "d4", "score": 0.8, "content": FILTER},
        {"id": "d5", "score": 0.4, "content": PRESSURE},
    ]
    record.step("retrieval manuals", retrieved(texts_found), agent)
    asked = [message("user", question)]
    replied = [message("assistant", answer) | {"finish_reason": "stop"}]
    result = ("gen_ai.evaluation.result", {
        "gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.9,
        "gen_ai.evaluation.score.label": "relevant",
    })  # fmt: skip
    attributes = CHAT | {
        "gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(replied),
    }  # fmt: skip
    record.step(f"chat {MODEL}", attributes, agent, (result,))
    record.end(agent)


def genai_events(record: Recorder) -> None:
    """A request with messages in events, and documents without text."""
    request = record.span("POST /ask", {"http.request.method": "POST"})
    only_ids = [{"id": "d6", "score": 0.95}, {"id": "d5", "score": 0.6}]
    record.step("retrieval manuals", retrieved(only_ids), request)
    events = (
        ("gen_ai.system.message", {"content": "Answer from the passages only."}),
        ("gen_ai.user.message", {"content": "What does E7 mean?"}),
        ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": json.dumps(
            {"role": "assistant", "content": "The flow is below 8 litres per minute."})}),
    )  # fmt: skip
    record.step(f"chat {MODEL}", CHAT, request, events)
    record.end(request)


def openllmetry(record: Recorder) -> None:
    """A workflow with the attributes of OpenLLMetry."""
    older = CHAT | {
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Is 1.7 bar right?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Yes, 1.5 to 2.0 bar is right.",
    }  # fmt: skip
    workflow = record.span(
        "ask.workflow",
        {
            "traceloop.span.kind": "workflow", "traceloop.entity.name": "ask",
            "traceloop.entity.input": json.dumps({"inputs": {"question": "Is 1.7 bar right?"}}),
            "traceloop.entity.output": json.dumps({"outputs": {"answer": "Yes, 1.5 to 2.0 bar is right."}}),
        },
    )  # fmt: skip
    rows = tuple(
        ("db.query.result", {"db.query.result.id": name, "db.query.result.document": text,
                             "db.query.result.score": 0.5})
        for name, text in (("d5", PRESSURE), ("d7", GLYCOL))
    )  # fmt: skip
    record.step("chroma.query", {"db.system": "chroma"}, workflow, rows)
    record.step("openai.chat", older | {"llm.request.type": "chat"}, workflow)
    record.end(workflow)


def make(folder: Path, name: str, record_cases: Any, seed: int) -> None:
    """Record the cases, and write them as JSON lines and as Protobuf."""
    keep = Keep()
    provider = TracerProvider(
        resource=Resource({"service.name": "heat-pump-help", "service.version": "1.4.0"}),
        id_generator=FixedIds(seed),
    )
    processor = BatchSpanProcessor(keep, max_export_batch_size=8, schedule_delay_millis=600_000)
    provider.add_span_processor(processor)
    record_cases(Recorder(provider.get_tracer("demo")))
    provider.shutdown()
    with (folder / f"{name}.otlp.jsonl").open("w", encoding="utf-8") as stream:
        exporter = FileSpanExporter(stream=stream)
        for batch in keep.batches:
            exporter.export(batch)
    requests = [encode_spans(batch).SerializeToString() for batch in keep.batches]
    (folder / f"{name}.otlp.pb").write_bytes(b"".join(requests))  # joined messages are one message
    delimited = b"".join(_VarintBytes(len(request)) + request for request in requests)
    (folder / f"{name}.otlp.delimited.pb").write_bytes(delimited)
    # The file exporter of the collector writes 4 bytes before each message.
    fixed = b"".join(len(request).to_bytes(4, "big") + request for request in requests)
    (folder / f"{name}.otlp.collector.pb").write_bytes(fixed)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    target.mkdir(parents=True, exist_ok=True)
    make(target, "openinference", openinference, seed=1)
    make(target, "genai", genai, seed=2)
