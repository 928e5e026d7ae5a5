"""Perturbations that keep nearly all words and change what is said: roles, opposites, strength."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from sgi.kernel.sample import RESPONSE
from sgi.text.tokenizers import sentence_spans
from sgi_lab.metric_bench.capital_names import sure_names
from sgi_lab.metric_bench.perturbation import Kind, perturbation, shuffle
from sgi_lab.metric_bench.word_pairs import any_of, both_ways, word_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

    from sgi.kernel.sample import Sample
    from sgi_lab.metric_bench.perturbation import Others

_LONGEST = 600  # characters of a sentence that is changed
# The end of a noun phrase: a word that cannot belong to it, or a punctuation mark.
_AFTER_NOUN = (
    r"(?= (?:in|into|is|are|was|were|to|from|that|which|who|by|on|at|for|can|cannot|will|would|has|have|had"
    r"|may|might|must|should|could|does|do|did|than|before|after|during|through|causes?|and|or|as|while|whereas"
    r"|because|when|where|with|but)\b|[.;:!?)]|$)"
)
_NOT_NOUN = (
    r"(?!(?:same|other|others|first|last|next|most|main|best|way|rest|following|whole|entire|few|lot|number|variety"
    r"|only|one|two|three|term|name|word|kind|type|form|part|person|result|process|time|times|use|fact|case|end"
    r"|beginning|top|bottom|question|answer|hand|passages?|information|difference|series|genre|context|text|following"
    r"|need|new|old|past|present|future|year|day|[a-z]+ly|[a-z]+est)\b)"
)
_NOUN_PHRASE = re.compile(
    rf"\b(?:[Tt]he|[Aa]n?) {_NOT_NOUN}[a-z][a-z-]{{2,20}}(?: {_NOT_NOUN}[a-z][a-z-]{{2,20}})?{_AFTER_NOUN}"
)
# The words between two phrases that are exchanged must relate them in one direction.
_DIRECTED = re.compile(
    r"\b(?:to|from|by|into|through|than|before|after|causes?|caused|because|under|over|above|below|inside|on"
    r"|in|wrote|directed|won|defeated|beat|bought|acquired|owned|founded|built|created|produced|played|plays|led"
    r"|leads|makes|made|gave|gives|sent|uses|used|contains|includes|follows|followed|helps|prevents|protects|shows"
    r"|became|becomes|replaced|killed|taught|told|asked|is a|is an|was a|was an)\b"
)
_MUTUAL = re.compile(
    r"\b(?:and|or|with|between|both|either|together|same|equal|similar|like|unlike|versus|vs|also|aka|called|known"
    r"|means|refers|married|met|and/or|difference|different|combination|among|side|each|other)\b",
    re.IGNORECASE,
)
_COPULA = re.compile(r"^\s*(?:is|are|was|were|becomes?|became|remains?|means?)?\s*(?:also|now|not)?\s*$")
_NO_STATEMENT = re.compile(
    r"\b(?:if|whether|unless|passages?|contexts?|questions?|answers?|I|provided|mentioned)\b|\?",
    re.IGNORECASE,
)
_DESCRIBES = re.compile(r"\b(?:is|are|was|were|be|been|as|not|also|becomes?|became) $")
_IN_NAME = re.compile(r"(?:[A-Z0-9][\w.]*(?: (?:and|&|to|in))?|&|of|the|a|[A-Z]['’]s) $")
_NAME_GOES_ON = re.compile(r"['’-]|\W? ?[A-Z0-9]| (?:of|the|a|and|&) ")
_BETWEEN = 120
_BEFORE_AFTER = re.compile(
    r"\b(before|after|Before|After)(?= (?:the|a|an|his|her|its|their|being|[A-Z]|[a-z]+ing)\b)"
)
_FROM_TO = re.compile(
    r"\bfrom (?P<first>(?:the |a )?[A-Za-z][\w-]{2,20}) to (?P<second>(?:the |a )?[A-Za-z][\w-]{2,20})"
    r"(?= (?:in|on|at|and|by|is|was|for)\b|[.,;])"
)
_OPPOSITES = both_ways(
    """
    increase/decrease increases/decreases increased/decreased increasing/decreasing rise/fall rises/falls
    win/lose wins/loses won/lost accepted/rejected accept/reject accepts/rejects allowed/forbidden
    possible/impossible legal/illegal safe/dangerous easy/difficult easily/hardly hot/cold warm/cool wet/dry
    dead/alive true/false public/private strong/weak rich/poor full/empty open/closed early/late
    winner/loser success/failure successful/unsuccessful northern/southern eastern/western north/south
    east/west male/female men/women upper/lower internal/external inside/outside above/below
    healthy/unhealthy common/rare popular/unpopular positive/negative visible/invisible married/unmarried
    permanent/temporary ancient/modern domestic/foreign include/exclude includes/excludes included/excluded
    gain/loss profit/loss start/stop starts/stops started/stopped enter/leave entered/left enters/leaves
    import/export cheap/expensive mandatory/optional guilty/innocent present/absent deep/shallow wide/narrow
    thick/thin fast/slow quickly/slowly raise/lower raises/lowers raised/lowered
    strengthen/weaken strengthens/weakens expand/shrink expanded/shrunk larger/smaller long/short
    big/small large/small higher/lower
"""
)
_OPPOSITE = re.compile(rf"(?<![\w-])(?:{any_of(_OPPOSITES)})(?![\w-])(?! (?:than|of)\b)")
_COMPARED = both_ways(
    """
    more/less higher/lower larger/smaller bigger/smaller greater/smaller older/younger taller/shorter
    longer/shorter faster/slower stronger/weaker earlier/later better/worse warmer/cooler hotter/colder
    heavier/lighter richer/poorer cheaper/costlier easier/harder wider/narrower deeper/shallower
    closer/farther thicker/thinner wetter/drier above/below exceeds/underlies
"""
) | {"fewer": "more", "smaller": "larger", "shorter": "longer"}
_COMPARATIVE = re.compile(rf"\b(?:{any_of(_COMPARED)})\b(?=(?: [\w-]+){{0,4}} than\b)")
_STRENGTHS = word_pairs(
    """
    some/all many/all several/all few/many All/No all/no Some/All Many/Few  Several/All
    every/no Every/No both/neither Both/Neither
    often/always usually/always sometimes/always typically/always generally/always Usually/Always
    always/rarely rarely/often frequently/rarely commonly/rarely mostly/never partly/entirely
    partially/completely
    """
)
_STRENGTH = re.compile(
    rf"(?<![\w-])(?:{any_of(_STRENGTHS)})(?= [a-z])"
    r"(?! (?:of|the|as|more|less|other|others|people's|times|and|or)\b)"
    r"(?<!at all)(?<!not all)(?<!of all)(?<!how often)(?<!as many)(?<!how many)(?<!so many)(?<!too many)"
)
_MODALS = word_pairs("may/will might/will could/will can/must must/may")
_MODAL = re.compile(
    rf"(?<=[a-z0-9)] )(?:{any_of(_MODALS)})(?= (?:also |often |then |be |have )?[a-z]{{2,}})"
    r"(?! (?:not|of|be able)\b)"
)


class _Edit(NamedTuple):
    """Replacements of a text, with the new words that make it an error."""

    replacements: tuple[tuple[int, int, str], ...]
    new: str


def _place(start: int, match: re.Match[str], new: str, group: int | str = 0) -> tuple[int, int, str]:
    """Return the place of a match in a sentence that begins at ``start``, with its new text."""
    return start + match.start(group), start + match.end(group), new


def _apply(text: str, edit: _Edit) -> str:
    parts, last = [], 0
    for start, end, new in sorted(edit.replacements):
        parts += [text[last:start], new]
        last = end
    return "".join([*parts, text[last:]])


def _first(sample: Sample, edits: Iterable[_Edit], draw: Random) -> Sample | None:
    """Return the row with a random edit whose new words no passage, nor the question, contains."""
    known = " ".join("\n".join((sample.question, *sample.contexts)).casefold().split())
    for edit in shuffle(edits, draw):
        if " ".join(edit.new.casefold().split()) not in known:
            return sample.with_response(_apply(sample.response, edit))
    return None


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield start and text of the sentences that state something."""
    for start, end in sentence_spans(text):
        if end - start <= _LONGEST and not _NO_STATEMENT.search(text[start:end]):
            yield start, text[start:end]


@perturbation(Kind.ERROR, RESPONSE)
def role_swap(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """Two names, or two nouns with their articles, in a sentence of the answer exchange their places."""
    return _first(sample, _role_swaps(sample.response), draw)


def _role_swaps(text: str) -> Iterator[_Edit]:
    names = sure_names(text)
    for start, sentence in _sentences(text):
        by_name = [
            _place(start, match, name)
            for name in names
            for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence)
            if not _IN_NAME.search(sentence[max(0, match.start() - 20) : match.start()])
            and not _NAME_GOES_ON.match(sentence, match.end())
        ]
        nouns = [
            _place(start, match, match[0])
            for match in _NOUN_PHRASE.finditer(sentence)
            if not _DESCRIBES.search(sentence[max(0, match.start() - 12) : match.start()])
        ]
        for phrases in (sorted(by_name), nouns):
            for first, second in combinations(phrases, 2):
                if _is_exchange(text, first, second, sentence):
                    yield _exchange(text, first, second)


def _is_exchange(text: str, first: tuple[int, int, str], second: tuple[int, int, str], sentence: str) -> bool:
    """Return whether the sentence says something else if two phrases exchange their places."""
    between = text[first[1] : second[0]]
    return (
        0 < len(between) <= _BETWEEN
        and first[2].casefold() != second[2].casefold()
        and sentence.count(first[2]) == sentence.count(second[2]) == 1
        and first[2] not in second[2]
        and second[2] not in first[2]
        and not _COPULA.match(between)
        and not _have_same_preposition(text[: first[0]], between)
        and not _MUTUAL.search(between)
        and bool(_DIRECTED.search(between))
    )


def _have_same_preposition(before: str, between: str) -> bool:
    """Return whether both phrases follow the same preposition: "in a box in the cellar"."""
    preposition = re.compile(r"\b(in|on|at|to|from|for|by|into|of) $")
    one, other = preposition.search(before[-12:]), preposition.search(between)
    return one is not None and other is not None and one[1] == other[1]


def _exchange(text: str, first: tuple[int, int, str], second: tuple[int, int, str]) -> _Edit:
    one, other = first[2], second[2]
    if one[:1].isupper() and one.split()[0] in {"The", "A", "An"}:
        one, other = one[0].lower() + one[1:], other[0].upper() + other[1:]
    between = text[first[1] : second[0]]
    return _Edit(((first[0], first[1], other), (second[0], second[1], one)), f"{other}{between}{one}")


@perturbation(Kind.ERROR, RESPONSE)
def order_swap(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """The word "before" becomes "after", or the reverse; or the ends of "from … to …" are exchanged."""
    return _first(sample, _order_swaps(sample.response), draw)


def _order_swaps(text: str) -> Iterator[_Edit]:
    opposite = {"before": "after", "after": "before", "Before": "After", "After": "Before"}
    for start, sentence in _sentences(text):
        for match in _BEFORE_AFTER.finditer(sentence):
            new = opposite[match[0]]
            following = " ".join(sentence[match.end() :].split()[:2])
            yield _Edit((_place(start, match, new),), f"{new} {following}")
        for match in _FROM_TO.finditer(sentence):
            one, other = match["first"], match["second"]
            ends = (_place(start, match, other, "first"), _place(start, match, one, "second"))
            yield _Edit(ends, f"from {other} to {one}")


@perturbation(Kind.ERROR, RESPONSE)
def antonym_swap(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """A word of answer and passages is replaced by its opposite (open, closed), which no passage has."""
    return _first(sample, _word_swaps(sample, _OPPOSITE, _OPPOSITES), draw)


@perturbation(Kind.ERROR, RESPONSE)
def comparative_swap(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """A comparison is reversed: "higher than" becomes "lower than"."""
    return _first(sample, _word_swaps(sample, _COMPARATIVE, _COMPARED, following=1), draw)


@perturbation(Kind.ERROR, RESPONSE)
def quantifier_swap(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """A quantifier becomes stronger or its opposite: "some" becomes "all", "always" becomes "rarely"."""
    return _first(sample, _word_swaps(sample, _STRENGTH, _STRENGTHS, following=1), draw)


@perturbation(Kind.ERROR, RESPONSE)
def modality_swap(sample: Sample, draw: Random, _others: Others) -> Sample | None:
    """A modal verb is replaced by one of another strength: "may" becomes "will", "must" becomes "may"."""
    return _first(sample, _word_swaps(sample, _MODAL, _MODALS, following=1), draw)


def _word_swaps(
    sample: Sample, pattern: re.Pattern[str], table: dict[str, str], following: int = 0
) -> Iterator[_Edit]:
    """Yield replacements of words that a passage has; with ``following`` words they must be new."""
    known = "\n".join(sample.contexts).casefold()
    for start, sentence in _sentences(sample.response):
        for match in pattern.finditer(sentence):
            if not re.search(rf"(?<!\w){re.escape(match[0].casefold())}(?!\w)", known):
                continue
            new = table[match[0]]
            after = " ".join([new, *sentence[match.end() :].split()[:following]])
            yield _Edit((_place(start, match, new),), after)


MEANINGS = (role_swap, order_swap, antonym_swap, comparative_swap, quantifier_swap, modality_swap)
"""Perturbations of the meaning that keep nearly all words."""
