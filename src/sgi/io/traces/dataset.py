"""A dataset of the rows of a file of traces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sgi.io.rows import read_rows
from sgi.io.traces.row_cache import RowCache, can_cache, stamp_of
from sgi.io.traces.use import TraceUse, list_reasons
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
    _cache: RowCache | None = field(default=None, init=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the samples in order; see `sgi.io.rows.read_rows` for rejected rows."""
        path = str(self.path)
        cache = self._cache
        if cache is not None and cache.stamp == stamp_of(self.path):
            use, rows = cache.use, cache.rows()
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
            reasons = f": {list_reasons(use.unanswered)}" if use.unanswered else ""
            problem = (
                f"none of {use.parts()} gave a row{reasons}" if use.spans or use.records else "has no spans"
            )
            raise DataError(problem, file=path)
        if on_columns is not None:
            on_columns(use.columns(self.columns))

    def _convert(self, use: TraceUse) -> Iterator[RawRow]:
        """Yield the rows, and store them for the next reading if all are read."""
        cache = RowCache(use, stamp_of(self.path)) if can_cache() else None
        for row in self.format.rows(self.path, use, self.encoding):
            if cache is not None and not cache.add(row):
                cache = None
            yield row
        if cache is not None:
            cache.finish()
            self._cache = cache
