"""The readers of traces and exports, in the order in which they look at a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.io.named_parts import PART_READERS
from sgi.io.readers import read_head
from sgi.io.text_file import open_bytes
from sgi_traces.otlp_json import otlp_json_spans
from sgi_traces.otlp_protobuf import framing_of, otlp_protobuf_spans
from sgi_traces.tool_exports import EXPORTS
from sgi_traces.trace_formats import span_format

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sgi.io.raw_rows import RawRow
    from sgi.io.readers import Head, Reader
    from sgi_traces.span import Span

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


READERS: tuple[Reader, ...] = (
    span_format("otel", "OpenTelemetry", _is_otlp, _otlp),
    *EXPORTS,
    *PART_READERS,
)
"""Every format. A file has the first one that recognises it."""
