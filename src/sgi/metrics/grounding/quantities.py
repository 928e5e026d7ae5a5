"""Extracts quantities: figures with their bounds and ranges; and identifiers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.metrics.grounding.facts import CURRENCY, ORDINAL, TIME, Bound, Identifier, Quantity, symbols
from sgi.metrics.grounding.language_tables import language_of
from sgi.metrics.grounding.unit_reader import LOOK_BACK, patterns_of
from sgi.metrics.grounding.words import word_set
from sgi.metrics.grounding.written_numbers import figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.unit_reader import Figure, Patterns

_CENTS = 100
_LONGEST = 64  # characters of an identifier
_IDENTIFIER = re.compile(
    r"(?<![\w@./-])(?=[^\W\d_]*+[-_./]?\d|#)(?:(?=[\w./-]*\d)[^\W\d_]+[-_./]?\d[\w-]*(?:[./][\w-]*\w)*"
    r"|\d+(?:\.\d+){2,}|\d+(?:-\d+){2,}|\d+[^\W\d_]+\d[\w-]*|\d+\([^\W\d_]\)|#\d+)"
)
_NOT_IDENTIFIERS = word_set("mid pre post late early under over age aged non ex circa ca ad usd eur gbp rs")


def identifiers(text: str) -> tuple[Identifier, ...]:
    """Return the identifiers of a text: codes, versions, telephone numbers.

    A number with a unit, a rank or a decade is none: "5kg", "3rd", "1990s", "10k".

    >>> [one.text for one in identifiers("GPT-4 needs v2.3.1 and a 5kg box, call 555-01-23.")]
    ['GPT-4', 'v2.3.1', '555-01-23']
    """
    found = []
    for match in _IDENTIFIER.finditer(text):
        written = match[0].rstrip(".-/")
        if len(written) > _LONGEST:
            continue
        first = re.match(r"[^\W\d_]*", written)
        if first and (
            first[0].lower() in _NOT_IDENTIFIERS or (written[-1:] in "s’'" and written[:-1].isdigit())
        ):
            continue
        if written.endswith("s") and written[-2:-1].isdigit():  # "4x4s"
            written = written[:-1]
        found.append(Identifier(written, match.start(), match.start() + len(written)))
    return tuple(found)


def quantities(text: str, excluded: Sequence[tuple[int, int]] = ()) -> tuple[Quantity, ...]:
    """Return the quantities of a text in order, without the excluded parts.

    Reads digits with the marks of the text's language, fractions, number words, scales ("3 million", "10k"),
    per cent, currencies, units, rates, ordinals, ranges and bounds. "One" without a unit is an article.

    >>> eggs = "Twelve eggs weigh 1½ lbs, 5 % less."
    >>> [(quantity.low, [unit.name for unit in quantity.units]) for quantity in quantities(eggs)]
    [(12.0, []), (1.5, ['pound']), (5.0, ['percent'])]
    """
    language = language_of(text)
    return tuple(_joined(text, figures(text, language, excluded), patterns_of(language)))


def _joined(text: str, numbers: Sequence[Figure], patterns: Patterns) -> Iterator[Quantity]:
    """Yield the quantities; join the two ends of a range, and the parts of "5 feet 3 inches"."""
    place = 0
    while place < len(numbers):
        first = numbers[place]
        second = numbers[place + 1] if place + 1 < len(numbers) else None
        gap = text[first.end : second.start] if second else ""
        place += 1
        if second is None or not 0 < second.start - first.end <= LOOK_BACK:
            yield _quantity(text, first, first, patterns)
        elif (share := _share_of(first, second, gap, patterns)) is not None:
            place += 1
            yield _quantity(text, share, share, patterns)
        elif _is_range(text, first, second, gap, patterns):
            place += 1
            yield _quantity(text, first, second, patterns)
        elif (whole := _with_smaller(first, second, gap)) is not None:
            place += 1
            yield _quantity(text, whole, whole, patterns)
        else:
            yield _quantity(text, first, first, patterns)


def _share_of(first: Figure, second: Figure, gap: str, patterns: Patterns) -> Figure | None:
    """Return "3 out of 4" as a share."""
    if (
        first.units
        or second.units
        or not patterns.out_of.fullmatch(gap)
        or not 0 < first.value < second.value
    ):
        return None
    value = 100 * first.value / second.value
    return first._replace(end=second.end, value=value, other=value, step=1.0, units=symbols()["%"])


def _is_range(text: str, first: Figure, second: Figure, gap: str, patterns: Patterns) -> bool:
    if ORDINAL in {*first.units, *second.units} or not first.value < second.value:
        return False
    if first.units and second.units and first.units[0].dimension != second.units[0].dimension:
        return False
    is_neighbour = second.value - first.value == 1 and not first.units
    if patterns.to.fullmatch(gap) or (is_neighbour and patterns.alternative.fullmatch(gap)):
        return True
    before = text[max(0, first.start - LOOK_BACK) : first.start]
    return patterns.conjunction.fullmatch(gap) is not None and patterns.between.search(before) is not None


def _with_smaller(first: Figure, second: Figure, gap: str) -> Figure | None:
    """Return "5 feet 3 inches" as one number of feet; None for other pairs."""
    if not first.units or gap.strip(" ,") not in {"", "and"}:
        return None
    if not second.units:
        is_cents = first.units[0].dimension == CURRENCY and gap == " " and not second.noun
        if not is_cents or not _CENTS / 10 <= second.value < _CENTS or first.value != int(first.value):
            return None
        value = first.value + second.value / _CENTS
        return first._replace(end=second.end, value=value, other=value, step=0.01)
    large, small = first.units[0], second.units[0]
    if large.dimension not in {TIME, "length", "mass"} or large.dimension != small.dimension:
        return None
    ratio = small.factor / large.factor
    if second.value * ratio >= 1 or second.value < 0:
        return None
    value = first.value + second.value * ratio
    return first._replace(end=second.end, value=value, other=value, step=second.step * ratio)


def _quantity(text: str, first: Figure, last: Figure, patterns: Patterns) -> Quantity:
    units = last.units or first.units
    scale = last.step if first is not last and not first.units and last.step > first.value else 1.0
    low = first.value * (max(1, scale))
    return Quantity(
        text=text[first.start : last.end],
        start=first.start,
        end=last.end,
        low=low if low < last.value or first is last else first.value,
        high=last.value,
        step=min(first.step * max(scale, 1.0), last.step),
        other=last.other if first is last else last.value,
        units=units,
        per=last.per or first.per,
        noun=last.noun,
        bound=_bound(text, first.start, last.end, patterns),
    )


def _bound(text: str, start: int, end: int, patterns: Patterns) -> Bound:
    if patterns.more.match(text, end):
        return Bound.LEAST
    if patterns.less.match(text, end):
        return Bound.MOST
    match = patterns.hedge.search(text[max(0, start - LOOK_BACK) : start])
    if match is None:
        return Bound.EXACT
    return (Bound.ABOUT, Bound.LEAST, Bound.MOST)[((match.lastindex or 1) - 1) % 3]
