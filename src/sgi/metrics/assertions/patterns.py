"""Assertions that match a response with a regular expression."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel.short_text import quote
from sgi.metrics.assertions.assertion import Assertion, Failure, assertion_spec
from sgi.metrics.assertions.text_assertions import PlaceDetails
from sgi.text.linear_pattern import LinearPattern, check_pattern

if TYPE_CHECKING:
    from sgi.kernel.sample import Sample

_compiled = lru_cache(maxsize=256)(LinearPattern)


@dataclass(frozen=True)
class _Pattern(Assertion):
    """Base of assertions with a regular expression."""

    pattern: str
    whole: bool = False

    def __post_init__(self) -> None:
        check_pattern(self.pattern)
        if not self.pattern:
            raise ValueError("pattern must not be empty")

    def _match(self, sample: Sample) -> tuple[int, int] | None:
        pattern = _compiled(self.pattern)
        if not self.whole:
            return pattern.search(sample.response)
        return (0, len(sample.response)) if pattern.matches(sample.response) else None


@dataclass(frozen=True)
class Matches(_Pattern):
    """1 if a regular expression matches the response, otherwise 0.

    The syntax is that of RE2: Python's without look-around and back references; ``(?i)`` at the beginning
    ignores case. It takes time proportional to the length of the response, whatever the pattern. It needs the
    extra ``patterns``. The response is matched as it is, without Unicode normalisation.

    Attributes:
        pattern: the regular expression; it must not match an empty text.
        whole: whether it must match the whole response; if not, it may match anywhere in it.

    >>> from sgi import Sample
    >>> row = Sample(id="1", response="It was completed on 1889-03-31.")
    >>> Matches("[0-9]{4}-[0-9]{2}-[0-9]{2}").failure(row) is None
    True
    >>> Matches("[0-9-]+", whole=True).failure(row).reason
    "the pattern '[0-9-]+' does not match the whole response"
    """

    spec: ClassVar = assertion_spec("matches")
    example: ClassVar = 'matches(pattern="[0-9]{4}")'

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure if the pattern does not match."""
        if self._match(sample) is not None:
            return None
        place = "match the whole response" if self.whole else "occur in the response"
        return Failure(f"the pattern {quote(self.pattern)!r} does not {place}")


@dataclass(frozen=True)
class NotMatches(_Pattern):
    """1 if a regular expression does not match the response, otherwise 0.

    The syntax is that of ``matches``. A blank response passes; use ``length`` if it must fail. The details
    have the place of the first match.

    Attributes:
        pattern: the regular expression; it must not match an empty text.
        whole: whether only a match of the whole response counts; if not, a match anywhere in it counts.

    >>> from sgi import Sample
    >>> NotMatches("(?i)as an ai").failure(Sample(id="1", response="As an AI, I cannot.")).reason
    "the pattern '(?i)as an ai' matches 'As an AI'"
    """

    spec: ClassVar = assertion_spec("not_matches", details=PlaceDetails)
    example: ClassVar = 'not_matches(pattern="(?i)I (cannot|don.t)")'

    def failure(self, sample: Sample, /) -> Failure | None:
        """Return a failure with the place of the first match."""
        span = self._match(sample)
        if span is None:
            return None
        text = quote(sample.response[slice(*span)])
        return Failure(f"the pattern {quote(self.pattern)!r} matches {text!r}", {"start": span[0]})
