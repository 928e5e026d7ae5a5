"""The rows of a run as a file, or as the bytes of one."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from sgi.engine.result_rows import flat_columns, flat_row, nested_row
from sgi.engine.text_removal import require_texts
from sgi.io.write import check_target, csv_lines, json_line, open_writer, write_chunks
from sgi.kernel.errors import StoreError
from sgi.store.run_rows import stored_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord
    from sgi.store.run_rows import StoredBatch


def export(database: Database, record: RunRecord, path: Path, *, inputs: bool = False) -> int:
    """Write the committed rows of a run into a file, .jsonl, .csv or .parquet; says how many.

    Args:
        database: where the run is kept.
        record: the run.
        path: the file; it is there whole or not at all.
        inputs: also write question, contexts, response and reference.

    Raises:
        UsageError: the file cannot be of that kind, or stand there.
        StoreError: the run was changed or deleted meanwhile.
    """
    check_target(path)
    kind = path.suffix.casefold()
    if kind != ".parquet":
        write_chunks(path, export_chunks(database, record, kind.removeprefix("."), inputs=inputs))
        return record.scored
    with open_writer(path) as writer:
        for stored in exported_batches(database, record, inputs=inputs):
            writer.write(flat_row(stored.batch, stored.scores, inputs=inputs))
    return record.scored


def export_chunks(
    database: Database, record: RunRecord, kind: str, *, inputs: bool = False
) -> Iterator[bytes]:
    """The committed rows of a run as the bytes of a file, batch by batch, each read when it is asked for.

    Args:
        database: where the run is kept.
        record: the run.
        kind: ``jsonl`` or ``csv``.
        inputs: also write question, contexts, response and reference.

    Raises:
        StoreError: the run was changed or deleted meanwhile; what came so far is not the whole run.
    """
    first = True
    for stored in exported_batches(database, record, inputs=inputs):
        if kind == "jsonl":
            yield b"".join(map(json_line, nested_row(stored.batch, stored.scores, inputs=inputs)))
            continue
        columns = flat_columns(stored.batch, stored.scores, inputs=inputs)
        rows = zip(*columns.values(), strict=True)
        yield csv_lines(chain([columns], rows) if first else rows)
        first = False


def exported_batches(database: Database, record: RunRecord, *, inputs: bool) -> Iterator[StoredBatch]:
    """The committed batches of a run, without their texts unless inputs are asked for.

    Raises:
        UsageError: inputs are asked for, and the run has none.
        StoreError: the run was changed or deleted meanwhile.
    """
    if inputs:
        require_texts(record, "--inputs")
    rows = 0
    for stored in stored_batches(database, record, texts=inputs):
        yield stored
        rows += len(stored.batch)
    if rows != record.scored:
        message = f"{record.label} was changed meanwhile: {rows:,} rows were read, not {record.scored:,}."
        raise StoreError(message, hint="Export it again.")
