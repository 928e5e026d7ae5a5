"""Estimates the memory that JSON values take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ITEM = 32
"""The assumed size of a value in bytes, without its text."""


def size_of(value: Any, most: int) -> int:
    """Return the approximate size of a JSON value in bytes: the characters of texts, and 32 for each value.

    The count stops at ``most``, so that a list may contain itself.

    >>> size_of("abc", 100), size_of(["abc", 1], 100)
    (35, 99)
    """
    total, waiting = 0, [value]
    while waiting and total <= most:
        value = waiting.pop()
        total += _ITEM
        if isinstance(value, (str, bytes)):
            total += len(value)
        elif isinstance(value, Mapping):
            waiting += value.values()
            waiting += value.keys()
        elif isinstance(value, (list, tuple)):
            waiting += value
    return total
