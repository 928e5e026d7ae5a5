"""The readers of traces and of other tools' exports, in the order in which they look at a file."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from sgi.io.files import check_encoded, check_readable, file_rows, require_rows, suffix
from sgi.io.jsonl import json_file
from sgi.io.named_parts import PART_READERS
from sgi.io.raw_rows import RawRow
from sgi.io.readers import Head, read_head
from sgi.io.text_file import open_bytes
from sgi.kernel.errors import DataError
from sgi.kernel.input_limits import check_time
from sgi_traces.deepeval_export import RUN_LISTS, DeepEvalReader, is_deepeval
from sgi_traces.graphrag_answers import is_graphrag, names_method
from sgi_traces.graphrag_folder import AnswerFolder, answer_files, reader_of
from sgi_traces.group_spans import rows_of_spans
from sgi_traces.langfuse_export import is_langfuse, langfuse_spans
from sgi_traces.langsmith_export import is_langsmith, langsmith_spans
from sgi_traces.mlflow_export import is_mlflow, mlflow_reference, mlflow_spans
from sgi_traces.openai_log import OpenAIReader, is_openai
from sgi_traces.otlp_json import otlp_json_spans
from sgi_traces.otlp_protobuf import framing_of, otlp_protobuf_spans
from sgi_traces.phoenix_export import is_phoenix, phoenix_spans
from sgi_traces.ragas_export import is_ragas, ragas_rows
from sgi_traces.span import Span, is_utf8, unreadable_span
from sgi_traces.trace_formats import TraceFormat
from sgi_traces.trulens_export import EVENT_NAMES, is_event, is_trulens, trulens_rows, trulens_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from sgi.io.readers import Reader
    from sgi_traces.assemble import TraceRows
    from sgi_traces.graphrag_answers import GraphRAGReader
    from sgi_traces.span import Span
    from sgi_traces.trace_use import TraceUse

    Record = Mapping[str, Any]
    Spans = Callable[[Record, int], list[Span]]
    Rows = Callable[[Record, int], TraceRows]
    """Makes rows of a record and its number, which is the id of a conversation without one."""


_FIRST_RECORDS = 20
_TRACE_IDS = ("traceId", "trace_id", "context.trace_id")
_ANSWERS = {"output", "actual_output", "response"}
"""Columns of answers, in which an empty cell of CSV is an empty answer."""


def _records(path: Path, encoding: str | None) -> Iterator[RawRow]:
    check_readable(path)
    check_encoded(path, encoding)
    return require_rows(file_rows(path, None, encoding), str(path))


def _spans_of(records: Iterable[RawRow], convert: Spans) -> Iterator[Span | RawRow]:
    for record in records:
        check_time()
        if isinstance(record.values, DataError):
            yield record
            continue
        values = _mapping(record)
        try:
            yield from convert(values, record.line)
        except DataError as error:
            yield RawRow(record.line, error)
            context = values.get("context")
            ids = {**values, **context} if isinstance(context, dict) else values
            trace = next((ids[key] for key in _TRACE_IDS if isinstance(ids.get(key), str)), "")
            if trace and is_utf8(trace):
                yield unreadable_span(trace, record.line)


def _rows_of(records: Iterable[RawRow], convert: Rows, use: TraceUse) -> Iterator[RawRow]:
    for record in records:
        check_time()
        use.records += 1
        if isinstance(record.values, DataError):
            yield record
            continue
        try:
            values = _mapping(record)
            if record.kind == "csv":  # CSV has no null
                values = {**values, **{key: "" for key in _ANSWERS & values.keys() if values[key] is None}}
            result = convert(values, use.records)  # a whole list of records may be on one line
        except DataError as error:
            yield RawRow(record.line, error)
            continue
        use.add_unanswered(result.unanswered)
        for row in result.rows:
            use.add_row(row)
            yield RawRow(record.line, row.values)


def _mapping(record: RawRow) -> Record:
    assert isinstance(record.values, dict)  # noqa: S101 - files have no samples
    return record.values


def _names(input_name: str, output_name: str) -> dict[str, str]:
    """Map attributes of OpenInference to the names of a tool's input and output."""
    inputs = dict.fromkeys(("input.value", "gen_ai.input.messages"), input_name)
    outputs = ("output.value", "gen_ai.output.messages", "retrieval.documents")
    return inputs | dict.fromkeys(outputs, output_name)


def _langfuse(path: Path, use: TraceUse, encoding: str | None) -> Iterator[RawRow]:
    yield from rows_of_spans(_spans_of(_records(path, encoding), langfuse_spans), use)
    use.name_sources(_names("input", "output"))


def _langsmith(path: Path, use: TraceUse, encoding: str | None) -> Iterator[RawRow]:
    yield from rows_of_spans(_spans_of(_records(path, encoding), langsmith_spans), use)
    use.name_sources(_names("inputs", "outputs"))


def _phoenix(path: Path, use: TraceUse, encoding: str | None) -> Iterator[RawRow]:
    yield from rows_of_spans(_spans_of(_records(path, encoding), phoenix_spans), use)


def _mlflow(path: Path, use: TraceUse, encoding: str | None) -> Iterator[RawRow]:
    references: dict[str, str] = {}

    def spans(values: Record, line: int) -> list[Span]:
        converted = mlflow_spans(values, line)
        if (reference := mlflow_reference(values)) is not None:
            references[converted[0].trace_id] = reference
        return converted

    for row in rows_of_spans(_spans_of(_records(path, encoding), spans), use):
        if isinstance(row.values, dict) and row.values["id"] in references:
            use.sources.setdefault("reference", {})["expectation"] = None
            yield row._replace(values={**row.values, "reference": references[row.values["id"]]})
        else:
            yield row
    use.name_sources(_names("inputs", "outputs"))


def _trulens(path: Path, use: TraceUse, encoding: str | None) -> Iterator[RawRow]:
    records = _records(path, encoding)
    first = next(records)
    records = chain([first], records)
    if isinstance(first.values, dict) and is_event(first.values):
        yield from rows_of_spans(_spans_of(records, trulens_spans), use)
        use.name_sources(EVENT_NAMES)
    else:
        yield from _rows_of(records, trulens_rows, use)


def _deepeval(path: Path, use: TraceUse, encoding: str | None) -> Iterator[RawRow]:
    records = _records(path, encoding)
    if suffix(path) == ".json":
        with open_bytes(path) as stream:
            records = require_rows(json_file(stream, str(path), encoding, RUN_LISTS), str(path))
            yield from _rows_of(records, DeepEvalReader().rows, use)
    else:
        yield from _rows_of(records, DeepEvalReader().rows, use)


def _ragas(path: Path, use: TraceUse, encoding: str | None) -> Iterator[RawRow]:
    yield from _rows_of(_records(path, encoding), ragas_rows, use)


def _openai(path: Path, use: TraceUse, encoding: str | None) -> Iterator[RawRow]:
    yield from _rows_of(_records(path, encoding), OpenAIReader().rows, use)


def _graphrag(
    path: Path, use: TraceUse, encoding: str | None, reader: GraphRAGReader | None = None
) -> Iterator[RawRow]:
    if path.is_dir():
        for file, method in answer_files(path):
            yield from _graphrag(file, use, encoding, reader_of(file, method))
    else:
        records, reader = _records(path, encoding), reader or reader_of(path)
        first = [*islice(records, _FIRST_RECORDS)]
        if any(names_method(one.values) for one in first if isinstance(one.values, dict)):
            reader.method = None  # a record without a method is of none, not of the one of its file
        yield from _rows_of(chain(first, records), reader.rows, use)


def _graphrag_folder(path: Path, columns: Mapping[str, str] | None, encoding: str | None) -> AnswerFolder:
    return AnswerFolder(path, "GraphRAG", _graphrag, columns, encoding)


def _is_graphrag(head: Head) -> bool:
    if head.path.is_dir():
        try:
            return any(_is_graphrag(Head(path, read_head(path))) for path, _ in answer_files(head.path))
        except DataError:
            return False
    return head.record is not None and is_graphrag(head.record)


def _by_record(recognises: Callable[[Record], bool]) -> Callable[[Head], bool]:
    return lambda head: head.record is not None and recognises(head.record)


EXPORTS = (
    TraceFormat("phoenix", "Phoenix", _by_record(is_phoenix), _phoenix),
    TraceFormat("langfuse", "Langfuse", _by_record(is_langfuse), _langfuse),
    TraceFormat("langsmith", "LangSmith", _by_record(is_langsmith), _langsmith),
    TraceFormat("mlflow", "MLflow", _by_record(is_mlflow), _mlflow),
    TraceFormat("trulens", "TruLens", _by_record(is_trulens), _trulens),
    TraceFormat("deepeval", "DeepEval", _by_record(is_deepeval), _deepeval),
    TraceFormat("ragas", "ragas", _by_record(is_ragas), _ragas),
    TraceFormat("openai", "OpenAI", _by_record(is_openai), _openai),
    TraceFormat("graphrag", "GraphRAG", _is_graphrag, _graphrag, _graphrag_folder),
)
"""The exports by their prefixes; a file has the first format that recognises its first record."""


_RESOURCE_SPANS = re.compile(rb'[\s\xef\xbb\xbf]*(?:\[\s*)?\{\s*"(?:resourceSpans|resource_spans)"\s*:')


def _is_otlp(head: Head) -> bool:
    return _RESOURCE_SPANS.match(head.data) is not None or framing_of(head.data) is not None


def _otlp_spans(path: Path, encoding: str | None) -> Iterator[Span | RawRow]:
    framing = framing_of(read_head(path))
    with open_bytes(path) as stream:
        if framing is None:
            yield from otlp_json_spans(stream, str(path), encoding)
        else:
            yield from otlp_protobuf_spans(stream, str(path), framing)


def _otlp(path: Path, use: TraceUse, encoding: str | None) -> Iterator[RawRow]:
    yield from rows_of_spans(_otlp_spans(path, encoding), use)


READERS: tuple[Reader, ...] = (
    TraceFormat("otel", "OpenTelemetry", _is_otlp, _otlp),
    *EXPORTS,
    *PART_READERS,
)
"""Every format. A file has the first one that recognises it."""
