from __future__ import annotations

import sqlalchemy as sa

from sgi.kernel.sample import Sample
from sgi.store import row_columns, schema
from sgi.store.database import open_database
from sgi.store.row_filters import RowQuery
from sgi.store.row_pages import row_page
from sgi.store.run_queries import find_run
from support.runs import add_run


def test_columns_are_stored_and_damage_is_repaired(database_url, monkeypatch):
    monkeypatch.setattr(row_columns, "MANY_ROWS", 1)
    samples = [Sample(id=f"q{k}", label=label) for k, label in enumerate((True, None, False, True))]
    with open_database(database_url) as database:
        add_run(database, samples=samples, scores={"sgi": (2.0, None, 1.0, 2.0)})
        record, table = find_run(database, "r1"), schema.run_columns
        row_page(database, record, RowQuery(metric="sgi", sort="lowest", label=True))
        with database.reading() as connection:
            stored = connection.execute(sa.select(table.c.name, table.c.body)).all()
        assert sorted(row.name for row in stored) == ["label", "metric sgi"]
        for body in (None, b"short"):
            with database.writing() as connection:
                if body is not None:
                    connection.execute(sa.update(table).values(body=body))
            columns = row_columns.RowColumns(database, record)
            with database.reading() as connection:
                assert columns.labels(connection).tolist() == [1, -1, 0, 1]
                assert columns.order(connection, "sgi", "lowest").tolist() == [2, 0, 3, 1]
                assert columns.order(connection, "sgi", "highest").tolist() == [0, 3, 2, 1]
                assert columns.metric(connection, "sgi").codes.tolist() == [0, 2, 0, 0]
            columns.save()
        with database.reading() as connection:
            assert connection.execute(sa.select(table.c.name, table.c.body)).all() == stored
