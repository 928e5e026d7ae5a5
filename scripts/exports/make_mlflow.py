"""Write MLflow traces with the real client and a local SQLite store.

Run it in an environment with ``mlflow`` (or ``mlflow-skinny`` with SQLAlchemy, pandas and pyarrow).
"""

from __future__ import annotations

import json
import os
import sysconfig
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

os.environ["MLFLOW_TRACKING_URI"] = ""

import mlflow
from content import FOLDER, MODEL, SYSTEM, TURNS, Turn, documents
from mlflow.entities import AssessmentSource, Document, SpanType

OWN = ("mlflow.source.", "mlflow.user", "mlflow.artifactLocation", "mlflow.trace.sizeStats")
SITE = sysconfig.get_path("purelib")


class ModelError(Exception):
    """The error of the turn that fails."""


def record(turn: Turn) -> str:
    with mlflow.start_span("tidal-rag", span_type=SpanType.CHAIN) as root:
        root.set_inputs({"question": turn.question})
        facts = {"mlflow.trace.user": "visitor-7"}
        if turn.session:
            facts["mlflow.trace.session"] = turn.session
        mlflow.update_current_trace(tags={"turn": turn.name}, metadata=facts)
        for keys in turn.retrievals:
            with mlflow.start_span("search", span_type=SpanType.RETRIEVER) as span:
                span.set_inputs({"query": turn.question})
                span.set_outputs(mlflow_documents(turn, keys))
        if turn.reranked:
            with mlflow.start_span("rerank", span_type=SpanType.RERANKER) as span:
                span.set_inputs({"query": turn.question})
                span.set_outputs(mlflow_documents(turn, turn.reranked))
        if turn.tool:
            name, arguments, result = turn.tool
            with mlflow.start_span(name, span_type=SpanType.TOOL) as span:
                span.set_inputs(arguments)
                span.set_outputs(result)
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": turn.prompt}]
        with mlflow.start_span("answer", span_type=SpanType.CHAT_MODEL) as span:
            span.set_inputs({"model": MODEL, "messages": messages})
            if turn.error is not None:
                raise ModelError(turn.error)
            span.set_outputs({"choices": [{"message": {"role": "assistant", "content": turn.answer}}]})
        root.set_outputs({"answer": turn.answer})
        return root.trace_id


def assess(name: str, turn: Turn) -> None:
    source = AssessmentSource(source_type="HUMAN", source_id="reviewer")
    for key, value in turn.scores.items():
        mlflow.log_feedback(trace_id=name, name=key, value=value, source=source)
    if turn.reference:
        mlflow.log_expectation(trace_id=name, name="expected_response", value=turn.reference, source=source)


def mlflow_documents(turn: Turn, keys: tuple[str, ...]) -> list[object]:
    """Return documents in MLflow's own form, or plain objects without a text."""
    found = documents(turn, keys)
    if not turn.has_texts:
        return list(found)
    return [
        Document(
            page_content=item["content"], metadata={"doc_uri": item["metadata"]["source"]}, id=item["id"]
        )
        for item in found
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{Path(folder, 'mlflow.db')}")
        experiment = mlflow.create_experiment("kerrow", artifact_location=Path(folder, "files").as_uri())
        mlflow.set_experiment(experiment_id=experiment)
        names: dict[str, Turn] = {}
        for turn in TURNS:
            time.sleep(0.005)  # the store sorts traces by milliseconds
            with suppress(ModelError):
                names[record(turn)] = turn
        mlflow.flush_trace_async_logging()
        for name, turn in names.items():
            assess(name, turn)
        mlflow.flush_trace_async_logging()
        traces = mlflow.search_traces(
            locations=[experiment], return_type="list", order_by=["timestamp_ms ASC"]
        )
        frame = mlflow.search_traces(locations=[experiment], order_by=["timestamp_ms ASC"])
        rows = [clean(json.loads(trace.to_json()), folder) for trace in traces]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (FOLDER / "mlflow_traces.jsonl").write_text(text, encoding="utf-8")
    (FOLDER / "mlflow_trace.json").write_text(json.dumps(rows[0], indent=1) + "\n", encoding="utf-8")
    frame["request_time"] = frame["request_time"].astype("int64")
    for name in ("request", "response", "trace_metadata", "tags", "spans", "assessments"):
        frame[name] = frame[name].map(lambda value: clean(value, folder))
    frame = frame.drop(columns=["trace"])
    frame.to_json(FOLDER / "mlflow_frame.jsonl", orient="records", lines=True, force_ascii=False)
    frame.to_csv(FOLDER / "mlflow_frame.csv", index=False)
    for name in ("request", "response"):  # values of several types have no Parquet type
        frame[name] = frame[name].map(json.dumps)
    frame.to_parquet(FOLDER / "mlflow_frame.parquet")


def clean(value: Any, folder: str) -> Any:
    """Return the value without the user, the source, and the paths of this machine."""
    if isinstance(value, dict):
        return {key: clean(item, folder) for key, item in value.items() if not key.startswith(OWN)}
    if isinstance(value, list):
        return [clean(item, folder) for item in value]
    if isinstance(value, str):
        return (
            value.replace(folder, "/kerrow")
            .replace(str(Path(__file__).parent), "/kerrow")
            .replace(SITE, "/lib")
        )
    return value


if __name__ == "__main__":
    main()
