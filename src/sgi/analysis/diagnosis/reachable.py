"""Finds rules of a decision table that can never decide."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.analysis.diagnosis.rule import Condition, Rule

_LOWER = (">", ">=")


def unreachable(rules: Sequence[Rule]) -> tuple[Rule, str] | None:
    """Return the first rule that can never decide, with the reason; None if there is none.

    A rule cannot decide if two of its conditions exclude each other, or if an earlier rule
    holds whenever it holds.
    """
    for number, rule in enumerate(rules):
        for one, other in combinations(rule.when, 2):
            if _exclude(one, other):
                return rule, f"{one.text!r} and {other.text!r} never hold together"
        for earlier in rules[:number]:
            if all(any(_implies(given, needed) for given in rule.when) for needed in earlier.when):
                return (
                    rule,
                    f"it can never decide: rule {earlier.number} holds for the same rows and comes first",
                )
    return None


def _implies(given: Condition, needed: Condition) -> bool:
    """Return whether each row that meets a condition meets another one."""
    if given.signal != needed.signal:
        return False
    if "is" in (given.operator, needed.operator):
        return given.operator == needed.operator and given.value is needed.value
    if (given.operator in _LOWER) != (needed.operator in _LOWER):
        return False
    bound, limit = cast("float", given.value), cast("float", needed.value)
    beyond = bound > limit if given.operator in _LOWER else bound < limit
    return beyond or (bound == limit and ("=" not in given.operator or "=" in needed.operator))


def _exclude(one: Condition, other: Condition) -> bool:
    """Return whether no row meets both conditions."""
    if one.signal != other.signal:
        return False
    if "is" in (one.operator, other.operator):
        return one.operator != other.operator or one.value is not other.value
    if (one.operator in _LOWER) == (other.operator in _LOWER):
        return False
    low, high = (one, other) if one.operator in _LOWER else (other, one)
    least, most = cast("float", low.value), cast("float", high.value)
    return least > most or (least == most and not ("=" in low.operator and "=" in high.operator))
