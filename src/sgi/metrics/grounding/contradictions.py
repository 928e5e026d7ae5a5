"""Finds words that a sentence negates, contrasts or strengthens, and its passages do not, or the reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.claim_reader import COMPARED, INVERTS, stems_around
from sgi.metrics.grounding.facts.fact import Antonym, Fact, Modality, Negation, Quantifier
from sgi.metrics.grounding.opposites import CONVERSE, MODAL, OPPOSITES, STRONGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.metrics.grounding.claim_reader import Claim, ClaimIndex, ClaimWord

_NEAR = 3  # words on each side of a word of the sentence
_NEAR_IN_PASSAGE = 4
_WIDE = 6
_SHARED = 0.5  # share of the wider words around that the sentence of the passage has

_MIN_PART = 3  # words of a part that is compared alone
_MIN_OTHER_VERB = 2
_MORE = 2


class Difference(NamedTuple):
    """How two words differ: the kind of the fact, the rule, and how many words around both must be equal."""

    kind: type[Fact]
    how: str
    least: int


class WordMatch(NamedTuple):
    """A word of a passage that contradicts a word of the sentence."""

    claimed: ClaimWord
    near: int
    shared: frozenset[str]
    passage: int
    word: ClaimWord
    difference: Difference


_NEGATED = Difference(Negation, "negated", 1)
_NOT_NEGATED = Difference(Negation, "not negated", 1)
_OPPOSITE = Difference(Antonym, "opposite", 2)


def word_contradiction(claim: Claim, indexes: Sequence[ClaimIndex]) -> WordMatch | None:
    """Return the first word of a sentence that the passages contradict; None if they contradict none."""
    for at, word in enumerate(claim.words):
        if _may_differ(word, indexes) and not _is_ambiguous(word, claim):
            match = _contradiction(claim, at, indexes)
            if match is not None:
                return match
    return None


def _may_differ(word: ClaimWord, indexes: Sequence[ClaimIndex]) -> bool:
    """Return whether the passages have a word that may contradict this one; most words leave here."""
    if word.negated is None:
        return False
    if word.negated:
        return True
    for index in indexes:
        if word.stem in index.negated or (word.strength and word.stem in index.strengths):
            return True
    others = OPPOSITES.get(word.stem, ())
    return any(other in index.places for other in others for index in indexes)


def _is_ambiguous(word: ClaimWord, claim: Claim) -> bool:
    """Return whether the sentence itself both asserts and negates the word, or has its opposite."""
    return any(
        other.stem == word.stem and other.negated is not None and other.negated != word.negated
        for other in claim.words
    ) or any(stem in claim.stems for stem in OPPOSITES.get(word.stem, ()))


def _difference(word: ClaimWord, other: ClaimWord) -> Difference | None:
    """Return how a word of a passage contradicts a word of the sentence; None if it does not."""
    if other.negated is None:
        return None
    if word.stem != other.stem:
        return None if word.negated or other.negated else _OPPOSITE
    if word.negated != other.negated:
        return _NEGATED if other.negated else _NOT_NEGATED
    if other.strength in STRONGER.get(word.strength, ()):
        kind = Modality if word.strength in MODAL else Quantifier
        return Difference(kind, f"{other.strength} became {word.strength}", 1)
    return None


def _is_inverted(claim: Claim, at: int, other: Claim, there: int) -> bool:
    """Return whether an opposite may say the same of exchanged things: "taller than" and "shorter than"."""
    word, opposite = claim.words[at], other.words[there]
    if word.stem == opposite.stem:
        return False
    after, behind = claim.words[at + 1 : at + 2], other.words[there + 1 : there + 2]
    compares = any(" than " in following.gap for following in (*after, *behind))
    before, front = claim.words[max(0, at - 1) : at], other.words[max(0, there - 1) : there]
    same = [one.stem for one in (*before, *after)] == [one.stem for one in (*front, *behind)]
    return (compares or word.stem in CONVERSE) and not same


class _Around(NamedTuple):
    """The stems around a word: near, further away, in its part of the sentence, and those that invert.

    ``after`` has the function words behind it and the next word, such as " by " and "ada" in "made by Ada";
    two empty texts at the end of a sentence or before a comma.
    """

    near: frozenset[str]
    wide: frozenset[str]
    part: frozenset[str]
    inverts: frozenset[str]
    after: tuple[str, str]

    @classmethod
    def of(cls, claim: Claim, at: int, reach: int) -> _Around:
        word = claim.words[at]
        wide = stems_around(claim.words, at, _WIDE)
        part = [other.stem for other in claim.words if other.part == word.part and other.stem != word.stem]
        after = [(other.gap, other.stem) for other in claim.words[at + 1 : at + 2] if "," not in other.gap]
        near = stems_around(claim.words, at, reach)
        return cls(near, wide, frozenset(part), wide & INVERTS, next(iter(after), ("", "")))


def _contradiction(claim: Claim, at: int, indexes: Sequence[ClaimIndex]) -> WordMatch | None:
    """Find the word of a passage that contradicts a word, if none that agrees has as equal a context."""
    word = claim.words[at]
    match, known = _best_match(claim, at, word, indexes)
    following = at + 1
    if word.negated and not known and following < len(claim.words) and word.stem not in COMPARED:
        # The passages may say it with another verb: "is not located north" and "is in the north".
        second = claim.words[following]
        if second.part == word.part:
            negated = second._replace(negated=True)
            match, _ = _best_match(claim, following, negated, indexes)
            if match is not None and match.near < _MIN_OTHER_VERB:
                return None
    return match


def _best_match(
    claim: Claim, at: int, word: ClaimWord, indexes: Sequence[ClaimIndex]
) -> tuple[WordMatch | None, bool]:
    """Return the best contradicting word, and whether the word occurs in a similar context.

    A word contradicts only if no agreeing occurrence shares as many of the words around it.
    """
    # If the passages have the word too, they are about both opposites.
    is_known = word.is_name or any(word.stem in index.places for index in indexes)
    stems = (word.stem, *(() if is_known else OPPOSITES.get(word.stem, ())))
    occurrences = [
        (passage, index.claims[number], there)
        for passage, index in enumerate(indexes)
        for stem in stems
        for number, there in index.places.get(stem, ())
    ]
    differences = [
        None if _is_inverted(claim, at, other, there) else _difference(word, other.words[there])
        for _, other, there in occurrences
    ]
    if not any(differences):
        return None, bool(occurrences)
    around = _Around.of(claim, at, _NEAR)
    matches: list[WordMatch] = []
    agreeing: list[frozenset[str]] = []
    for (passage, other, there), difference in zip(occurrences, differences, strict=True):
        theirs = _Around.of(other, there, _NEAR_IN_PASSAGE)
        near = len(around.near & theirs.near)
        shared = around.wide & theirs.wide
        if difference is None:
            if near:
                agreeing.append(shared)
        elif (
            near >= difference.least
            and _is_about_the_same(around, theirs, other)
            and around.inverts == theirs.inverts
        ):
            matches.append(WordMatch(word, near, shared, passage, other.words[there], difference))
    closer = [match for match in matches if all(_is_closer(match.shared, same) for same in agreeing)]
    best = max(closer, key=lambda match: (match.near, len(match.shared)), default=None)
    return best, bool(matches or agreeing)


def _is_closer(shared: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether a context has all words of another one and more, or at least two more than it lacks."""
    return other < shared or len(shared - other) >= len(other - shared) + _MORE


def _is_about_the_same(around: _Around, theirs: _Around, other: Claim) -> bool:
    """Return whether a sentence has half of the words around a word, or of those in its part.

    A word that is alone in its part of a longer sentence, as in a list, is compared only if the same words
    follow it in both, as in "made by Ada".
    """
    alone = not around.part and len(around.wide) >= _WIDE
    if alone and (not around.after[1] or around.after != theirs.after):
        return False
    return len(around.wide & other.stems) >= _SHARED * len(around.wide) or (
        len(around.part) >= _MIN_PART and len(around.part & other.stems) >= _SHARED * len(around.part)
    )
