"""Filters of rows that users saved under a name, for all runs whose data has the same name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.kernel.errors import UsageError
from sgi.kernel.names import name_problem
from sgi.store import schema
from sgi.store.run_inserts import now, upsert
from sgi.store.text_codec import decode_text, encode_text

if TYPE_CHECKING:
    from sgi.store.database import Database

MAX_FILTERS = 50
_MAX_NAME = 80
_MAX_QUERY = 8_000


@dataclass(frozen=True)
class SavedFilter:
    """A filter: its name, and the parameters of the page as a query string."""

    name: str
    query: str


def saved_filters(database: Database, data: str) -> tuple[SavedFilter, ...]:
    """Return the filters of the data of this name, sorted by name."""
    table = schema.saved_filters
    query = sa.select(table.c.name, table.c.query).where(table.c.data == encode_text(data))
    with database.reading() as connection:
        rows = [(decode_text(row.name), decode_text(row.query)) for row in connection.execute(query)]
    return tuple(SavedFilter(*row) for row in sorted(rows, key=lambda row: (row[0].casefold(), row[0])))


def save_filter(database: Database, data: str, name: str, query: str) -> None:
    """Save a filter; it replaces one of the same name.

    Raises UsageError if the name or the filter is empty or too long, or there are ``MAX_FILTERS`` already.
    """
    name = " ".join(name.split())
    if name_problem(name, longest=_MAX_NAME):
        raise UsageError(f"The name of a filter has 1 to {_MAX_NAME} printable characters.")
    if not query:
        raise UsageError("No filter is set.", hint="Set a filter, apply it, and save it then.")
    if len(query) > _MAX_QUERY:
        raise UsageError(f"A saved filter has at most {_MAX_QUERY:,} characters.")
    table, values = schema.saved_filters, {"query": encode_text(query), "created_at": now()}
    with database.writing() as connection:
        others = (table.c.data == encode_text(data)) & (table.c.name != encode_text(name))
        count = sa.select(sa.func.count()).select_from(table).where(others)
        if connection.execute(count).scalar_one() >= MAX_FILTERS:
            raise UsageError(f"This data has {MAX_FILTERS} saved filters.", hint="Delete one of them.")
        upsert(connection, table, {"data": encode_text(data), "name": encode_text(name), **values})


def delete_filter(database: Database, data: str, name: str) -> bool:
    """Delete a filter; return whether it was there."""
    table = schema.saved_filters
    ours = (table.c.data == encode_text(data)) & (table.c.name == encode_text(name))
    with database.writing() as connection:
        return bool(connection.execute(sa.delete(table).where(ours)).rowcount)
