"""Reads an uploaded file once before it is scored: its first rows, its counts and its rejected rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from sgi.engine.plan import expand
from sgi.io.column_use import ColumnUse
from sgi.io.dataset import open_dataset
from sgi.io.file_columns import file_columns, trace_format
from sgi.kernel.errors import SgiError
from sgi.kernel.sample import Field
from sgi.reporting.formatting import beginning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.io.readers import Dataset
    from sgi.io.rows import RejectedRow
    from sgi.kernel.sample import Fields, Sample

SHOWN_FIELDS = ("id", "question", "contexts", "response", "reference", "label")
"""The fields of the first rows that a preview shows."""
FIRST_ROWS = 10
_MAX_PASSAGES = 3
_MAX_TEXT = 300
MAX_REJECTED = 20
"""Maximum number of rejected rows that are listed."""
MAX_SECONDS = 20.0
"""Maximum duration of a scan; the counts of a file that takes longer are those of its beginning."""


@dataclass(frozen=True)
class ReadSettings:
    """How the rows of a file are read; see `sgi.engine.spec.RunSpec`."""

    columns: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    per_turn: bool = False

    def open(self, path: Path) -> Dataset:
        """Open the file as a dataset. Raises SgiError if that is not possible."""
        dataset = open_dataset(path, columns=self.columns, encoding=self.encoding)
        return expand(dataset, per_turn=self.per_turn)


@dataclass
class DataScan:
    """What a scan found.

    Attributes:
        rows: number of rows that can be read.
        rejected: number of rows that cannot be read; ``errors`` has the first of their errors.
        present: number of rows with a value for each field.
        first: the first rows: field → the beginnings of its texts.
        given: the fields of the first rows.
        columns: the use of the columns.
        names: the columns of the file, and dotted paths into them.
        format: title of the format of traces or of an export; empty for a table.
        is_complete: whether all rows were read in time.
        problem: why the file cannot be read as a whole; empty if it can.
    """

    rows: int = 0
    rejected: int = 0
    errors: list[str] = field(default_factory=list)
    present: Counter[Field] = field(default_factory=Counter)
    first: list[dict[str, list[str]]] = field(default_factory=list)
    given: set[str] = field(default_factory=set)
    columns: ColumnUse = field(default_factory=ColumnUse)
    names: list[str] = field(default_factory=list)
    format: str = ""
    is_complete: bool = True
    problem: str = ""

    @property
    def fields(self) -> Fields:
        """The fields that some row has."""
        return frozenset(name for name, count in self.present.items() if count)

    def detected(self, name: str) -> str:
        """Return the columns that the reader uses for a field, as a mapping; empty if there is none."""
        if self.format:
            return name if name in self.given else ""
        return ",".join(self.columns.fields.get(name, ()))


class _TimeUpError(Exception):
    """The scan took too long."""


def scan_file(path: Path, shown: str, settings: ReadSettings) -> DataScan:
    """Scan a file; errors use the name ``shown`` of the file and never raise."""
    scan = DataScan()
    try:
        scan.format = trace_format(path)
        scan.names = file_columns(path, settings.encoding)
        for sample in _samples(settings.open(path), scan, path, shown):
            scan.rows += 1
            scan.present.update(name for name in Field if sample.has(name))
            if scan.rows <= FIRST_ROWS:
                scan.first.append(_beginnings(sample))
                scan.given |= sample.model_fields_set
    except _TimeUpError:
        scan.is_complete = False
    except SgiError as error:
        scan.problem = shown_text(error, path, shown)
    return scan


def _beginnings(sample: Sample) -> dict[str, list[str]]:
    """Return the beginnings of the texts of a row, so that a preview needs little memory."""
    found = {name: getattr(sample, name) for name in SHOWN_FIELDS if name in sample.model_fields_set}
    found = {"id": sample.id} | found
    lists = {name: value if isinstance(value, tuple) else (value,) for name, value in found.items()}
    return {
        name: [beginning(str(value), _MAX_TEXT) for value in values[:_MAX_PASSAGES]]
        + ([f"and {len(values) - _MAX_PASSAGES} more"] if len(values) > _MAX_PASSAGES else [])
        for name, values in lists.items()
        if values != (None,)
    }


def _samples(dataset: Dataset, scan: DataScan, path: Path, shown: str) -> Iterator[Sample]:
    """Yield the samples, and add rejected rows and the use of columns to the scan.

    Raises:
        _TimeUpError: the scan took too long.
    """
    end = monotonic() + MAX_SECONDS

    def check_time() -> None:
        if monotonic() > end:
            raise _TimeUpError

    def reject(row: RejectedRow) -> None:
        scan.rejected += 1
        if len(scan.errors) < MAX_REJECTED:
            scan.errors.append(shown_text(row.error, path, shown))
        check_time()

    def note(columns: ColumnUse) -> None:
        scan.columns = columns

    for sample in dataset.samples(on_reject=reject, on_columns=note):
        check_time()
        yield sample


def shown_text(error: SgiError, path: Path, shown: str) -> str:
    """Return an error message with the user's name of the file instead of the stored one."""
    return str(error).replace(str(path), shown).replace(path.name, shown)
