"""Cache views of a run (results computed from all its rows, such as histograms) until the rows change."""

from __future__ import annotations

import logging
import zlib
from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.store import schema
from sgi.store.bulk_rows import upsert

if TYPE_CHECKING:
    from sgi.store.database import Database

MANY_ROWS = 10_000
"""The number of rows from which the views of a run are computed when it ends."""
_log = logging.getLogger("sgi.store")


def load_view(database: Database, run: str, view: str, state: str) -> bytes | None:
    """Load a view that was stored for this ``state`` (which identifies all its inputs), or return None."""
    table = schema.run_views
    query = sa.select(table.c.body).where(table.c.run == run, table.c.view == view, table.c.state == state)
    with database.reading() as connection:
        body = connection.execute(query).scalar()
    if body is None:
        return None
    try:
        return zlib.decompress(body)
    except zlib.error:  # damaged: it is computed again
        return None


def save_view(database: Database, run: str, view: str, state: str, body: bytes) -> None:
    """Store or replace a view. Errors are only logged, since a view can be computed again."""
    values = {"run": run, "view": view, "state": state, "body": zlib.compress(body, 1)}
    try:
        with database.writing() as connection:
            upsert(connection, schema.run_views, values)
    except StoreError as error:  # also where the run was deleted meanwhile
        _log.info("the view %s of the run %s is not stored: %s", view, run, error)
