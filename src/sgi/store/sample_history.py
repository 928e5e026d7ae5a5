"""The answers of other runs to the question of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.store import schema
from sgi.store.bulk_rows import decode_text, encode_text
from sgi.store.samples import shown_response, with_answers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class OtherAnswer:
    """The answer of another run to the same question.

    Attributes:
        label: name of the run, or its id if it has none.
        created_at: when the run started, ISO 8601, UTC.
        response: the answer; None if there is none.
        values: the values of its metrics by canonical name; a metric without a value is left out.
    """

    run: str
    label: str
    created_at: str
    response: str | None
    values: Mapping[str, float]


def other_answers(
    database: Database, record: RunRecord, sample_id: str, question: str, *, most: int = 10
) -> tuple[OtherAnswer, ...]:
    """Return the answers to a question in the newest other finished runs whose data has the same name.

    At most ``most`` runs are searched. Their row must have the same id and the same question.
    """
    runs, datasets = schema.runs, schema.datasets
    newest = (
        sa.select(runs.c.id, runs.c.name, runs.c.created_at, runs.c.dataset)
        .join(datasets)
        .where(
            datasets.c.name == encode_text(record.dataset_name),
            runs.c.id != record.id,
            runs.c.finished_at.is_not(None),
        )
        .order_by(runs.c.created_at.desc(), runs.c.id.desc())
        .limit(most)
    )
    with database.reading() as connection:
        found = [
            (run, row)
            for run in connection.execute(newest).all()
            for row in connection.execute(_row(run, sample_id, question))
        ]
        values = _values(connection, {run.id: row.position for run, row in found})
    return tuple(
        OtherAnswer(
            run=run.id,
            label=run.name or run.id,
            created_at=run.created_at,
            response=None if row.response is None else decode_text(row.response),
            values=values[run.id],
        )
        for run, row in found
    )


def _row(run: Any, sample_id: str, question: str) -> sa.Select[Any]:
    """Select the row of a run by its id; the unique index of dataset and id finds it."""
    samples = schema.samples
    return (
        sa.select(samples.c.position, shown_response().label("response"))
        .select_from(with_answers(run.id))
        .where(
            samples.c.dataset == run.dataset,
            samples.c.id == encode_text(sample_id),
            sa.func.coalesce(samples.c.question, "") == encode_text(question),
        )
    )


def _values(connection: Connection, places: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """Return the values of the rows by run and metric; ``places`` has the position of the row in each run."""
    metrics, scores = schema.run_metrics, schema.scores
    query = (
        sa.select(metrics.c.run, metrics.c.metric, scores.c.position, scores.c.value)
        .join(scores, scores.c.metric == metrics.c.id)
        .where(metrics.c.run.in_(places), scores.c.position.in_(set(places.values())))
        .where(scores.c.value.is_not(None))
    )
    values: dict[str, dict[str, float]] = {run: {} for run in places}
    for run, metric, position, value in connection.execute(query):
        if position == places[run]:
            values[run][metric] = value
    return values
