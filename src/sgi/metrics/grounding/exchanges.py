"""Finds two things that a sentence exchanges: "Ada paid Ben" for "Ben paid Ada"."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sgi.metrics.grounding.claim_reader import claim_index
from sgi.metrics.grounding.facts.check import Check, Verdict
from sgi.metrics.grounding.facts.fact import FactKind, Statement
from sgi.metrics.grounding.facts.words import word_set
from sgi.metrics.grounding.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.claim_reader import Claim
    from sgi.metrics.grounding.words import Words

_MIN_SHARED = 3
_SHARED = 0.5  # share of the words of the sentence that a sentence of a passage has
_MAX_WORDS = 60  # words of a sentence that are compared
_MAX_BETWEEN = 8
_MUTUAL = word_set("and or with between both either than like unlike versus also")
_IGNORED = word_set("the a an its his her their this that these those also")


def exchanges(claim: Claim, response: str, passages: Sequence[str]) -> Iterator[Check]:
    """Yield the first two words of the sentence whose places a passage has exchanged."""
    if not _MIN_SHARED <= len(claim.words) <= _MAX_WORDS:
        return
    words = split_words(response)
    order = _single_places(claim)
    candidates: list[tuple[int, int, tuple[int, int, int, int]]] = []
    for number, passage in enumerate(passages):
        index = claim_index(passage)
        counts: Counter[int] = Counter()
        for stem in order:
            counts.update({sentence for sentence, _ in index.places.get(stem, ())})
        for sentence, count in counts.items():
            if count >= max(_MIN_SHARED, _SHARED * len(order)):
                exchange = _exchange(claim, words, index.claims[sentence], split_words(passage))
                if exchange is not None:
                    candidates.append((number, sentence, exchange))
    for number, sentence, (first, second, there, here) in candidates:
        if any(_agrees(claim, first, second, passage) for passage in passages):
            continue
        other = claim_index(passages[number]).claims[sentence]
        start, end = claim.words[first].start, claim.words[second].end
        found = other.words[there].start, other.words[here].end
        yield Check(
            Statement(FactKind.RELATION, "", start, end),
            Verdict.CONTRADICTED,
            number,
            passages[number][slice(*found)],
            *found,
            "exchanged",
        )
        return


def _single_places(claim: Claim) -> dict[str, int]:
    """Return the index of each word that occurs once."""
    counts = Counter(word.stem for word in claim.words)
    return {word.stem: at for at, word in enumerate(claim.words) if counts[word.stem] == 1}


def _exchange(claim: Claim, words: Words, other: Claim, other_words: Words) -> tuple[int, int, int, int] | None:
    """Return the indices of two exchanged words in the claim, and in the other one; None if none are."""
    order, others = _single_places(claim), _single_places(other)
    shared = [(at, others[stem]) for stem, at in order.items() if stem in others]
    places = [there for _, there in shared]
    for i, high in enumerate(places):
        for j in range(i + 2, min(i + 2 + _MAX_BETWEEN, len(places))):
            low = places[j]
            between = places[i + 1 : j]
            if not low < min(between) or not max(between) < high or between != sorted(between):
                continue
            first, second = shared[i][0], shared[j][0]
            before = _gap(words, claim, first, shared[i + 1][0])
            after = _gap(words, claim, shared[j - 1][0], second)
            if (
                before == _gap(other_words, other, low, between[0])
                and after == _gap(other_words, other, between[-1], high)
                and not _MUTUAL & {*before, *after}
            ):
                return first, second, low, high
    return None


def _gap(words: Words, claim: Claim, first: int, second: int) -> tuple[str, ...]:
    """Return the function words between two words of a sentence, without articles."""
    start, end = claim.words[first].place + 1, claim.words[second].place
    return tuple(
        stem
        for stem, content in zip(words.stems[start:end], words.content[start:end].tolist(), strict=True)
        if not content and stem not in _IGNORED
    )


def _agrees(claim: Claim, first: int, second: int, passage: str) -> bool:
    """Return whether a sentence of the passage has the two words in the same order, with one between them."""
    index = claim_index(passage)
    one, other = claim.words[first].stem, claim.words[second].stem
    between = {word.stem for word in claim.words[first + 1 : second]}
    ends = dict(index.places.get(other, ()))
    return any(
        sentence in ends
        and at < ends[sentence]
        and any(word.stem in between for word in index.claims[sentence].words[at + 1 : ends[sentence]])
        for sentence, at in index.places.get(one, ())
    )
