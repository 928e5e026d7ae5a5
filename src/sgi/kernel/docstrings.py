"""Reads the documentation of classes."""

from __future__ import annotations

from inspect import getdoc
from typing import Any


def first_line(kind: type[Any]) -> str:
    """Return the first line of the documentation of a class; "" if it has none.

    >>> first_line(int).startswith("int(")
    True
    """
    return (getdoc(kind) or "").partition("\n")[0]
