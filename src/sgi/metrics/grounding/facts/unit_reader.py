"""Reads the unit after a number."""

from __future__ import annotations

import re

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.facts.units import AGE, NO_UNIT, ORDINAL, STARTS, Unit, unit_named

_UNIT = re.compile(
    r"[ \u00a0]?[-‑]?([%％٪‰′″℃℉¢]|°[ ]?[CFK]?\b|[€£¥₹$](?!\d)|[^\W\d_]+(?:/[^\W\d_]+)?[²³]?\.?)"
    r"(?:[ -]([^\W\d_]+)(?:[ -]([^\W\d_]+))?)?"
)
_MARK_OR_BREAK = re.compile(r'(\d?)(["\n])')
_AGED = re.compile(r"\b(?:aged?|ages)(?: of| about| around| between)? $", re.IGNORECASE)
_OLD = re.compile(r"s?[ ]?[- ][ ]?olds?\b|[ ]of[ ]age\b")
_YEAR = unit_named("year") or NO_UNIT
_YEARLY = frozenset({"anniversary", "birthday"})


def read_unit(text: str, end: int) -> tuple[Unit, int]:
    """Return the unit that begins at ``end``, and its end."""
    if text[end : end + 1] == '"' and end in _inches(text):
        return unit_named("inch") or NO_UNIT, end + 1
    match = _UNIT.match(text, end)
    if not match:
        return NO_UNIT, end
    first = match[1]
    if first.lower().rstrip(".") in STARTS or first.startswith("°"):
        for last in (3, 2):
            words = " ".join(word.rstrip(".") for word in match.group(*range(1, last + 1)) if word)
            unit = unit_named(words.lower()) if match[last] else None
            if unit:
                return unit, match.end(last)
    bare = first.rstrip(".").replace(" ", "")
    if _is_other_word(text, end, bare, first):
        return NO_UNIT, end
    unit = unit_named("inch" if bare == "in" else bare)
    return (unit, match.start(1) + len(first.rstrip("."))) if unit else (NO_UNIT, end)


def unit_or_age(text: str, start: int, end: int) -> tuple[Unit, int]:
    """Return the unit of a number, and its end; "aged 16", "16 years old" and "16-year-old" are ages."""
    unit, unit_end = read_unit(text, end)
    if text.startswith(" ", end) and text.startswith("-long", unit_end):
        return NO_UNIT, end  # "two hour-long films" are two films
    is_age = unit is NO_UNIT and _AGED.search(text[max(0, start - len("between ages of ")) : start])
    old = _OLD.match(text, unit_end) if unit.name == "year" else None
    return (AGE, old.end() if old else unit_end) if is_age or old else (unit, unit_end)


def ordinal_unit(nouns: tuple[str, ...]) -> Unit:
    """Return the unit of an ordinal: "20th anniversary" counts years."""
    return _YEAR if nouns and nouns[0] in _YEARLY else ORDINAL


def _is_other_word(text: str, end: int, bare: str, first: str) -> bool:
    """Return whether a word that looks like a unit is not one: "5 in the", "the 30s", "a 4 second"."""
    if bare == "in":
        return text[end : end + 1] not in {"i", "-"} and not first.endswith(".")
    if bare == "pc":
        return text[end : end + 1] != "p"  # "15pc" is per cent, "15 pc" may be pieces
    if bare == "s":
        return text[end : end + 1] == "s"
    return bare == "second" and text[end : end + 1] != "-" and text[end - 1 : end] != "1"


@once_per_text
def _inches(text: str) -> frozenset[int]:
    """Return positions of quotation marks that do not close a quotation on their line, so may mean inches."""
    starts = set()
    is_open = False
    for match in _MARK_OR_BREAK.finditer(text):
        if match[2] == "\n":
            is_open = False
            continue
        if not is_open:
            starts.add(match.start(2))
        is_open ^= not match[1]
    return frozenset(starts)
