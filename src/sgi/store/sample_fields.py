"""Read some fields of a run's samples, without the other columns and without building samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.store import schema
from sgi.store.bulk_rows import chunks, driver_rows
from sgi.store.samples import shown_response, with_answers
from sgi.store.text_codec import column_json, decode_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_TEXTS = {"question": "", "response": "", "reference": None}
"""Value of a text that is NULL."""


def field_reader(
    database: Database, record: RunRecord, positions: NDArray[np.int64]
) -> Callable[[Sequence[str]], Iterator[tuple[Any, ...]]]:
    """Return a function that reads fields of all rows: question, response, reference, contexts or metadata.

    ``positions`` are those of the run's rows, shape (n,). The values are those of the samples that
    `sgi.store.stored_batches.sample_reader` returns.
    """
    samples = schema.samples

    def read(names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        query = sa.select(samples.c.position, *map(_column, names)).where(samples.c.dataset == record.dataset)
        if {"contexts", "response"} & {*names}:
            query = query.select_from(with_answers(record.id))
        for some in chunks(positions.tolist()):
            inside = samples.c.position.between(some[0], some[-1])
            with database.reading() as connection:
                rows = {row[0]: row[1:] for row in driver_rows(connection, query.where(inside))}
            for position in some:
                yield tuple(map(_value, names, rows[position]))

    return read


def passages() -> sa.ColumnElement[Any]:
    """Select a row's passages; those that a target returned replace those of the data."""
    samples, answers = schema.samples, schema.answers
    returned = (answers.c.contexts, answers.c.context_ids, answers.c.context_scores)
    return sa.case(
        (sa.or_(*(column.is_not(None) for column in returned)), answers.c.contexts), else_=samples.c.contexts
    )


def _column(name: str) -> sa.ColumnElement[Any]:
    if name == "response":
        return shown_response()
    if name in _TEXTS:
        return schema.samples.c[name]
    return sa.cast(passages() if name == "contexts" else schema.samples.c[name], sa.Text)


def _value(name: str, stored: Any) -> Any:
    if name in _TEXTS:
        return _TEXTS[name] if stored is None else decode_text(stored)
    value = None if stored is None else column_json(stored)
    return tuple(value or ()) if name == "contexts" else value or {}
