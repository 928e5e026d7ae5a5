"""Finds figures: numbers with their sign, scale and unit."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import AnalysedText
from sgi.metrics.grounding.facts.fact import merge_spans, overlaps
from sgi.metrics.grounding.facts.label_numbers import label_end
from sgi.metrics.grounding.facts.numerals import (
    ONES,
    ORDINALS,
    PARTS,
    SCALES,
    TEN,
    TENS,
    VULGAR,
    Numeral,
    digits,
    fraction,
    number_words,
)
from sgi.metrics.grounding.facts.unit_reader import ordinal_unit, read_unit, unit_or_age
from sgi.metrics.grounding.facts.units import NO_UNIT, SHARE, Unit, unit_named
from sgi.metrics.grounding.facts.words import FUNCTION_WORDS, stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_VULGAR = "".join(VULGAR)
_FIGURE = re.compile(
    rf"[\d{_VULGAR}](?:(?:[\d.,٬٫，．’'\u00a0\u202f\u2009]*\d)?(?:[ ]?[{_VULGAR}]"
    rf"|[ -]\d{{1,2}}/\d{{1,2}}(?![\d/])"
    r"|/\d{1,3}(?![\d/]))?)"
)
# Spaces inside a number, as in tokenised text: "735, 000", "3 . 5"; not a list: "100, 200 and 300".
_SPACED = re.compile(
    r"\d{1,3}(?:[ ]?,[ ]\d{3}(?!\d))+(?:[ ]?[.][ ]?\d+)?(?![ ]?,[ ]?\d|,?[ ](?:and|or|&)[ ]\d)"
    r"|\d+[ ][.][ ]\d+"
)
_FEET = re.compile(r"([1-9])['’′](1[01]|\d)(?:[\"”″]|''|(?![\w.,'’]))")
_PRIMES = frozenset("'’′")
_BARE_POINT = re.compile(r"(?:^|[\s($£€])\.$")
_UNSPACED_LIST = re.compile(r"\d{1,3}(?:,\d{1,3}){2,}")
# Digits that name something: telephone numbers, versions, scores, invalid clock times.
_CODE = re.compile(r"\d+(?:[-.‑]\d+){2,}|\d{3}[-‑]\d{4}(?!\d)|\d+(?::\d+)+|\d+/\d+/\d+")
_DIGITS = re.compile(r"\d+")
_ANY = "|".join(sorted([*ONES, *SCALES, "dozen", "half", "quarter", "third"], key=len, reverse=True))
_UNITS = "|".join(word for word, number in ORDINALS.items() if number < TEN)
_SPELT = re.compile(
    rf"(?:{'|'.join(TENS)})-(?:{_UNITS})\b"
    rf"|(?:(?:a|an)[ ])?(?:{_ANY})s?\b"
    rf"(?:(?:[ -]|[ ]-[ ]|[ -]and[ -](?:a[ -])?)(?:(?:{'|'.join(SCALES)})s|{_ANY}|{'|'.join(PARTS)})\b)*"
    rf"|(?:{'|'.join(ORDINALS)})\b",
    re.IGNORECASE,
)
_UNIT_AND_PART = re.compile(r"\b(?:an?|one) ([a-z]+) and a (half|quarter)\b")
_FOR_A_UNIT = re.compile(r"\bfor ((?:an?|another) (hour|week|month|year|decade))\b(?! (?:and a|or)\b)(?!-)")
_NUMBER_WORDS = frozenset({*ONES, *SCALES, *ORDINALS, "dozen", "half", "quarter", "third"})
_LATIN = re.compile(r"[a-z]+")
_SCALE = re.compile(
    r"(?:[ \u00a0-]?(hundred|thousand|million|billion|trillion|bn|mn|mln)s?\b|([kKmMbB])(?![\w]))",
    re.IGNORECASE,
)
_SCALE_VALUES = {key: Decimal(number) for key, number in SCALES.items()} | {
    "k": Decimal(10**3),
    "m": Decimal(10**6),
    "mn": Decimal(10**6),
    "mln": Decimal(10**6),
    "b": Decimal(10**9),
    "bn": Decimal(10**9),
}
_SYMBOL = re.compile(r"(?:US|U\.S\.|A|C|AU|CA|NZ|HK)?([$€£¥₹])[ ]?$")
_NOUN = re.compile(r"\+?[ \u00a0-]([^\W\d_](?:[^\W_]|['’-](?=[^\W_]))*)")
_OF_THEM = re.compile(
    r"\s(?:(?:of|out of)\s(?:the|these|those|its|their|his|her|all)|more|fewer|less|other|such)\b"
)
_ONE_TO = re.compile(rf"(?:[ ]?[-–][ ]?|[ ](?:or|to|and)[ ])(?:\d|(?:{_ANY})\b)", re.IGNORECASE)
_SIZE = re.compile(r"[ -]\d+\s?[x×]\s?\d+(?=[ -][^\W\d_])")  # "two 4 x 4 skids"
_ONE_IN = re.compile(rf"\s(?:in|out of)\s(?:every\s)?(?:\d|(?:{_ANY})\b)", re.IGNORECASE)
_HALF_A = re.compile(r"[ -](?:an?|of an?|of)[ ](?=[^\W\d_])")
_FOOT = unit_named("foot") or NO_UNIT
_SECOND = unit_named("second") or NO_UNIT
_PLACED = re.compile(r"\b(?:the|his|her|its|their|a|my|our)\s$", re.IGNORECASE)
_UNREAD_BEFORE = re.compile(r"\d\w{1,3}-$|\w (?:dot|point) $")  # "70ty-three", "twelve dot fifty"
_UNREAD = len("e point ")
_RANKED = re.compile(r"\b(?:c[ao]mes?|coming|finish(?:ed|es|ing)?|ranked|placed) (?:in )?$", re.IGNORECASE)
_FIRST_OF_SERIES = re.compile(r"[ ](?:studio album|album|novel|season|straight|consecutive|film|single)\b")
_RANKS = re.compile(r"[ -](?:place|prize|reading|session|season|edition|floor|term|album|novel|half)\b")
_AFTER_A = re.compile(r"\ba\s$", re.IGNORECASE)
_PART_OF_TEXT = re.compile(
    r"[ ](?:passage|paragraph|document|source|context|excerpt|text|sentence|article|method"
    r"|option|step|reason|way|one)\b"
)
_LETTERS_BEFORE = re.compile(r"[^\W\d_]$|[^\W\d_][-‑]$|[\w][/@:_]$|[\w/][.]$|[#/@]$")
_ONE = Decimal(1)
_SAME_NOUN = {"children": "child", "kid": "child", "movie": "film"}
_NOUN_WORDS = 3  # "two old stone bridges"


class Figure(NamedTuple):
    """A number with its unit; the two ends of a range are still separate figures."""

    start: int
    end: int
    numeral: Numeral
    scale: Decimal
    unit: Unit
    nouns: tuple[str, ...] = ()


def figures(text: str, excluded: Sequence[tuple[int, int]] = ()) -> list[Figure]:
    """Return the figures of a text in order, except those in the excluded parts."""
    text = AnalysedText.of(text)
    return sorted([*_from_digits(text, excluded), *_from_words(text, excluded)])


def _from_digits(text: str, covered: Sequence[tuple[int, int]]) -> Iterator[Figure]:
    skip = 0
    for match in _FIGURE.finditer(text):
        start, end = match.span()
        if start < skip or overlaps(start, end, covered):
            continue
        end_of_label = label_end(text, start)
        if end_of_label:
            skip = end_of_label
            continue
        spaced = _SPACED.match(text, start)
        feet = _FEET.match(text, start) if text[start + 1 : start + 2] in _PRIMES else None
        if feet:
            skip = feet.end()
            yield _height(feet)
            continue
        is_part = text.startswith(".", start - 1) and _BARE_POINT.search(text[max(0, start - 2) : start])
        written = spaced[0].replace(" ", "") if spaced else match[0]
        numeral = _read_numeral(f"0.{written}" if is_part else written)
        end = spaced.end() if spaced and numeral else end
        if numeral is None and _UNSPACED_LIST.fullmatch(match[0]):
            yield from _list_figures(match[0], start)
            continue
        code = _CODE.match(text, start)
        if code and (numeral is None or code.end() > end):
            skip = code.end()
            continue
        if _LETTERS_BEFORE.search(text[max(0, start - 3) : start]) and not is_part:
            continue
        figure = _number_with_unit(text, start - bool(is_part), end, numeral) if numeral else None
        if figure:
            skip = figure.end
            yield figure


def _height(match: re.Match[str]) -> Figure:
    """Read a length in feet and inches: "5'11"."""
    inches = Decimal(match[2]) / 12
    return Figure(*match.span(), Numeral(Decimal(match[1]) + inches, Decimal("0.08")), _ONE, _FOOT)


def _list_figures(written: str, start: int) -> Iterator[Figure]:
    """Read the numbers of a list without spaces: "1,2,3"."""
    for part in _DIGITS.finditer(written):
        numeral = digits(part[0])
        if numeral:
            yield Figure(start + part.start(), start + part.end(), numeral, _ONE, NO_UNIT)


def _read_numeral(written: str) -> Numeral | None:
    """Read a numeral with digits, a fraction, or both."""
    if written[-1] in VULGAR:
        whole, part = written[:-1].rstrip(), fraction(*VULGAR[written[-1]])
    elif "/" in written:
        whole, _, rest = written.replace("-", " ").rpartition(" ")
        if len(rest) > len("100/1000") or not rest.replace("/", "").isdigit():
            return None
        above, below = map(int, rest.split("/"))
        if not 0 < above < below:
            return None
        part = fraction(above, below)
    else:
        return digits(written)
    if not whole:
        return part
    number = digits(whole)
    return Numeral(number.value + part.value, part.step) if number else None


def _number_with_unit(text: str, start: int, end: int, numeral: Numeral) -> Figure | None:
    """Read a number in digits with its sign, currency, scale and unit."""
    symbol = _SYMBOL.search(text[max(0, start - 5) : start])
    unit = unit_named(symbol[1]) if symbol else None
    if symbol:
        start -= len(symbol[0])
    start, numeral = _read_sign(text, start, numeral)
    scale, end = _read_scale(text, end, money=unit is not None)
    if unit is None:
        if text[end : end + 2].lower() in {"st", "nd", "rd", "th"} and not text[end + 2 : end + 3].isalnum():
            nouns = _nouns(text, end + 2)
            return Figure(start, end + 2, numeral, _ONE, ordinal_unit(nouns), nouns)
        glued = text[end : end + 1].isalpha()
        unit, end = unit_or_age(text, start, end)
        if glued and unit is NO_UNIT and scale == 1 and not text[end : end + 1] > "\u3000":
            return None
    nouns = _nouns(text, end) if unit.dimension in {"", "share"} else ()
    if (
        unit is NO_UNIT
        and numeral.value < 1
        and numeral.step == Decimal("0.01")
        and "." not in text[start:end]
    ):
        unit = SHARE
    return Figure(start, end, numeral, scale, unit, nouns)


def _read_sign(text: str, start: int, numeral: Numeral) -> tuple[int, Numeral]:
    minus = text[start - 1 : start] in {"-", "−"} and (start == 1 or text[start - 2] in " (\t[:=\n")
    if not minus or text[max(0, start - 3) : max(0, start - 2)].isdigit():
        return start, numeral
    return start - 1, Numeral(-numeral.value, numeral.step)


def _read_scale(text: str, end: int, *, money: bool) -> tuple[Decimal, int]:
    match = _SCALE.match(text, end)
    if not match or (match[2] and match[2] not in "kK" and not money and match[2] in "mbB"):
        return _ONE, end
    word = (match[1] or match[2]).lower()
    return _SCALE_VALUES[word], match.end()


def _nouns(text: str, end: int) -> tuple[str, ...]:
    """Return the stems of the next words, up to a function word; they name the counted thing."""
    of_them = _OF_THEM.match(text, end)
    place = of_them.end() if of_them else end
    size = _SIZE.match(text, place)
    place = size.end() if size else place
    nouns: list[str] = []
    while len(nouns) < _NOUN_WORDS and (match := _NOUN.match(text, place)):
        word = match[1].casefold()
        if word in FUNCTION_WORDS:
            break
        noun = stem(word)
        nouns.append(_SAME_NOUN.get(noun, noun))
        place = match.end()
    return tuple(nouns)


def _from_words(text: str, covered: Sequence[tuple[int, int]]) -> Iterator[Figure]:
    lowered = text.lower()
    if len(lowered) != len(text):  # the lower case of a few letters has two characters
        lowered = "".join([small if len(small := sign.lower()) == 1 else sign for sign in text])
    skip = 0
    units = [*_and_a_half(lowered), *_for_a_unit(lowered)]
    yield from units
    covered = merge_spans([*covered, *((unit.start, unit.end) for unit in units)]) if units else covered
    for start in sorted(_places(lowered)):
        match = _SPELT.match(lowered, start) if start >= skip else None
        if not match or overlaps(start, match.end(), covered):
            continue
        if _UNREAD_BEFORE.search(lowered[max(0, start - _UNREAD) : start]):
            continue
        skip = match.end()
        article = lowered[max(0, start - 3) : start]
        after_article = article.endswith((" a ", " an ")) or article in {"a ", "an "}
        figure = _spelt(text, start, match.end(), match[0], after_article=after_article)
        if figure:
            skip = max(skip, figure.end)
            yield figure


def _and_a_half(lowered: str) -> Iterator[Figure]:
    """Read "an hour and a half"."""
    for match in _UNIT_AND_PART.finditer(lowered) if " and a " in lowered else ():
        unit = unit_named(match[1])
        if unit:
            part = fraction(1, PARTS[match[2]])
            yield Figure(match.start(), match.end(), Numeral(_ONE + part.value, part.step), _ONE, unit)


def _for_a_unit(lowered: str) -> Iterator[Figure]:
    """Read "for an hour" and "for another week"."""
    for match in _FOR_A_UNIT.finditer(lowered) if "for a" in lowered else ():
        yield Figure(*match.span(1), Numeral(_ONE, _ONE), _ONE, unit_named(match[2]) or NO_UNIT)


def _places(lowered: str) -> Iterator[int]:
    """Return the positions of number words."""
    for word in _NUMBER_WORDS.intersection(_LATIN.findall(lowered)):
        place = lowered.find(word)
        while place >= 0:
            if not (place and (lowered[place - 1].isalnum() or lowered[place - 1] == "_")):
                yield place
            place = lowered.find(word, place + 1)


def _spelt(text: str, start: int, end: int, written: str, *, after_article: bool) -> Figure | None:
    words = written.replace("-", " ").split()
    if len(words) > 1 and words[-1].removesuffix("s") in SCALES:
        words[-1] = words[-1].removesuffix("s")  # "five millions"
    if len(words) > 1 and words[-1] in ORDINALS and words[0] in ONES and "-" in written:
        return _joined_ordinal(text, start, end, words, after_article=after_article)
    if len(words) == 1 and words[0] in ORDINALS and not (words[0] in PARTS and after_article):
        return _ordinal(text, start, end, words[0])
    numeral, is_part = _value(words, after_article=after_article)
    if numeral is None:
        return None
    if is_part:
        return _part(text, start, end, numeral)
    unit, unit_end = unit_or_age(text, start, end)
    no_unit = unit is NO_UNIT or text[unit_end : unit_end + 1].isalpha()
    is_score = text[max(0, start - 4) : start] == " to " and not text[end : end + 2].strip().isalnum()
    is_score = is_score or _ONE_TO.match(text, end) is not None
    if words == ["one"] and no_unit and not is_score and not _ONE_IN.match(text, end):
        return None
    nouns = _nouns(text, unit_end) if unit.dimension in {"", "share"} else ()
    return Figure(start, unit_end, numeral, _ONE, unit, nouns)


def _joined_ordinal(text: str, start: int, end: int, words: list[str], *, after_article: bool) -> Figure:
    """Read "twenty-first"; "a thirty-second advert" is a duration."""
    tens = ONES[words[0]]
    if words[-1] == "second" and after_article:
        return Figure(start, end, Numeral(Decimal(tens), _ONE), _ONE, _SECOND)
    nouns = _nouns(text, end)
    return Figure(
        start, end, Numeral(Decimal(tens + ORDINALS[words[-1]]), _ONE), _ONE, ordinal_unit(nouns), nouns
    )


def _part(text: str, start: int, end: int, numeral: Numeral) -> Figure:
    """Read a part of a unit ("half an hour"), of a scale ("half a million"), or of what follows."""
    half_a = _HALF_A.match(text, end)
    place = half_a.end() - 1 if half_a else end
    scale = _SCALE.match(text, place) if half_a else None
    if scale:
        factor = _SCALE_VALUES[(scale[1] or scale[2]).lower()]
        unit, unit_end = read_unit(text, scale.end())
        nouns = _nouns(text, unit_end) if unit is NO_UNIT else ()
        return Figure(start, scale.end(), numeral, factor, unit, nouns)
    unit, unit_end = read_unit(text, place)
    if unit is NO_UNIT or unit.dimension == "degree" or (unit.dimension == "share" and not half_a):
        return Figure(start, end, numeral, _ONE, NO_UNIT if numeral.value > 1 else SHARE, _nouns(text, end))
    return Figure(start, unit_end, numeral, _ONE, unit)


def _ordinal(text: str, start: int, end: int, word: str) -> Figure | None:
    """Read a written ordinal; ignore "second" without an article, and "first" of no series."""
    placed = (
        _PLACED.search(text[max(0, start - 6) : start])
        or _RANKS.match(text, end)
        or _RANKED.search(text[max(0, start - len("finishing in ")) : start])
    )
    of_text = _PART_OF_TEXT.match(text, end)
    is_first = word == "first" and not _FIRST_OF_SERIES.match(text, end)
    if is_first or of_text or (word in {"second", "third"} and not placed):
        return None
    nouns = _nouns(text, end)
    if word == "second" and not nouns and _AFTER_A.search(text[max(0, start - 3) : start]):
        return None  # "wait a second"
    return Figure(start, end, Numeral(Decimal(ORDINALS[word]), _ONE), _ONE, ordinal_unit(nouns), nouns)


def _value(words: list[str], *, after_article: bool) -> tuple[Numeral | None, bool]:
    """Return the number of the words, and whether it contains a fraction."""
    last = words[-1]
    if last in PARTS and (
        len(words) > 1 or last == "half" or (after_article and last in {"quarter", "third"})
    ):
        return _with_part(words), True
    if last in {"dozen", "dozens"}:
        count = number_words(words[:-1]) if len(words) > 1 else Numeral(_ONE, _ONE)
        vague = last == "dozens" or count is None or (len(words) == 1 and not after_article)
        return (None if vague or count is None else Numeral(count.value * 12, _ONE)), False
    if last in SCALES and len(words) == 1 and not after_article:
        return None, False
    return number_words(words), False


def _with_part(words: list[str]) -> Numeral | None:
    """Read a number that ends in a fraction: "three quarters", "one and a half"."""
    parts = PARTS[words[-1]]
    if "and" in words:
        whole = number_words(words[: words.index("and")])
        part = fraction(1, parts)
        return Numeral(whole.value + part.value, part.step) if whole else None
    above = number_words(words[:-1]) if len(words) > 1 else Numeral(_ONE, _ONE)
    return fraction(int(above.value), parts) if above and 0 < above.value < parts else None
