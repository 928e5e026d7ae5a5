"""Notes on unfinished runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.store.run_queries import RunRecord


def unfinished_notes(records: Sequence[RunRecord]) -> Iterator[str]:
    """Return a note on each run that is unfinished: only its scored rows are compared."""
    for record in records:
        if record.scored < record.rows:
            rows = f"{record.scored:,} of {record.rows:,} rows"
            yield f"{record.label} is unfinished: only {rows} are compared."
