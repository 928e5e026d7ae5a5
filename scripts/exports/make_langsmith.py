"""Write LangSmith run exports with the real client, which sends its runs to a server on this machine.

Run it in an environment with ``langsmith``.
"""

from __future__ import annotations

import asyncio
import csv
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

os.environ["LANGSMITH_REVISION_ID"] = "1"

import langsmith
from content import FOLDER, MODEL, SYSTEM, TURNS, Turn, documents
from langsmith import Client
from langsmith.run_trees import RunTree

if TYPE_CHECKING:
    from langsmith.schemas import Run

RUNS: dict[str, dict[str, Any]] = {}
FEEDBACK: dict[str, dict[str, Any]] = {}
SESSION = "7b0c6c1e-58a4-4e0f-9f56-0a4e7f0b4a11"


class Handler(BaseHTTPRequestHandler):
    """Keeps runs and feedback, and returns the runs as the API does."""

    def do_GET(self) -> None:
        if "/sessions" in self.path:
            return self._reply(
                [{"id": SESSION, "name": "kerrow", "tenant_id": SESSION, "reference_dataset_id": None}]
            )
        return self._reply({"version": "0.15.0", "batch_ingest_config": None})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        if self.path.endswith("/v2/runs/query"):
            return self._reply({"items": [newer(served(run)) for run in RUNS.values()], "next_cursor": None})
        if self.path.endswith("/runs/query"):
            return self._reply({"runs": [served(run) for run in RUNS.values()], "cursors": {"next": None}})
        if self.path.endswith("/runs"):
            RUNS[body["id"]] = body
        elif self.path.endswith("/feedback"):
            FEEDBACK.setdefault(body["run_id"], {})[body["key"]] = {"n": 1, "avg": body["score"]}
        return self._reply({})

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.path.rpartition("/")[2]
        RUNS[name] = {
            **RUNS.get(name, {}),
            **{key: value for key, value in body.items() if value is not None},
        }
        self._reply({})

    def _reply(self, values: Any) -> None:
        text = json.dumps(values).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        """Print nothing."""


def served(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run as the server returns it: with its session, status and feedback."""
    held = {
        key: value
        for key, value in run.items()
        if key not in {"session_name", "serialized", "child_runs", "attachments"}
    }
    held["extra"] = {
        **held["extra"],
        "runtime": {"sdk": "langsmith-py", "sdk_version": langsmith.__version__},
    }
    return {
        **held,
        "session_id": SESSION,
        "status": "error" if run.get("error") else "success",
        "feedback_stats": FEEDBACK.get(run["id"]),
    }


def newer(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run as the newer API returns it."""
    held = {key: value for key, value in run.items() if key not in {"parent_run_id", "extra", "session_id"}}
    around = [part.partition("Z")[2] for part in run["dotted_order"].split(".")[:-1]]
    metadata = run["extra"]["metadata"]
    return {
        **held,
        "project_id": run["session_id"],
        "run_type": run["run_type"].upper(),
        "status": run["status"].upper(),
        "parent_run_ids": around,
        "is_root": not around,
        "metadata": metadata,
        "thread_id": metadata.get("session_id"),
    }


async def query(client: Client) -> list[dict[str, Any]]:
    """Return the runs of the newer API."""
    runs = client.runs.query(project_ids=[SESSION], selects=["ID", "RUN_TYPE", "INPUTS", "OUTPUTS"])
    return [json.loads(run.model_dump_json(exclude_unset=True)) async for run in runs]


def record(client: Client, turn: Turn) -> None:
    extra = {"metadata": {"turn": turn.name, **({"session_id": turn.session} if turn.session else {})}}
    root = RunTree(
        name="tidal-rag",
        run_type="chain",
        inputs={"question": turn.question},
        project_name="kerrow",
        extra=extra,
        tags=["rag"],
        client=client,
    )
    root.post()
    for keys in turn.retrievals:
        step(
            root,
            "search",
            "retriever",
            {"query": turn.question},
            {"documents": langchain_documents(turn, keys)},
        )
    if turn.reranked:
        step(
            root,
            "rerank",
            "chain",
            {"query": turn.question},
            {"output": langchain_documents(turn, turn.reranked)},
        )
    if turn.tool:
        name, arguments, result = turn.tool
        step(root, name, "tool", {"input": json.dumps(arguments)}, {"output": result})
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": turn.prompt}]
    answer = {"choices": [{"message": {"role": "assistant", "content": turn.answer}}]}
    step(root, MODEL, "llm", {"messages": messages}, answer, turn.error)
    if turn.error is None:
        root.end(outputs={"answer": turn.answer})
    else:
        root.end(error=turn.error)
    root.patch()
    for name, value in turn.scores.items():
        client.create_feedback(root.id, name, score=value, trace_id=root.trace_id)


def step(
    root: RunTree,
    name: str,
    kind: str,
    inputs: dict[str, Any],
    outputs: dict[str, Any],
    error: str | None = None,
) -> None:
    child = root.create_child(name=name, run_type=kind, inputs=inputs)
    child.post()
    child.end(error=error) if error else child.end(outputs=outputs)
    child.patch()


def langchain_documents(turn: Turn, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return documents in the form that LangChain's tracer records."""
    return [
        {
            "page_content": document.get("content", ""),
            "type": "Document",
            "metadata": {**document["metadata"], "id": document["id"]},
        }
        if turn.has_texts
        else {"type": "Document", "metadata": {**document["metadata"], "id": document["id"]}}
        for document in documents(turn, keys)
    ]


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = Client(
        api_url=f"http://127.0.0.1:{server.server_port}",
        api_key="kerrow",
        auto_batch_tracing=False,
        info={"version": "0.16.0"},
    )
    for turn in TURNS:
        record(client, turn)
    client.flush()
    runs: list[Run] = list(client.list_runs(project_name="kerrow"))
    newer_rows = asyncio.run(query(client))
    server.shutdown()
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in newer_rows)
    (FOLDER / "langsmith_query.jsonl").write_text(text, encoding="utf-8")
    rows = [json.loads(run.model_dump_json(exclude={"attachments", "child_runs"})) for run in runs]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (FOLDER / "langsmith_runs.jsonl").write_text(text, encoding="utf-8")
    columns = list(rows[0])
    with (FOLDER / "langsmith_runs.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in rows:
            writer.writerow(
                json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
                for value in map(row.get, columns)
            )


if __name__ == "__main__":
    main()
