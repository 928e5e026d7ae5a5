"""Retrieval measures with the definitions of trec_eval, for many queries at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankedHits:
    """The relevant passages that were retrieved, and all relevant passages, of n queries.

    A passage is relevant if its grade is above 0. A measure with ``k`` reads the first ``k`` ranks; None
    reads all. The order of the retrieved list is the rank, also if retrieval scores are equal. A query
    without relevant passages has no defined value: the result is NaN.

    Attributes:
        queries: the query of each hit, in increasing order, shape (h,).
        ranks: its rank from 1, increasing within a query, shape (h,).
        grades: its grade, above 0, shape (h,).
        retrieved: the number of retrieved passages of each query, shape (n,).
        gold_queries: the query of each relevant passage, in increasing order, shape (g,).
        gold_grades: its grade, decreasing within a query, shape (g,).

    References: `trec_eval <https://github.com/usnistgov/trec_eval>`_ 9; Järvelin and Kekäläinen (2002),
    "Cumulated gain-based evaluation of IR techniques".

    >>> hits = RankedHits.of([[(2, 2), (4, 1)]], [4], [[2, 1, 1]])
    >>> hits.recall(2).tolist(), hits.precision(2).tolist(), hits.reciprocal_rank(None).tolist()
    ([0.3333333333333333], [0.5], [0.5])
    """

    queries: Ints
    ranks: Ints
    grades: Floats
    retrieved: Ints
    gold_queries: Ints
    gold_grades: Floats

    @classmethod
    def of(
        cls,
        hits: Sequence[Sequence[tuple[int, int]]],
        retrieved: Sequence[int],
        gold: Sequence[Sequence[int]],
    ) -> RankedHits:
        """Make the columns from lists.

        Args:
            hits: for each query, rank and grade of each relevant passage that was retrieved, by rank.
            retrieved: for each query, the number of retrieved passages.
            gold: for each query, the grades of all judged passages, in any order.
        """
        pairs = np.array([pair for row in hits for pair in row], dtype=np.int64).reshape(-1, 2)
        judged = np.array([grade for row in gold for grade in row], dtype=np.float64)
        owners = _owners(gold)
        order = np.lexsort((-judged, owners))
        order = order[judged[order] > 0]
        counts = np.array(retrieved, dtype=np.int64)
        ranks, grades = pairs[:, 0], pairs[:, 1].astype(np.float64)
        return cls(_owners(hits), ranks, grades, counts, owners[order], judged[order])

    def recall(self, k: int | None) -> Floats:
        """Return the share of the relevant passages in the first k: trec_eval ``recall``."""
        return self._per_relevant(self._count(k))

    def precision(self, k: int | None) -> Floats:
        """Return hits divided by k, or by the number of retrieved passages: trec_eval ``P`` and ``set_P``."""
        hits = self._count(k)
        return self._defined(hits / (k if k is not None else np.maximum(self.retrieved, 1)))

    def hit_rate(self, k: int | None) -> Floats:
        """Return 1 if there is a hit in the first k, otherwise 0: trec_eval ``success``."""
        return self._defined((self._count(k) > 0).astype(np.float64))

    def reciprocal_rank(self, k: int | None) -> Floats:
        """Return 1 / rank of the first hit, 0 if it is not in the first k: trec_eval ``recip_rank``."""
        values = np.zeros(len(self.retrieved))
        first = self._places == 1
        if k is not None:
            first &= self.ranks <= k
        values[self.queries[first]] = 1.0 / self.ranks[first]
        return self._defined(values)

    def ndcg(self, k: int | None) -> Floats:
        """Return the discounted gain divided by the gain of the best order: trec_eval ``ndcg_cut``.

        The gain is the grade, and its discount 1 / log2(rank + 1).
        """
        ideal = self._sum(
            self.gold_queries, self.gold_grades / np.log2(self._gold_ranks + 1.0), self._gold_ranks, k
        )
        gain = self._sum(self.queries, self.grades / np.log2(self.ranks + 1.0), self.ranks, k)
        return _divide(gain, ideal)

    def average_precision(self, k: int | None) -> Floats:
        """Return the precision at each hit, summed and divided by all relevant passages: ``map_cut``."""
        return self._per_relevant(self._sum(self.queries, self._places / self.ranks, self.ranks, k))

    def r_precision(self) -> Floats:
        """Return the precision at R, the number of relevant passages: trec_eval ``Rprec``."""
        inside = self.ranks <= self.relevant[self.queries]
        return self._per_relevant(np.bincount(self.queries[inside], minlength=len(self.retrieved)))

    @cached_property
    def relevant(self) -> Ints:
        """The number of relevant passages of each query, shape (n,)."""
        return np.bincount(self.gold_queries, minlength=len(self.retrieved))

    @cached_property
    def _places(self) -> Ints:
        """The number of hits of the query up to each hit, shape (h,)."""
        return _places(self.queries, len(self.retrieved))

    @cached_property
    def _gold_ranks(self) -> Ints:
        """The rank of each relevant passage in the best order, shape (g,)."""
        return _places(self.gold_queries, len(self.retrieved))

    def _count(self, k: int | None) -> Ints:
        hits = self.queries if k is None else self.queries[self.ranks <= k]
        return np.bincount(hits, minlength=len(self.retrieved))

    def _sum(self, queries: Ints, values: Floats, ranks: Ints, k: int | None) -> Floats:
        if k is not None:
            inside = ranks <= k
            queries, values = queries[inside], values[inside]
        # Without any hit, bincount returns whole numbers.
        return np.bincount(queries, weights=values, minlength=len(self.retrieved)).astype(np.float64)

    def _per_relevant(self, sums: Ints | Floats) -> Floats:
        return _divide(sums, self.relevant)

    def _defined(self, values: Floats) -> Floats:
        return np.where(self.relevant > 0, values, np.nan)


def _divide(values: Ints | Floats, by: Ints | Floats) -> Floats:
    """Return the quotients; NaN where the divisor is 0."""
    quotients: Floats = np.full(len(values), np.nan)
    np.divide(values, by, out=quotients, where=by > 0)
    return quotients


def _owners(rows: Sequence[Sequence[object]]) -> Ints:
    """Return the row of each item."""
    return np.repeat(np.arange(len(rows)), np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)))


def _places(owners: Ints, n: int) -> Ints:
    """Return the position, from 1, of each value among the values of its owner; owners are sorted."""
    counts = np.bincount(owners, minlength=n)
    return np.arange(1, len(owners) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
