r"""Any text, as a database can hold it: NUL and lone surrogates are written as escapes, and read back.

PostgreSQL refuses both. The escape sign is U+FDD0, which Unicode sets aside for use inside programs; texts
without these signs, which is nearly all there are, stay as they are.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import orjson

from sgi.kernel.parsing import reason
from sgi.store.database_location import damaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

_ESCAPE = "\ufdd0"
_UNFIT = re.compile("[\0\ud800-\udfff\ufdd0]")
_ESCAPED = re.compile(f"{_ESCAPE}([0-9a-f]{{4}})")


def stored(text: str) -> str:
    r"""The text as any database takes it.

    >>> stored("plain"), stored("a\0b") == "a\ufdd00000b"
    ('plain', True)
    """
    if text.isascii() and "\0" not in text:
        return text
    return _UNFIT.sub(lambda sign: f"{_ESCAPE}{ord(sign[0]):04x}", text)


def restored(text: str) -> str:
    r"""The text as it was.

    >>> restored(stored("a\0b\ud800\ufdd0")) == "a\0b\ud800\ufdd0"
    True

    Raises:
        StoreDamagedError: it is not a text; SQLite lets a column of texts hold other values.
    """
    try:
        if _ESCAPE not in text:
            return text
    except TypeError as error:
        raise damaged("a column of texts holds something else") from error
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def stored_json(value: JsonValue | tuple[str, ...]) -> str:
    r"""The value as JSON text that any database takes; numbers that are not finite become null.

    >>> stored_json({"a": [1.5, "b\0"]}) == '{"a":[1.5,"b\ufdd00000"]}'
    True
    """
    try:
        dumped = orjson.dumps(value).decode()
    except TypeError:  # whole numbers beyond 64 bits, lone surrogates
        return json.dumps(_fit(value), ensure_ascii=False, separators=(",", ":"))
    if "\\u0000" in dumped or _ESCAPE in dumped:
        return orjson.dumps(_fit(value)).decode()
    return dumped


def restored_json(text: str) -> Any:
    """The value as it was.

    >>> restored_json(stored_json({"a": 2**70}))
    {'a': 1180591620717411303424}
    """
    value = json.loads(text)
    return _unfit(value) if _ESCAPE in text else value


def equal_json_shared(texts: Iterable[str | None]) -> Iterator[Any]:
    """The value of each text, as `restored_json` gives it; equal texts share one object, None stays.

    >>> one, none, other = equal_json_shared(['{"a":1}', None, '{"a":1}'])
    >>> one, none, one is other
    ({'a': 1}, None, True)
    """
    known: dict[str | None, Any] = {None: None}
    for text in texts:
        if text is not None and text not in known:
            known[text] = restored_json(text)
        yield known[text]


def column_json(text: str) -> Any:
    """The value of a JSON column.

    Raises:
        StoreDamagedError: the text is not JSON, so the database is damaged.
    """
    try:
        return restored_json(text)
    except (ValueError, RecursionError) as error:
        raise damaged(f"a column of JSON holds something else: {reason(error)}") from error


def _fit(value: Any) -> Any:
    if isinstance(value, str):
        return stored(value)
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {stored(key): _fit(item) for key, item in value.items()}
    return [_fit(item) for item in value] if isinstance(value, (list, tuple)) else value


def _unfit(value: Any) -> Any:
    if isinstance(value, str):
        return restored(value)
    if isinstance(value, dict):
        return {restored(key): _unfit(item) for key, item in value.items()}
    return [_unfit(item) for item in value] if isinstance(value, list) else value
