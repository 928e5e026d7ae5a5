"""Measure spans per second and peak memory of reading traces whose spans are scattered over the file.

    python benchmarks/traces.py [--quick]

Each trace has eight spans. The file has the last span of every trace, then the one before it, and so on, so
that children come before their parents and no trace is complete before the end of the file.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from harness import Figure, benchmark_main

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (10_000, 100_000, 1_000_000)
SPANS_OF_TRACE = 8
SPANS_OF_LINE = 512
WANTED = 20_000
PASSAGES = 4
WORDS = ["paris", "rome", "emma", "austen", "wrote", "the", "of", "novel", "river", "tower", "built", "1889"]
RANDOM = random.Random(0)  # noqa: S311 - data, not a secret


def text(words: int) -> str:
    return " ".join(RANDOM.choices(WORDS, k=words))


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"doubleValue": value}}
        for key, value in values.items()
    ]


def documents(prefix: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for number in range(PASSAGES):
        values[f"{prefix}.{number}.document.content"] = text(50)
        values[f"{prefix}.{number}.document.id"] = f"d{number}"
        values[f"{prefix}.{number}.document.score"] = 0.5
    return values


def messages(prefix: str, *texts: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for number, content in enumerate(texts):
        values[f"{prefix}.{number}.message.role"] = ("system", "user", "assistant")[number % 3]
        values[f"{prefix}.{number}.message.content"] = content
    return values


def span(trace: int, position: int) -> dict[str, Any]:
    """Return a span of a trace: a chain, two retrievals, a reranking, a tool, an embedding and two calls."""
    kinds = ["CHAIN", "EMBEDDING", "RETRIEVER", "RETRIEVER", "RERANKER", "TOOL", "LLM", "LLM"]
    kind = kinds[position]
    values: dict[str, Any] = {"openinference.span.kind": kind}
    if kind == "CHAIN":
        values |= {"input.value": text(10), "output.value": text(40), "session.id": f"s{trace // 4}"}
    elif kind == "RETRIEVER":
        values |= {"input.value": text(10)} | documents("retrieval.documents")
    elif kind == "RERANKER":
        values |= documents("reranker.output_documents")
    elif kind == "LLM":
        values |= messages("llm.input_messages", text(20), text(200))
        values |= messages("llm.output_messages", text(40)) | {"llm.model_name": "model"}
    begin = 1_790_000_000_000_000_000 + trace * 1_000_000_000 + position * 1_000_000
    return {
        "traceId": f"{trace + 1:032x}",
        "spanId": f"{trace * SPANS_OF_TRACE + position + 1:016x}",
        "parentSpanId": f"{trace * SPANS_OF_TRACE + 1:016x}" if position else "",
        "name": kind.lower(),
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + 900_000),
        "attributes": attributes(values),
    }


def write(path: Path, spans: int) -> None:
    traces = spans // SPANS_OF_TRACE
    owner = {"attributes": attributes({"service.name": "benchmark"})}
    waiting: list[dict[str, Any]] = []
    with path.open("w", encoding="utf-8") as stream:
        for position in reversed(range(SPANS_OF_TRACE)):
            for trace in range(traces):
                waiting.append(span(trace, position))
                if len(waiting) == SPANS_OF_LINE or (not position and trace == traces - 1):
                    group = {"resource": owner, "scopeSpans": [{"spans": waiting}]}
                    stream.write(json.dumps({"resourceSpans": [group]}) + "\n")
                    waiting = []


def read(path: Path) -> None:
    """Read the file twice, as a run does, and print the seconds, the rows and the peak memory."""
    from sgi.io import open_dataset

    dataset = open_dataset(path)
    seconds = []
    rows = 0
    for _ in range(2):
        start = perf_counter()
        rows = sum(1 for _ in dataset.samples())
        seconds.append(perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"seconds": seconds, "rows": rows, "peak": peak}))


def measure(*, quick: bool) -> Iterator[Figure]:
    for spans in SIZES[:1] if quick else SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "spans.jsonl"
            write(path, spans)
            size = path.stat().st_size / 1e6
            command = [sys.executable, __file__, "--read", str(path)]
            result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        first, second = result["seconds"]
        work = f"traces to rows, {spans:,} spans of OTLP JSON, {size:,.0f} MB"
        yield Figure(work, "spans/s", spans / first, wanted=WANTED)
        yield Figure(f"{work}: second reading", "spans/s", spans / second)
        yield Figure(f"{work}: peak memory", "MB", result["peak"], higher_is_better=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]))
    else:
        benchmark_main(measure)
