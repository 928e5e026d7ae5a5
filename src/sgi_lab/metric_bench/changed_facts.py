"""Perturbations that change the meaning of an answer: numbers, units, dates, names and negation."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from sgi.kernel.sample import RESPONSE
from sgi.metrics.grounding.check_facts import Verdict, check_facts, facts_of
from sgi.text.tokenizers import sentences
from sgi_lab.metric_bench.capital_names import like, names_of, sure_names
from sgi_lab.metric_bench.numbers import NUMBER, WORDS, YEAR, another, values_of
from sgi_lab.metric_bench.perturbation import Kind, perturbation, shuffle
from sgi_lab.metric_bench.word_pairs import NEGATIVES, any_of, both_ways, word_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from random import Random

    from sgi.kernel.sample import Sample
    from sgi_lab.metric_bench.perturbation import Others

_REFERS = re.compile(
    r"(?:passages?|contexts?|sources?|step|option|item|question|method|part)\W{0,2}(?:\d+\W{1,6}(?:and\W)?)*$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:^|\n)[ \t]*[(\[]?$")
_UNITS = both_ways("""
second/minute seconds/minutes minute/hour minutes/hours hour/day hours/days month/year months/years
day/week days/weeks percent/permille calories/kilojoules celsius/fahrenheit %/‰ thousand/million
million/billion dollar/euro dollars/euros ml/oz teaspoon/tablespoon teaspoons/tablespoons cup/tablespoon
cups/tablespoons litres/gallons liters/gallons mg/g g/oz grams/ounces lbs/kg kg/lb kilograms/pounds
yards/meters acres/hectares mm/inches millimeters/inches inch/cm cm/inches ft/m meter/foot metres/feet
meters/feet mph/kph mi/km km/miles kilometres/miles kilometers/miles""")
_UNIT = re.compile(
    rf"(?<![\w.,])((?:\d[\d,.]{{0,20}}|{'|'.join(WORDS[1:])})[ -]?)"
    rf"({any_of(_UNITS)})(?!\w)",
    re.IGNORECASE,
)
_CURRENCY = {"$": "€", "€": "$", "£": "€"}
_MONEY = re.compile(r"([$€£])(\d[\d,.]{0,20})")
_DEGREES = re.compile(r"(?<!\d)(\d{1,6} ?° ?)([CF])\b")
_OTHER_SCALE = {"C": "F", "F": "C"}
_NOT = re.compile(
    r"\b(is|are|was|were|will|would|does|do|did|should|could|must|have been|has been) not\b"
    r"(?! (?:only|just|necessarily|limited|merely))|"
    r"\bcan(?:not| not)\b(?! (?:only|just|necessarily))|\bcan['’]t\b|"
    r"\b(is|are|was|were|would|does|do|did|should|could)n['’]t\b",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"(?<=\w )(?:is|are|was|were|can|will|would|should|could|must|"
    r"(?:has|have|had)(?= (?:been|become|[a-z]+ed)\b))"
    r"(?= [a-z0-9])(?! (?:of|not|no|never|nor|either|neither|because)\b)"
)
_DENIALS = ("not", "not", "never")
_PREFIXED = 1 / 3  # share of the answers with such an adjective that get the prefix
_NEGATIVE = NEGATIVES | word_pairs(
    "independent/dependent visible/invisible regular/irregular responsible/irresponsible"
)
_ADJECTIVE = re.compile(rf"(?<=\w )(?<!not )(?<!more )(?<!most )(?:{'|'.join(_NEGATIVE)})(?![\w-])")
_HANGING = re.compile(
    r"\b(?:who|what|where|when|why|how|if|whether|as|than|before|until|unless)\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[^.!?\n]{0,2000}+\?")
_CONDITION = re.compile(r"\b(?:if|whether|unless|until|when|once)\b", re.IGNORECASE)
_ABOUT_ANSWER = re.compile(r"\b(?:passages?|contexts?|questions?|answers?|I|information)\b")
_OPENS = re.compile(r"\b(?:here|follows|following)\W*$", re.IGNORECASE)
_FOLLOWS = re.compile(r" (?:as follows|the following)\b")
_COUNTS = re.compile(r"[ -](?:metre|meter|m|km|feet|ft|mile|kg|lb|gram|g|mg|ml|people|[a-z]*s)\b")
_TRIES = 5
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MONTH = rf"(?:{'|'.join(_MONTHS)})"
_DAY_MONTH = re.compile(
    rf"\b(?:(?P<month>{_MONTH}) (?P<day>\d{{1,2}})|(?P<day2>\d{{1,2}}) (?P<month2>{_MONTH}))(?!\d)\b"
)
_MONTH_YEAR = re.compile(rf"\b{_MONTH}(?=,? \d{{4}}\b)")
_LAST_DAY = 28


@perturbation(Kind.ERROR, RESPONSE)
def number_swap(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """A number in the answer is replaced by one of the same form that passages and question do not imply."""
    # Years and the numbers of list items stay.
    return first_error(sample, _number_swaps(sample, draw))


def _number_swaps(sample: Sample, draw: Random) -> Iterator[str | None]:
    text = sample.response
    found = [
        match
        for match in NUMBER.finditer(text)
        if not (
            YEAR.fullmatch(match[0])
            or _REFERS.search(_before(text, match, 80))
            or _is_list_number(text, match)
        )
    ]
    known = values_of((sample.question, *sample.contexts, sample.response))
    for number in shuffle(dict.fromkeys(match[0] for match in found), draw):
        places = [match.span() for match in found if match[0] == number]
        for _ in range(_TRIES):
            new = another(number, known, draw)
            yield None if new is None else _replace_at(text, places, new)


def _before(text: str, match: re.Match[str], most: int) -> str:
    """Return up to ``most`` characters before a match."""
    return text[max(0, match.start() - most) : match.start()]


def _replace_at(text: str, places: Sequence[tuple[int, int]], new: str) -> str:
    """Replace the text at ascending positions."""
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(text)]
    return new.join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _is_list_number(text: str, match: re.Match[str]) -> bool:
    return text[match.end() : match.end() + 1] in {".", ")", "]"} and bool(
        _ITEM.search(_before(text, match, 20))
    )


@perturbation(Kind.ERROR, RESPONSE)
def unit_swap(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """A number in the answer gets another unit (miles for km) that no passage states or implies."""
    return first_error(sample, _unit_swaps(sample, draw))


def _unit_swaps(sample: Sample, draw: Random) -> Iterator[str | None]:
    text = sample.response
    known = "\n".join((sample.question, *sample.contexts)).casefold()
    changes = [
        (match.span(2), _match_case(_UNITS[match[2].lower()], match[2]), match[1], "")
        for match in _UNIT.finditer(text)
    ]
    changes += [(match.span(1), _CURRENCY[match[1]], "", match[2]) for match in _MONEY.finditer(text)]
    changes += [(match.span(2), _OTHER_SCALE[match[2]], match[1], "") for match in _DEGREES.finditer(text)]
    for (start, end), new, before, behind in shuffle(changes, draw):
        is_known = f"{before}{new}{behind}".casefold() in known
        yield None if is_known else f"{text[:start]}{new}{text[end:]}"


def _match_case(new: str, old: str) -> str:
    return new.capitalize() if old[:1].isupper() else new


@perturbation(Kind.ERROR, RESPONSE)
def negation(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """A "not" is removed or inserted, "never" is inserted, or an adjective gets a negative prefix."""
    text = sample.response
    denied = [
        match
        for match in _NOT.finditer(text)
        if not _CONDITION.search(_clause_before(text, match)) and not _is_about_the_answer(text, match)
    ]
    if denied:
        match = draw.choice(denied)
        verb = match[1] or match[2] or match[0][:3]
        return sample.with_response(f"{text[: match.start()]}{verb}{text[match.end() :]}")
    said = [match for match in _AUXILIARY.finditer(text) if _in_a_statement(text, match)]
    prefixed = [match for match in _ADJECTIVE.finditer(text) if _in_a_statement(text, match)]
    if prefixed and (not said or draw.random() < _PREFIXED):
        match = draw.choice(prefixed)
        return sample.with_response(f"{text[: match.start()]}{_NEGATIVE[match[0]]}{text[match.end() :]}")
    if not said:
        return None
    end = draw.choice(said).end()
    return sample.with_response(f"{text[:end]} {draw.choice(_DENIALS)}{text[end:]}")


def _in_a_statement(text: str, match: re.Match[str]) -> bool:
    """Return whether the verb is in a statement, not in a question, list or clause ("if", "who", "as")."""
    before = _clause_before(text, match)
    asks = _ASKS.match(text, match.end())
    hangs = _HANGING.search(_before(text, match, 40)) or _CONDITION.search(before)
    opens = _OPENS.search(before) or _FOLLOWS.match(text, match.end())
    return not (asks or hangs or opens or _is_about_the_answer(text, match))


def _is_about_the_answer(text: str, match: re.Match[str]) -> bool:
    """Return whether the words around a verb are about passages, question or answer, not about the world."""
    before = re.split(r"[.!?\n]", _before(text, match, 200))[-1]
    after = re.split(r"[.!?\n]", text[match.end() : match.end() + 200])[0]
    return _ABOUT_ANSWER.search(before) is not None or _ABOUT_ANSWER.search(after) is not None


def _clause_before(text: str, match: re.Match[str]) -> str:
    """Return the end of the clause before a word."""
    return re.split(r"[,;:.!?\n]", _before(text, match, 120))[-1]


@perturbation(Kind.ERROR, RESPONSE)
def entity_swap(sample: Sample, draw: Random, others: Others) -> Sample | None:
    """A name in answer and passages is replaced in the answer by a similar name from another row."""
    return first_error(sample, _name_swaps(sample, draw, others))


def _name_swaps(sample: Sample, draw: Random, others: Others) -> Iterator[str | None]:
    context = "\n".join(sample.contexts)
    own = f"{sample.question}\n{sample.response}\n{context}".casefold()
    inside, sure = frozenset(names_of(context)), frozenset(sure_names(context))
    named = dict.fromkeys(names_of(sample.response))
    held = [name for name in named if name in sure or (name in inside and " " in name)]
    for name in shuffle(held, draw):
        yield None  # counts as a try, even without a similar name
        for other in others.unrelated_rows(sample, draw):
            for new in others.names(other):
                if like(name, new) and new.casefold() not in own:
                    yield _replace_name(sample.response, name, new)


def _replace_name(text: str, name: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda _: new, text)


@perturbation(Kind.ERROR, RESPONSE)
def date_shift(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """A year, month or day in the answer is replaced by one that passages and question do not contain."""
    text, known = sample.response, "\n".join((sample.question, *sample.contexts, sample.response))
    ways = [_shift_year, _shift_day, _shift_month]
    draw.shuffle(ways)
    return first_error(sample, (way(text, known, draw) for way in ways))


def _shift_year(text: str, known: str, draw: Random) -> str | None:
    found = (match for match in YEAR.finditer(text) if not _COUNTS.match(text, match.end()))
    years = list(dict.fromkeys(match[0] for match in found))
    steps = [step for step in range(-9, 10) if step]
    for year in shuffle(years, draw):
        for step in shuffle(steps, draw):
            new = str(int(year) + step)
            if new not in known:
                places = [match.span() for match in YEAR.finditer(text) if match[0] == year]
                return _replace_at(text, places, new)
    return None


def _shift_day(text: str, known: str, draw: Random) -> str | None:
    for match in shuffle(list(_DAY_MONTH.finditer(text)), draw):
        day, group = (match["day"], "day") if match["day"] else (match["day2"], "day2")
        for new in shuffle([str(number) for number in range(1, _LAST_DAY + 1)], draw):
            start, end = match.span(group)
            date = match[0].replace(day, new)
            if new != str(int(day)) and date not in known:
                return f"{text[:start]}{new}{text[end:]}"
    return None


def _shift_month(text: str, known: str, draw: Random) -> str | None:
    for match in shuffle(list(_MONTH_YEAR.finditer(text)), draw):
        for new in shuffle(_MONTHS, draw):
            if new not in known:
                return f"{text[: match.start()]}{new}{text[match.end() :]}"
    return None


FACTS = (number_swap, unit_swap, date_shift, entity_swap, negation)
"""Perturbations of what an answer says."""


_LONGEST = 2_000
_MOST_TRIES = 20


def first_error(sample: Sample, candidates: Iterable[str | None]) -> Sample | None:
    """Return the row with the first candidate answer that contains an unsupported statement.

    Candidates are read lazily; None among them is skipped. The result is None if all of the first twenty are
    supported, or if a sentence of the answer is too long to check.

    >>> from sgi.kernel.sample import Sample
    >>> row = Sample(id="1", contexts=("It is 5 km, or 3.1 miles, away.",), response="It is 5 km away.")
    >>> first_error(row, ["It is 3.1 miles away.", None, "It is 7 km away."]).response
    'It is 7 km away.'
    """
    if any(len(sentence) > _LONGEST for sentence in sentences(sample.response)):
        return None
    tried = islice(candidates, _MOST_TRIES)
    new = (text for text in tried if text is not None and text != sample.response)
    return next((sample.with_response(text) for text in new if not is_still_supported(sample, text)), None)


def is_still_supported(sample: Sample, changed: str) -> bool:
    """Return whether everything new in an answer follows from the passages or is in the question.

    A statement of the question that a passage contradicts does not count as support. A random number may
    equal a rounded one, lie in a stated range or be a sum; a random unit or a shorter name may occur in
    another passage. New text without number, date or name is not supported. A sentence that is too long to
    check is.

    >>> from sgi.kernel.sample import Sample
    >>> row = Sample(id="1", contexts=("It is 5 km, or 3.1 miles, away.",), response="It is 5 km away.")
    >>> is_still_supported(row, "It is 3.1 miles away."), is_still_supported(row, "It is 7 km away.")
    (True, False)
    """
    originals = frozenset(sentences(sample.response))
    new = [sentence for sentence in sentences(changed) if sentence not in originals]
    if any(len(sentence) > _LONGEST for sentence in new):
        return True
    old = {fact.text for sentence in originals for fact in facts_of(sentence)}
    verdicts = [
        check.verdict
        for sentence in new
        for check in check_facts(sentence, sample.contexts, sample.question)
        if check.fact.text not in old
    ]
    return bool(verdicts) and all(verdict is Verdict.SUPPORTED for verdict in verdicts)
