"""Write Langfuse exports with the real client, which sends its spans to a server on this machine.

Run it in an environment with ``langfuse``. The part of the server, from spans to observations, follows the
response model of the client (``ObservationV2``) and the documented fields of the blob storage export.
"""

from __future__ import annotations

import csv
import json
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import itemgetter
from typing import Any

from content import FOLDER, MODEL, SYSTEM, TURNS, Turn, documents
from langfuse import Langfuse, propagate_attributes
from langfuse.api import ObservationV2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SPANS: list[dict[str, Any]] = []
SCORES: list[dict[str, Any]] = []
RENAMED = {"model": "provided_model_name"}


class Handler(BaseHTTPRequestHandler):
    """Records the spans and scores that the client sends."""

    def do_GET(self) -> None:
        self._reply({"data": [{"id": "kerrow", "name": "kerrow"}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/v1/traces"):
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    SPANS.extend(map(span_dict, scope.spans))
        elif self.path.endswith("/ingestion"):
            SCORES.extend(event["body"] for event in json.loads(body)["batch"])
        self._reply({"successes": [], "errors": []})

    def _reply(self, values: dict[str, Any]) -> None:
        text = json.dumps(values).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        """Print nothing."""


def span_dict(span: Any) -> dict[str, Any]:
    attributes = {item.key: attribute_value(item.value) for item in span.attributes}
    return {
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex() or None,
        "name": span.name,
        "began": span.start_time_unix_nano,
        "start": moment(span.start_time_unix_nano),
        "end": moment(span.end_time_unix_nano),
        "attributes": attributes,
    }


def attribute_value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [attribute_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None


def moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds // 1_000_000 / 1000, UTC)


def record(client: Langfuse, turn: Turn) -> None:
    facts = {"session_id": turn.session} if turn.session else {}
    with (
        propagate_attributes(trace_name="tidal-rag", user_id="visitor-7", tags=["rag", "kerrow"], **facts),
        client.start_as_current_observation(
            name="tidal-rag", as_type="chain", input={"question": turn.question}, metadata={"turn": turn.name}
        ) as root,
    ):
        for keys in turn.retrievals:
            with client.start_as_current_observation(
                name="search", as_type="retriever", input={"query": turn.question}
            ) as step:
                step.update(output=documents(turn, keys))
        if turn.reranked:
            with client.start_as_current_observation(
                name="rerank", as_type="span", input={"query": turn.question}
            ) as step:
                step.update(output=documents(turn, turn.reranked), metadata={"top_k": len(turn.reranked)})
        if turn.tool:
            name, arguments, result = turn.tool
            with client.start_as_current_observation(name=name, as_type="tool", input=arguments) as step:
                step.update(output=result)
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": turn.prompt}]
        with client.start_as_current_observation(
            name="answer",
            as_type="generation",
            model=MODEL,
            input=messages,
            model_parameters={"temperature": 0},
        ) as step:
            if turn.error is not None:
                step.update(level="ERROR", status_message=turn.error)
                root.update(level="ERROR", status_message=turn.error)
            else:
                step.update(
                    output={"role": "assistant", "content": turn.answer},
                    usage_details={"input": len(turn.prompt) // 4, "output": len(turn.answer or "") // 4},
                )
                root.update(output={"answer": turn.answer})
        for name, value in turn.scores.items():
            root.score_trace(name=name, value=value)


def observation(span: dict[str, Any]) -> ObservationV2:
    """Return the observation that the server stores for a span of the client."""
    held = span["attributes"]

    def parsed(name: str) -> Any:
        text = held.get(f"langfuse.observation.{name}")
        try:
            return json.loads(text)
        except (TypeError, ValueError):
            return text

    metadata = {
        key.removeprefix("langfuse.observation.metadata."): json.loads(value)
        for key, value in held.items()
        if key.startswith("langfuse.observation.metadata.")
    }
    return ObservationV2(
        id=span["id"],
        trace_id=span["trace"],
        project_id="kerrow",
        parent_observation_id=span["parent"],
        is_root_observation=span["parent"] is None,
        type=held["langfuse.observation.type"].upper(),
        name=span["name"],
        start_time=span["start"],
        end_time=span["end"],
        level=held.get("langfuse.observation.level", "DEFAULT"),
        status_message=held.get("langfuse.observation.status_message"),
        environment="default",
        user_id=held.get("user.id"),
        session_id=held.get("session.id"),
        trace_name=held.get("langfuse.trace.name"),
        tags=held.get("langfuse.trace.tags"),
        input=parsed("input"),
        output=parsed("output"),
        metadata=metadata,
        model=held.get("langfuse.observation.model.name"),
        model_parameters=parsed("model.parameters"),
        usage_details=parsed("usage_details"),
        latency=(span["end"] - span["start"]).total_seconds(),
    )


def api_row(values: dict[str, Any]) -> dict[str, Any]:
    """Return the observation as the API returns it: input and output as texts."""
    texts = {key: values[key] for key in ("input", "output") if isinstance(values.get(key), (dict, list))}
    return {**values, **{key: json.dumps(value, ensure_ascii=False) for key, value in texts.items()}}


def blob_row(values: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a scheduled export: snake case, texts in place of objects, empty texts for null."""
    row: dict[str, Any] = {}
    for key, value in values.items():
        name = RENAMED.get(key) or "".join(
            f"_{letter.lower()}" if letter.isupper() else letter for letter in key
        )
        if name in {"input", "output", "model_parameters"}:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            row[name] = "" if value is None else text
        elif name in {"start_time", "end_time"}:
            row[name] = value.replace("T", " ").replace("Z", "")
        elif name == "parent_observation_id":
            row[name] = value or ""
        elif name != "is_root_observation":
            row[name] = value
    return row


def table_row(values: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a CSV export: nested values as JSON."""
    return {
        key: json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
        for key, value in values.items()
    }


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = Langfuse(
        public_key="pk-lf-kerrow",
        secret_key="sk-lf-kerrow",
        base_url=f"http://127.0.0.1:{server.server_port}",
    )
    for turn in TURNS:
        record(client, turn)
    client.flush()
    client.shutdown()
    server.shutdown()
    spans = sorted(SPANS, key=itemgetter("began"))
    rows = [json.loads(observation(span).json(by_alias=True)) for span in spans]
    scores = [
        {"id": score["id"], "traceId": score["traceId"], "name": score["name"], "value": score["value"]}
        for score in SCORES
    ]
    write_lines("langfuse_observations.jsonl", map(api_row, rows))
    write_lines("langfuse_blob_export.jsonl", map(blob_row, rows))
    write_table("langfuse_observations.csv", [*map(table_row, rows)])
    traces = [trace(rows, scores, name) for name in dict.fromkeys(row["traceId"] for row in rows)]
    text = json.dumps(traces, ensure_ascii=False, indent=1)
    (FOLDER / "langfuse_traces.json").write_text(text + "\n", encoding="utf-8")


def trace(rows: list[dict[str, Any]], scores: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return a trace with its observations and scores, as the API gives a single trace."""
    own = [row for row in rows if row["traceId"] == name]
    root = next(row for row in own if row.get("parentObservationId") is None)
    return {
        "id": name,
        "timestamp": root["startTime"],
        "name": root["traceName"],
        "input": root.get("input"),
        "output": root.get("output"),
        "sessionId": root.get("sessionId"),
        "userId": root.get("userId"),
        "tags": root.get("tags"),
        "metadata": root.get("metadata"),
        "observations": own,
        "scores": [score for score in scores if score["traceId"] == name],
    }


def write_lines(name: str, rows: Any) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (FOLDER / name).write_text(text, encoding="utf-8")


def write_table(name: str, rows: list[dict[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with (FOLDER / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
