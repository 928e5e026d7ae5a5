"""Cache views of a run (results computed from all its rows, such as histograms) until the rows change."""

from __future__ import annotations

import logging
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.kernel.errors import StoreError
from sgi.store import schema
from sgi.store.run_inserts import upsert

if TYPE_CHECKING:
    from sgi.store.database import Database

MANY_ROWS = 10_000
"""The number of rows from which the views of a run are computed when it ends."""
_log = logging.getLogger("sgi.store")


def load_views(database: Database, run: str, state: str) -> dict[str, bytes]:
    """Load the views of a run that were stored for this ``state``, which identifies all their inputs."""
    table = schema.run_views
    query = sa.select(table.c.view, table.c.body).where(table.c.run == run, table.c.state == state)
    with database.reading() as connection:
        rows = connection.execute(query).all()
    views = {}
    for view, body in rows:
        with suppress(zlib.error):  # damaged: it is computed again
            views[view] = zlib.decompress(body)
    return views


def save_view(database: Database, run: str, view: str, state: str, body: bytes) -> None:
    """Store or replace a view. Errors are only logged, since a view can be computed again."""
    values = {"run": run, "view": view, "state": state, "body": zlib.compress(body, 1)}
    try:
        with database.writing() as connection:
            upsert(connection, schema.run_views, values)
    except StoreError as error:  # also where the run was deleted meanwhile
        _log.info("the view %s of the run %s is not stored: %s", view, run, error)
