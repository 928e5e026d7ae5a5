"""Finds two things that a sentence exchanges: "Ada paid Ben" for "Ben paid Ada"."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.claim_reader import read_claims
from sgi.metrics.grounding.facts.check import Check, Verdict
from sgi.metrics.grounding.facts.fact import FactKind, Statement
from sgi.metrics.grounding.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.metrics.grounding.claim_reader import Claim

_MAX_BLOCKS = 30  # of a sentence that is compared
_MAX_APART = 6
_RELATES = {
    word: word
    for word in (
        "of in to from by for with on at into onto than before after over under above below between through during"
        " about against as and or but not because if that which who when while where"
    ).split()
} | {word: "be" for word in ("is", "are", "was", "were", "be", "been", "being")}
"""Function words that say how the words before and after them are related."""
_LIST = frozenset({"and", "or", ","})


class _Link(NamedTuple):
    """Two content words in a row, and the function words between them that relate them."""

    first: str
    gap: tuple[str, ...]
    second: str

    @property
    def is_relation(self) -> bool:
        """Whether it relates its words in one direction: it is not a part of a list."""
        return _LIST.isdisjoint(self.gap)


def exchanges(claim: Claim, response: str, passages: Sequence[str]) -> Iterator[Check]:
    """Yield two parts of the sentence whose places a passage exchanges.

    The sentence is cut into blocks: runs of content words that a passage has in the same order, with the same
    prepositions between. Two blocks that are not neighbours are exchanged if a sentence of a passage has each
    of them next to a word that is next to the other one here.
    """
    links = _links_of_claim(response, claim)
    if len(links) < _MIN_LINKS:
        return
    known = [_links(passage) for passage in passages]
    cuts = [at for at, link in enumerate(links) if not any(link in some for some in known)]
    if not _MIN_LINKS <= len(cuts) <= _MAX_BLOCKS:
        return
    edges = [0, *(at + 1 for at in cuts), len(links) + 1]
    blocks = list(pairwise(edges))
    for number, passage in enumerate(passages):
        for i, j in _pairs(len(blocks)):
            sentence = _exchanged_in(links, blocks[i], blocks[j], known[number])
            if sentence is None:
                continue
            other = read_claims(passage)[sentence]
            start, end = claim.words[blocks[i][0]].start, claim.words[blocks[j][1] - 1].end
            yield Check(
                Statement(FactKind.RELATION, "", start, end),
                Verdict.CONTRADICTED,
                number,
                passage[other.start : other.end],
                other.start,
                other.end,
                "exchanged",
            )
            return


_MIN_LINKS = 2


def _pairs(blocks: int) -> Iterator[tuple[int, int]]:
    for i in range(blocks):
        for j in range(i + 1, min(blocks, i + _MAX_APART)):
            yield i, j


def _exchanged_in(
    links: Sequence[_Link],
    one: tuple[int, int],
    other: tuple[int, int],
    known: Mapping[_Link, frozenset[int]],
) -> int | None:
    """Return a sentence of the passage in which each block has a neighbour of the other one; None if none has."""
    words = [link.first for link in links] + [links[-1].second]
    if one[1] == other[0]:
        return _reversed_in(links, words, one, other, known)
    places = (
        _sentences(links, words, other, at=one, known=known),
        _sentences(links, words, one, at=other, known=known),
    )
    both = [one for one, link in places[0] for other, second in places[1] if one == other and link != second]
    return min(both, default=None)


def _reversed_in(
    links: Sequence[_Link],
    words: Sequence[str],
    one: tuple[int, int],
    other: tuple[int, int],
    known: Mapping[_Link, frozenset[int]],
) -> int | None:
    """Return a sentence of the passage that has two neighbours the other way round, next to the same word."""
    gap = links[one[1] - 1].gap
    middle = _Link(words[other[1] - 1], gap, words[one[0]])
    # "In a box in the cellar" and "in the cellar in a box" say the same.
    if not gap or not middle.is_relation or (one[0] > 0 and links[one[0] - 1].gap == gap):
        return None
    sentences = known.get(middle, frozenset())
    found: frozenset[int] = frozenset()
    if one[0] > 0:
        link = links[one[0] - 1]
        found |= sentences & known.get(_Link(link.first, link.gap, words[other[0]]), frozenset())
    if other[1] - 1 < len(links):
        link = links[other[1] - 1]
        found |= sentences & known.get(_Link(words[one[1] - 1], link.gap, link.second), frozenset())
    return min(found) if found else None


def _sentences(
    links: Sequence[_Link],
    words: Sequence[str],
    block: tuple[int, int],
    *,
    at: tuple[int, int],
    known: Mapping[_Link, frozenset[int]],
) -> list[tuple[int, _Link]]:
    """Return the sentences of a passage that have a block next to a neighbour of the place ``at``, and how."""
    found: list[tuple[int, _Link]] = []
    if at[0] > 0:
        before = links[at[0] - 1]
        link = _Link(before.first, before.gap, words[block[0]])
        if link.is_relation:
            found += [(sentence, link) for sentence in known.get(link, ())]
    if at[1] - 1 < len(links):
        after = links[at[1] - 1]
        link = _Link(words[block[1] - 1], after.gap, after.second)
        if link.is_relation:
            found += [(sentence, link) for sentence in known.get(link, ())]
    return found


@once_per_text
def _links(passage: str) -> dict[_Link, frozenset[int]]:
    """Return the links of a passage with the numbers of their sentences, cached."""
    found: dict[_Link, set[int]] = {}
    for number, claim in enumerate(read_claims(passage)):
        links = _links_of_claim(passage, claim)
        for link in links:
            found.setdefault(link, set()).add(number)
        for one, other in pairwise(links):
            if not other.gap:  # "the old tower": the last word of a noun phrase is its head
                found.setdefault(_Link(one.first, one.gap, other.second), set()).add(number)
    return {link: frozenset(numbers) for link, numbers in found.items()}


def _links_of_claim(text: str, claim: Claim) -> list[_Link]:
    words = split_words(text)
    links = []
    for one, other in pairwise(claim.words):
        gap = [_RELATES[stem] for stem in words.stems[one.place + 1 : other.place] if stem in _RELATES]
        if "," in text[one.end : other.start]:
            gap.append(",")
        links.append(_Link(one.stem, tuple(gap), other.stem))
    return links
