"""Short texts for messages: truncation, plurals, ``repr`` of large objects, names of runs and metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

TORCH = "torch:"
"""The prefix of a model that PyTorch runs."""
MAX_NAME = 200
"""The maximum number of characters of a name."""
MAX_METRIC = 2000
"""The maximum number of characters of a metric's canonical string, which contains its parameters."""
MAX_LABEL = 80
"""The maximum number of characters of a metric's name in tables and messages."""
_DEFINED = re.compile(r'([a-z]\w*)\(definition="[0-9a-f]{8}"\)')
_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


def name_problem(text: str, *, longest: int = MAX_NAME) -> str:
    r"""Return why a text cannot be a name; an empty string if it can.

    >>> name_problem("nightly"), name_problem("night\x1bly"), name_problem(" "), name_problem("x" * 201)
    ('', 'it has characters that cannot be printed', 'it is blank', 'it has more than 200 characters')
    """
    if not text.strip():
        return "it is blank"
    if len(text) > longest:
        return f"it has more than {longest} characters"
    return "" if text.isprintable() else "it has characters that cannot be printed"


def as_name(text: str, *, longest: int = MAX_NAME) -> str:
    r"""Make a name from any text: replace characters that cannot be printed, and truncate.

    >>> as_name("night\x1bly.csv"), as_name("x" * 300, longest=4), as_name("")
    ('night�ly.csv', 'xxx…', '�')
    """
    name = shorten("".join(sign if sign.isprintable() else _UNPRINTABLE for sign in text), longest)
    return name if name.strip() else _UNPRINTABLE


@lru_cache
def metric_label(canonical: str) -> str:
    """Return the name of a metric for tables and messages: without its definition, and not too long.

    >>> metric_label('quality(definition="2d531f3c")'), metric_label("rouge_l(beta=1.2)")
    ('quality', 'rouge_l(beta=1.2)')
    >>> len(metric_label(f"contains(text='{'a' * 100}')"))
    80
    """
    match = _DEFINED.fullmatch(canonical)
    return shorten(canonical, MAX_LABEL) if match is None else match[1]


def shorten(text: str, longest: int = 60) -> str:
    """Truncate a text to at most ``longest`` characters, including the ellipsis.

    >>> shorten("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def pluralize(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun in singular or plural; ``many`` is for plurals without -s.

    >>> pluralize(1, "row"), pluralize(1200, "row"), pluralize(0, "row has", "rows have")
    ('1 row', '1,200 rows', '0 rows have')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def pluralize_part(count: int, total: int, one: str, verb: str = "", verbs: str = "") -> str:
    """Return how many of all, with the noun of all, and with the verb of the part if one is given.

    >>> pluralize_part(1, 3, "row", "has", "have"), pluralize_part(2, 3, "row", "has", "have")
    ('1 of 3 rows has', '2 of 3 rows have')
    >>> pluralize_part(0, 1, "row")
    '0 of 1 row'
    """
    said = verb if count == 1 else verbs
    return f"{count:,} of {pluralize(total, one)}{said and f' {said}'}"


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
