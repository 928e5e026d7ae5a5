"""What a format of traces is: how it is recognised, and how its rows are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from sgi.io.traces.convert import rows_of_spans
from sgi.io.traces.sniff import first_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sgi.io.raw_rows import RawRow
    from sgi.io.traces.span import Span
    from sgi.io.traces.use import TraceUse


@dataclass(frozen=True)
class Head:
    """The beginning of a file, by which formats recognise it.

    Attributes:
        path: the file.
        data: its first 256 KB, decompressed.
    """

    path: Path
    data: bytes

    @cached_property
    def record(self) -> dict[str, Any] | None:
        """The first record of a file of JSON, a table or Parquet, as far as the data holds it, or None."""
        return first_record(self.path, self.data)


@dataclass(frozen=True)
class TraceFormat:
    """A format of traces, or of another tool's export.

    Attributes:
        name: the prefix that selects it, as in ``otel:PATH``.
        title: its name in messages.
        recognises: function that returns whether a file has this format.
        rows: function that yields the rows of a file and counts them; its arguments are the path, the counts
            and the encoding of text, or None.
    """

    name: str
    title: str
    recognises: Callable[[Head], bool]
    rows: Callable[[Path, TraceUse, str | None], Iterator[RawRow]]


def _rows_by_spans(
    spans: Callable[[Path, str | None], Iterator[Span | RawRow]],
    path: Path,
    use: TraceUse,
    encoding: str | None,
) -> Iterator[RawRow]:
    yield from rows_of_spans(spans(path, encoding), use)


def span_format(
    name: str,
    title: str,
    recognises: Callable[[Head], bool],
    spans: Callable[[Path, str | None], Iterator[Span | RawRow]],
) -> TraceFormat:
    """Make a format whose files hold spans; ``spans`` reads a file with an encoding, or None."""
    return TraceFormat(name, title, recognises, partial(_rows_by_spans, spans))
