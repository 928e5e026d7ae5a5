from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from sgi.kernel.errors import SchemaTooOldError, StoreError
from sgi.store import database as database_module
from sgi.store import migrations, schema
from sgi.store.database import open_database, status, upgrade
from sgi.store.run_inserts import insert_rows
from support.runs import add_run, contents

pytestmark = pytest.mark.usefixtures("real_databases")

FOLDER = Path(migrations.__file__).parent


def script_of(database):
    with database.writing() as connection:
        return ScriptDirectory.from_config(migrations.configuration(connection))


def reflected(connection):
    """Everything the database says of its tables."""
    look = sa.inspect(connection)
    parts = ("columns", "pk_constraint", "foreign_keys", "unique_constraints", "check_constraints", "indexes")
    return {
        (table, part): repr(getattr(look, f"get_{part}")(table))
        for table in look.get_table_names()
        if table != migrations.VERSION_TABLE
        for part in parts
    }


def test_the_tables_and_the_migrations_agree(database_url):
    with open_database(database_url) as database, database.writing() as connection:
        command.check(migrations.configuration(connection))


def test_migrations_make_what_the_schema_says_in_every_part(database_url):
    with open_database(database_url) as database, database.writing() as connection:
        migrated = reflected(connection)
        assert {table for table, _ in migrated} == set(schema.metadata.tables)
        connection.exec_driver_sql("DROP VIEW evals")
        schema.metadata.drop_all(connection)
        schema.metadata.create_all(connection)
        assert reflected(connection) == migrated


def test_the_revisions_that_are_known_without_alembic_are_all(sqlite_url):
    with open_database(sqlite_url) as database:
        steps = [step.revision for step in script_of(database).walk_revisions()]
    assert tuple(reversed(steps)) == migrations.REVISIONS
    assert migrations.HEAD == database_module.HEAD == steps[0]
    assert sorted(file.name[:4] for file in (FOLDER / "versions").glob("0*.py")) == sorted(steps)


def test_there_is_no_way_back(database_url):
    with open_database(database_url) as database:
        with pytest.raises(NotImplementedError, match="forward only"), database.writing() as connection:
            command.downgrade(migrations.configuration(connection), "base")
        assert database.revision() == migrations.HEAD


@contextmanager
def later_columns(database):
    """Give samples and batches the columns that later migrations add, so that `add_run` can write them."""
    added = [("samples", column.name) for column in list(schema.samples.columns)[11:]]
    added.append(("batches", "windowed"))
    for change in ("ADD COLUMN {} TEXT", "DROP COLUMN {}"):
        with database.writing() as connection:
            for table, name in added:
                connection.exec_driver_sql(f"ALTER TABLE {table} {change.format(name)}")
        if change.startswith("ADD"):
            yield


@pytest.fixture
def first_schema(database_url):
    """A database of the first schema, with a run and what a judge said of it."""
    url = sa.make_url(database_url).set(drivername=driver(database_url))
    with database_module.Database(url) as database:
        with database.writing() as connection:
            command.upgrade(migrations.configuration(connection), "0001")
            if database.dialect == "sqlite":
                connection.exec_driver_sql(f"PRAGMA application_id = {database_module.APPLICATION_ID}")
        with later_columns(database):
            add_run(database, scores={"sgi": (1.25,), "groundedness": (0.5,)})
            add_run(database, "r2", name="second", scores={"answer_relevance_rated": (1.0,)})
        with database.writing() as connection:
            numbers = connection.exec_driver_sql("SELECT id FROM run_metrics WHERE metric <> 'sgi'").all()
            said = [(number, 0, '{"reasoning":"so it is"}') for (number,) in numbers]
            insert_rows(connection, schema.evidence, said)
        yield database_url


def test_a_database_of_the_first_schema_is_brought_up_with_all_it_holds(first_schema):
    with pytest.raises(SchemaTooOldError, match="sgi db upgrade"):
        open_database(first_schema)
    before = status(first_schema)
    assert (before.revision, before.rows.pop("evidence"), before.rows["scores"]) == ("0001", 2, 3)
    assert upgrade(first_schema) == ("0001", migrations.HEAD)
    tables = ("usage", "run_tags", "gates", "leases", "run_changes", "run_views", "human_labels")
    tables += ("sgi_users", "sgi_audit_log", "trend_annotations", "run_columns", "search_indexes")
    tables += ("saved_filters",)
    new = dict.fromkeys(tables, 0)
    assert status(first_schema).rows == before.rows | {"evidence": 2} | new
    with open_database(first_schema) as database, database.writing() as connection:
        command.check(migrations.configuration(connection))
        columns = "test_run_id, groundedness, groundedness_reasoning, answer_relevance, sgi"
        rows = connection.exec_driver_sql(f"SELECT {columns} FROM evals ORDER BY id").all()  # noqa: S608 - our own names
        assert [tuple(row) for row in rows] == [
            ("r1", 0.5, "so it is", None, 1.25),
            ("second", None, None, 1.0, None),
        ]
        connection.exec_driver_sql("INSERT INTO usage VALUES ('r1', 'j', 1, 0, 0, 2, 3, NULL, 'a', 0)")


OLD = migrations.HEAD
NEXT = f"""
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{OLD}"

def upgrade():
    op.execute("DROP VIEW evals")
    rebuilt = "always" if op.get_bind().dialect.name == "sqlite" else "auto"
    with op.batch_alter_table("runs", recreate=rebuilt) as runs:
        runs.add_column(sa.Column("note", sa.Text))
    with op.batch_alter_table("run_metrics") as metrics:
        metrics.alter_column("metric", new_column_name="called")
"""


@pytest.fixture
def a_newer_version(tmp_path, monkeypatch):
    """A copy of the migrations with one more step, in a folder whose name is not easy."""

    def install(code=NEXT):
        folder = tmp_path / "100% new" / "migrations"
        shutil.copytree(FOLDER, folder)
        (folder / "versions" / "9999_next.py").write_text(code)
        monkeypatch.setattr(migrations, "__file__", str(folder / "__init__.py"))
        steps = (*migrations.REVISIONS, "9999")
        for module in (migrations, database_module):
            monkeypatch.setattr(module, "REVISIONS", steps)
            monkeypatch.setattr(module, "HEAD", "9999")

    return install


def test_an_upgrade_keeps_every_row(database_url, a_newer_version):
    with open_database(database_url) as database:
        add_run(database)
        before = contents(database)
    a_newer_version()
    with pytest.raises(SchemaTooOldError, match="sgi db upgrade"):
        open_database(database_url)
    assert upgrade(database_url) == (OLD, "9999")
    rows = status(database_url).rows
    assert {table: rows[table] for table in before} == {table: len(found) for table, found in before.items()}
    with open_database(database_url) as database, database.reading() as connection:
        found = connection.exec_driver_sql("SELECT note, called FROM runs, run_metrics").one()
        assert tuple(found) == (None, "sgi")


def test_an_upgrade_that_fails_changes_nothing(database_url, a_newer_version):
    with open_database(database_url) as database:
        add_run(database)
        before = contents(database)
    a_newer_version(NEXT + "    op.execute('SELECT nonsense')\n")
    with pytest.raises(StoreError, match="nonsense"):
        upgrade(database_url)
    assert status(database_url).revision == OLD
    with database_module.Database(sa.make_url(database_url).set(drivername=driver(database_url))) as database:
        assert contents(database) == before


def driver(url):
    return "sqlite" if url.startswith("sqlite") else "postgresql+psycopg"


def test_a_first_use_that_fails_leaves_nothing(database_url, a_newer_version):
    a_newer_version(NEXT + "    op.execute('SELECT nonsense')\n")
    with pytest.raises(StoreError, match="nonsense"):
        open_database(database_url)
    found = status(database_url)
    assert (found.revision, found.rows) == (None, {})


def test_tables_of_others_are_no_business_of_the_check(postgres_url):
    with open_database(postgres_url) as database, database.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE users (x int)")
        command.check(migrations.configuration(connection))
