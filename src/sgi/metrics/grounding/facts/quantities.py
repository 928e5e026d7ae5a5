"""Extracts quantities: numbers with their units, or with the things that they count."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.facts.fact import EXACT, Bound, Quantity, merge_spans
from sgi.metrics.grounding.facts.figures import Figure, figures
from sgi.metrics.grounding.facts.localized.figures import figures_in
from sgi.metrics.grounding.facts.numerals import ONES, Numeral
from sgi.metrics.grounding.facts.units import AGE, NO_UNIT, ORDINAL, SHARE
from sgi.metrics.grounding.languages.of_text import tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.languages.record import Language


class RangeWords(NamedTuple):
    """The words of a language around approximate numbers, bounds and ranges, as patterns.

    Attributes:
        hedge: before a number; its first three groups are words for "about", "at least" and "at most".
        more: after a lower bound.
        less: after an upper bound.
        to: between the ends of a range.
        conjunction: between the ends of a range after ``between``.
        alternative: between two neighbouring numbers.
        between: before a range.
        sharing: between numbers that share one unit.
        out_of: between a part and its whole.
    """

    hedge: re.Pattern[str]
    more: re.Pattern[str]
    less: re.Pattern[str]
    to: re.Pattern[str]
    conjunction: re.Pattern[str]
    alternative: re.Pattern[str]
    between: re.Pattern[str]
    sharing: re.Pattern[str]
    out_of: re.Pattern[str]


_HEDGE = re.compile(
    r"(?:\b(?:(about|around|approximately|approx\.?|roughly|nearly|almost|some|circa|ca?\."
    r"|close to|an? average of|estimated|typically|usually)"
    r"|(at least|more than|greater than|over|above|exceeding|exceeds|minimum of"
    r"|no less than|upwards of|starting at|beyond|older than|longer than)"
    r"|(at most|less than|fewer than|under|below|up to|no more than|not more than"
    r"|maximum of|within|as (?:many|much|high|long) as|until))"
    r"|([~≈])|([>≥])|([<≤]))\s?(?:an?\s|the\s|of\s)?$",
    re.IGNORECASE,
)
_MORE = re.compile(r"\s?\+|\s(?:or|and) (?:more|over|above|older|higher|greater|longer|up)\b|\splus\b")
_LESS = re.compile(r"\s(?:or|and) (?:less|fewer|under|below|younger|lower|shorter)\b")
_TO = re.compile(
    r"\s?[-–—−‑~]\s?|\s(?:to|through|thru)\s(?:an? |about |around |as much as |as many as |even )?|\s?to\s?"
)
_AND = re.compile(r"\sand\s")
_OR = re.compile(r"\sor\s")
_BETWEEN = re.compile(r"\b(?:between|from)\s(?:about |around )?[$€£]?\s?$", re.IGNORECASE)
_SHARING = re.compile(r"\s?(?:x|×|by|and|or|,|/)\s?")
_JOINT = re.compile(r",?\s(?:and\s)?")
_IN = re.compile(r"\s(?:(?:points?|stars?|marks)\s)?(?:in|(?:out )?of)\s(?:every\s|the\s)?")
_ENGLISH = RangeWords(_HEDGE, _MORE, _LESS, _TO, _AND, _OR, _BETWEEN, _SHARING, _IN)
_AGE_DECADE = re.compile(
    r"\bin (?:his|her|their|my|our|your) (?:(?:early|mid|late)[ -])?"
    r"(?P<age>(?P<digits>[2-9]0)[ ]?['’]?s\b|(?P<word>twen|thir|for|fif|six|seven|eigh|nine)ties\b)",
    re.IGNORECASE,
)
_DECADE_MARKS = ("0s", "0'", "0 '", "0’", "ties")
_DECADE = 9
_LOOK_BACK = 24
_ONE = Decimal(1)
_CENTS = 100


def quantities(text: str, excluded: Sequence[tuple[int, int]] = ()) -> tuple[Quantity, ...]:
    """Return the quantities of a text in order.

    Reads digits in any script, fractions, English number words, scales ("3 million", "10k"), per cent,
    currencies, units, ordinals, ranges and bounds. Ignores numbers that name something ("COVID-19", "[2]",
    list marks, telephone numbers, versions), "one" without a unit, and the excluded parts of the text.

    >>> eggs = "Twelve eggs weigh 1½ lbs, 5 % less."
    >>> [(str(quantity.low), quantity.unit or quantity.nouns) for quantity in quantities(eggs)]
    [('12', ('egg', 'weigh')), ('1.5', 'pound'), ('5', 'percent')]
    """
    language = tables_of(text)
    with localcontext(EXACT):
        if language is not None:
            numbers = figures_in(text, language, excluded)
            return tuple(_join_neighbours(text, numbers, _range_words(language)))
        ages = list(_age_decades(text))
        covered = merge_spans([*excluded, *((age.start, age.end) for age in ages)]) if ages else excluded
        joined = _join_neighbours(text, figures(text, covered), _ENGLISH)
        return tuple(sorted([*ages, *joined], key=lambda number: number.start)) if ages else tuple(joined)


def _age_decades(text: str) -> Iterator[Quantity]:
    """Read "in his thirties" as the ages from 30 to 39."""
    for match in _AGE_DECADE.finditer(text) if any(mark in text for mark in _DECADE_MARKS) else ():
        low = Decimal(match["digits"] or ONES[f"{match['word'].lower()}ty"])
        unit = AGE.dimension, AGE.name, AGE.factor, AGE.offset
        start, end = match.span("age")
        yield Quantity(match["age"], start, end, low, low + _DECADE, _ONE, *unit, (), Bound.ABOUT)


@lru_cache(maxsize=8)
def _range_words(language: Language) -> RangeWords:
    """Compile the patterns of a language other than English."""
    about, link = f"(?:{language.about})", language.unit_link
    bounds = rf"({language.about})|({language.least})|({language.most})"
    conjunction, alternative = language.conjunction, language.alternative
    patterns = (
        rf"(?:(?<!\w)(?:{bounds})|([~≈])|([>≥])|([<≤]))\s?(?:{link})$",
        rf"\s?\+|\s(?:{language.more})\b",
        rf"\s(?:{language.less})\b",
        rf"\s?[-–—−‑]\s?|\s(?:{language.to})\s(?:{about}\s)?",
        rf"\s{conjunction}\s",
        rf"\s{alternative}\s",
        rf"(?<!\w)(?:{language.between})\s(?:{about}\s)?$",
        rf"\s?(?:x|×|{conjunction}|{alternative}|,|/)\s?",
        rf"\s(?:{language.out_of})\s",
    )
    return RangeWords(*(re.compile(pattern, re.IGNORECASE) for pattern in patterns))


def _join_neighbours(text: str, sequence: list[Figure], words: RangeWords) -> Iterator[Quantity]:
    """Yield the quantities; join the two figures of a range, of feet and inches, and of "3 out of 4"."""
    place = 0
    while place < len(sequence):
        figure = sequence[place]
        other = sequence[place + 1] if place + 1 < len(sequence) else None
        joint = _join(text, figure, other, words) if other else None
        place += 2 if joint else 1
        if (
            other
            and not joint
            and figure.unit is NO_UNIT
            and words.sharing.fullmatch(text[figure.end : other.start])
        ):
            figure = figure._replace(unit=other.unit)
        yield joint or _quantity(text, figure, figure, words)


def _join(text: str, first: Figure, second: Figure, words: RangeWords) -> Quantity | None:
    if second.start - first.end > _LOOK_BACK or second.start < first.end:
        return None
    gap = text[first.end : second.start]
    # "2 or 3 days" is a range, "250 °F or 325 °F" is a choice.
    choice = (
        words.alternative.fullmatch(gap)
        and first.unit is NO_UNIT
        and second.numeral.value - first.numeral.value == 1
    )
    if (
        words.to.fullmatch(gap)
        or choice
        or (
            words.conjunction.fullmatch(gap)
            and words.between.search(text[max(0, first.start - _LOOK_BACK) : first.start])
        )
    ):
        return _range(text, first, second, words)
    if words.out_of.fullmatch(gap) and first.unit is NO_UNIT and second.unit is NO_UNIT:
        low, high = first.numeral.value * first.scale, second.numeral.value * second.scale
        if 0 < low < high:
            part = Numeral(low / high, Decimal("0.01"))
            whole = Figure(first.start, second.end, part, _ONE, SHARE, second.nouns)
            return _quantity(text, first, whole, words, alone=True)
    cents = _cents(text, first, second, gap)
    if cents:
        second = cents
    same = first.unit.dimension == second.unit.dimension and (
        first.unit.dimension in {"time", "length", "mass"}
        or (first.unit.dimension == "currency" and first.unit.name == second.unit.name)
    )
    if same and first.unit.factor > second.unit.factor and _JOINT.fullmatch(gap):
        more = second.numeral.value * second.unit.factor / first.unit.factor
        if more < 1 and second.numeral.value >= 0:
            both = Numeral(
                first.numeral.value + more, second.numeral.step * second.unit.factor / first.unit.factor
            )
            return _quantity(text, first, first._replace(end=second.end, numeral=both), words, alone=True)
    return None


def _cents(text: str, first: Figure, second: Figure, gap: str) -> Figure | None:
    """Return the second figure as a hundredth of the first one's currency: "2 euros 50"."""
    if first.unit.dimension != "currency" or first.unit.factor != 1 or not 0 < second.numeral.value < _CENTS:
        return None
    bare = second.unit is NO_UNIT and gap == " " and not second.nouns and text[second.start].isalnum()
    if not bare and second.unit.name + str(second.unit.factor) != "usd0.01":
        return None
    return second._replace(unit=first.unit._replace(factor=_ONE / _CENTS))


def _range(text: str, first: Figure, second: Figure, words: RangeWords) -> Quantity | None:
    """Return the range of two figures, or None if their units or order do not fit."""
    if first.unit is SHARE and second.unit is not NO_UNIT:
        first = first._replace(unit=NO_UNIT)  # "1/2 to 1 inch"
    unit = second.unit if first.unit is NO_UNIT or first.unit.dimension == "degree" else first.unit
    if second.unit not in {NO_UNIT, unit} and second.unit.dimension != "degree":
        return None
    scale = second.scale if first.scale == 1 and first.numeral.value < second.numeral.value else first.scale
    low, high = (
        first.numeral.value * scale,
        second.numeral.value * (second.scale if second.scale != 1 else _ONE),
    )
    if not low < high or ORDINAL in {first.unit, second.unit}:
        return None
    return _quantity(text, first._replace(unit=unit, scale=scale), second._replace(unit=unit), words)


def _quantity(text: str, first: Figure, last: Figure, words: RangeWords, *, alone: bool = False) -> Quantity:
    low, high = (last, last) if alone else (first, last)
    bound = _read_bound(text, first.start, last.end, words)
    step = min(low.numeral.step * low.scale, high.numeral.step * high.scale)
    unit = high.unit
    return Quantity(
        text=text[first.start : last.end],
        start=first.start,
        end=last.end,
        low=low.numeral.value * low.scale,
        high=high.numeral.value * high.scale,
        step=step,
        dimension=unit.dimension,
        unit=unit.name,
        factor=unit.factor,
        offset=unit.offset,
        nouns=high.nouns,
        bound=bound,
    )


def _read_bound(text: str, start: int, end: int, words: RangeWords) -> Bound:
    if words.more.match(text, end):
        return Bound.LEAST
    if words.less.match(text, end):
        return Bound.MOST
    match = words.hedge.search(text[max(0, start - _LOOK_BACK) : start])
    if not match:
        return Bound.EXACT
    meanings = {1: Bound.ABOUT, 2: Bound.LEAST, 3: Bound.MOST, 4: Bound.ABOUT, 5: Bound.LEAST, 6: Bound.MOST}
    return meanings[match.lastindex or 1]
