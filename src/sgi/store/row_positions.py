"""Select and order the rows of a run; the result is the array of their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.metric import Status
from sgi.kernel.metric_column import STATUSES
from sgi.store.row_filters import group_positions, plane_positions, scanned_positions
from sgi.store.search_index import indexed_positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from sgi.store.row_columns import RowColumns
    from sgi.store.row_filters import RowQuery
    from sgi.store.run_queries import RunRecord

    Mask = NDArray[np.bool_]


def row_positions(
    connection: Connection,
    record: RunRecord,
    query: RowQuery,
    numbers: Mapping[str, int],
    columns: RowColumns,
) -> NDArray[np.int64]:
    """Return the positions of all rows that a query selects, in its order; its page has no influence.

    ``query.metric`` is the canonical name. Raises UsageError as `row_page` does.
    """
    positions = columns.positions(connection)
    masks = [
        *_score_masks(connection, query, columns),
        *(_inside(positions, chosen) for chosen in _chosen(connection, record, query, numbers)),
    ]
    if query.metric is None or query.sort == "position":
        return positions[np.logical_and.reduce(masks)] if masks else positions
    order = columns.order(connection, query.metric, query.sort)
    if query.first:
        ranks = columns.ranks(connection, query.metric, numbers[query.metric], query.first)
        order = order[np.argsort(ranks[order], kind="stable")]
    return positions[order[np.logical_and.reduce(masks)[order]] if masks else order]


def _score_masks(connection: Connection, query: RowQuery, columns: RowColumns) -> Iterator[Mask]:
    if query.label is not None:
        yield columns.labels(connection) == int(query.label)
    if query.metric is None or (query.status is None and query.low is None and query.high is None):
        return
    column = columns.metric(connection, query.metric)
    if query.status is not None:
        yield column.codes == STATUSES.index(Status(query.status))
    if query.low is not None:
        yield column.values >= query.low
    if query.high is not None:
        yield column.values <= query.high


def _chosen(
    connection: Connection, record: RunRecord, query: RowQuery, numbers: Mapping[str, int]
) -> Iterator[Iterable[int]]:
    if query.words:
        found = indexed_positions(connection, record, query.words)
        yield scanned_positions(connection, record, query.words) if found is None else found
    if query.plane is not None:
        yield plane_positions(connection, record, query.plane, numbers)
    if query.group is not None:
        yield group_positions(connection, record, query.group)


def _inside(positions: NDArray[np.int64], chosen: Iterable[int]) -> Mask:
    mask = np.zeros(int(positions[-1]) + 1 if len(positions) else 0, dtype=np.bool_)
    places = np.fromiter(chosen, dtype=np.int64)
    mask[places[places < len(mask)]] = True
    return np.asarray(mask[positions])
