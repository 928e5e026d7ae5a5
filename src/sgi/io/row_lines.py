"""Find the lines of rows in a data file."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from sgi.io.files import JSON_LINES, open_file
from sgi.kernel.errors import SgiError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

_LINE_FORMATS = (*JSON_LINES, ".json", ".csv", ".tsv")


def row_lines(
    path: Path,
    ids: Collection[str],
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> dict[str, int]:
    """Return the first line, from 1, of each row with one of these ids.

    A row that is not found is left out. The result is empty for a file without lines (Parquet, compressed
    files), and for a file that does not exist any more.

    Args:
        path: the data file.
        ids: the ids of the rows.
        columns: the mapping from fields to columns with which the file was read.
        encoding: the encoding with which the file was read.
    """
    lines: dict[str, int] = {}
    if not ids or path.suffix.casefold() not in _LINE_FORMATS:
        return lines
    with suppress(SgiError):  # the lines found before a mistake in the file remain valid
        dataset = open_file(path, columns, encoding)
        for line, sample in dataset.numbered_samples(on_reject=lambda _: None):
            if sample.id in ids:
                lines[sample.id] = line
                if len(lines) == len(ids):
                    break
    return lines
