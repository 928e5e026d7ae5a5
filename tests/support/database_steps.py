"""Small reads and writes that several database tests use."""

import sqlalchemy as sa

from sgi.store import schema


def names(database):
    with database.reading() as connection:
        return connection.execute(sa.select(schema.datasets.c.name)).scalars().all()


def add(connection, name):
    values = {"hash": name, "name": name, "rows": 0, "created_at": "now"}
    connection.execute(sa.insert(schema.datasets).values(values))


def write(database, *steps):
    """Do these steps in one transaction."""
    with database.writing() as connection:
        for step in steps:
            step(connection)
