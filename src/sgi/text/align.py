"""How much of two token sequences is common: in order, or as bags."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Match(NamedTuple):
    """The common part of a response and a reference, as shares of each.

    >>> match = Match.of(3, response=4, reference=6)
    >>> match.precision, match.recall, round(match.f_score(), 4)
    (0.75, 0.5, 0.6)
    """

    precision: float
    """Share of the response that is common, in [0, 1]."""
    recall: float
    """Share of the reference that is common, in [0, 1]."""

    @classmethod
    def of(cls, common: int, *, response: int, reference: int) -> Match:
        """The match of ``common`` tokens between sequences of these lengths; a share of nothing is 0."""
        return cls(common / response if response else 0.0, common / reference if reference else 0.0)

    def f_score(self, beta: float = 1.0) -> float:
        r"""The weighted harmonic mean of precision P and recall R, in [0, 1]; 0 where both are 0.

        .. math:: F_\beta = (1 + \beta^2) P R / (\beta^2 P + R)

        Args:
            beta: how many times recall counts as much as precision; above 0.

        Source: van Rijsbergen (1979), "Information Retrieval", chapter 7.

        >>> round(Match(precision=1.0, recall=0.5).f_score(beta=2), 4)
        0.5556
        """
        if not self.precision or not self.recall:
            return 0.0
        # Written with the smaller weight on top, so that no beta overflows.
        weight = 1 / (1 + beta * beta)
        return 1 / (weight / self.precision + (1 - weight) / self.recall)


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence: equal tokens in equal order, gaps allowed.

    Args:
        first: tokens.
        second: tokens.

    >>> lcs_length("paris is the capital of france".split(), "the capital of france is paris".split())
    4
    """
    from rapidfuzz.distance import LCSseq

    # Numbers in place of tokens: the library compares by hash, which two texts may share by chance.
    ids: dict[str, int] = {}
    left = [ids.setdefault(token, len(ids)) for token in first]
    right = [ids.setdefault(token, len(ids)) for token in second]
    return LCSseq.similarity(left, right)


def ordered_match(response: Sequence[str], reference: Sequence[str]) -> Match:
    """The match by longest common subsequence, as ROUGE-L counts it.

    Source: Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries", section 3.1.

    >>> ordered_match(["a", "b", "c"], ["c", "a", "b", "d"])
    Match(precision=0.6666666666666666, recall=0.5)
    """
    common = lcs_length(response, reference)
    return Match.of(common, response=len(response), reference=len(reference))


def bag_match(response: Sequence[str], reference: Sequence[str]) -> Match:
    """The match by multiset overlap: a token counts as often as both have it, in any order.

    >>> bag_match(["a", "a", "b"], ["a", "c"])
    Match(precision=0.3333333333333333, recall=0.5)
    """
    common = (Counter(response) & Counter(reference)).total()
    return Match.of(common, response=len(response), reference=len(reference))
