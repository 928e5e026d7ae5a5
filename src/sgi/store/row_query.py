"""Filter, sort, search and page the rows of a run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import sqlalchemy as sa

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.metric import Status
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import metric_label
from sgi.kernel.signature import display_text
from sgi.store import schema
from sgi.store.angle_plane import select_in_plane
from sgi.store.bulk_rows import decode_text, driver_rows, encode_json
from sgi.store.run_queries import metric_ids, select_committed
from sgi.store.samples import shown_response, with_answers
from sgi.store.search_index import contains_words
from sgi.store.view_cache import MANY_ROWS, load_view, save_view

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

    Positions = NDArray[np.int64]

Sort = Literal["position", "lowest", "highest"]
LARGEST_PAGE = 10_000
MAX_WORDS = 50
_LONGEST_TEXT = 1000
_QUESTION, _RESPONSE = 300, 400
_WORDS = re.compile(r"""(?<!\S)"([^"]*[^"\s][^"]*)"(?!\S)|(\S+)""")
_CUT_ESCAPE = re.compile("\ufdd0[0-9a-f]{0,3}$")
_NO_GROUP = "(none)"
_LABEL = "label"
_STORED = np.dtype("<i4")


def worst_first(*, higher_is_better: bool) -> Sort:
    """Return the order of rows with the worst values of a metric first."""
    return "lowest" if higher_is_better else "highest"


@dataclass(frozen=True)
class RowQuery:
    """Selects, sorts and pages rows. A row must meet all conditions.

    Attributes:
        text: words that the id, the question or the response contains; see `words`.
        metric: canonical string or bare name, for ``status``, ``low``, ``high`` and ``sort``.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        low: smallest value, inclusive.
        high: greatest value, inclusive.
        label: the known label.
        plane: bounds (low, high) of θ(r,c), then of θ(r,q), in radians, inclusive.
        group: a metadata column, or ``label`` (the known label, unless the metadata has such a column), and
            its value as text: other values are written as JSON, and ``(none)`` selects rows without a value.
        sort: by position in the data, or by the metric's value; rows without a value come last.
        first: a key of the metric's details, then classes: rows with these come first, in their order.
        page: number of the page, from 1.
        size: number of rows on a page, up to 10,000.

    Raises UsageError that names the invalid part.
    """

    text: str = ""
    metric: str | None = None
    status: str | None = None
    low: float | None = None
    high: float | None = None
    label: bool | None = None
    plane: tuple[float, float, float, float] | None = None
    group: tuple[str, str] | None = None
    sort: Sort = "position"
    first: tuple[str, ...] = ()
    page: int = 1
    size: int = 50

    def __post_init__(self) -> None:
        statuses = [status.value for status in Status]
        _require(len(self.text) <= _LONGEST_TEXT, "text", f"has at most {_LONGEST_TEXT:,} characters")
        _require(len(self.words) <= MAX_WORDS, "text", f"has at most {MAX_WORDS} words")
        _require(self.status in {None, *statuses}, "status", f"is one of {', '.join(statuses)}")
        _require(self.sort in get_args(Sort), "sort", f"is one of {', '.join(get_args(Sort))}")
        _require(self.page >= 1, "page", "is 1 or more")
        _require(1 <= self.size <= LARGEST_PAGE, "size", f"is from 1 to {LARGEST_PAGE:,}")
        _require_range("low", self.low, "high", self.high)
        if self.plane is not None:
            _require_range("plane", self.plane[0], "plane", self.plane[1])
            _require_range("plane", self.plane[2], "plane", self.plane[3])
        parts = {"status": self.status, "low": self.low, "high": self.high}
        parts["sort"] = None if self.sort == "position" else self.sort
        for name, value in parts.items():
            _require(value is None or self.metric is not None, name, "goes with a metric")

    @property
    def words(self) -> tuple[str, ...]:
        """The words of ``text``; several words in quotes are one. Each can be part of a longer word.

        >>> RowQuery('Paris "new york" 5"').words
        ('Paris', 'new york', '5"')
        """
        return tuple(dict.fromkeys(phrase or word for phrase, word in _WORDS.findall(self.text)))


def _require(holds: bool, name: str, rule: str) -> None:
    if not holds:
        raise UsageError(f"The query of rows is invalid: {name} {rule}.")


def _require_range(one: str, low: float | None, other: str, high: float | None) -> None:
    for name, end in ((one, low), (other, high)):
        _require(end is None or not isnan(end), name, "is a number")
    rule = "has each least value before the greatest" if one == other else f"is not above {other}"
    _require(low is None or high is None or low <= high, one, rule)


@dataclass(frozen=True)
class Cell:
    """A value in the table.

    Attributes:
        value: the value; None if there is none.
        status: ``ok``, ``undefined``, ``missing`` or ``failed``.
        reason: why there is no value; empty if there is one.
    """

    value: float | None
    status: str
    reason: str


_UNKNOWN = Cell(None, Status.MISSING.value, "the run does not store its score")


@dataclass(frozen=True)
class RowLine:
    """A row of the table.

    Attributes:
        id: the id of the sample.
        position: its position in the data.
        label: the known label; None if there is none.
        question: the start of the question.
        response: the start of the response.
        cells: values by the canonical name of the metric.
    """

    id: str
    position: int
    label: bool | None
    question: str
    response: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class RowPage:
    """One page of the rows of a run.

    Attributes:
        metrics: canonical names of the shown metrics, one for each column.
        rows: the rows of this page.
        total: number of rows that match the filters.
        of: number of scored rows of the run.
        query: the request, with the page shown and the canonical name of the metric.
        pages: number of pages, at least 1.
    """

    metrics: tuple[str, ...]
    rows: tuple[RowLine, ...]
    total: int
    of: int
    query: RowQuery
    pages: int


def row_page(
    database: Database,
    record: RunRecord,
    query: RowQuery,
    *,
    cached: Callable[[RowQuery, Callable[[], Positions]], Positions] = lambda _, make: make(),
    shown: Collection[str] | None = None,
) -> RowPage:
    """Return a page of the scored rows of a run; a number beyond the end gives the last page.

    ``cached`` computes, or returns from a cache, the positions of all rows that a query selects, on all
    pages. ``shown`` selects the metrics; None for all.

    Raises UnknownNameError if the run has no such metric, or several of that name; UsageError if the query
    has a ``plane`` and no metric of the run stores the two angles.
    """
    metric = None if query.metric is None else _metric_of_query(query.metric, record)
    whole = replace(query, metric=metric, page=1, size=1)
    positions = cached(whole, lambda: _positions(database, record, whole))
    pages = max(1, -(-len(positions) // query.size))
    page = min(query.page, pages)
    on_page = positions[(page - 1) * query.size : page * query.size].tolist()
    with database.reading() as connection:
        numbers = metric_ids(connection, record.id)
        chosen = {name: n for name, n in numbers.items() if shown is None or name in shown}
        rows = _page_rows(connection, record, on_page, chosen)
    place = replace(query, page=page, metric=metric)
    return RowPage(tuple(chosen), rows, len(positions), record.scored, place, pages)


def _metric_of_query(name: str, record: RunRecord) -> str:
    bare = [metric for metric in record.metrics if metric_name(metric) == name]
    if name in record.metrics:
        return name
    if len(bare) == 1:
        return bare[0]
    raise UnknownNameError(
        f"metric of {record.label}", name, hint=f"It has: {', '.join(map(metric_label, record.metrics))}."
    )


def _positions(database: Database, record: RunRecord, query: RowQuery) -> Positions:
    """Return the positions of all rows that a query selects, in its order; its page has no influence.

    The order of all rows of a large finished run is stored: reading it takes as long as many pages.
    """
    sorts_all = RowQuery(metric=query.metric, sort=query.sort, first=query.first, size=1) == query
    is_stored = sorts_all and query.sort != "position" and record.finished and record.scored >= MANY_ROWS
    view = "rows " + json.dumps([query.metric, query.sort, *query.first])
    state = f"1 {record.scored} {record.changes} {record.finished_at}"
    body = load_view(database, record.id, view, state) if is_stored else None
    if body is not None and len(body) == record.scored * _STORED.itemsize:
        return np.frombuffer(body, _STORED).astype(np.int64)
    with database.reading() as connection:
        statement = _select_positions(connection, record, query)
        found: Iterator[int]
        if query.group is None:
            found = (position for (position,) in driver_rows(connection, statement))
        else:
            found = _of_group(connection, record, statement, query.group)
        positions = np.fromiter(found, dtype=np.int64)
    if is_stored:
        save_view(database, record.id, view, state, positions.astype(_STORED).tobytes())
    return positions


def _select_positions(connection: Connection, record: RunRecord, query: RowQuery) -> sa.Select[Any]:
    """Select the positions of the rows of a query except its group, in its order."""
    samples, scores, details = schema.samples, schema.scores, schema.details
    numbers = metric_ids(connection, record.id)
    rows = with_answers(record.id)
    for table in scores, details:  # of the metric of the query
        same = (table.c.metric == numbers.get(query.metric or "", -1)) & (
            table.c.position == samples.c.position
        )
        rows = rows.outerjoin(table, same)
    order: list[sa.ColumnElement[Any]] = [samples.c.position]
    if query.sort != "position":
        value = scores.c.value.asc() if query.sort == "lowest" else scores.c.value.desc()
        order.insert(0, value.nulls_last())
        if query.first:
            key, *classes = query.first
            ranks = {encode_json(name): rank for rank, name in enumerate(classes)}
            entry = sa.cast(details.c.body[key], sa.Text)
            order.insert(0, sa.case(ranks, value=entry, else_=len(ranks)))
    return (
        select_committed(record, samples.c.position)
        .select_from(rows)
        .where(*_conditions(connection, record, query, numbers))
        .order_by(None)
        .order_by(*order)
    )


def _conditions(
    connection: Connection, record: RunRecord, query: RowQuery, numbers: Mapping[str, int]
) -> Iterator[sa.ColumnElement[bool]]:
    samples, scores = schema.samples, schema.scores
    if query.words:
        yield from contains_words(connection, record, query.words)
    if query.label is not None:
        yield samples.c.label == query.label
    if query.status is not None:
        yield sa.func.coalesce(scores.c.status, _UNKNOWN.status) == query.status
    if query.low is not None:
        yield scores.c.value >= query.low
    if query.high is not None:
        yield scores.c.value <= query.high
    if query.plane is not None:
        yield samples.c.position.in_(select_in_plane(connection, record, query.plane, numbers))


def _of_group(
    connection: Connection, record: RunRecord, statement: sa.Select[Any], group: tuple[str, str]
) -> Iterator[int]:
    """Yield the positions of the rows of a group; Python names the values, because databases differ."""
    column, name = group
    samples = schema.samples
    body = sa.cast(samples.c.metadata, sa.Text)
    rows = statement.add_columns(samples.c.metadata, samples.c.label)
    if column != _LABEL and name != _NO_GROUP and not _is_json(name):  # then it is a text, in quotes
        rows = rows.where(body.contains(encode_json(name), autoescape=True))
    with_label: Iterable[Any] = ()
    if column == _LABEL:
        mentions = body.contains(f'"{_LABEL}"', autoescape=True)
        with_label = connection.execute(
            select_committed(record, samples.c.metadata).where(mentions)
        ).scalars()
    value = column_reader(column, with_label)
    for position, metadata, label in connection.execute(rows):
        named = group_name(value(metadata, label))
        if (_NO_GROUP if named is None else named) == name:
            yield position


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def column_reader(
    by: str, metadata: Iterable[Mapping[str, Any] | None]
) -> Callable[[Mapping[str, Any] | None, bool | None], Any]:
    """Return a function that reads a column from the metadata and the label of a row, or returns None.

    The column ``label`` is the known label, 1 or 0. But if the metadata of any committed row has a column
    ``label``, that column is used for all rows.

    >>> column_reader("label", [{"kind": "x"}, None])({"kind": "x"}, True)
    1
    >>> column_reader("label", [{"label": "mine"}, None])(None, True) is None
    True
    """
    if by == _LABEL and not any(_LABEL in (row or ()) for row in metadata):
        return lambda _, label: None if label is None else int(label)
    return lambda row, _: (row or {}).get(by)


def group_name(value: Any) -> str | None:
    """Name a group: text is unchanged, other values become JSON; None stays None."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _page_rows(
    connection: Connection, record: RunRecord, positions: Sequence[int], numbers: Mapping[str, int]
) -> tuple[RowLine, ...]:
    samples, scores = schema.samples, schema.scores
    texts = (
        sa.func.substr(samples.c.question, 1, _QUESTION).label("question"),
        sa.func.substr(shown_response(), 1, _RESPONSE).label("response"),
    )
    query = (
        sa.select(samples.c.position, samples.c.id, samples.c.label, *texts)
        .select_from(with_answers(record.id))
        .where(samples.c.dataset == record.dataset, samples.c.position.in_(positions))
    )
    rows = {row.position: row for row in connection.execute(query)}
    score = sa.select(scores.c.metric, scores.c.position, scores.c.value, scores.c.status, scores.c.reason)
    ours = scores.c.metric.in_(list(numbers.values())) & scores.c.position.in_(positions)
    cells = {
        (metric, position): Cell(value, status, decode_text(reason or ""))
        for metric, position, value, status, reason in connection.execute(score.where(ours))
    }
    return tuple(
        RowLine(
            id=decode_text(row.id),
            position=position,
            label=row.label,
            question=_decode_beginning(row.question),
            response=_decode_beginning(row.response),
            cells={name: cells.get((number, position), _UNKNOWN) for name, number in numbers.items()},
        )
        for position in positions
        if (row := rows.get(position)) is not None  # deleted meanwhile
    )


def _decode_beginning(text: str | None) -> str:
    """Decode the beginning of a text; a character that was cut in two is left out."""
    return "" if text is None else display_text(decode_text(_CUT_ESCAPE.sub("", text)))
