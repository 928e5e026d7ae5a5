"""The formats of traces and exports: recognised by their content, or named as in ``otel:PATH``."""

from __future__ import annotations

import codecs
import re
import zlib
from typing import TYPE_CHECKING

from sgi.io.text_file import open_bytes
from sgi.io.traces.dataset import TraceDataset
from sgi.io.traces.exports import EXPORTS
from sgi.io.traces.formats import Head, TraceFormat, span_format
from sgi.io.traces.otlp_json import otlp_json_spans
from sgi.io.traces.otlp_protobuf import framing_of, otlp_protobuf_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.io.raw_rows import RawRow
    from sgi.io.traces.span import Span

_HEAD = 262_144
_RESOURCE_SPANS = re.compile(rb'[\s\xef\xbb\xbf]*(?:\[\s*)?\{\s*"(?:resourceSpans|resource_spans)"\s*:')


def _is_otlp(head: Head) -> bool:
    return _RESOURCE_SPANS.match(head.data) is not None or framing_of(head.data) is not None


def _otlp(path: Path, encoding: str | None) -> Iterator[Span | RawRow]:
    framing = framing_of(read_head(path))
    with open_bytes(path) as stream:
        if framing is None:
            yield from otlp_json_spans(stream, str(path), encoding)
        else:
            yield from otlp_protobuf_spans(stream, str(path), framing)


TRACE_FORMATS: dict[str, TraceFormat] = {
    known.name: known for known in (span_format("otel", "OpenTelemetry", _is_otlp, _otlp), *EXPORTS)
}
"""Every format, by its prefix. A file has the first format that recognises it."""


def recognise(path: Path) -> TraceFormat | None:
    """Return the format of a file of traces; None for other files. Raises DataError if it cannot open."""
    head = Head(path, read_head(path))
    return next((known for known in TRACE_FORMATS.values() if known.recognises(head)), None)


def read_head(path: Path) -> bytes:
    """Return the first 256 KB of a file, decompressed and in UTF-8; empty if it cannot be decompressed."""
    with open_bytes(path) as stream:
        try:
            data = stream.read(_HEAD)
        except (OSError, EOFError, zlib.error):
            return b""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # PowerShell writes it
        return codecs.getincrementaldecoder("utf-16")("replace").decode(data).encode("utf-8", "replace")
    return data


def open_traces(
    path: Path, known: TraceFormat, columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> TraceDataset:
    """Open a file of a format as a dataset. Raises DataError if it cannot be opened."""
    with open_bytes(path):
        pass
    return TraceDataset(path, known, columns, encoding)
