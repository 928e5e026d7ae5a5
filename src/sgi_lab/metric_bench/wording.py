"""Perturbations that keep the meaning: other words, or another spelling of the same words."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from sgi.kernel.sample import RESPONSE
from sgi.text.sentences import sentences
from sgi_lab.metric_bench.numbers import WORDS
from sgi_lab.metric_bench.perturbation import Kind, perturbation

if TYPE_CHECKING:
    from random import Random

    from sgi.kernel.sample import Sample
    from sgi_lab.metric_bench.perturbation import Others

_SHORT_FORMS = """
is not/isn't; are not/aren't; was not/wasn't; were not/weren't; do not/don't; does not/doesn't;
did not/didn't; cannot/can't; would not/wouldn't; should not/shouldn't; could not/couldn't;
has not/hasn't; have not/haven't; it is/it's; there is/there's; they are/they're; you are/you're;
you will/you'll"""
_SYNONYM_TABLE = """
physician/doctor; physicians/doctors; begin/start; begins/starts; began/started; nearly/almost; almost/nearly;
although/though; often/frequently; frequently/often; usually/typically; typically/usually;
quickly/rapidly; rapidly/quickly; obtain/get; entire/whole; therefore/thus;
thus/therefore; approximately/roughly; roughly/approximately; requires/needs; required/needed;
various/different; ensure/make sure; for example/for instance; for instance/for example;
in order to/to; due to/because of; because of/due to"""


def _table(pairs: str) -> dict[str, str]:
    """Parse pairs ``old/new`` separated by semicolons."""
    read = (pair.strip().partition("/") for pair in pairs.split(";"))
    return {old: new for old, _, new in read}


_SHORT = _table(_SHORT_FORMS)
_SYNONYMS = _table(_SYNONYM_TABLE)
_UNCLEAR = {"it's", "there's"}  # may be "has"
_LONG = {short: long for long, short in _SHORT.items() if short not in _UNCLEAR}
_COUNTS = r"(?= [a-z]{3,})(?! (?:and|hundred|thousand|million|billion|is|are|was|were|has|had|will)\b)"
_DIGIT = re.compile(rf"(?<![\w.,/$€£°#:-])(1[0-2]|[2-9]){_COUNTS}")
_NUMBER_WORD = re.compile(rf"(?<![\w-])({'|'.join(WORDS[2:])}){_COUNTS}")
_FRONTED = re.compile(r"(In \d{4}), ([^,;:]+)([.!])")
_TRAILED = re.compile(r"([^,;:]+?) (in \d{4})([.!])")
_JOINED = re.compile(r"\b(?:and|or|but|that|which|who|when|while|until|before|after|since)\b")
_MOVABLE = (
    *("The ", "A ", "An ", "It ", "He ", "She ", "They "),
    *("This ", "These ", "There ", "His ", "Her ", "Its "),
)
_BLANKS = (" ", "  ", "\N{NO-BREAK SPACE}", "\t")
_TYPOGRAPHIC = str.maketrans({"'": "’", "-": "\N{NON-BREAKING HYPHEN}"})
_FEWEST_SENTENCES = 2
_LOOK_BACK = 40
_NO_COUNT = frozenset({"passage", "passages", "step", "item", "question", "option", "page", "to", "by", "x"})


def _by_table(table: dict[str, str]) -> re.Pattern[str]:
    words = "|".join(sorted(map(re.escape, table), key=len, reverse=True))
    return re.compile(rf"(?<![\w'’-])(?:{words})(?= \w)")


_SHORTENED, _LENGTHENED, _SYNONYMOUS = map(_by_table, (_SHORT, _LONG, _SYNONYMS))


@perturbation(Kind.HARMLESS, RESPONSE)
def contractions(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """Short forms such as "isn't" take the place of long ones, or the other way about."""
    text = _SHORTENED.sub(lambda match: _SHORT[match[0]], sample.response)
    if text != sample.response:
        return sample.with_response(text)
    plain = text.replace("’", "'")
    text = _LENGTHENED.sub(lambda match: _LONG[match[0]], plain)
    return None if text == plain else sample.with_response(text)


@perturbation(Kind.HARMLESS, RESPONSE)
def synonyms(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """Words are replaced by synonyms from a short safe list (often, frequently; thus, therefore)."""
    return sample.with_response(_SYNONYMOUS.sub(lambda match: _SYNONYMS[match[0]], sample.response))


@perturbation(Kind.HARMLESS, RESPONSE)
def number_words(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """Counts from 2 to 12 are written as words, or the reverse."""
    text = _DIGIT.sub(lambda match: WORDS[int(match[1])] if _counts(match) else match[0], sample.response)
    if text == sample.response:
        text = _NUMBER_WORD.sub(lambda match: str(WORDS.index(match[1])), text)
    return sample.with_response(text)


def _counts(digits: re.Match[str]) -> bool:
    """Return whether the words around a number show a count, not a name, a measure or a date."""
    before = digits.string[max(0, digits.start() - _LOOK_BACK) : digits.start()].split(" ")[-2:-1]
    return bool(before) and before[0].isalpha() and before[0].islower() and before[0] not in _NO_COUNT


@perturbation(Kind.HARMLESS, RESPONSE)
def clause_order(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """The year in a simple sentence moves from its beginning to its end, or the reverse."""
    text = sample.response
    for sentence in sentences(text):
        moved = _move_year(sentence)
        if moved is not None:
            return sample.with_response(text.replace(sentence, moved, 1))
    return None


def _move_year(sentence: str) -> str | None:
    if _JOINED.search(sentence):
        return None
    if fronted := _FRONTED.fullmatch(sentence):
        when, said, stop = fronted.groups()
        return f"{said[0].upper()}{said[1:]} {when[0].lower()}{when[1:]}{stop}"
    trailed = _TRAILED.fullmatch(sentence)
    if trailed is None:
        return None
    said, when, stop = trailed.groups()
    begun = said[0].lower() + said[1:] if said.startswith(_MOVABLE) else said
    return f"{when[0].upper()}{when[1:]}, {begun}{stop}"


@perturbation(Kind.HARMLESS, RESPONSE)
def framed(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """Words such as "The answer is:" are added before the answer."""
    openers = ("The answer is: ", "According to the passages: ", "Here is the answer: ")
    return sample.with_response(draw.choice(openers) + sample.response)


@perturbation(Kind.HARMLESS, RESPONSE)
def white_space(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """Spaces are doubled or become tabs or no-break spaces; some are added around the answer."""
    spaced = re.sub(" ", lambda _: draw.choice(_BLANKS), sample.response)
    return sample.with_response(f"  {spaced} \n")


@perturbation(Kind.HARMLESS, RESPONSE)
def unicode_form(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """Accents are decomposed (NFD); apostrophes and hyphens become typographic."""
    return sample.with_response(unicodedata.normalize("NFD", sample.response).translate(_TYPOGRAPHIC))


@perturbation(Kind.HARMLESS, RESPONSE)
def bullets(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """Each sentence of the answer becomes a list item."""
    items = sentences(sample.response)
    if len(items) < _FEWEST_SENTENCES or "\n" in sample.response.strip():
        return None
    return sample.with_response("\n".join(f"- {sentence}" for sentence in items))


WORDINGS = (framed, contractions, synonyms, number_words, clause_order, white_space, unicode_form, bullets)
"""Perturbations of the wording, which keep the meaning."""
