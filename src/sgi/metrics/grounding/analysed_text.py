"""A text that caches what is computed from it."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class AnalysedText(str):
    """A text that caches the results of functions marked `once_per_text`."""

    __slots__ = ("results",)

    results: dict[Callable[[str], Any], Any]

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the text as an `AnalysedText`, or the same object if it already is one."""
        if isinstance(text, cls):
            return text
        wrapped = cls(text)
        wrapped.results = {}
        return wrapped


def once_per_text(compute: Callable[[str], T]) -> Callable[[str], T]:
    """Decorate a function of a text so that an `AnalysedText` caches its result; a plain str does not.

    >>> @once_per_text
    ... def words(text: str) -> list[str]:
    ...     return text.split()
    >>> text = AnalysedText.of("It is red.")
    >>> words(text) is words(text), words("It is red.") is words("It is red.")
    (True, False)
    """

    @wraps(compute)
    def compute_once(text: str) -> T:
        if not isinstance(text, AnalysedText):
            return compute(text)
        if compute not in text.results:
            text.results[compute] = compute(text)
        result: T = text.results[compute]
        return result

    return compute_once
