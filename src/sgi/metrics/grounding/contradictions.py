"""Finds words that a sentence negates, contrasts or strengthens, and its passages do not, or the reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.claim_reader import claim_index, stems_around
from sgi.metrics.grounding.facts.check import Check, Verdict
from sgi.metrics.grounding.facts.fact import FactKind, Statement
from sgi.metrics.grounding.opposites import MODAL, OPPOSITES, STRONGER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.claim_reader import Claim, ClaimWord

_NEAR = 3  # words on each side of a word of the sentence
_NEAR_IN_PASSAGE = 4
_WIDE = 6
_SHARED = 0.5  # share of the wider words around that the sentence of the passage has


class _Difference(NamedTuple):
    """How two words differ: the kind of the fact, the rule, and how many words around both must be equal."""

    kind: FactKind
    how: str
    least: int


class _Match(NamedTuple):
    """A word of a passage that contradicts a word of the sentence."""

    shared: int
    passage: int
    word: ClaimWord
    difference: _Difference


_NEGATED = _Difference(FactKind.NEGATION, "negated", 1)
_NOT_NEGATED = _Difference(FactKind.NEGATION, "not negated", 1)
_OPPOSITE = _Difference(FactKind.ANTONYM, "opposite", 2)


def word_contradictions(claim: Claim, passages: Sequence[str]) -> Iterator[Check]:
    """Yield the words of a sentence that the passages contradict."""
    for at, word in enumerate(claim.words):
        if word.negated is None or _is_ambiguous(word, claim):
            continue
        match = _contradiction(claim, at, passages)
        if match is not None:
            found = passages[match.passage][match.word.start : match.word.end]
            yield Check(
                Statement(match.difference.kind, "", word.start, word.end),
                Verdict.CONTRADICTED,
                match.passage,
                found,
                match.word.start,
                match.word.end,
                match.difference.how,
            )


def _is_ambiguous(word: ClaimWord, claim: Claim) -> bool:
    """Return whether the sentence itself both asserts and negates the word, or has its opposite."""
    return any(other.stem == word.stem and other.negated != word.negated for other in claim.words) or any(
        stem in claim.stems for stem in OPPOSITES.get(word.stem, ())
    )


def _difference(word: ClaimWord, other: ClaimWord) -> _Difference | None:
    """Return how a word of a passage contradicts a word of the sentence; None if it does not."""
    if other.negated is None:
        return None
    if word.stem != other.stem:
        return None if word.negated or other.negated else _OPPOSITE
    if word.negated != other.negated:
        return _NEGATED if other.negated else _NOT_NEGATED
    if other.strength in STRONGER.get(word.strength, ()):
        kind = FactKind.MODALITY if word.strength in MODAL else FactKind.QUANTIFIER
        return _Difference(kind, f"{other.strength} became {word.strength}", 1)
    return None


def _contradiction(claim: Claim, at: int, passages: Sequence[str]) -> _Match | None:
    """Find the word of a passage that contradicts a word, if none that agrees has as equal a context."""
    word = claim.words[at]
    indexes = [claim_index(passage) for passage in passages]
    stems = (word.stem, *OPPOSITES.get(word.stem, ()))
    occurrences = [
        (passage, index.claims[number], there)
        for passage, index in enumerate(indexes)
        for stem in stems
        for number, there in index.places.get(stem, ())
    ]
    differences = [_difference(word, other.words[there]) for _, other, there in occurrences]
    if not any(differences):
        return None
    near, wide = stems_around(claim.words, at, _NEAR), stems_around(claim.words, at, _WIDE)
    best: _Match | None = None
    agreeing = 0
    for (passage, other, there), difference in zip(occurrences, differences, strict=True):
        shared = len(near & stems_around(other.words, there, _NEAR_IN_PASSAGE))
        if difference is None:
            agreeing = max(agreeing, shared)
        elif (
            shared >= difference.least
            and len(wide & other.stems) >= _SHARED * len(wide)
            and claim.inverts == other.inverts
            and (best is None or shared > best.shared)
        ):
            best = _Match(shared, passage, other.words[there], difference)
    return best if best is not None and best.shared > agreeing else None
