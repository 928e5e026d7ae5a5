"""What a query of rows asks of each of them, as conditions of SQL; texts in it are texts, never patterns."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.kernel.errors import UsageError
from sgi.kernel.metric import Status
from sgi.store import schema
from sgi.store.angles import angles_in, plane_metric
from sgi.store.text_codec import stored, stored_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy import Connection

    from sgi.store.row_pages import RowQuery
    from sgi.store.run_queries import RunRecord

_LIKE_SIGNS = re.compile("[/%_]")
_ESCAPED = r"/\g<0>"
_NO_GROUP = "(none)"
_LABEL = "label"


def wanted_rows(
    connection: Connection, record: RunRecord, query: RowQuery, numbers: Mapping[str, int]
) -> list[sa.ColumnElement[bool]]:
    """What has to hold for a row, but for its group."""
    samples, scores = schema.samples, schema.scores
    wanted = []
    if query.text:
        wanted.append(_mentions(connection, record, query.text))
    if query.status is not None:  # a row that a metric knows nothing of is missing
        wanted.append(sa.func.coalesce(scores.c.status, Status.MISSING.value) == query.status)
    if query.low is not None:
        wanted.append(scores.c.value >= query.low)
    if query.high is not None:
        wanted.append(scores.c.value <= query.high)
    if query.label is not None:
        wanted.append(samples.c.label.is_(query.label))
    if query.plane is not None:
        wanted.append(_inside(connection, query.plane, numbers, record))
    return wanted


def _mentions(connection: Connection, record: RunRecord, text: str) -> sa.ColumnElement[bool]:
    """Whether the text stands in what is shown of a row, in any case."""
    samples, answers = schema.samples, schema.answers
    fold = sa.func.lower
    if connection.dialect.name == "sqlite" and not text.isascii():  # whose lower() knows ASCII alone
        driver: Any = connection.connection.driver_connection
        driver.create_function("sgi_casefold", 1, _casefold, deterministic=True)
        fold = sa.func.sgi_casefold
    pattern = fold(sa.literal(f"%{_LIKE_SIGNS.sub(_ESCAPED, stored(text))}%"))
    asked = (answers.c.run == record.id) & (answers.c.position == samples.c.position)
    answered = sa.exists().where(asked)
    told = sa.exists().where(asked, fold(answers.c.response).like(pattern, escape="/"))
    given, question, name = (
        fold(samples.c[column]).like(pattern, escape="/") for column in ("response", "question", "id")
    )
    return sa.or_(name, question, told, given & ~answered)


def _casefold(text: str | None) -> str | None:
    return None if text is None else text.casefold()


def _inside(
    connection: Connection,
    plane: tuple[float, float, float, float],
    numbers: Mapping[str, int],
    record: RunRecord,
) -> sa.ColumnElement[bool]:
    """Whether a row lies in this part of the plane."""
    found = plane_metric(connection, numbers)
    if found is None:
        message = f"No metric of {record.label} has kept the two angles of its rows."
        raise UsageError(message, hint="Those of sgi are kept: sgi run … -m sgi.")
    details = schema.details
    rc, rq = angles_in(connection, details.c.body)
    return sa.exists().where(
        details.c.metric == found[1],
        details.c.position == schema.samples.c.position,
        rc.between(*plane[:2]),
        rq.between(*plane[2:]),
    )


def rows_of_group(
    connection: Connection, found: sa.Select[Any], every: sa.Select[Any], group: tuple[str, str]
) -> list[int]:
    """The positions of the rows of a group: what a value is called is known here, and to no database.

    Args:
        connection: to the database.
        found: the positions that are looked through, of the samples.
        every: those of all committed rows, also those that are not looked through.
        group: a column and what one of its values is called.
    """
    column, wanted = group
    samples = schema.samples
    rows = found.add_columns(samples.c.metadata, samples.c.label)
    if column != _LABEL and wanted != _NO_GROUP and not _is_json(wanted):  # then it is a text, in quotes
        rows = rows.where(sa.cast(samples.c.metadata, sa.Text).contains(stored_json(wanted), autoescape=True))
    value = column_reader(column, _labelling(connection, every) if column == _LABEL else ())
    return [
        position
        for position, metadata, label in connection.execute(rows)
        if _shown(value(metadata, label)) == wanted
    ]


def _labelling(connection: Connection, every: sa.Select[Any]) -> Iterable[Mapping[str, Any] | None]:
    """The metadata of those rows that can have a column named label."""
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


def _shown(value: Any) -> str:
    name = group_name(value)
    return _NO_GROUP if name is None else name


def column_reader(
    by: str, metadata: Iterable[Mapping[str, Any] | None]
) -> Callable[[Mapping[str, Any] | None, bool | None], Any]:
    """How a column of the data is read off the metadata and the label of a row.

    ``label`` is known truth, 1 or 0; but where the metadata of any row has a column of that name, it is that
    column for all of them.

    Args:
        by: the column.
        metadata: of all committed rows of the run.

    Returns:
        A function of a row's metadata and label; it gives None where the row has nothing there.

    >>> column_reader("label", [{"kind": "x"}, None])({"kind": "x"}, True)
    1
    >>> column_reader("label", [{"label": "mine"}, None])(None, True) is None
    True
    """
    if by == _LABEL and not any(_LABEL in (row or ()) for row in metadata):
        return lambda _, label: None if label is None else int(label)
    return lambda row, _: (row or {}).get(by)


def group_name(value: Any) -> str | None:
    """What a group is called by: a text as it is, anything else as JSON; None stays.

    >>> group_name("easy"), group_name(True), group_name(None)
    ('easy', 'true', None)
    """
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
