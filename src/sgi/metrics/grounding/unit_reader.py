"""Reads the unit, scale, rate and noun around a number."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.facts import CURRENCY, POINTS, SHARE, TIME, Unit, symbols
from sgi.metrics.grounding.language_tables import any_of

if TYPE_CHECKING:
    from sgi.metrics.grounding.language_tables import Language

LOOK_BACK = 28
"""Characters before a number that are searched for words about it."""

_UNIT_WORD = re.compile(r"[ \u00a0-]?(?P<unit>[^\W\d_]+(?:[²³/][^\W\d_]*|[23](?!\w)|\.(?=\s?[a-z,]))*)")
_SHORT_SCALE = {"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "b": 1e9, "B": 1e9}
NEXT_WORD = re.compile(r"[ \u00a0-]([^\W\d_](?:[^\W_]|['’-](?=[^\W_]))*)")
"""The word after a number."""


class Figure(NamedTuple):
    """A number with its unit; the two ends of a range are still separate figures."""

    start: int
    end: int
    value: float
    step: float
    other: float
    units: tuple[Unit, ...] = ()
    per: str = ""
    noun: str = ""


class Patterns(NamedTuple):
    """Patterns of the words around numbers, of one language."""

    hedge: re.Pattern[str]
    more: re.Pattern[str]
    less: re.Pattern[str]
    to: re.Pattern[str]
    conjunction: re.Pattern[str]
    alternative: re.Pattern[str]
    between: re.Pattern[str]
    scale: re.Pattern[str]
    link: re.Pattern[str]
    per: re.Pattern[str]
    ordinal: re.Pattern[str]
    label: re.Pattern[str]
    out_of: re.Pattern[str]
    part: re.Pattern[str]
    symbol_before: re.Pattern[str]
    symbol_after: re.Pattern[str]


@lru_cache(maxsize=8)
def patterns_of(language: Language) -> Patterns:
    """Compile the patterns of a language."""
    scales, parts, labels = map(any_of, (language.scales, language.parts, language.labels))
    signs = [sign for sign, units in symbols().items() if sign and not (sign.isalpha() and sign.islower())]
    money = [sign for sign in signs if symbols()[sign][0].dimension == CURRENCY]
    others = sorted({sign for sign in signs if not sign[0].isalpha()} | {*money}, key=len, reverse=True)
    escaped = [re.escape(sign) + (r"(?![^\W_])" if sign[-1].isalpha() else "") for sign in others]
    joint, multipliers = language.conjunction, any_of([*language.scales, *language.hundred])

    def compiled(pattern: str) -> re.Pattern[str]:
        return re.compile(pattern, re.IGNORECASE)

    return Patterns(
        hedge=compiled(
            rf"(?:(?<!\w)(?:({language.about})|({language.least})|({language.most}))|([~≈])|([>≥])|([<≤]))"
            rf"\s?(?:{language.unit_link}|an?\s|the\s|of\s)?$"
        ),
        more=compiled(rf"\s?\+|\s(?:{language.more})\b"),
        less=compiled(rf"\s(?:{language.less})\b"),
        to=compiled(rf"\s?[-–—−‑~]\s?|\s(?:{language.to})\s?"),
        conjunction=compiled(rf"\s{joint}\s"),
        alternative=compiled(rf"\s{language.alternative}\s"),
        between=compiled(rf"(?<!\w)(?:{language.between})\s(?:{language.about})?\s?$"),
        scale=compiled(rf"[ \u00a0-]?(?P<scale>{multipliers})s?\b\.?(?:[ ](?P<of>{scales})\b)?"),
        link=compiled(rf"[ \u00a0]{language.unit_link}"),
        per=compiled(rf"\s?(?:/\s?|(?:{language.per})\s)(?P<per>[^\W\d_]+)"),
        ordinal=compiled(rf"(?:{language.ordinal_end})(?!\w)"),
        label=compiled(rf"(?<!\w)(?:{labels})\.?:?\s(?:\d{{1,3}}(?:,\s|\s?[-–&]\s?|,?\s\w{{1,3}}\s))*$"),
        out_of=compiled(rf"\s(?:{language.out_of})\s"),
        part=compiled(rf"(?:[ -](?:{joint}[ -])?(?:an?[ -])?)?(?P<part>{parts})\b"),
        symbol_before=re.compile(rf"(?<![^\W_])({any_of(map(re.escape, money))})[ \u00a0]?$"),
        symbol_after=re.compile(rf"[ \u00a0]?({'|'.join(escaped)}|°[ ]?[CFK]\b)"),
    )


def scaled(text: str, number: Figure, language: Language) -> Figure:
    """Multiply a number by the scale behind it: "3 million", "$5m"."""
    match = patterns_of(language).scale.match(text, number.end)
    if match:
        factor = 1.0
        for word in filter(None, match.groups()):
            factor *= language.scales.get(word.lower(), 100)
        end = match.end() - (match[0].endswith(".") and text[match.end() : match.end() + 2].strip() == "")
    else:
        factor = _SHORT_SCALE.get(text[number.end : number.end + 1], 1.0)
        if factor == 1.0 or text[number.end + 1 : number.end + 2].isalnum():
            return number
        if text[number.end] in "mb" and "$€£¥₹".find(text[number.start - 1 : number.start] or "-") < 0:
            return number
        end = number.end + 1
    scaled = (number.value * factor, number.step * factor, number.other * factor)
    return Figure(number.start, end, *scaled)


def with_unit(text: str, number: Figure, language: Language) -> Figure:
    """Read the unit or the noun behind a number."""
    units, end = unit_at(text, number.end, language)
    if not units and (link := patterns_of(language).link.match(text, number.end)) and language.unit_link:
        units, end = unit_at(text, link.end(), language)
    if units:
        return rated(text, number._replace(end=end, units=units), language)
    following = NEXT_WORD.match(text, number.end)
    word = following[1].lower() if following else ""
    if following is None or word in language.function_words:
        return number
    rate = patterns_of(language).per.match(text, following.end())  # "60 requests per minute"
    units = language.units.get(rate["per"].lower(), ()) if rate else ()
    per = units[0].name if units and units[0].dimension == TIME else ""
    return number._replace(noun=language.stem(word), per=per)


def unit_at(text: str, place: int, language: Language) -> tuple[tuple[Unit, ...], int]:
    """Return the units that begin at a place, and their end; () if there are none."""
    sign = patterns_of(language).symbol_after.match(text, place)
    if sign:
        return language.units.get(sign[1].replace(" ", ""), ()), sign.end()
    match = _UNIT_WORD.match(text, place)
    if match is None:
        return (), place
    first, end = match["unit"], match.end()
    second = NEXT_WORD.match(text, end)
    third = NEXT_WORD.match(text, second.end()) if second else None
    for words, last in (
        (f"{first} {second[1]} {third[1]}" if second and third else "", third),
        (f"{first} {second[1]}" if second else "", second),
    ):
        units = language.units.get(words.lower()) if words and last else None
        if units and last:
            return units, last.end()
    for spelling in (first, first.rstrip("."), first.lower().rstrip(".")):
        units = language.units.get(spelling)
        if units:
            return units, match.start("unit") + len(first.rstrip("."))
    above, slash, below = first.partition("/")
    over, under = language.units.get(above.lower(), ()), language.units.get(below.lower(), ())
    if slash and over and under:
        return over, match.start("unit") + len(above)
    return (), place


def rated(text: str, number: Figure, language: Language) -> Figure:
    """Read the unit of a rate behind a number: "a month", "/h", "per person"."""
    match = patterns_of(language).per.match(text, number.end)
    if match is None:
        return number
    units = language.units.get(match["per"].lower(), ())
    if units and units[0].dimension not in {CURRENCY, SHARE, POINTS}:
        return number._replace(end=match.end(), per=units[0].name)
    if match[0].strip().lower().startswith(("a", "/")):
        return number
    return number._replace(per=language.stem(match["per"].lower()))
