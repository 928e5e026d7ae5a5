"""Notes on the time axis of the trends of data, such as releases."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.short_text import name_problem, shorten
from sgi.store import schema
from sgi.store.bulk_rows import decode_text, encode_text, insert_rows

if TYPE_CHECKING:
    from sgi.store.database import Database

LONGEST_ANNOTATION = 200
"""Characters."""


@dataclass(frozen=True)
class Annotation:
    """A note on a moment (ISO 8601, UTC) of the trends of data."""

    id: str
    data: str
    at: str
    text: str


def annotate(database: Database, data: str, text: str, at: str = "") -> Annotation:
    """Add a note to the trends of data; ``at`` is an ISO 8601 time (UTC if it has no zone), or empty for now.

    Raises:
        UsageError: the text or the time is not valid.
    """
    note = text.strip()
    if reason := name_problem(note, longest=LONGEST_ANNOTATION):
        hint = f"An annotation has 1 to {LONGEST_ANNOTATION} printable characters."
        raise UsageError(f"{shorten(text)!r} is not an annotation: {reason}.", hint=hint)
    added = Annotation(secrets.token_hex(8), data, _moment(at), note)
    with database.writing() as connection:
        row = (added.id, encode_text(data), added.at, encode_text(note))
        insert_rows(connection, schema.trend_annotations, [row])
    return added


def list_annotations(database: Database, data: str) -> tuple[Annotation, ...]:
    """Return the notes on the trends of data, the oldest first."""
    table = schema.trend_annotations
    query = sa.select(table).where(table.c.data == encode_text(data)).order_by(table.c.at, table.c.id)
    with database.reading() as connection:
        return tuple(map(_annotation, connection.execute(query)))


def delete_annotation(database: Database, annotation: str) -> Annotation:
    """Delete a note and return it. Raises UnknownNameError if there is none with this id."""
    table = schema.trend_annotations
    with database.writing() as connection:
        row = connection.execute(sa.delete(table).where(table.c.id == annotation).returning(table)).first()
    if row is None:
        raise UnknownNameError("annotation", annotation, hint="Reload the page of trends.")
    return _annotation(row)


def _annotation(row: sa.Row[Any]) -> Annotation:
    return Annotation(row.id, decode_text(row.data), row.at, decode_text(row.text))


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text.strip()) if text.strip() else datetime.now(UTC)
        zoned = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "Write it as in 2026-11-23T16:00, which is UTC, or 2026-11-23T16:00+01:00."
        raise UsageError(f"{shorten(text)!r} is not a time.", hint=hint) from None
    return zoned.isoformat(timespec="milliseconds")
