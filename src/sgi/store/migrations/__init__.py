"""Numbered migrations from an empty database to the current schema; forward only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlalchemy as sa
    from alembic.config import Config

REVISIONS = tuple(f"{number:04}" for number in range(1, 15))
"""All migrations, oldest first; the check of a current database does not import Alembic."""
HEAD = REVISIONS[-1]
"""The schema that this version of the package uses."""
VERSION_TABLE = "sgi_version"
"""Not Alembic's default name: an application may keep its own tables and versions in the same database."""


def configuration(connection: sa.Connection) -> Config:
    """Configure Alembic for this connection and its open transaction."""
    from alembic.config import Config

    config = Config(stdout=sys.stderr)  # messages of Alembic are not data
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def migrate(connection: sa.Connection) -> None:
    """Migrate to ``HEAD`` in the caller's transaction."""
    from alembic import command

    command.upgrade(configuration(connection), HEAD)
