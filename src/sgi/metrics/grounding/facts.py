"""Types of facts: numbers, dates, identifiers and names in a text, which can be checked."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgi.metrics.grounding.units import Unit


class FactKind(StrEnum):
    """The kind of a fact."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    IDENTIFIER = "identifier"
    POLARITY = "polarity"


class Bound(StrEnum):
    """Whether a number is meant exactly, approximately, as a minimum or as a maximum."""

    EXACT = "exact"
    ABOUT = "about"
    LEAST = "least"
    MOST = "most"


@dataclass(frozen=True, slots=True)
class Fact:
    """A piece of a text that can be checked, from character ``start`` to ``end``."""

    kind: ClassVar[FactKind]
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Quantity(Fact):
    """A number with its unit.

    Attributes:
        low: the number, or the lower end of a range, in the unit as written.
        high: the upper end of a range; for a single number the same as ``low``.
        step: the value of one step of the last digit: 0.1 in "3.1", a million in "3 million".
        other: another reading of the digits, 1234 for "1.234" in English; ``low`` if there is none.
        units: the units that the spelling may mean; () for a number without a unit.
        per: the unit of a rate: "month" in "9 euros a month"; or "".
        noun: stem of the word after a number without a unit: the counted thing; or "".
    """

    kind = FactKind.NUMBER
    low: float
    high: float
    step: float
    other: float
    units: tuple[Unit, ...]
    per: str
    noun: str
    bound: Bound

    @property
    def is_range(self) -> bool:
        """Whether the quantity has two ends."""
        return self.low != self.high

    @property
    def dimension(self) -> str:
        """The dimension of the unit, or ""."""
        return self.units[0].dimension if self.units else ""


@dataclass(frozen=True, slots=True)
class DateFact(Fact):
    """A date or a time of day; parts that the text does not give are None.

    Attributes:
        year: the year, or the first year of a decade or century; negative before Christ.
        last_year: the last year of a decade or century; for a single year the same as ``year``.
        minute: minutes since midnight.
        swappable: whether month and day are numbers that fit in either order.
        half_day_known: whether the time has "am" or "pm", or is past noon.
    """

    kind = FactKind.DATE
    year: int | None = None
    last_year: int | None = None
    month: int | None = None
    day: int | None = None
    minute: int | None = None
    swappable: bool = False
    half_day_known: bool = False


@dataclass(frozen=True, slots=True)
class Name(Fact):
    """A name; ``words`` are its words in small letters, without accents and possessive endings."""

    kind = FactKind.NAME
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identifier(Fact):
    """A code, version or telephone number: only an equal one supports it."""

    kind = FactKind.IDENTIFIER


@dataclass(frozen=True, slots=True)
class Statement(Fact):
    """A clause that a passage states with the opposite polarity."""

    kind = FactKind.POLARITY


def overlaps(start: int, end: int, parts: Sequence[tuple[int, int]]) -> bool:
    """Return whether a span (or a single position) overlaps one of the sorted, disjoint ``parts``.

    >>> [overlaps(start, start + 2, [(3, 5), (7, 9)]) for start in (1, 2, 5, 6)]
    [False, True, False, True]
    """
    before = bisect_left(parts, (end, -1)) - 1
    return before >= 0 and start < parts[before][1]


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sort spans, and merge spans that overlap or touch.

    >>> merge_spans([(5, 9), (0, 3), (3, 4)])
    [(0, 4), (5, 9)]
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
