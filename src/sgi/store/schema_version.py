"""Create the tables of a new database, and check which schema version an existing one has."""

from __future__ import annotations

import sqlalchemy as sa

from sgi.kernel.errors import SchemaVersionError, StoreError
from sgi.store.database_location import ANOTHER
from sgi.store.evals_table import view_definition
from sgi.store.schema import metadata

SCHEMA_VERSION = "0015"
"""Version of the tables in `sgi.store.schema`. Raise it with each change of them: there are no migrations."""

_VERSION = sa.Table("sgi_version", sa.MetaData(), sa.Column("version_num", sa.Text, primary_key=True))
"""It has a prefix, because an application may have its own tables in the same database."""


def create_tables(connection: sa.Connection) -> None:
    """Create all tables and the view ``evals``, and store their version, in the caller's transaction."""
    metadata.create_all(connection, checkfirst=False)
    connection.exec_driver_sql(view_definition(connection.dialect.name))
    _VERSION.create(connection)
    connection.execute(sa.insert(_VERSION).values(version_num=SCHEMA_VERSION))


def read_version(connection: sa.Connection, shown: str) -> str | None:
    """Return the schema version, or None if SGI has no tables in the database.

    Raises StoreError if another program's tables have our names.
    """
    inspector = sa.inspect(connection)
    if inspector.has_table(_VERSION.name):
        return connection.execute(sa.select(_VERSION)).scalar() or "unknown"
    there = {*inspector.get_table_names(), *inspector.get_view_names()}
    taken = sorted(there.intersection([*metadata.tables, "evals"]))
    if taken:
        hint = "Give SGI a database or a schema of its own, as with ?options=-csearch_path%3Dsgi in the URL."
        raise StoreError(f"{shown} has tables of another program: {', '.join(taken)}.", hint=hint)
    return None


def require_version(version: str | None, shown: str) -> None:
    """Raise SchemaVersionError for another version than ours, StoreError for an empty database."""
    if version is None:
        raise StoreError(
            f"The database {shown} is empty.",
            hint=f"`sgi run` creates the tables and stores a run. {ANOTHER}",
        )
    if version != SCHEMA_VERSION:
        raise SchemaVersionError(
            shown, version, SCHEMA_VERSION, hint=f"Read it with the version of SGI that wrote it. {ANOTHER}"
        )
