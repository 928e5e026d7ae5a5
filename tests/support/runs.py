"""Small runs, written directly into the tables, for tests of the store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.engine.summary import Summary
from sgi.kernel.registry import BUILT_IN, metric_class
from sgi.kernel.sample import Sample
from sgi.store import schema
from sgi.store.bulk_rows import insert_rows
from sgi.store.samples import sample_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.store.database import Database

HOSTILE = "a\0b\ud800\udcff\ufdd0\ufdd00000'\";--%s :x ?\r\n\u2028é𝄞"


def add_run(
    database: Database,
    run: str = "r1",
    *,
    name: str | None = None,
    samples: Sequence[Sample] = (Sample(id="q1", question="Who?", response="Me."),),
    scores: Mapping[str, Sequence[float | None]] = {"sgi": (1.25,)},
) -> None:
    """Add a finished run over these samples; a score of None has the status ``missing``."""
    with database.writing() as connection:
        data = f"data of {run}"
        insert_rows(connection, schema.datasets, [(data, data, len(samples), "2026-01-01T00:00:00")])
        rows = (sample_row(data, k, sample) for k, sample in enumerate(samples))
        insert_rows(connection, schema.samples, rows)
        made = ("{}", "hash", "sgi:1", "{}", "2026-01-01T00:00:00", "2026-01-01T00:00:01", None, 0, None)
        insert_rows(connection, schema.runs, [(run, data, name, *made)])
        insert_rows(connection, schema.batches, [(run, 0, len(samples), "{}", "{}", None)])
        for position, (metric, values) in enumerate(scores.items()):
            family = metric.partition("(")[0]
            version = metric_class(family).spec.version if BUILT_IN.get(family, "").startswith("sgi.") else 1
            row = {"run": run, "position": position, "metric": metric, "version": version}
            row |= {"higher_is_better": True}
            statement = sa.insert(schema.run_metrics).values(row).returning(schema.run_metrics.c.id)
            number = connection.execute(statement).scalar_one()
            insert_rows(
                connection, schema.scores, (_score(number, k, value) for k, value in enumerate(values))
            )


def bare_summary(rows: int) -> dict[str, Any]:
    """The summary of a run without metrics."""
    summary = Summary(rows, rows, 0, 0, (), (), 0, {}, {}, "sgi:1").to_dict()
    document: dict[str, Any] = json.loads(json.dumps(summary))
    return document


_OF_ONE_DATABASE = {
    schema.run_changes,
    schema.run_views,
    schema.search_indexes,
}


def contents(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, with names of metrics in place of their numbers.

    The tables of stored views, of search indexes and of change counts are left out, because they differ
    between databases.
    """
    with database.reading() as connection:
        found = {
            table.name: [
                tuple(row) for row in connection.execute(sa.select(table).order_by(*table.primary_key))
            ]
            for table in schema.metadata.sorted_tables
            if table not in _OF_ONE_DATABASE
        }
    names = {row[0]: row[1:4] for row in found["run_metrics"]}
    found["run_metrics"] = [row[1:] for row in found["run_metrics"]]
    for table in ("scores", "details", "evidence"):
        found[table] = [(names[row[0]], *row[1:]) for row in found[table]]
    return {table: sorted(rows, key=repr) for table, rows in found.items()}


def _score(metric: int, position: int, value: float | None) -> tuple[object, ...]:
    if value is None:
        return metric, position, None, "missing", "no response"
    return metric, position, value, "ok", None
