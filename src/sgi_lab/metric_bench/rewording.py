"""Perturbations that keep the meaning and change the structure of sentences, denials or comparisons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.kernel.sample import RESPONSE
from sgi.text.sentences import sentence_spans
from sgi_lab.metric_bench.perturbation import Kind, perturbation

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from sgi.kernel.sample import Sample
    from sgi_lab.metric_bench.perturbation import Others

_DONE = """directed/directed produced/produced founded/founded created/created designed/designed
invented/invented discovered/discovered published/published developed/developed
released/released acquired/acquired defeated/defeated killed/killed painted/painted
composed/composed wrote/written built/built won/won bought/bought sold/sold led/led
caused/caused introduced/introduced performed/performed recorded/recorded owned/owned"""
_PARTICIPLE = dict(pair.split("/") for pair in _DONE.split())
_PAST = {participle: past for past, participle in _PARTICIPLE.items()}
_PHRASE = (
    r"(?:(?:[Tt]he|[Aa]n?|[Ii]ts|[Hh]is|[Hh]er) )?[\w’'-]+(?: [A-Z][\w’'-]+| (?:of|the) [A-Z][\w’'-]+){0,4}"
)
_NO_PRONOUN = r"(?!(?:[Ii]t|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|I|[Yy]ou|[Tt]his|[Tt]hat|[Ww]hich|[Ww]ho|[Tt]here)\b)"
_ACTIVE = re.compile(
    rf"(?P<who>{_NO_PRONOUN}{_PHRASE}) (?P<verb>{'|'.join(_PARTICIPLE)}) (?P<what>{_NO_PRONOUN}{_PHRASE})"
    r"(?P<rest>(?: (?:in|on|at|for|from|during) [^,;.!?]{1,60})?[.!])"
)
_PASSIVE = re.compile(
    rf"(?P<what>{_NO_PRONOUN}{_PHRASE}) (?:was|were) (?P<verb>{'|'.join(_PAST)}) by"
    rf" (?P<who>{_NO_PRONOUN}{_PHRASE})"
    r"(?P<rest>(?: (?:in|on|at|for|from|during) [^,;.!?]{1,60})?[.!])"
)
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
_PREFIXED = """possible/impossible common/uncommon likely/unlikely necessary/unnecessary known/unknown
clear/unclear usual/unusual safe/unsafe correct/incorrect legal/illegal complete/incomplete
accurate/inaccurate effective/ineffective sufficient/insufficient successful/unsuccessful able/unable
popular/unpopular available/unavailable important/unimportant dependent/independent active/inactive"""
_NEGATIVE = dict(pair.split("/") for pair in _PREFIXED.split())
_POSITIVE = {negative: positive for positive, negative in _NEGATIVE.items()}
_BE = r"(?:is|are|was|were|be)"
_NEGATED_WORDS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\b(?:does not|doesn['’]t) have (?!to\b)(?:any )?(?=[a-z])"), lambda _: "lacks "),
    (re.compile(r"\b(?:do not|don['’]t) have (?!to\b)(?:any )?(?=[a-z])"), lambda _: "lack "),
    (re.compile(r"\b(?:did not|didn['’]t) have (?!to\b)(?:any )?(?=[a-z])"), lambda _: "lacked "),
    (re.compile(r"\bwithout any\b"), lambda _: "with no"),
    (
        re.compile(rf"\b({_BE}) not ({'|'.join(_NEGATIVE)})\b"),
        lambda match: f"{match[1]} {_NEGATIVE[match[2]]}",
    ),
    (
        re.compile(rf"\b({_BE}) ({'|'.join(_POSITIVE)})\b"),
        lambda match: f"{match[1]} not {_POSITIVE[match[2]]}",
    ),
    (
        re.compile(r"\b(it|he|she) can(?:not|['’]t)\b(?! (?:only|be)\b)"),
        lambda match: f"{match[1]} is unable to",
    ),
    (
        re.compile(r"\b(they|you|we) can(?:not|['’]t)\b(?! (?:only|be)\b)"),
        lambda match: f"{match[1]} are unable to",
    ),
)
_PLAIN = [
    word
    for word in _NEGATIVE
    if word not in {"able", "clear", "known", "dependent", "active", "available", "complete", "likely"}
]
_ASSERTED = re.compile(rf"(?<!as soon as )(?<!as )\b({_BE}) ({'|'.join(_PLAIN)})\b(?! (?:to|as|for)\b)")
_INVERSE = """
taller/shorter larger/smaller bigger/smaller higher/lower older/younger longer/shorter faster/slower
stronger/weaker heavier/lighter warmer/cooler richer/poorer deeper/shallower wider/narrower greater/less
"""
_INVERSES: dict[str, str] = {}
for _one, _other in (pair.split("/") for pair in _INVERSE.split()):
    _INVERSES.setdefault(_one, _other)
    _INVERSES.setdefault(_other, _one)
_COMPARED = re.compile(
    rf"(?P<one>[A-Z][\w’' -]{{2,60}}?) (?P<verb>is|was|are|were) (?P<much>much |slightly |far )?"
    rf"(?P<word>{'|'.join(_INVERSES)}) than (?P<other>[\w’' -]{{2,60}})(?P<stop>[.!])"
)
_MORE_THAN = re.compile(r"\b(more than|less than|fewer than|over|under) (?=[$€£]?\d)")
_SAME_BOUND = {
    "more than": "over",
    "over": "more than",
    "less than": "under",
    "fewer than": "under",
    "under": "less than",
}


def _reword(text: str, change: Callable[[str], str | None]) -> str | None:
    """Change the first sentence to which a change applies."""
    for start, end in sentence_spans(text):
        new = change(text[start:end])
        if new is not None:
            return f"{text[:start]}{new}{text[end:]}"
    return None


def _lower(text: str) -> str:
    """Write the first letter small if the first word is not a name."""
    return text[0].lower() + text[1:] if _SMALL.match(text) else text


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _result(sample: Sample, change: Callable[[str], str | None]) -> Sample | None:
    new = _reword(sample.response, change)
    return None if new is None else sample.with_response(new)


@perturbation(Kind.HARMLESS, RESPONSE)
def voice(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """An active sentence ("Ada built the mill") becomes passive, or the reverse."""
    return _result(sample, _change_voice)


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
    return _result(sample, _move_clause)


def _move_clause(sentence: str) -> str | None:
    if match := _FRONTED.fullmatch(sentence):
        return f"{_upper(match['main'])} {match['word'].lower()} {match['clause']}{match['stop']}"
    if match := _TRAILING.fullmatch(sentence):
        return f"{match['word'].capitalize()} {match['clause']}, {_lower(match['main'])}{match['stop']}"
    return None


@perturbation(Kind.HARMLESS, RESPONSE)
def sentence_joined(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """A clause ("Ada, who was a miller") becomes a sentence, or two sentences become one."""
    text = sample.response
    split = _reword(text, _split_relative)
    if split is not None:
        return sample.with_response(split)
    joined = _NEXT.sub(lambda match: f", and {match[1].lower()} ", text, count=1)
    return None if joined == text else sample.with_response(joined)


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
        new = pattern.sub(replacement, sample.response, count=1)
        if new != sample.response:
            return sample.with_response(new)
    return None


@perturbation(Kind.HARMLESS, RESPONSE)
def double_negation(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """An adjective is denied twice: "is common" becomes "is not uncommon"."""
    new = _ASSERTED.sub(lambda match: f"{match[1]} not {_NEGATIVE[match[2]]}", sample.response, count=1)
    return None if new == sample.response else sample.with_response(new)


@perturbation(Kind.HARMLESS, RESPONSE)
def comparison_reworded(sample: Sample, _draw: Random, _others: Others) -> Sample | None:
    """A comparison is inverted ("B is shorter than A"), or "more than 5" becomes "over 5"."""
    inverted = _reword(sample.response, _invert)
    if inverted is not None:
        return sample.with_response(inverted)
    new = _MORE_THAN.sub(lambda match: f"{_SAME_BOUND[match[1]]} ", sample.response, count=1)
    return None if new == sample.response else sample.with_response(new)


def _invert(sentence: str) -> str | None:
    match = _COMPARED.fullmatch(sentence)
    if match is None:
        return None
    much = match["much"] or ""
    return (
        f"{_upper(match['other'])} {match['verb']} {much}{_INVERSES[match['word']]} than"
        f" {_lower(match['one'])}{match['stop']}"
    )


REWORDINGS = (
    voice,
    subordinate_order,
    sentence_joined,
    negation_reworded,
    double_negation,
    comparison_reworded,
)
"""Perturbations of the structure of sentences, which keep the meaning."""
