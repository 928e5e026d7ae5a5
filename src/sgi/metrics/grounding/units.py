"""Units of measurement and currencies, and the rules by which two of them can be compared."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple


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
