"""Regular expressions of users, matched by RE2 in time proportional to the length of the text.

A pattern from a user must not stop a run, and Python's `re` needs exponential time for patterns such as
``(a+)+b``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PATTERN = 200
"""Maximum number of characters of a pattern."""

_MAX_MEMORY = 8 * 2**20
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class LinearPattern:
    """A pattern in the syntax of RE2: the syntax of Python's `re` without look-around and back references.

    Raises:
        ValueError: the pattern is empty, too long, matches the empty text, or has another syntax.
        MissingExtraError: the extra ``patterns`` is not installed.

    >>> pattern = LinearPattern("[a-z]+-[0-9]+")
    >>> pattern.matches("doc-12"), pattern.matches("doc-")
    (True, False)
    >>> [(text := "see doc-12, x-1."), *(text[start:end] for start, end in pattern.spans(text))][1:]
    ['doc-12', 'x-1']
    """

    text: str

    def __post_init__(self) -> None:
        if not 0 < len(self.text) <= MAX_PATTERN:
            raise ValueError(f"a pattern must have from 1 to {MAX_PATTERN} characters")
        if self.matches(""):
            raise ValueError(f"the pattern {self.text!r} must not match an empty text")

    @cached_property
    def _compiled(self) -> Any:
        try:
            import re2
        except ImportError:
            raise MissingExtraError("A pattern", "patterns") from None
        options = re2.Options()
        options.log_errors, options.longest_match, options.max_mem = False, True, _MAX_MEMORY
        try:
            return re2.compile(_valid(self.text), options)
        except re2.error as error:
            problem = error.args[0] if error.args else "invalid"
            problem = problem.decode() if isinstance(problem, bytes) else problem
            raise ValueError(f"the pattern {self.text!r} has an error: {problem}") from None

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text."""
        return self._compiled.fullmatch(_valid(text)) is not None

    def search(self, text: str) -> tuple[int, int] | None:
        """Return start and end of the first match anywhere in the text, the longest one there."""
        match = self._compiled.search(_valid(text))
        return None if match is None else match.span()

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the longest matches from left to right that are not a part of a longer word."""
        for match in self._compiled.finditer(_valid(text)):
            start, end = match.span()
            if not any(_inside_word(text, at) for at in (start, end)):
                yield start, end


def check_pattern(text: object) -> None:
    """Check a parameter that is a pattern; "" means no pattern.

    Raises:
        TypeError: the value is not a text.
        ValueError: the pattern has another syntax; see `LinearPattern`.
    """
    if not isinstance(text, str):
        raise TypeError(f"pattern must be a regular expression, not {text!r}")
    if text:
        LinearPattern(text)


def _valid(text: str) -> str:
    """Replace lone surrogates, which have no UTF-8; the length stays the same."""
    return _SURROGATES.sub("\ufffd", text)


def _inside_word(text: str, at: int) -> bool:
    """Return whether the characters on both sides of an offset belong to one word."""
    return 0 < at < len(text) and all(one.isalnum() or one == "_" for one in text[at - 1 : at + 1])
