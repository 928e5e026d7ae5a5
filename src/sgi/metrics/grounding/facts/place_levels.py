"""Compares places by their level: a town is no evidence against the country around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts.name_tables import CITIES, COUNTRIES, SAME_THING, STATES
from sgi.metrics.grounding.facts.words import word_set

if TYPE_CHECKING:
    from collections.abc import Sequence

_BRITAIN = "britain"
_HOME_NATIONS = word_set("england scotland wales")
_TOWNS = word_set("rome venice london paris") | {"new york", "los angeles", "washington dc"}
# Parts and unions of countries: they contradict no country.
_WITHOUT_LEVEL = word_set("europe eu christ sicily tibet troy") | {"soviet union"}


def _level(words: Sequence[str]) -> tuple[str, bool]:
    """Return "town", "state" or "country" ("" for other names), and whether it is Britain or in it."""
    name = " ".join(words)
    forms = SAME_THING.get(name, frozenset({name}))
    if forms & _WITHOUT_LEVEL:
        return "", False
    if forms & CITIES or forms & _TOWNS:
        return "town", False
    if forms & COUNTRIES:
        return "country", _BRITAIN in forms or bool(forms & _HOME_NATIONS)
    return "state" if forms & STATES else "", False


def same_level(name: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names, given by their folded words, are both no known places, or of one level.

    >>> [same_level([one], [two]) for one, two in (("italy", "spain"), ("italy", "milan"), ("ada", "ben"))]
    [True, False, True]
    """
    (own, is_british), (theirs, other_is_british) = _level(name), _level(other)
    return own == theirs and not (is_british and other_is_british)


def is_place(name: Sequence[str]) -> bool:
    """Return whether a name is a known town, state or country."""
    return bool(_level(name)[0])
