"""Targets that read traces."""

import io
import json
from pathlib import Path

from fuzz.registry import saved, seeds_of, target
from sgi.io import open_dataset
from sgi.io.raw_rows import RawRow
from sgi.io.write import json_line
from sgi.kernel.errors import DataError
from sgi_traces.assemble import rows_of_trace
from sgi_traces.group_spans import by_trace
from sgi_traces.otlp_json import otlp_json_spans
from sgi_traces.span import Span

EXPORTS = Path(__file__).parents[1] / "data" / "exports"


def read(name: str, data: bytes) -> None:
    """Read a file of a named format twice, and write its rows and rejected rows as a run would."""
    kind, _, file = name.partition(":")
    dataset = open_dataset(f"{kind}:{saved(file, data)}")
    rows = [list(dataset.samples(on_reject=lambda row: str(row.error))) for _ in range(2)]
    assert rows[0] == rows[1]
    for sample in rows[0]:
        json_line(sample.model_dump(mode="json"))


def first_lines(name: str, count: int) -> bytes:
    """The first lines of an export."""
    return b"".join((EXPORTS / name).read_bytes().splitlines(keepends=True)[:count])


@seeds_of("otlp_json")
def _otlp_json() -> list[bytes]:
    return [first_lines("openinference.otlp.jsonl", 1), first_lines("genai.otlp.jsonl", 2)]


@target(weight=40)
def otlp_json(data: bytes) -> None:
    read("otel:a.jsonl", data)


@seeds_of("scattered_spans")
def _scattered() -> list[bytes]:
    return _otlp_json()


@target(weight=20)
def scattered_spans(data: bytes) -> None:
    """The rows of a trace do not depend on where its spans are kept."""

    def results(memory: int) -> list[str]:
        return [_result(item) for item in by_trace(otlp_json_spans(io.BytesIO(data), "a.jsonl"), memory)]

    assert sorted(results(10**9)) == sorted(results(500))


def _result(item: list[Span] | RawRow) -> str:
    if isinstance(item, RawRow):
        return f"{item.line} {item.values}"
    try:
        return repr(rows_of_trace(item))
    except DataError as error:
        return str(error)


@seeds_of("otlp_protobuf")
def _otlp_protobuf() -> list[bytes]:
    return [(EXPORTS / f"genai.otlp.{name}").read_bytes() for name in ("pb", "delimited.pb", "collector.pb")]


@target(weight=40)
def otlp_protobuf(data: bytes) -> None:
    read("otel:a.pb", data)


@seeds_of("phoenix")
def _phoenix() -> list[bytes]:
    return [first_lines("phoenix_spans_lines.jsonl", 4), b"\n".join(_rest_spans())]


def _rest_spans() -> list[bytes]:
    spans = json.loads((EXPORTS / "phoenix_rest_spans.json").read_bytes())["data"]
    return [json.dumps(span).encode() for span in spans[2:6]]


@target(weight=30)
def phoenix(data: bytes) -> None:
    read("phoenix:a.jsonl", data)


@seeds_of("phoenix_table")
def _phoenix_table() -> list[bytes]:
    return [first_lines("phoenix_spans.csv", 6)]


@target(weight=20)
def phoenix_table(data: bytes) -> None:
    read("phoenix:a.csv", data)
