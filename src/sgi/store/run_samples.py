"""Reads the samples of some rows of a run, with the responses that were scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from sgi.store import schema
from sgi.store.bulk_insert import chunks
from sgi.store.samples import sample_of
from sgi.store.text_codec import restored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy import int64
    from numpy.typing import NDArray
    from sqlalchemy import RowMapping

    from sgi.kernel.sample import Sample
    from sgi.kernel.scored import ReadSamples
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_AT_ONCE = 500
"""Rows a statement names."""


def sample_reader(database: Database, record: RunRecord, positions: NDArray[int64]) -> ReadSamples:
    """A function that reads the samples of rows, in the order in which it is given them.

    Args:
        database: must be open when the function is called.
        record: the run.
        positions: the position of each of its rows, shape (n,).
    """

    def read(rows: Sequence[int]) -> Iterator[Sample]:
        for some in chunks(rows, _AT_ONCE):
            wanted = positions[some].tolist()
            found = {row["position"]: row for row in _rows(database, record, wanted)}
            yield from (_sample(found[position]) for position in wanted)

    return read


def _rows(database: Database, record: RunRecord, positions: Iterable[int]) -> Sequence[RowMapping]:
    """The samples at these positions, each with the target's answer where there was a target."""
    samples, answers = schema.samples, schema.answers
    answered = (answers.c.run == record.id) & (answers.c.position == samples.c.position)
    columns = {"run": "target_run", "response": "target_response", "contexts": "target_contexts"}
    query = (
        sa.select(samples, *(answers.c[name].label(label) for name, label in columns.items()))
        .select_from(samples.outerjoin(answers, answered))
        .where(samples.c.dataset == record.dataset, samples.c.position.in_(list(positions)))
    )
    with database.reading() as connection:
        return connection.execute(query).mappings().all()


def _sample(row: RowMapping) -> Sample:
    sample = sample_of(dict(row))
    if row["target_run"] is None:
        return sample
    response, contexts = row["target_response"], row["target_contexts"]
    return sample.answered(
        None if response is None else restored(response), None if contexts is None else tuple(contexts)
    )
