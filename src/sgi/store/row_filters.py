"""Queries of rows as SQL conditions; texts in a query are matched literally."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, get_args

import sqlalchemy as sa

from sgi.kernel.errors import UsageError
from sgi.kernel.metric import Status
from sgi.store import schema
from sgi.store.bulk_rows import driver_rows
from sgi.store.run_queries import select_committed
from sgi.store.samples import shown_response, with_answers
from sgi.store.text_codec import encode_json, encode_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from sgi.store.run_queries import RunRecord

Sort = Literal["position", "lowest", "highest"]

LARGEST_PAGE = 10_000
_LONGEST_TEXT = 1000
_ANGLE_ROWS = 100
"""How many rows of a metric are read to find out whether its details hold the two angles, θ(r,c) and θ(r,q).
"""
MAX_WORDS = 50
_WORDS = re.compile(r"""(?<!\S)"([^"]*[^"\s][^"]*)"(?!\S)|(\S+)""")
_LIKE_SIGNS = re.compile("[/%_]")
_ESCAPED = r"/\g<0>"
_NO_GROUP = "(none)"
_LABEL = "label"


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
        require(len(self.text) <= _LONGEST_TEXT, "text", f"has at most {_LONGEST_TEXT:,} characters")
        require(len(self.words) <= MAX_WORDS, "text", f"has at most {MAX_WORDS} words")
        require(self.status in {None, *statuses}, "status", f"is one of {', '.join(statuses)}")
        require(self.sort in get_args(Sort), "sort", f"is one of {', '.join(get_args(Sort))}")
        require(self.page >= 1, "page", "is 1 or more")
        require(1 <= self.size <= LARGEST_PAGE, "size", f"is from 1 to {LARGEST_PAGE:,}")
        _require_range("low", self.low, "high", self.high)
        if self.plane is not None:
            _require_range("plane", self.plane[0], "plane", self.plane[1])
            _require_range("plane", self.plane[2], "plane", self.plane[3])
        parts = {"status": self.status, "low": self.low, "high": self.high}
        parts["sort"] = None if self.sort == "position" else self.sort
        for name, value in parts.items():
            require(value is None or self.metric is not None, name, "goes with a metric")

    @property
    def words(self) -> tuple[str, ...]:
        """The words of ``text``; several words in quotes are one. Each can be part of a longer word.

        >>> RowQuery('Paris "new york" 5"').words
        ('Paris', 'new york', '5"')
        """
        return tuple(dict.fromkeys(phrase or word for phrase, word in _WORDS.findall(self.text)))


def require(holds: bool, name: str, rule: str) -> None:
    """Raise a UsageError unless the rule for this part of a query holds."""
    if not holds:
        raise UsageError(f"The query of rows is invalid: {name} {rule}.")


def _require_range(one: str, low: float | None, other: str, high: float | None) -> None:
    for name, end in ((one, low), (other, high)):
        require(end is None or not isnan(end), name, "is a number")
    rule = "has each least value before the greatest" if one == other else f"is not above {other}"
    require(low is None or high is None or low <= high, one, rule)


def scanned_positions(connection: Connection, record: RunRecord, words: Sequence[str]) -> list[int]:
    """Return the positions of the rows whose id, question or response contains each word, in any order.

    It reads all texts; `sgi.store.search_index` gives the same positions without that.
    """
    samples = schema.samples
    columns = [fold(connection, column) for column in (samples.c.id, samples.c.question, shown_response())]
    query = sa.select(samples.c.position).select_from(with_answers(record.id))
    query = query.where(samples.c.dataset == record.dataset)
    for word in words:
        pattern = fold(connection, sa.literal(like_pattern(word)))
        query = query.where(sa.or_(*(column.like(pattern, escape="/") for column in columns)))
    return [position for (position,) in driver_rows(connection, query)]


def like_pattern(word: str) -> str:
    """Return the pattern of LIKE, with the escape character "/", for texts that contain a word."""
    return f"%{_LIKE_SIGNS.sub(_ESCAPED, encode_text(word))}%"


def fold(connection: Connection, text: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Remove the difference of case; the lower() of SQLite knows only ASCII."""
    if connection.dialect.name != "sqlite":
        return sa.func.lower(text)
    driver: Any = connection.connection.driver_connection
    driver.create_function("sgi_casefold", 1, _casefold, deterministic=True)
    is_ascii = sa.func.length(text) == sa.func.length(sa.cast(text, sa.LargeBinary))
    return sa.case((is_ascii, sa.func.lower(text)), else_=sa.func.sgi_casefold(text))


def _casefold(text: str | None) -> str | None:
    return None if text is None else text.casefold()


def plane_positions(
    connection: Connection,
    record: RunRecord,
    plane: tuple[float, float, float, float],
    numbers: Mapping[str, int],
) -> list[int]:
    """Return the positions of the rows whose two angles are in the bounds."""
    metric = plane_metric(connection, numbers)
    if metric is None:
        message = f"No metric of {record.label} stores the two angles."
        raise UsageError(message, hint="The metric sgi stores them.")
    details = schema.details
    rc, rq = angles_in(connection, details.c.body)
    query = sa.select(details.c.position).where(
        details.c.metric == metric[1], rc.between(*plane[:2]), rq.between(*plane[2:])
    )
    return [position for (position,) in driver_rows(connection, query)]


def group_positions(connection: Connection, record: RunRecord, group: tuple[str, str]) -> list[int]:
    """Return the positions of the rows of a group; Python names the values, because databases differ."""
    column, value_text = group
    samples = schema.samples
    every = select_committed(record, samples.c.position)
    rows = every.add_columns(samples.c.metadata, samples.c.label)
    if (
        column != _LABEL and value_text != _NO_GROUP and not _is_json(value_text)
    ):  # then it is a text, in quotes
        rows = rows.where(
            sa.cast(samples.c.metadata, sa.Text).contains(encode_json(value_text), autoescape=True)
        )
    value = column_reader(column, _metadata_with_label(connection, every) if column == _LABEL else ())
    return [
        position
        for position, metadata, label in connection.execute(rows)
        if _display_name(value(metadata, label)) == value_text
    ]


def _metadata_with_label(connection: Connection, every: sa.Select[Any]) -> Iterable[Mapping[str, Any] | None]:
    body = schema.samples.c.metadata
    mentions = sa.cast(body, sa.Text).contains(f'"{_LABEL}"', autoescape=True)
    return connection.execute(every.with_only_columns(body).where(mentions)).scalars()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def _display_name(value: Any) -> str:
    name = group_name(value)
    return _NO_GROUP if name is None else name


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


def plane_metric(connection: Connection, numbers: Mapping[str, int]) -> tuple[str, int] | None:
    """Return the first metric whose details hold the angles θ(r,c) and θ(r,q), and its number."""
    details = schema.details
    for metric, number in numbers.items():
        first = sa.select(details.c.body).where(details.c.metric == number)
        some = first.order_by(details.c.position).limit(_ANGLE_ROWS).subquery()
        both = [angle.is_not(None) for angle in angles_in(connection, some.c.body)]
        if connection.execute(sa.select(sa.literal(1)).where(*both).select_from(some).limit(1)).first():
            return metric, number
    return None


def angles_in(connection: Connection, body: sa.ColumnElement[Any]) -> tuple[sa.ColumnElement[float], ...]:
    """Select θ(r,c) and θ(r,q) from the details of a row; NULL if they are not numbers."""
    return tuple(_json_number(connection, body, name) for name in ("theta_rc", "theta_rq"))


def _json_number(connection: Connection, body: sa.ColumnElement[Any], name: str) -> sa.ColumnElement[float]:
    if connection.dialect.name == "sqlite":
        kind = sa.func.json_type(body, f"$.{name}", type_=sa.Text)
        value = sa.func.json_extract(body, f"$.{name}", type_=sa.Float(53))
        return sa.case((kind.in_(["real", "integer"]), value))
    kind = sa.func.json_typeof(body.op("->", return_type=sa.JSON())(name), type_=sa.Text)
    text = body.op("->>", return_type=sa.Text())(name)
    return sa.case((kind == "number", sa.cast(text, sa.Float(53))))
