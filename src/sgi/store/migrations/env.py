"""Alembic's entry point for the migrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alembic import context

from sgi.store.migrations import VERSION_TABLE
from sgi.store.schema import metadata

if TYPE_CHECKING:
    from collections.abc import Mapping


def ours(name: str | None, kind: str, parents: Mapping[Any, str | None]) -> bool:
    """Return whether an object of the database belongs to SGI; tables of others are ignored."""
    del parents
    return kind != "table" or name in metadata.tables


def main() -> None:
    """Run the migrations on the given connection, inside its transaction."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        render_as_batch=True,  # SQLite cannot alter most of a table in place
        include_name=ours,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # the name Alembic gives it; a plain import has nothing to run on
    main()
