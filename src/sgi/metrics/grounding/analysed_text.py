"""A text that caches what is computed from it."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

ENGLISH = "en"
"""The code of English."""


class AnalysedText(str):
    """A text with its language, that caches the results of functions marked `once_per_text`.

    Attributes:
        language: the code of the language (ISO 639-1). A plain str is English.
    """

    __slots__ = ("language", "results")

    results: dict[Callable[[str], Any], Any]
    language: str

    @classmethod
    def of(cls, text: str, language: str = ENGLISH) -> Self:
        """Return the text as an `AnalysedText`, or the same object if it already is one."""
        if isinstance(text, cls):
            return text
        wrapped = cls(text)
        wrapped.results = {}
        wrapped.language = language
        return wrapped

    def part(self, start: int, end: int) -> AnalysedText:
        """Return a part of the text, in the same language; a slice is a plain str, which is English."""
        return AnalysedText.of(self[start:end], self.language)

    def remember(self, compute: Callable[[str], T], result: T) -> None:
        """Store a result of a function marked `once_per_text`, if it was computed for a larger text."""
        self.results[compute.__wrapped__] = result  # type: ignore[attr-defined]  # set by functools.wraps


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
