"""Types of facts: numbers, dates, identifiers and names in a text; units and currencies."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Unit(NamedTuple):
    """A unit: its dimension, canonical name, and conversion to the base unit: (value + offset) · factor.

    A currency has the name of its ISO code, or of several currencies: "$" may be any dollar.
    """

    dimension: str
    name: str
    factor: float = 1.0
    offset: float = 0.0


CURRENCY, DEGREE, POINTS, SHARE, TIME = "currency", "degree", "points", "share", "time"

ORDINAL = Unit("ordinal", "ordinal")
"""The unit of "13th"."""

_GROUPS = {
    "$": frozenset(("usd", "cad", "aud", "nzd", "hkd", "sgd", "twd", "mxn")),
    "¥": frozenset(("jpy", "cny")),
    "kr": frozenset(("sek", "nok", "dkk", "isk")),
    "cent": frozenset(("usd", "eur", "cad", "aud", "nzd", "$", "gbp", "zar")),
}


@lru_cache(maxsize=1)
def symbols() -> dict[str, tuple[Unit, ...]]:
    """Return the units of each symbol; symbols are the same in all languages.

    >>> [unit.name for unit in symbols()["km"]], [unit.name for unit in symbols()["$"]]
    (['km'], ['$'])
    """
    table: dict[str, tuple[Unit, ...]] = {}
    for line in (files("sgi") / "data" / "units.csv").read_text(encoding="utf-8").splitlines()[1:]:
        dimension, name, factor, offset, written = line.split(";")
        unit = Unit(dimension, name, float(factor), float(offset or 0))
        for symbol in dict.fromkeys([*written.split(), *([name] if dimension == CURRENCY else ())] or [""]):
            table[symbol] = (*table.get(symbol, ()), unit)
    return table


def scale_between(unit: Unit, other: Unit) -> tuple[float, float] | None:
    """Return (a, b) such that a value x of ``other`` is a·x + b in ``unit``; None if they cannot be compared.

    >>> km, mile = Unit("length", "km", 1000.0), Unit("length", "mile", 1609.344)
    >>> scale_between(km, mile), scale_between(km, Unit("mass", "g"))
    ((1.609344, 0.0), None)
    """
    if unit.dimension != other.dimension:
        return None
    if unit.dimension == CURRENCY and not _may_be_same(unit.name, other.name):
        return None
    ratio = other.factor / unit.factor
    return ratio, other.offset * ratio - unit.offset


def _may_be_same(name: str, other: str) -> bool:
    """Return whether two currencies are the same, or one is a group with the other in it."""
    return name == other or other in _GROUPS.get(name, ()) or name in _GROUPS.get(other, ())


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
