"""Shortens texts for messages, and the ``repr`` of objects with many rows to sizes instead of contents."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any


def shorten(text: str, longest: int = 60) -> str:
    """Truncate a text to at most ``longest`` characters, including the ellipsis.

    >>> shorten("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quote(text: str, limit: int = 200) -> str:
    r"""Return the start of an untrusted text, on one line, without control characters and lone surrogates.

    The result is part of requests to judges, so a change makes their cached replies unusable.

    >>> quote("one\n\x1b[31mtwo")
    'one [31mtwo'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[:limit]}…"


MAX_REPR = 1000
"""The maximum length of a repr in characters."""

_MAX_ITEMS = 3
_MAX_NESTED = 120


def short_repr(self: Any) -> str:
    """Return a short repr of a dataclass or pydantic model; the class sets ``__repr__ = short_repr``.

    It truncates texts, shows type and shape of arrays, and the first items and the size of long collections.
    It omits fields with ``repr=False`` and fields of a model that were not set.

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Rows:
    ...     ids: tuple[str, ...]
    ...     values: object
    ...     __repr__ = short_repr
    >>> Rows(tuple("abcdefgh"), np.zeros((8, 2)))
    Rows(ids=('a', 'b', 'c', … 8 items), values=<float64 array (8, 2)>)
    """
    if is_dataclass(self):
        names = [field.name for field in fields(self) if field.repr]
    else:
        names = [name for name in type(self).model_fields if name in self.model_fields_set]
    parts = (f"{name}={short(getattr(self, name))}" for name in names)
    return shorten(f"{type(self).__name__}({', '.join(parts)})", MAX_REPR)


def short(value: Any) -> str:
    """Return a short repr of any value."""
    match value:
        case str():
            return repr(shorten(value))
        case _ if type(value).__name__ == "ndarray":  # importing numpy takes long
            return f"<{value.dtype} array {value.shape}>"
        case Mapping() if _is_plain(value):
            return _items([f"{key!r}: {short(value[key])}" for key in _first(value)], len(value), "{}")
        case Sequence() | AbstractSet() if _is_plain(value):
            parts = [short(item) for item in _first(value)]
            if isinstance(value, tuple):
                return f"({', '.join(parts)},)" if len(value) == 1 else _items(parts, len(value), "()")
            return _items(parts, len(value), "[]" if isinstance(value, list) else "{}")
        case _:
            return shorten(repr(value), _MAX_NESTED)


def _is_plain(value: object) -> bool:
    """Return whether a collection has no ``__repr__`` of its own."""
    return "__repr__" not in vars(type(value)) or type(value).__module__ == "builtins"


def _first(values: Any) -> list[Any]:
    return [item for item, _ in zip(values, range(_MAX_ITEMS), strict=False)]


def _items(parts: list[str], total: int, brackets: str) -> str:
    rest = [f"… {total:,} items"] if total > len(parts) else []
    return f"{brackets[0]}{', '.join([*parts, *rest])}{brackets[1]}"
