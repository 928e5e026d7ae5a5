"""A text that keeps what is computed from it."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class AnalysedText(str):
    """A text that keeps the results of functions marked `once_per_text`, as long as the text itself exists.

    >>> AnalysedText.of("It is red.") == "It is red."
    True
    """

    __slots__ = ("results",)

    results: dict[Callable[[str], Any], Any]

    @classmethod
    def of(cls, text: str) -> Self:
        """Wrap a text; one that is wrapped already stays as it is."""
        if isinstance(text, cls):
            return text
        wrapped = cls(text)
        wrapped.results = {}
        return wrapped


def once_per_text(compute: Callable[[str], T]) -> Callable[[str], T]:
    """Mark a function whose result an `AnalysedText` keeps; for any other text it is computed each time.

    >>> @once_per_text
    ... def words(text: str) -> list[str]:
    ...     return text.split()
    >>> text = AnalysedText.of("It is red.")
    >>> words(text) is words(text), words("It is red.") is words("It is red.")
    (True, False)
    """

    @wraps(compute)
    def computed(text: str) -> T:
        if not isinstance(text, AnalysedText):
            return compute(text)
        if compute not in text.results:
            text.results[compute] = compute(text)
        result: T = text.results[compute]
        return result

    return computed
