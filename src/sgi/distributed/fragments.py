"""Fragments: parts of the data that a worker reads, scores and writes as one unit."""

from __future__ import annotations

import codecs
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from sgi.distributed.addresses import as_address
from sgi.distributed.storage import Source, open_input
from sgi.io.columns import checked_mapping
from sgi.io.empty_columns import NullColumns, look_ahead
from sgi.io.files import JSON_LINES, document_rows, suffix
from sgi.io.jsonl import json_lines
from sgi.io.parquet import arrow_rows, parquet_rows
from sgi.io.repeated_rows import judgement_rows
from sgi.io.rows import Reading
from sgi.io.text_file import numbered_lines, row_too_large
from sgi.kernel.conversation import turn_rows
from sgi.kernel.errors import DataError
from sgi.kernel.json_shapes import Count  # noqa: TC001 - pydantic reads the annotations
from sgi.kernel.limits import input_limits

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from sgi.engine.spec import RunSpec
    from sgi.io.column_use import ReportColumns
    from sgi.io.columns import Pairs
    from sgi.io.raw_rows import RawRow
    from sgi.io.rows import Reject
    from sgi.kernel.sample import Sample

MIN_FRAGMENT_BYTES, MAX_FRAGMENT_BYTES = 64 * 2**10, 4 * 2**20
"""Limits of the fragment size in bytes: large enough to open cheaply, small enough to repeat cheaply."""
_FRAGMENTS_PER_WORKER = 8
"""Fragments per worker for large data, so that all workers finish at about the same time."""
_ROWS_AT_ONCE = 512
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


@dataclass(frozen=True)
class Fragment:
    """A part of a file.

    ``begin`` is the first byte of JSON Lines, or the first row group of Parquet; ``parts`` counts lines or
    row groups (None: the whole file). ``first_line`` is the number of its first line in the file, or of its
    first row in a table; ``first_row`` that of its first row in the file.
    """

    source: Source
    begin: Count = 0
    parts: Count | None = None
    first_line: Count = 1
    first_row: Count = 1

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read the fragment that `to_dict` wrote."""
        return cls(**{**values, "source": Source(**values["source"])})


def fragment_size(total: int, workers: int) -> int:
    """Compute the fragment size in bytes from the total size and the number of workers."""
    return min(MAX_FRAGMENT_BYTES, max(MIN_FRAGMENT_BYTES, total // (_FRAGMENTS_PER_WORKER * workers)))


def split_file(source: Source, size: int) -> Iterator[Fragment]:
    """Split a file into fragments of about ``size`` bytes. Raises DataError if it cannot be read.

    JSON Lines are split at line ends, Parquet between row groups. Other formats, compressed files, UTF-16
    files and files with a given encoding are one fragment each.
    """
    kind = suffix(Path(source.shown))
    if kind == ".parquet":
        yield from _split_groups(source, size)
    elif kind in JSON_LINES and not (source.encoding or source.shown.casefold().endswith(".gz")):
        with open_input(source.place, source.shown) as stream:
            yield from _split_lines(source, stream, size)
    else:
        yield Fragment(source)


def _split_lines(source: Source, stream: IO[bytes], size: int) -> Iterator[Fragment]:
    begin = at = lines = rows = 0
    first = (1, 1)
    most = input_limits().row
    for line in iter(partial(stream.readline, most + 1), b""):
        if len(line) > most:
            raise row_too_large(source.shown, lines + 1)
        if at == 0 and line.startswith(_WIDE_MARKS):
            yield Fragment(source)
            return
        rows += not (line.removeprefix(codecs.BOM_UTF8) if at == 0 else line).isspace()
        at, lines = at + len(line), lines + 1
        if at - begin >= size:
            yield Fragment(source, begin, lines - first[0] + 1, *first)
            begin, first = at, (lines + 1, rows + 1)
    if at > begin:
        yield Fragment(source, begin, lines - first[0] + 1, *first)


def _split_groups(source: Source, size: int) -> Iterator[Fragment]:
    from pyarrow import ArrowException, parquet

    try:
        with open_input(source.place, source.shown) as stream:
            table = parquet.ParquetFile(stream).metadata
            groups = [table.row_group(number) for number in range(table.num_row_groups)]
    except (ArrowException, OSError) as error:
        raise _no_parquet(source, error) from error
    begin = rows = held = 0
    first = 1
    for number, group in enumerate(groups, 1):
        rows, held = rows + group.num_rows, held + group.total_byte_size
        if held >= size or number == len(groups):
            yield Fragment(source, begin, number - begin, first, first)
            begin, first, held = number, rows + 1, 0


class Expansion(NamedTuple):
    """The settings of a run that make several samples of a row of the data."""

    per_turn: bool = False
    repeat_judge: int = 1

    @classmethod
    def of(cls, spec: RunSpec) -> Self:
        """Return the settings in a spec."""
        return cls(spec.per_turn, spec.repeat_judge)

    def samples(self, row: Sample) -> Iterator[Sample]:
        """Yield the samples of a row: one for each turn, and for each judgement of its answer."""
        for sample in turn_rows(row) if self.per_turn else (row,):
            yield from judgement_rows(sample, self.repeat_judge)


ONE_SAMPLE = Expansion()
"""Each row is one sample."""


@dataclass(frozen=True, eq=False)
class FragmentDataset:
    """A fragment as a dataset; its samples, ids and errors equal those of a reading of the whole file.

    ``columns`` maps fields to columns. ``taken`` holds ids of earlier fragments, with their locations; rows
    with one of these ids are rejected. ``expansion`` says how many samples a row becomes.
    """

    fragment: Fragment
    columns: Mapping[str, str] | None = None
    taken: Mapping[str, str] = field(default_factory=dict)
    expansion: Expansion = ONE_SAMPLE

    @classmethod
    def of(cls, fragment: Fragment, spec: RunSpec, taken: Mapping[str, str]) -> Self:
        """Return the dataset of a fragment with the settings of the run."""
        return cls(fragment, spec.columns, taken, Expansion.of(spec))

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.fragment.source.shown).name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; missing mapped columns are checked over all fragments."""
        reading = self.reading()
        reading.on_columns = on_columns
        yield from self.read(reading, on_reject=on_reject)

    def reading(self) -> Reading:
        """Return a new reading state for the fragment; empty columns are determined from the whole file."""
        source, mapping = self.fragment.source, checked_mapping(self.columns)
        null = NullColumns()
        # Errors of the file are raised when its rows are read.
        with suppress(DataError), closing(raw_rows(Fragment(source), mapping)) as rows:
            _, null = look_ahead(rows, mapping)
        return Reading(source.shown, mapping, source.stem, null=null, taken=self.taken)

    def read(self, reading: Reading, *, on_reject: Reject | None = None) -> Iterator[Sample]:
        """Yield the samples in order, with the given reading state."""
        for _, row in self.with_lines(reading, on_reject=on_reject):
            yield from self.expansion.samples(row)

    def with_lines(
        self, reading: Reading, *, on_reject: Reject | None = None
    ) -> Iterator[tuple[int, Sample]]:
        """Yield the rows of the file in order, each with the line where it begins."""
        with closing(raw_rows(self.fragment, checked_mapping(self.columns))) as rows:
            yield from reading.read(enumerate(rows, self.fragment.first_row), on_reject)


def raw_rows(fragment: Fragment, mapping: Pairs = ()) -> Generator[RawRow]:
    """Yield the raw rows of a fragment, numbered as in their file. Raises DataError for a bad file."""
    source = fragment.source
    kind = suffix(Path(source.shown))
    with open_input(source.place, source.shown) as stream:
        if kind == ".parquet":
            yield from _group_rows(fragment, stream, mapping)
        elif kind in JSON_LINES:
            yield from json_lines(_number_rows(fragment, stream))
        else:
            yield from document_rows(stream, source.shown, mapping, source.encoding)


def _number_rows(fragment: Fragment, stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a fragment; the first line of a file may begin with a byte order mark."""
    if fragment.begin == 0:
        lines = numbered_lines(stream, fragment.source.shown, fragment.source.encoding)
        yield from islice(lines, fragment.parts)
        return
    try:
        stream.seek(fragment.begin)
        yield from zip(count(fragment.first_line), islice(stream, fragment.parts), strict=False)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise DataError(message, file=fragment.source.shown) from error


def _group_rows(fragment: Fragment, stream: IO[bytes], mapping: Pairs) -> Iterator[RawRow]:
    source, parts = fragment.source, fragment.parts
    groups = None if parts is None else list(range(fragment.begin, fragment.begin + parts))
    if as_address(source.place) is None:
        rows = parquet_rows(Path(source.place), mapping=mapping, groups=groups, shown=source.shown)
    else:
        rows = _remote_rows(source, stream, groups, mapping)
    for row in rows:
        yield row._replace(line=row.line + fragment.first_row - 1)


def _remote_rows(
    source: Source, stream: IO[bytes], groups: list[int] | None, mapping: Pairs
) -> Iterator[RawRow]:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.ParquetFile(stream)
        batches = table.iter_batches(batch_size=_ROWS_AT_ONCE, row_groups=groups)
        yield from arrow_rows(batches, table.schema_arrow.names, mapping=mapping, file=source.shown)
    except (ArrowException, OSError) as error:
        raise _no_parquet(source, error) from error


def _no_parquet(source: Source, error: Exception) -> DataError:
    reason = str(error).partition("\n")[0]
    return DataError(f"cannot be read as Parquet: {reason}", file=source.shown)
