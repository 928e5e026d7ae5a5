from __future__ import annotations

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import UsageError
from sgi.kernel.sample import Sample
from sgi.store import schema
from sgi.store.angle_plane import plane
from sgi.store.bulk_rows import encode_json, insert_rows
from sgi.store.row_query import RowQuery, row_page
from sgi.store.run_queries import find_run
from support.runs import HOSTILE, add_run

N = 12
VALUES = (1.5, None, 0.5, 2.0, 0.5, None, 1.0, 3.0, 0.25, 0.75, 1.25, 2.5)
SAMPLES = tuple(Sample(id=HOSTILE if n == 3 else f"q{n}", label=n % 3 == 0) for n in range(N))


def angles(n):
    return (0.1 * n, 0.2 * n)


@pytest.fixture
def database(database):
    """A run of twelve rows, two without a value; its first metric has details without angles."""
    add_run(database, "other", samples=SAMPLES[:2], scores={"sgi": (9.0, 9.0)})
    add_run(database, "r1", samples=SAMPLES, scores={"lexical": (0.5,) * N, "sgi": VALUES})
    with database.writing() as connection:
        number = number_of(connection, "sgi")
        bodies = [
            (number, n, encode_json(dict(zip(("theta_rc", "theta_rq"), angles(n), strict=True))))
            for n in range(N)
        ]
        other = (number_of(connection, "lexical"), 0, '{"theta_rc":"none","x":1}')
        insert_rows(connection, schema.details, [*bodies, other])
    return database


def number_of(connection, metric, run="r1"):
    table = schema.run_metrics
    query = sa.select(table.c.id).where(table.c.run == run, table.c.metric == metric)
    return connection.execute(query).scalar_one()


def test_no_metric_with_angles(database):
    record = find_run(database, "other")
    assert plane(database, record, most=5) is None
    with pytest.raises(UsageError, match="other"):
        row_page(database, record, RowQuery(plane=(0.0, 1.0, 0.0, 1.0)))


def test_the_plane_has_every_row_with_angles_and_a_value(database):
    made = plane(database, find_run(database, "r1"), most=100)
    assert (made.metric, made.rows) == ("sgi", 10)
    assert [point.position for point in made.points] == [0, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    point = made.points[2]
    assert (point.id, point.label, point.value) == (HOSTILE, True, 2.0)
    assert (point.theta_rc, point.theta_rq) == angles(3)


@pytest.mark.parametrize(
    ("most", "wanted"),
    [(1, [0]), (2, [0, 11]), (3, [0, 7, 11]), (4, [0, 4, 8, 11]), (9, None), (10, None), (11, None)],
)
def test_of_many_rows_evenly_spaced_ones_are_taken(database, most, wanted):
    made = plane(database, find_run(database, "r1"), most=most)
    positions = [point.position for point in made.points]
    assert wanted is None or positions == wanted
    assert (len(positions), positions[0], made.rows) == (min(most, 10), 0, 10)
    assert made == plane(database, find_run(database, "r1"), most=most)


def test_a_plane_of_nothing_and_of_one(database):
    with pytest.raises(UsageError, match="most"):
        plane(database, find_run(database, "r1"), most=0)
    with database.writing() as connection:
        number = number_of(connection, "sgi")
        ours = (schema.scores.c.metric == number) & (schema.scores.c.position > 0)
        connection.execute(sa.delete(schema.scores).where(ours))
    made = plane(database, find_run(database, "r1"), most=1)
    assert ([point.position for point in made.points], made.rows) == ([0], 1)
    with database.writing() as connection:
        connection.execute(sa.delete(schema.scores).where(schema.scores.c.metric == number))
    assert plane(database, find_run(database, "r1"), most=5).points == ()


def test_details_of_another_shape_are_no_angles(database):
    with database.writing() as connection:
        number = number_of(connection, "sgi")
        table = schema.details
        strange = (
            {"theta_rc": "1.0", "theta_rq": 1.0},
            {"theta_rc": True, "theta_rq": 1.0},
            {},
            [1, 2],
            None,
        )
        for n, body in enumerate(strange):
            ours = (table.c.metric == number) & (table.c.position == n)
            connection.execute(sa.update(table).where(ours).values(body=body if body is not None else 0))
    made = plane(database, find_run(database, "r1"), most=100)
    assert [point.position for point in made.points] == [6, 7, 8, 9, 10, 11]
    assert made.rows == 6
    few = plane(database, find_run(database, "r1"), most=3)
    assert [point.position for point in few.points] == [6, 9, 11]
    rows = row_page(database, find_run(database, "r1"), RowQuery(plane=(-9.0, 9.0, -9.0, 9.0))).rows
    assert [row.position for row in rows] == list(range(5, N))
