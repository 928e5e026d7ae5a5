"""Store and read the labels that people give to answers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from sgi.kernel.clusters import list_columns
from sgi.kernel.errors import UsageError
from sgi.store import schema
from sgi.store.bulk_rows import chunks, decode_text, driver_rows, encode_text, upsert
from sgi.store.label_consensus import (
    PEOPLE,
    HumanLabel,
    consensus,
    disagree,
    drawn_order,
    drawn_probabilities,
    random_order,
    random_sample,
    text_version,
)
from sgi.store.run_queries import select_committed
from sgi.store.samples import answered_samples, sample_of
from sgi.store.schema import now

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

MAX_COMMENT = 2000
"""Maximum length of a comment, in characters."""
_AT_ONCE = 500


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The rows of a run with the keys that labels are matched by; valid until the rows change.

    Attributes:
        ids: the id of each committed row, shape (n,).
        versions: the version of the text by id, of the rows that were needed so far.
    """

    ids: tuple[str, ...]
    versions: dict[str, str] = field(default_factory=dict)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Positions of the rows in random order, shape (n,)."""
        return random_order(self.ids)


@dataclass(frozen=True, eq=False)
class HumanLabels:
    """The labels of the rows of a run.

    Attributes:
        rows: the rows.
        current: the labels of the present text, by id.
        stale: the labels of other versions of the text, by id: the answer, the question or the passages
            have changed, or another run has another answer.
    """

    rows: LabelledRows
    current: Mapping[str, Sequence[HumanLabel]]
    stale: Mapping[str, Sequence[HumanLabel]]

    @property
    def ids(self) -> tuple[str, ...]:
        """The id of each committed row, shape (n,)."""
        return self.rows.ids

    @cached_property
    def sampled(self) -> NDArray[np.bool_]:
        """Mask of the rows of a random sample: the first rows in random order, all seen, shape (n,)."""
        return random_sample(self.rows.order, self.seen)

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Mask of the rows with a label of the present text, or that somebody skipped, shape (n,)."""
        return np.array([name in self.current for name in self.ids], dtype=np.bool_)

    @cached_property
    def disputed(self) -> tuple[str, ...]:
        """The ids of the rows with different labels and no decision."""
        return tuple(name for name in self.ids if disagree(self.current.get(name, ())))

    @property
    def undecided(self) -> tuple[str, ...]:
        """The ids of the disputed rows that have no label, because there is no majority."""
        return tuple(name for name in self.disputed if consensus(self.current[name]) is None)

    def drawn(self, chances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability with which each row was drawn, NaN outside the sample, shape (n,).

        ``chances`` are the probabilities behind the order in which people labelled; see
        `drawn_probabilities`.
        """
        _, keys = drawn_order(self.ids, chances)
        return drawn_probabilities(keys, chances, self.seen)

    def values(self, *, of_sample: bool = True) -> list[bool | None]:
        """Return the consensus of each row, shape (n,): of the random sample only, or of all rows."""
        known = {name: consensus(labels) for name, labels in self.current.items()}
        rows = zip(self.ids, self.sampled.tolist(), strict=True)
        return [known.get(name) if is_sampled or not of_sample else None for name, is_sampled in rows]


def store_label(database: Database, data: str, label: HumanLabel) -> None:
    """Store a label of the data with this name; it replaces the author's label of the same version.

    A decision replaces only an earlier decision of its author.

    Raises UsageError for an empty author, or a comment longer than `MAX_COMMENT`.
    """
    if not label.author.strip():
        raise UsageError("A label needs the name of its author.")
    if len(label.comment) > MAX_COMMENT:
        raise UsageError(
            f"The comment has {len(label.comment):,} characters; at most {MAX_COMMENT:,} are allowed."
        )
    values = {
        "data": encode_text(data),
        "sample": encode_text(label.sample),
        "version": label.version,
        "author": encode_text(label.author),
        "value": label.value,
        "comment": encode_text(label.comment),
        "decides": label.decides,
        "created_at": label.created_at or now(),
    }
    with database.writing() as connection:
        upsert(connection, schema.human_labels, values)


def labelled_rows(database: Database, record: RunRecord) -> LabelledRows:
    """Return the rows of a run, for several calls of `run_labels`."""
    with database.reading() as connection:
        return _rows(connection, record)


def run_labels(database: Database, record: RunRecord, rows: LabelledRows | None = None) -> HumanLabels:
    """Return the labels of the rows of a run; ``rows`` saves reading all ids again."""
    with database.reading() as connection:
        return _run_labels(connection, record, rows or _rows(connection, record))


def _rows(connection: Connection, record: RunRecord) -> LabelledRows:
    named = driver_rows(connection, select_committed(record, schema.samples.c.id))
    return LabelledRows(tuple(decode_text(row[0]) for row in named))


def _run_labels(connection: Connection, record: RunRecord, rows: LabelledRows) -> HumanLabels:
    labels: dict[str, list[HumanLabel]] = defaultdict(list)
    for label in _labels_of_data(connection, record.dataset_name):
        labels[label.sample].append(label)
    _read_versions(connection, record, rows.versions, [name for name in labels if name not in rows.versions])
    current: dict[str, Sequence[HumanLabel]] = {}
    stale: dict[str, Sequence[HumanLabel]] = {}
    for name in labels.keys() & rows.versions.keys():
        mine = [label for label in labels[name] if label.version == rows.versions[name]]
        others = [label for label in labels[name] if label.version != rows.versions[name]]
        current |= {name: mine} if mine else {}
        stale |= {name: others} if others else {}
    return HumanLabels(rows, current, stale)


def label_values(connection: Connection, record: RunRecord, column: str) -> list[bool | None]:
    """Return the labels of a run as a column, `PEOPLE` or `ALL_PEOPLE`.

    Raises UsageError if no row has one; the message says how to label rows.
    """
    values = _run_labels(connection, record, _rows(connection, record)).values(of_sample=column == PEOPLE)
    if any(value is not None for value in values):
        return values
    raise no_labels(record, "a label by a person")


def no_labels(record: RunRecord, label: str = "a label", columns: Collection[str] = ()) -> UsageError:
    """Return the error for a run without labels; it lists ``columns``, which the data has."""
    names = f" {list_columns(columns)}" if columns else ""
    return UsageError(
        f"No row of {record.label} has {label}.",
        hint=f"Label rows with sgi serve, on the page /runs/{record.id}/labels, or name another column of "
        f"the data (--label of sgi judge agree, sgi judge calibrate and sgi study card).{names}",
    )


def default_label(database: Database, record: RunRecord) -> str:
    """Return the default column of labels: ``label`` if the data has it, otherwise `PEOPLE` if there are any.

    One label by a person does not silently replace the labels of the data.
    """
    samples, labels = schema.samples, schema.human_labels
    of_data = sa.select(samples.c.label).where(
        samples.c.dataset == record.dataset, samples.c.label.is_not(None)
    )
    of_people = sa.select(labels.c.sample).where(labels.c.data == encode_text(record.dataset_name))
    with database.reading() as connection:
        has_labels, has_people = (
            connection.execute(query.limit(1)).first() is not None for query in (of_data, of_people)
        )
    return PEOPLE if has_people and not has_labels else "label"


def _labels_of_data(connection: Connection, data: str) -> list[HumanLabel]:
    table = schema.human_labels
    query = sa.select(table).where(table.c.data == encode_text(data)).order_by(table.c.created_at)
    return [
        HumanLabel(
            sample=decode_text(row.sample),
            version=row.version,
            author=decode_text(row.author),
            value=row.value,
            comment=decode_text(row.comment),
            decides=row.decides,
            created_at=row.created_at,
        )
        for row in connection.execute(query)
    ]


def _read_versions(
    connection: Connection, record: RunRecord, versions: dict[str, str], ids: Sequence[str]
) -> None:
    """Add the versions of rows by id; ids that the data of the run lacks are left out."""
    query = answered_samples(record.id, record.dataset)
    for some in chunks(map(encode_text, ids), _AT_ONCE):
        for row in connection.execute(query.where(schema.samples.c.id.in_(some))).mappings():
            sample = sample_of(dict(row))
            versions[sample.id] = text_version(sample)
