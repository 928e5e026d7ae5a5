"""Score traces, and send the scores back as OpenTelemetry spans."""

import json
from pathlib import Path

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import sgi
from sgi.integrations.opentelemetry import upload_scores

# Rows from traces have these ids: sgi.run("traces.jsonl", ...) reads the files of a collector.
rows = [
    {
        "question": "How tall is the tower?",
        "contexts": ["The tower is 330 m tall."],
        "response": "It is 312 m tall.",
        "trace_id": "5b8efff798038103d269b633813fc60c",
        "span_id": "eee19b7ec3c1b174",
    },
    {
        "question": "Who built the tower?",
        "response": "Gustave Eiffel.",
        "trace_id": "7d1eae2a4ef4d5a8b2f9c7f0a3a1c9e2",
        "span_id": "0af7651916cd43dd",
    },
]
Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
run = sgi.run("rows.jsonl", ["grounding"])

exporter = InMemorySpanExporter()  # leave it out to send to OTEL_EXPORTER_OTLP_ENDPOINT
result = upload_scores(run, exporter)
print(f"{result.rows} rows sent, {result.left_out} left out")
for span in exporter.get_finished_spans():
    print(f"child of {span.parent.span_id:016x}:", span.events[0].name)
    for name, value in span.events[0].attributes.items():
        print(f"  {name}: {value:.2f}" if isinstance(value, float) else f"  {name}: {value}")
