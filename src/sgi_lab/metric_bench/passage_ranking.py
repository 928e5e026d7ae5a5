"""Ranks passages by BM25, so that planted rows have realistic distractors."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from sgi.text.tokens import word_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

SATURATION = 1.5
"""Term frequency saturation of BM25, k1."""
LENGTH_WEIGHT = 0.75
"""Length normalisation of BM25, b."""


class PassageRanking:
    """Okapi BM25 over passages by id.

    Source: Robertson and Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and Beyond.

    >>> PassageRanking({"a": "Iron and steel.", "b": "The tower is in Paris."}).best("Where is the tower?")
    ['b', 'a']
    """

    def __init__(self, passages: Mapping[str, str]) -> None:
        self._ids = list(passages)
        counts = [Counter(word_tokens(text)) for text in passages.values()]
        lengths = np.array([count.total() for count in counts], dtype=np.float64)
        penalty = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths / max(lengths.mean(), 1.0))
        postings: dict[str, list[tuple[int, int]]] = {}
        for at, count in enumerate(counts):
            for word, frequency in count.items():
                postings.setdefault(word, []).append((at, frequency))
        self._weights = {word: self._weight(found, penalty) for word, found in postings.items()}
        self.best = lru_cache(maxsize=None)(self._best)

    @staticmethod
    def _weight(
        found: list[tuple[int, int]], penalty: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        rows = np.array([at for at, _ in found])
        counts = np.array([frequency for _, frequency in found], dtype=np.float64)
        rarity = np.log(1 + (len(penalty) - len(rows) + 0.5) / (len(rows) + 0.5))
        return rows, rarity * counts * (SATURATION + 1) / (counts + penalty[rows])

    def _best(self, question: str) -> list[str]:
        """Return all ids, the best passage first; ties keep their order."""
        scores = np.zeros(len(self._ids))
        for word in word_tokens(question):
            if word in self._weights:
                rows, weights = self._weights[word]
                scores[rows] += weights
        return [self._ids[at] for at in np.argsort(-scores, kind="stable").tolist()]
