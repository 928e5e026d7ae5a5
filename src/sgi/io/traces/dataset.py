"""A dataset of the rows of a file of traces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgi.io.rows import read_rows
from sgi.io.traces.kept_rows import KeptRows, can_keep, stamp_of
from sgi.io.traces.use import TraceUse, counted
from sgi.kernel.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.io.column_use import ReportColumns
    from sgi.io.raw_rows import RawRow
    from sgi.io.rows import Reject, RejectedRow
    from sgi.io.traces.formats import TraceFormat
    from sgi.kernel.sample import Sample


@dataclass(eq=False)
class TraceDataset:
    """The rows of a file of traces or of another tool's export; it is converted at the first reading.

    ``columns`` maps fields to columns of the converted rows, such as ``metadata.evaluations.human.score``.
    """

    path: Path
    format: TraceFormat
    columns: Mapping[str, str] | None = None
    encoding: str | None = None
    _kept: KeptRows | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; see `sgi.io.rows.read_rows` for rejected rows."""
        path = str(self.path)
        kept = self._kept
        if kept is not None and kept.stamp == stamp_of(self.path):
            use, rows = kept.use, kept.rows()
        else:
            use = TraceUse(self.format.title)
            rows = self._convert(use)
        is_rejected = False

        def reject(rejected: RejectedRow) -> None:
            nonlocal is_rejected
            is_rejected = True
            if on_reject is None:
                raise rejected.error
            on_reject(rejected)

        yield from read_rows(rows, file=path, columns=self.columns, on_reject=reject)
        if not use.rows and not is_rejected:
            reasons = f": {counted(use.unanswered)}" if use.unanswered else ""
            problem = (
                f"none of {use.parts()} gave a row{reasons}" if use.spans or use.records else "has no spans"
            )
            raise DataError(problem, file=path)
        if on_columns is not None:
            on_columns(use.columns(self.columns))

    def _convert(self, use: TraceUse) -> Iterator[RawRow]:
        """Yield the rows, and keep them for the next reading if they are read to the end."""
        kept = KeptRows(use, stamp_of(self.path)) if can_keep() else None
        for row in self.format.rows(self.path, use, self.encoding):
            if kept is not None and not kept.add(row):
                kept = None
            yield row
        if kept is not None:
            kept.finish()
            self._kept = kept
