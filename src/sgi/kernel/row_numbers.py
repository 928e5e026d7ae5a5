"""Recognises row numbers, which rows without an id get as ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def are_numbers(ids: Sequence[str], stem: str = "") -> bool:
    """Return whether all ids are row numbers, which rows without an id get: increasing, from 1.

    A row with two answers has the ids ``STEM-NUMBER-right`` and ``STEM-NUMBER-hallucinated``; ``stem`` is the
    file name of the data without its suffix.

    >>> are_numbers(["1", "2", "4"]), are_numbers(["q1", "q2"]), are_numbers(["2", "1"])
    (True, False, False)
    """
    pattern = re.compile(rf"(?:{re.escape(stem)}-)?([1-9][0-9]*)(?:-right|-hallucinated)?")
    before = 0
    for name in ids:
        match = pattern.fullmatch(name)
        if match is None or int(match[1]) < before:
            return False
        before = int(match[1])
    return bool(ids)
