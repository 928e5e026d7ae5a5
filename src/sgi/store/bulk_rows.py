"""Read and write many rows through the database driver, and encode texts that PostgreSQL rejects.

SQLAlchemy's layers cost as much as the work. NUL and lone surrogates in texts become escapes; the escape
character is U+FDD0, a Unicode noncharacter. Texts without these characters stay as they are.
"""

from __future__ import annotations

import json
import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson

from sgi.kernel.parsing import reason
from sgi.store.database_location import damaged_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import sqlalchemy as sa
    from pydantic import JsonValue

_ESCAPE = "\ufdd0"
_UNFIT = re.compile("[\0\ud800-\udfff\ufdd0]")
_ESCAPED = re.compile(f"{_ESCAPE}([0-9a-f]{{4}})")


def encode_text(text: str) -> str:
    r"""Encode a text for any database.

    >>> encode_text("plain"), encode_text("a\0b") == "a\ufdd00000b"
    ('plain', True)
    """
    if text.isascii() and "\0" not in text:
        return text
    return _UNFIT.sub(lambda sign: f"{_ESCAPE}{ord(sign[0]):04x}", text)


def decode_text(text: str) -> str:
    r"""Reverse `encode_text`. Raises StoreDamagedError if SQLite returns another type than text.

    >>> decode_text(encode_text("a\0b\ud800\ufdd0")) == "a\0b\ud800\ufdd0"
    True
    """
    try:
        if _ESCAPE not in text:
            return text
    except TypeError as error:
        raise damaged_error("a column of texts holds a value that is not text") from error
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def encode_json(value: JsonValue | tuple[str, ...]) -> str:
    r"""Encode a value as JSON text for any database; numbers that are not finite become null."""
    try:
        dumped = orjson.dumps(value).decode()
    except TypeError:  # whole numbers beyond 64 bits, lone surrogates
        return json.dumps(_encode_strings(value), ensure_ascii=False, separators=(",", ":"))
    if "\\u0000" in dumped or _ESCAPE in dumped:
        return orjson.dumps(_encode_strings(value)).decode()
    return dumped


def decode_json(text: str) -> Any:
    """Reverse `encode_json`."""
    value = json.loads(text)
    return _decode_strings(value) if _ESCAPE in text else value


def decode_json_shared(texts: Iterable[str | None]) -> Iterator[Any]:
    """Decode each text as `decode_json` does; equal texts share one object, None stays None.

    >>> one, none, other = decode_json_shared(['{"a":1}', None, '{"a":1}'])
    >>> one, none, one is other
    ({'a': 1}, None, True)
    """
    known: dict[str | None, Any] = {None: None}
    for text in texts:
        if text is not None and text not in known:
            known[text] = decode_json(text)
        yield known[text]


def column_json(text: str) -> Any:
    """Decode a JSON column. Raises StoreDamagedError if the text is not JSON."""
    try:
        return decode_json(text)
    except (ValueError, RecursionError) as error:
        raise damaged_error(f"a column of JSON holds text that is not JSON: {reason(error)}") from error


def _encode_strings(value: Any) -> Any:
    if isinstance(value, str):
        return encode_text(value)
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {encode_text(key): _encode_strings(item) for key, item in value.items()}
    return [_encode_strings(item) for item in value] if isinstance(value, (list, tuple)) else value


def _decode_strings(value: Any) -> Any:
    if isinstance(value, str):
        return decode_text(value)
    if isinstance(value, dict):
        return {decode_text(key): _decode_strings(item) for key, item in value.items()}
    return [_decode_strings(item) for item in value] if isinstance(value, list) else value


T = TypeVar("T")
CHUNK = 2000
"""Rows in memory at a time."""
_A_STATEMENT = 500
"""Rows per statement; PostgreSQL allows 65535 values in one."""


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """Split items into lists of ``size``; the last may be shorter.

    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def driver_rows(connection: sa.Connection, query: sa.Executable) -> Iterator[tuple[Any, ...]]:
    """Yield rows as tuples of the database driver, several times faster than SQLAlchemy's rows.

    Booleans are 1 and 0 in SQLite; cast JSON to text in the query.
    """
    return cast("Iterator[tuple[Any, ...]]", connection.execute(query).cursor)


def insert_rows(
    connection: sa.Connection, table: sa.Table, rows: Iterable[tuple[Any, ...]], *, unless_there: bool = False
) -> None:
    """Insert rows: values for the driver (JSON as text), in column order.

    ``unless_there`` skips rows whose key exists.
    """
    lite = connection.dialect.name == "sqlite"
    row = f"({', '.join(['?' if lite else '%s'] * len(table.columns))})"
    names = ", ".join(column.name for column in table.columns)
    head = f"INSERT INTO {table.name} ({names}) VALUES "  # noqa: S608 - our own names
    tail = " ON CONFLICT DO NOTHING" if unless_there else ""
    for some in chunks(rows, CHUNK if lite else _A_STATEMENT):
        if lite:
            connection.exec_driver_sql(f"{head}{row}{tail}", some)
        else:  # a server wants few statements, each of many rows
            values = ", ".join([row] * len(some))
            connection.exec_driver_sql(f"{head}{values}{tail}", tuple(chain.from_iterable(some)))


def upsert(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> None:
    """Insert a row; if its key exists, replace its other values."""
    from sqlalchemy.dialects import postgresql, sqlite

    inserted = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table).values(**values)
    others = {name: value for name, value in values.items() if name not in table.primary_key.columns}
    connection.execute(inserted.on_conflict_do_update(index_elements=table.primary_key, set_=others))
