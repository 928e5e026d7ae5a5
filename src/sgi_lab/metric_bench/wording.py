"""Perturbations that keep the meaning: other words, another spelling, or other sentences."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from sgi.kernel.sample import RESPONSE
from sgi.text.tokenizers import sentence_spans, sentences
from sgi_lab.metric_bench.numbers import WORDS
from sgi_lab.metric_bench.perturbation import Kind, perturbation
from sgi_lab.metric_bench.word_pairs import NEGATIVES, any_of, both_ways, word_pairs

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from sgi.kernel.sample import Sample
    from sgi_lab.metric_bench.perturbation import Others

_SHORT = word_pairs(
    """
is not/isn't; are not/aren't; was not/wasn't; were not/weren't; do not/don't; does not/doesn't;
did not/didn't; cannot/can't; would not/wouldn't; should not/shouldn't; could not/couldn't;
has not/hasn't; have not/haven't; it is/it's; there is/there's; they are/they're; you are/you're;
you will/you'll""",
    ";",
)
_SYNONYMS = word_pairs(
    """
physician/doctor; physicians/doctors; begin/start; begins/starts; began/started; nearly/almost; almost/nearly;
although/though; often/frequently; frequently/often; usually/typically; typically/usually;
quickly/rapidly; rapidly/quickly; obtain/get; entire/whole; therefore/thus;
thus/therefore; approximately/roughly; roughly/approximately; requires/needs; required/needed;
various/different; ensure/make sure; for example/for instance; for instance/for example;
in order to/to; due to/because of; because of/due to""",
    ";",
)
_UNCLEAR = {"it's", "there's"}  # may be "has"
_LONG = {short: long for long, short in _SHORT.items() if short not in _UNCLEAR}
_COUNTS = r"(?= [a-z]{3,})(?! (?:and|hundred|thousand|million|billion|is|are|was|were|has|had|will)\b)"
_DIGIT = re.compile(rf"(?<![\w.,/$€£°#:-])(1[0-2]|[2-9]){_COUNTS}")
_NUMBER_WORD = re.compile(rf"(?<![\w-])({'|'.join(WORDS[2:])}){_COUNTS}")
_YEAR_FIRST = re.compile(r"(In \d{4}), ([^,;:]+)([.!])")
_YEAR_LAST = re.compile(r"([^,;:]+?) (in \d{4})([.!])")
_JOINED = re.compile(r"\b(?:and|or|but|that|which|who|when|while|until|before|after|since)\b")
_BLANKS = (" ", "  ", "\N{NO-BREAK SPACE}", "\t")
_TYPOGRAPHIC = str.maketrans({"'": "’", "-": "\N{NON-BREAKING HYPHEN}"})
_FEWEST_SENTENCES = 2
_LOOK_BACK = 40
_NO_COUNT = frozenset({"passage", "passages", "step", "item", "question", "option", "page", "to", "by", "x"})
_PARTICIPLE = word_pairs("""
directed/directed produced/produced founded/founded created/created designed/designed
invented/invented discovered/discovered published/published developed/developed
released/released acquired/acquired defeated/defeated killed/killed painted/painted
composed/composed wrote/written built/built won/won bought/bought sold/sold led/led
caused/caused introduced/introduced performed/performed recorded/recorded owned/owned""")
_PAST = {participle: past for past, participle in _PARTICIPLE.items()}
_PHRASE = (
    r"(?:(?:[Tt]he|[Aa]n?|[Ii]ts|[Hh]is|[Hh]er) )?[\w’'-]+(?: [A-Z][\w’'-]+| (?:of|the) [A-Z][\w’'-]+){0,4}"
)
_NO_PRONOUN = r"(?!(?:[Ii]t|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|I|[Yy]ou|[Tt]his|[Tt]hat|[Ww]hich|[Ww]ho|[Tt]here)\b)"
_WHO, _WHAT = (f"(?P<{name}>{_NO_PRONOUN}{_PHRASE})" for name in ("who", "what"))
_REST = r"(?P<rest>(?: (?:in|on|at|for|from|during) [^,;.!?]{1,60})?[.!])"
_ACTIVE = re.compile(rf"{_WHO} (?P<verb>{any_of(_PARTICIPLE)}) {_WHAT}{_REST}")
_PASSIVE = re.compile(rf"{_WHAT} (?:was|were) (?P<verb>{any_of(_PAST)}) by {_WHO}{_REST}")
_TRAILING = re.compile(
    r"(?P<main>(?![^.!?]{0,250} but )[A-Z][^,;:.!?]{10,200}?),? (?P<word>because|when|while|if|although)"
    r" (?P<clause>(?:it|he|she|they|you|we|the|a|an|there|this|these|his|her|its|their)"
    r" [^,;:.!?]{5,200})(?P<stop>[.!])"
)
_FRONTED = re.compile(
    r"(?P<word>Because|When|While|If|Although|After|Before|Once|Until) (?P<clause>[^,;:.!?]{8,200}),"
    r" (?P<main>[^,;:.!?]{8,200})(?P<stop>[.!])"
)
_SMALL = re.compile(
    r"(?:The|A|An|It|He|She|They|This|These|There|His|Her|Its|Their|You|We|Some|Many|Most|Both|In|On|At)\b"
)
_RELATIVE = re.compile(
    r"(?P<main>[A-Z][^;:.!?,]{10,200}), (?:which|who) (?P<verb>is|was|has|had)"
    r" (?P<rest>[^;:.!?,]{5,200})(?P<stop>[.!])"
)
_NEXT = re.compile(r"(?<=[a-z])\. (It|He|She|They|This) (?=(?:is|are|was|were|has|have|had|can|also|will)\b)")
_NEGATIVE = NEGATIVES | word_pairs("clear/unclear dependent/independent")
_POSITIVE = {negative: positive for positive, negative in _NEGATIVE.items()}
_BE = r"(?:is|are|was|were|be)"
_NO_ANY = r" have (?!to\b)(?:any )?(?=[a-z])"
_UNABLE = r" can(?:not|['’]t)\b(?! (?:only|be)\b)"
_NEGATED_WORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (rf"\b(?:does not|doesn['’]t){_NO_ANY}", "lacks "),
    (rf"\b(?:do not|don['’]t){_NO_ANY}", "lack "),
    (rf"\b(?:did not|didn['’]t){_NO_ANY}", "lacked "),
    (r"\bwithout any\b", "with no"),
    (rf"\b({_BE}) not ({any_of(_NEGATIVE)})\b", lambda match: f"{match[1]} {_NEGATIVE[match[2]]}"),
    (rf"\b({_BE}) ({any_of(_POSITIVE)})\b", lambda match: f"{match[1]} not {_POSITIVE[match[2]]}"),
    (rf"\b(it|he|she){_UNABLE}", r"\1 is unable to"),
    (rf"\b(they|you|we){_UNABLE}", r"\1 are unable to"),
)
_NOT_DENIED = {"able", "clear", "known", "dependent", "active", "available", "complete", "likely"}
_PLAIN = any_of(_NEGATIVE.keys() - _NOT_DENIED)
_ASSERTED = re.compile(rf"(?<!as soon as )(?<!as )\b({_BE}) ({_PLAIN})\b(?! (?:to|as|for)\b)")
_INVERSES = both_ways("""
greater/less wider/narrower deeper/shallower richer/poorer warmer/cooler heavier/lighter stronger/weaker
faster/slower longer/shorter older/younger higher/lower bigger/smaller larger/smaller taller/shorter""")
_COMPARED = re.compile(
    rf"(?P<one>[A-Z][\w’' -]{{2,60}}?) (?P<verb>is|was|are|were) (?P<much>much |slightly |far )?"
    rf"(?P<word>{any_of(_INVERSES)}) than (?P<other>[\w’' -]{{2,60}})(?P<stop>[.!])"
)
_MORE_THAN = re.compile(r"\b(more than|less than|fewer than|over|under) (?=[$€£]?\d)")
_SAME_BOUND = {
    "more than": "over",
    "over": "more than",
    "less than": "under",
    "fewer than": "under",
    "under": "less than",
}


def _reword(sample: Sample, change: Callable[[str], str | None]) -> Sample | None:
    """Change the first sentence to which a change applies."""
    text = sample.response
    for start, end in sentence_spans(text):
        new = change(text[start:end])
        if new is not None:
            return sample.with_response(f"{text[:start]}{new}{text[end:]}")
    return None


def _lower(text: str) -> str:
    """Write the first letter small if the first word is not a name."""
    return text[0].lower() + text[1:] if _SMALL.match(text) else text


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _any_phrase(table: dict[str, str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'’-])(?:{any_of(table)})(?= \w)")


_SHORTENED, _LENGTHENED, _SYNONYMOUS = map(_any_phrase, (_SHORT, _LONG, _SYNONYMS))


@perturbation(Kind.HARMLESS, RESPONSE)
def contractions(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """Replaces long forms such as "is not" by short forms such as "isn't", or the reverse."""
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
    return _reword(sample, _move_year)


def _move_year(sentence: str) -> str | None:
    if _JOINED.search(sentence):
        return None
    if fronted := _YEAR_FIRST.fullmatch(sentence):
        when, said, stop = fronted.groups()
        return f"{_upper(said)} {_lower(when)}{stop}"
    trailed = _YEAR_LAST.fullmatch(sentence)
    if trailed is None:
        return None
    said, when, stop = trailed.groups()
    return f"{_upper(when)}, {_lower(said)}{stop}"


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


@perturbation(Kind.HARMLESS, RESPONSE)
def voice(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """An active sentence ("Ada built the mill") becomes passive, or the reverse."""
    return _reword(sample, _change_voice)


def _change_voice(sentence: str) -> str | None:
    if match := _PASSIVE.fullmatch(sentence):
        return f"{_upper(match['who'])} {_PAST[match['verb']]} {_lower(match['what'])}{match['rest']}"
    if match := _ACTIVE.fullmatch(sentence):
        plural = "were" if match["what"].endswith("s") and not match["what"].endswith("ss") else "was"
        who, what = _lower(match["who"]), _upper(match["what"])
        return f"{what} {plural} {_PARTICIPLE[match['verb']]} by {who}{match['rest']}"
    return None


@perturbation(Kind.HARMLESS, RESPONSE)
def subordinate_order(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """A clause with "because", "when" or "if" moves to the beginning of its sentence, or to its end."""
    return _reword(sample, _move_clause)


def _move_clause(sentence: str) -> str | None:
    if match := _FRONTED.fullmatch(sentence):
        return f"{_upper(match['main'])} {match['word'].lower()} {match['clause']}{match['stop']}"
    if match := _TRAILING.fullmatch(sentence):
        return f"{match['word'].capitalize()} {match['clause']}, {_lower(match['main'])}{match['stop']}"
    return None


@perturbation(Kind.HARMLESS, RESPONSE)
def sentence_joined(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """A clause ("Ada, who was a miller") becomes a sentence, or two sentences become one."""
    joined = _NEXT.sub(lambda match: f", and {match[1].lower()} ", sample.response, count=1)
    return _reword(sample, _split_relative) or sample.with_response(joined)


def _split_relative(sentence: str) -> str | None:
    match = _RELATIVE.fullmatch(sentence)
    if match is None:
        return None
    subject = "It" if ", which" in sentence else "This person"
    return f"{match['main']}{match['stop']} {subject} {match['verb']} {match['rest']}{match['stop']}"


@perturbation(Kind.HARMLESS, RESPONSE)
def negation_reworded(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """A denial has other words: "lacks" for "does not have", "is impossible" for "is not possible"."""
    for pattern, replacement in _NEGATED_WORDS:
        new = re.sub(pattern, replacement, sample.response, count=1)
        if new != sample.response:
            return sample.with_response(new)
    return None


@perturbation(Kind.HARMLESS, RESPONSE)
def double_negation(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """An adjective is denied twice: "is common" becomes "is not uncommon"."""
    new = _ASSERTED.sub(lambda match: f"{match[1]} not {_NEGATIVE[match[2]]}", sample.response, count=1)
    return sample.with_response(new)


@perturbation(Kind.HARMLESS, RESPONSE)
def comparison_reworded(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """A comparison is inverted ("B is shorter than A"), or "more than 5" becomes "over 5"."""
    new = _MORE_THAN.sub(lambda match: f"{_SAME_BOUND[match[1]]} ", sample.response, count=1)
    return _reword(sample, _invert) or sample.with_response(new)


def _invert(sentence: str) -> str | None:
    match = _COMPARED.fullmatch(sentence)
    if match is None:
        return None
    much = match["much"] or ""
    return (
        f"{_upper(match['other'])} {match['verb']} {much}{_INVERSES[match['word']]} than"
        f" {_lower(match['one'])}{match['stop']}"
    )


WORDINGS = (
    *(framed, contractions, synonyms, number_words, clause_order, white_space, unicode_form, bullets),
    *(voice, subordinate_order, sentence_joined, negation_reworded, double_negation, comparison_reworded),
)
"""Perturbations of words and sentences, which keep the meaning."""
