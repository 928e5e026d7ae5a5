"""Finds two things that a sentence exchanges: "Ada paid Ben" for "Ben paid Ada"."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.claim_reader import Claim, ClaimIndex, Link

    Block = tuple[int, int]

_MIN_LINKS = 2
_MAX_BLOCKS = 30  # of a sentence that is compared
_MAX_APART = 6
_OF_LISTS = (",", " and ", " or ")


class Exchange(NamedTuple):
    """Two blocks of a sentence that a sentence of a passage has exchanged.

    Attributes:
        start: start of the first block in the response.
        end: end of the second block.
        passage: index of the passage.
        sentence: index of its sentence.
    """

    start: int
    end: int
    passage: int
    sentence: int


def find_exchange(claim: Claim, indexes: Sequence[ClaimIndex]) -> Exchange | None:
    """Return two parts of the sentence whose places a passage exchanges; None if there are none.

    The sentence is cut into blocks: runs of content words that a passage has in the same order, with the same
    prepositions between. Two blocks are exchanged if a sentence of a passage has each of them next to a word
    that is next to the other one here. Two neighbours must have the preposition between them in the passage
    too, the other way round.
    """
    if len(claim.words) <= _MIN_LINKS:
        return None
    links = [(one.stem, other.gap, other.stem) for one, other in pairwise(claim.words)]
    unknown = set(links)
    for index in indexes:
        unknown = unknown.difference(index.links)
    cuts = [at for at, link in enumerate(links) if link in unknown]
    if not _MIN_LINKS <= len(cuts) <= _MAX_BLOCKS:
        return None
    blocks = [*pairwise([0, *(at + 1 for at in cuts), len(links) + 1])]
    for passage, index in enumerate(indexes):
        sentence_of = _Links(links, index)
        known = {
            block
            for block in blocks
            if claim.words[block[0]].stem in index.places or claim.words[block[1] - 1].stem in index.places
        }
        for one, other in _pairs(blocks):
            if one not in known or other not in known:
                continue
            sentence = sentence_of.exchange(one, other)
            if sentence is not None:
                return Exchange(claim.words[one[0]].start, claim.words[other[1] - 1].end, passage, sentence)
    return None


def _pairs(blocks: Sequence[Block]) -> Iterator[tuple[Block, Block]]:
    for at, one in enumerate(blocks):
        for other in blocks[at + 1 : at + _MAX_APART]:
            yield one, other


def _is_relation(link: Link) -> bool:
    """Return whether a link relates its words in one direction: it is not a part of a list."""
    return not any(mark in link[1] for mark in _OF_LISTS)


class _Links:
    """The links of a sentence, compared with those of a passage."""

    def __init__(self, links: Sequence[Link], index: ClaimIndex) -> None:
        self._links, self._known = links, index.links
        self._words = [*(link[0] for link in links), links[-1][2]]

    def exchange(self, one: Block, other: Block) -> int | None:
        """Return a sentence of the passage in which two blocks are exchanged; None if they are in none."""
        if one[1] < other[0]:
            first = self._placed(other, one)
            second = self._placed(one, other) if first else []
            both = [
                sentence
                for sentence, link in first
                for same, more in second
                if sentence == same and link != more
            ]
            return min(both, default=None)
        gap = self._links[one[1] - 1][1]
        middle = (self._words[other[1] - 1], gap, self._words[one[0]])
        # "In a box in the cellar" and "in the cellar in a box" say the same.
        same_gap = one[0] > 0 and self._links[one[0] - 1][1] == gap
        if not gap or same_gap or not _is_relation(middle):
            return None
        known = self._known.get(middle, ())
        placed = [*self._placed(other, one), *self._placed(one, other)] if known else []
        return min(
            (sentence for sentence, link in placed if sentence in known and link != middle), default=None
        )

    def _placed(self, block: Block, at: Block) -> list[tuple[int, Link]]:
        """Return the sentences of the passage that have a block next to a neighbour of another one."""
        links = []
        if at[0] > 0 and at[0] != block[1]:
            before = self._links[at[0] - 1]
            links.append((before[0], before[1], self._words[block[0]]))
        if at[1] <= len(self._links) and at[1] != block[0]:
            after = self._links[at[1] - 1]
            links.append((self._words[block[1] - 1], after[1], after[2]))
        return [
            (number, link)
            for link in links
            if link in self._known and _is_relation(link)
            for number in self._known[link]
        ]
