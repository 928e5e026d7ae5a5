"""Targets that read rows."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz.registry import saved, seeds_of, target
from sgi.kernel.errors import SgiError
from support.otlp import answered_trace, json_request, request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sgi.io.raw_rows import RawRow

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
ROWS = (
    b'{"id": "a", "question": "Who?", "contexts": ["One.", {"text": "Two."}], "response": "She.", "label": true}',
    b'{"id": 7, "query": "How many?", "answer": "3", "ground_truth": ["3", "three"], "metadata": {"k": [1.5, null]}}',
)
TABLE = b"".join(
    (
        b"id,question,contexts,response,reference,label,metadata,source\r\n",
        b"""a,Who?,"['One.' 'Two.']",She.,She.,1,"{""k"": 1}",x\r\n""",
        b"""b,"How\nmany?","[""One."", ""Two.""]",3,,no,,y\r\n""",
    )
)


def consume(rows: Iterable[RawRow]) -> None:
    """Read rows to their end, and write samples and refused rows as a run would."""
    from sgi.io.rows import read_rows
    from sgi.io.write import json_line

    refused: list[Any] = []
    for sample in read_rows(rows, file="a.file", on_reject=refused.append):
        json_line(sample.model_dump(mode="json"))
    for row in refused:
        json_line({"error": str(row.error), "row": row.row})


def rows_of(path: Path) -> None:
    """Read a file as a dataset."""
    from sgi.io.files import file_rows

    consume(file_rows(path))


@target(TABLE, TABLE.decode().encode("utf-16"), weight=60)
def csv(data: bytes) -> None:
    from sgi.io.csv import csv_rows

    consume(csv_rows(io.BytesIO(data), "a.csv", mapping=(), delimiter=None))


@target(TABLE.replace(b",", b"\t"), weight=30)
def tsv(data: bytes) -> None:
    from sgi.io.csv import csv_rows

    consume(csv_rows(io.BytesIO(data), "a.tsv", mapping=(), delimiter="\t"))


@target(b"\n".join(ROWS), b"\n".join(ROWS).decode().encode("utf-16"), weight=80)
def jsonl(data: bytes) -> None:
    from sgi.io.jsonl import json_lines
    from sgi.io.text_file import numbered_lines

    consume(json_lines(numbered_lines(io.BytesIO(data), "a.jsonl")))


@target(b"[" + b",\n".join(ROWS) + b"]", b'{"version": 1, "data": [' + ROWS[0] + b"]}", ROWS[1], weight=60)
def json_document(data: bytes) -> None:
    from sgi.io.jsonl import json_file

    consume(json_file(io.BytesIO(data), "a.json"))


@seeds_of("compressed")
def _compressed() -> list[bytes]:
    packed = [gzip.compress(data, mtime=0) for data in (TABLE, b"\n".join(ROWS))]
    return [*packed, packed[1] + packed[1]]


@target(weight=20)
def compressed(data: bytes) -> None:
    for name in ("a.jsonl.gz", "a.csv.gz", "a.json.gz"):
        with suppress(SgiError):
            rows_of(saved(name, data))


@target(b"[{'text': 'a'}, array(['b', nan], dtype=object)]", b"['a' 'b']", b"[[1, 'x']]", weight=60)
def printed_list(data: bytes) -> None:
    from sgi.io.raw_rows import RawRow

    text = data.decode("utf-8", "surrogateescape")
    consume([RawRow(1, {"contexts": text, "response": "r", "metadata": text, "label": text}, kind="csv")])


@target(b"question=a.b.0.*\ncontexts=x,y\nresponse=", b"label=deep.label", weight=30)
def mapping(data: bytes) -> None:
    from sgi.cli.option_values import column_map
    from sgi.io.raw_rows import RawRow
    from sgi.io.rows import read_rows

    lines = data.decode("utf-8", "replace").split("\n")
    values = {"a": {"b": [{"c": 1}, None]}, "x": "1", "y": ["2"], "deep": '{"label": true}', lines[0]: "z"}
    list(read_rows([RawRow(1, values)], file="a", columns=column_map(lines)))


def _table() -> Any:
    from datetime import UTC, date, datetime

    import pyarrow as pa

    return pa.table(
        {
            "question": ["Who?", "Why?"],
            "contexts": [["a", "b"], None],
            "response": pa.array(["x", "x"]).dictionary_encode(),
            "when": pa.array([1, 2], pa.timestamp("ns", "Europe/Berlin")),
            "day": [date(2024, 1, 1), None],
            "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None]),
            "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "price": pa.array([1, None], pa.decimal128(10, 2)),
            "deep": [{"a": [{"b": 1.5}]}, None],
        }
    )


@seeds_of("parquet")
def _parquet() -> list[bytes]:
    from pyarrow import parquet as pq

    made = []
    for options in ({}, {"compression": "zstd", "data_page_version": "2.0"}, {"use_dictionary": False}):
        stream = io.BytesIO()
        pq.write_table(_table(), stream, **options)
        made.append(stream.getvalue())
    return made


@seeds_of("arrow")
def _arrow() -> list[bytes]:
    from pyarrow import ipc

    made = []
    for write in (ipc.new_stream, ipc.new_file):
        for compression in (None, "zstd"):
            stream = io.BytesIO()
            with write(stream, _table().schema, options=ipc.IpcWriteOptions(compression=compression)) as file:
                file.write_table(_table())
            made.append(stream.getvalue())
    return made


def _consume_decoded(write: Callable[[dict[str, int], io.BytesIO], None]) -> None:
    """Read what the worker process would write; its own boundary catches all that Arrow raises."""
    import pyarrow as pa

    from sgi.io.parquet import arrow_rows

    stream = io.BytesIO()
    with suppress(Exception, SystemExit):
        write({"cell": 4_000_000, "row": 8_000_000, "columns": 10_000}, stream)
    stream.seek(0)
    with suppress(pa.ArrowException, OSError), pa.ipc.open_stream(stream) as batches:
        consume(arrow_rows(batches, batches.schema.names, mapping=(), file="a.parquet"))


@target(weight=10)
def parquet(data: bytes) -> None:
    from pyarrow import parquet as pq

    from sgi.io.parquet_worker import write_parquet

    _consume_decoded(lambda asked, out: write_parquet(pq.ParquetFile(io.BytesIO(data)), asked, out))


@target(weight=10)
def arrow(data: bytes) -> None:
    import pyarrow as pa

    from sgi.io.parquet_worker import write_arrow

    _consume_decoded(lambda asked, out: write_arrow(pa.BufferReader(data), asked, out))


BENCHMARKS = {
    b"halueval": b'{"knowledge": "k", "question": "q", "right_answer": "r", "hallucinated_answer": "h"}',
    b"squad": b'{"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q",'
    b' "answers": [{"text": "a", "answer_start": 0}]}]}]}]}',
    b"ragtruth": b'{"id": "1", "task_type": "QA", "response": "r", "labels": [], "source_info": {"question": "q",'
    b' "passages": "p"}}',
    b"begin": b'{"knowledge": "k", "message": "m", "response": "r", "begin_label": "Generic"}',
}


@target(*(name + b"\n" + row for name, row in BENCHMARKS.items()), weight=20)
def benchmarks(data: bytes) -> None:
    from sgi.io import open_dataset

    name, _, rest = data.partition(b"\n")
    path = saved("b.json" if name == b"squad" else "b.jsonl", rest)
    if name in BENCHMARKS:
        for _ in open_dataset(f"{name.decode()}:{path}").samples(on_reject=lambda row: str(row.error)):
            pass


@seeds_of("exports")
def _exports() -> list[bytes]:
    """The first records of every export of JSON lines or CSV."""
    files = [path for path in EXPORTS.iterdir() if path.suffix in {".jsonl", ".csv"}]
    heads = [(path, path.read_bytes().splitlines(keepends=True)[:6]) for path in sorted(files)]
    return [f"{path.name}\n".encode() + b"".join(lines) for path, lines in heads]


@target(weight=20)
def exports(data: bytes) -> None:
    """A file as the format that its name forces, and as what its content says."""
    from sgi.io import open_dataset
    from sgi.io.readers import readers

    name, _, rest = data.partition(b"\n")
    prefix = name.decode("utf-8", "replace").partition("_")[0]
    path = saved("e.csv" if name.endswith(b"csv") else "e.jsonl", rest)
    for spelt in (f"{prefix}:{path}", str(path)) if prefix in readers() else (str(path),):
        with suppress(SgiError):
            for sample in open_dataset(spelt).samples(on_reject=lambda row: str(row.error)):
                sample.model_dump_json()


@seeds_of("otlp_requests")
def _otlp_requests() -> list[bytes]:
    """Requests as Protobuf and JSON, plain and compressed; the first byte tells which."""
    spans = [*answered_trace(1), *answered_trace(2)]
    bodies = [request(spans).SerializeToString(), json.dumps(json_request(spans)).encode()]
    packed = [gzip.compress(body, mtime=0) for body in bodies]
    return [bytes([number]) + body for number, body in enumerate([*bodies, *packed])]


@target(weight=60)
def otlp_requests(data: bytes) -> None:
    """A request of an exporter of OpenTelemetry, with the rows of its spans."""
    from sgi_traces.assemble import rows_of_trace
    from sgi_traces.span import Span
    from sgi_web.routes.otlp import CONTENT_LIMIT, JSON, PROTOBUF, decode_request, unpack

    number = data[0] % 4 if data else 0
    kind = JSON if number % 2 else PROTOBUF
    content = unpack(data[1:], CONTENT_LIMIT) if number > 1 else data[1:]
    items = decode_request(content or b"", kind)
    rows_of_trace([item for item in items if isinstance(item, Span)])
