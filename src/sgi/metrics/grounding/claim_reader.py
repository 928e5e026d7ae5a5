"""Reads what a sentence says of its words: whether they are negated, how much and how surely."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.facts.words import word_set
from sgi.metrics.grounding.irregular_verbs import IRREGULAR
from sgi.metrics.grounding.opposites import STRENGTHS
from sgi.metrics.grounding.words import split_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Link = tuple[str, str, str]

_NEGATES = word_set(
    "not no never neither nor cannot nobody none nothing without lack lacks lacked lacking hardly barely"
)
_NEGATES_BEFORE = word_set("no none nothing nobody any")
_OF_VERBS = word_set("not never cannot unable nobody none nothing")
_NOUNS = word_set("none nothing nobody")
# These words negate the verb after "to", or the noun after "of".
_NEGATES_NEXT = {
    "unable": "to",
    "fail": "to",
    "fails": "to",
    "failed": "to",
    "failing": "to",
    "absence": "of",
}
# "Not only", "not all": the statement after it is neither denied nor asserted as a whole.
_PARTLY = word_set("only just merely necessarily always limited all every everyone both more less many much")
# Clauses that assert nothing: the polarity of their words is unknown.
_UNASSERTED = word_set("if unless whether even rather instead although until")
_QUESTION = word_set("how why what when where who which")
_ENDS_SCOPE = word_set("but though because while who which whereas however since")
_INTENSIFIES = word_set("very so too quite really yet")
_ADVERBS = word_set("also longer actually ever even just still then be been being have had has")
INVERTS = word_set(
    "prevent avoid stop disabl ineffect difficult unless rather instead unlik lose lost refus deni"
)
"""Words that negate without "not": words near one and words near none are not compared."""
_NEW_PART = word_set(
    "by until unless if and or but while whereas because which who that when where since although"
)
COMPARED = word_set("before after above below over under more less most least first last many few front back")
"""Function words that have opposites."""
_SENTENCE_END = re.compile(r"[.!?][\"”’)]?(?=\s)|\n+")
_PUNCTUATION = re.compile(r"[,;:.!?()]")
_UNCLEAR_BEFORE = 3
_SCOPE = 3  # words after and before a negated word that may be denied with it
_NOW = word_set("now currently anymore yet today still")


_RELATES = {
    word: f" {word} "
    for word in [
        *(
            "of",
            "in",
            "to",
            "from",
            "by",
            "for",
            "with",
            "on",
            "at",
            "into",
            "onto",
            "than",
            "before",
            "after",
        ),
        *("over", "under", "above", "below", "between", "through", "during", "about", "against", "as"),
        *("and", "or", "but", "not", "because", "if", "that", "which", "who", "when", "while", "where"),
    ]
} | dict.fromkeys(["is", "are", "was", "were", "be", "been", "being"], " be ")
"""Function words that say how the words before and after them are related."""
_SPECIAL = (
    _NEGATES
    | _NEGATES_BEFORE
    | _PARTLY
    | _UNASSERTED
    | _ENDS_SCOPE
    | _INTENSIFIES
    | _ADVERBS
    | _NEW_PART
    | _NOW
    | COMPARED
    | frozenset(STRENGTHS)
)
"""Words that change what is said of other words."""


class ClaimWord(NamedTuple):
    """A content word, or a function word that has an opposite.

    Attributes:
        negated: None if unknown. The span of a negated word begins at the negation.
        strength: the group of the word that says how much, how often or how surely, or "".
        part: number of its part of the sentence, between punctuation marks and conjunctions.
        gap: the function words since the word before that relate both, and "," for a comma.
        is_name: whether it begins with a capital and is not the first word.
    """

    stem: str
    negated: bool | None
    strength: str
    start: int
    end: int
    part: int
    gap: str
    is_name: bool


class Claim(NamedTuple):
    """A sentence with its words."""

    start: int
    end: int
    words: tuple[ClaimWord, ...]
    stems: frozenset[str]


def read_claims(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Claim, ...]:
    """Read the sentences of a text; words of questions and conditions have no known polarity.

    >>> [claim] = read_claims("Most keepers do not swim.", [(0, 25)])
    >>> [(word.stem, word.negated, word.strength) for word in claim.words]
    [('most', None, ''), ('keeper', None, 'most'), ('swim', True, '')]
    """
    words = split_words(text)
    bounds = words.starts.searchsorted(spans).tolist() if spans else []
    stems, starts, ends = words.stems, words.starts.tolist(), words.ends.tolist()
    content = words.content.tolist()
    claims = []
    for (start, end), (first, after) in zip(spans, bounds, strict=True):
        reader = _Reader(asks=end > start and text[end - 1] == "?")
        last = start
        for place in range(first, after):
            word_start, word_end = starts[place], ends[place]
            if word_start - last > 1 and _PUNCTUATION.search(text, last, word_start):
                reader.end_clause(comma="," in text[last:word_start])
            stem = stems[place]
            plain = stem if stem == "not" else text[word_start:word_end].casefold()
            last = word_end
            if plain in _SPECIAL or reader.waits or (place == first and plain in _QUESTION):
                if plain in COMPARED and reader.negates and stems[place - 1] != "the":
                    continue  # "do not first prepare it" denies the preparing
                reader.read(plain, stem, word_start, word_end, content=content[place])
            elif content[place]:
                is_name = place > first and text[word_start].isupper()
                reader.add(plain, stem, word_start, word_end, is_name=is_name)
            elif stem in _RELATES:
                reader.gap += _RELATES[stem]
        reader.end_clause(comma=False)
        claims.append(Claim(start, end, tuple(reader.words), frozenset([word.stem for word in reader.words])))
    return tuple(claims)


class _Reader:
    """Reads the words of a sentence in order, and notes which are negated."""

    def __init__(self, *, asks: bool) -> None:
        self.words: list[ClaimWord] = []
        self.gap = ""
        self.waits: tuple[str, int] | None = None  # the word that makes "unable" a negation, and its start
        self._asks, self._unclear = asks, asks
        self._negation: int | None = None  # start of a negation whose content word is not read yet
        self._strength = ""
        self._part = 0
        self._scope = 0  # following words that the last negation may deny too

    @property
    def negates(self) -> bool:
        """Whether a negation waits for its content word."""
        return self._negation is not None

    def end_clause(self, *, comma: bool) -> None:
        """End the scope of negations and conditions; a negation without a word denies words before it."""
        if self._negation is not None:
            self.words[-_UNCLEAR_BEFORE:] = [
                word._replace(negated=None) for word in self.words[-_UNCLEAR_BEFORE:]
            ]
        self._negation, self._unclear, self._strength = None, self._asks, ""
        self._part += 1
        self._scope = 0
        if comma:
            self.gap += ","

    def read(self, plain: str, stem: str, start: int, end: int, *, content: bool) -> None:
        """Read a word that may change what is said of other words."""
        if plain in _RELATES:
            self.gap += _RELATES[plain]
        if not self.words and plain in _QUESTION:
            self._asks = self._unclear = True
        if self.waits is not None:
            if plain == self.waits[0]:
                self.words.pop()
                self._negate("unable", self.waits[1])
            self.waits = None
        self._end_scope(plain)
        if plain in _NEGATES or (plain == "any" and self.words and self.words[-1].negated):
            self._negate(plain, start)
        elif self._negation is not None and (plain in _PARTLY or plain in _NOW):
            self._negation, self._unclear = None, True
        elif (content and plain not in _INTENSIFIES and plain not in _ADVERBS) or plain in COMPARED:
            self.add(plain, stem, start, end, is_name=False)
        if plain in STRENGTHS:
            self._strength = STRENGTHS[plain]

    def _end_scope(self, plain: str) -> None:
        """End the scope of negations before a conjunction; after some, nothing is asserted."""
        if plain in _NEW_PART:
            self._part += 1
            self._scope = 0
        if plain in _ENDS_SCOPE:
            self._negation, self._strength = None, ""
        self._unclear = self._unclear or plain in _UNASSERTED

    def add(self, plain: str, stem: str, start: int, end: int, *, is_name: bool) -> None:
        """Add a content word."""
        negated = None if self._unclear else self._negation is not None
        if negated:
            self._scope = _SCOPE
        elif self._scope:
            # "They did not find the seal of the king": whether there is a king is unknown.
            self._scope -= 1
            negated = None
        begin = start if self._negation is None or negated is None else self._negation
        stem = IRREGULAR.get(stem, stem)
        self.words.append(ClaimWord(stem, negated, self._strength, begin, end, self._part, self.gap, is_name))
        self.gap = ""
        if plain in _NEGATES_NEXT and self._negation is None:
            self.waits = _NEGATES_NEXT[plain], start
        if not plain.endswith("ly"):
            self._negation, self._strength = None, ""

    def _negate(self, plain: str, start: int) -> None:
        first = max(0, len(self.words) - _SCOPE - 1) if plain in _OF_VERBS else len(self.words)
        for at in range(first, len(self.words)):
            if self.words[at].part == self._part and self.words[at].negated is False:
                # "Keepers do not swim" and "no keepers swim" deny the same.
                self.words[at] = self.words[at]._replace(negated=None)
        if plain in _NEGATES_BEFORE and self.words:
            # "Found no evidence" and "did not find any evidence" deny the same.
            self.words[-1] = self.words[-1]._replace(negated=None)
        self._negation = None if self.words and plain in _NOUNS else start


@dataclass(frozen=True, eq=False)
class ClaimIndex:
    """The sentences of a passage.

    Attributes:
        places: the places of each stem: (sentence, index of the word).
        negated: the stems that a sentence negates.
        strengths: the stems that a word such as "some" or "may" qualifies.
        links: two content words in a row with the prepositions between them, and their sentences.
    """

    claims: tuple[Claim, ...]
    places: Mapping[str, Sequence[tuple[int, int]]]
    negated: frozenset[str]
    strengths: frozenset[str]

    @cached_property
    def links(self) -> Mapping[Link, list[int]]:
        """Two content words in a row, or with one word between that has no preposition before the second."""
        found: defaultdict[Link, list[int]] = defaultdict(list)
        for number, claim in enumerate(self.claims):
            before: ClaimWord | None = None
            for one, other in pairwise(claim.words):
                found[one.stem, other.gap, other.stem].append(number)
                if before is not None and not other.gap:
                    # "The old tower": the last word of a noun phrase is its head.
                    found[before.stem, one.gap, other.stem].append(number)
                before = one
        return found


@once_per_text
def claim_index(passage: str) -> ClaimIndex:
    """Return the sentences of a passage, cached; the split at full stops is faster than `sentence_spans`."""
    ends = [match.end() for match in _SENTENCE_END.finditer(passage)]
    claims = read_claims(passage, [*pairwise([0, *ends, len(passage)])])
    places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, claim in enumerate(claims):
        for at, word in enumerate(claim.words):
            places[word.stem].append((number, at))
    words = [word for claim in claims for word in claim.words if word.negated or word.strength]
    return ClaimIndex(
        claims,
        places,
        frozenset([word.stem for word in words if word.negated]),
        frozenset([word.stem for word in words if word.strength]),
    )


def stems_around(words: Sequence[ClaimWord], at: int, reach: int) -> frozenset[str]:
    """Return the stems of up to ``reach`` words on each side of a word, without its own."""
    around = (*words[max(0, at - reach) : at], *words[at + 1 : at + 1 + reach])
    return frozenset([word.stem for word in around if word.stem != words[at].stem])
