"""The steps from an empty database to the current schema: numbered, forward-only, each once and whole."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlalchemy as sa
    from alembic.config import Config

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
"""All steps, oldest first; here so that an up-to-date database is known without Alembic."""
HEAD = REVISIONS[-1]
"""The schema this version of the package writes and reads."""
VERSION_TABLE = "sgi_version"
"""Not Alembic's usual name: an application may keep its own tables, and versions, beside ours."""


def configuration(connection: sa.Connection) -> Config:
    """What Alembic needs to work on this connection, inside the transaction it has."""
    from alembic.config import Config

    config = Config(stdout=sys.stderr)  # what Alembic has to say is talk, not data
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def migrate(connection: sa.Connection) -> None:
    """Bring the schema to ``HEAD``; the caller's transaction makes it all or nothing."""
    from alembic import command

    command.upgrade(configuration(connection), HEAD)
