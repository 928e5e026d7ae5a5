"""Encode any text for the database: NUL and lone surrogates, which PostgreSQL rejects, become escapes.

The escape character is U+FDD0, a Unicode noncharacter. Texts without these characters stay as they are.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import orjson

from sgi.kernel.parsing import reason
from sgi.store.database_location import damaged_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
