"""A database of every old schema is upgraded with all its rows, and its runs can be read."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from alembic import command

from sgi.analysis.stored_run import open_run
from sgi.store import database as database_module
from sgi.store import migrations, schema
from sgi.store.database import open_database, upgrade
from support.runs import add_run

pytestmark = pytest.mark.usefixtures("real_databases")

SCORES = {"sgi": (1.25,), "semantic_similarity": (0.5,)}


def tables_of(connection):
    """Return the tables of a database as its own catalogue describes them, without those of Alembic."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name != migrations.VERSION_TABLE]


def values(connection, columns):
    """Return the rows of each table, limited to these columns."""
    return {
        name: sorted(
            map(
                tuple,
                connection.execute(
                    sa.select(*(sa.column(each) for each in names)).select_from(sa.table(name))
                ),
            ),
            key=repr,
        )
        for name, names in columns.items()
    }


@pytest.fixture
def current(tmp_path):
    """A database of the current schema with a run and its judgement."""
    with open_database(f"sqlite:///{tmp_path / 'current.db'}") as database:
        add_run(database, name="first", scores=SCORES)
        add_run(database, "r2", name="second", scores=SCORES)
        yield database


@pytest.fixture
def old_database(database_url, current):
    """Return a function that creates a database of a schema and fills it with the rows of the current one."""

    def create(revision):
        driver = "sqlite" if database_url.startswith("sqlite") else "postgresql+psycopg"
        url = sa.make_url(database_url).set(drivername=driver)
        with database_module.Database(url) as database, database.writing() as connection:
            command.upgrade(migrations.configuration(connection), revision)
            if database.dialect == "sqlite":
                connection.exec_driver_sql(f"PRAGMA application_id = {database_module.APPLICATION_ID}")
            columns = {}
            for table in tables_of(connection):
                columns[table.name] = [column.name for column in table.columns]
                with current.reading() as source:
                    known = {column.name for column in schema.metadata.tables[table.name].columns}
                    shared = [column for column in table.columns if column.name in known]
                    found = source.execute(
                        sa.select(*(sa.column(each.name) for each in shared)).select_from(
                            sa.table(table.name)
                        )
                    )
                    rows = [dict(row) for row in found.mappings()]
                if rows:
                    connection.execute(sa.insert(table), rows)
            return columns, values(connection, columns)

    return create


@pytest.mark.parametrize("revision", migrations.REVISIONS[:-1])
def test_a_database_of_an_old_schema_keeps_its_rows(database_url, old_database, revision):
    columns, before = old_database(revision)
    assert {len(before[name]) for name in ("runs", "samples", "batches")} == {2}
    assert upgrade(database_url) == (revision, migrations.HEAD)
    with open_database(database_url) as database, database.writing() as connection:
        command.check(migrations.configuration(connection))
        assert values(connection, columns) == before
    run = open_run("first", db=database_url)
    assert {metric: list(run[metric].values) for metric in SCORES} == {
        "sgi": [1.25],
        "semantic_similarity": [0.5],
    }
