"""The clusters of a run as its rows come in."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.clusters import (
    BY_CONTEXTS,
    BY_QUESTION,
    Clustering,
    dominant_question,
    has_value,
    is_column,
    unknown_column,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.clusters import DominantQuestion
    from sgi.kernel.sample import Sample


class ClusterAccumulator:
    """Numbers the clusters of rows, and watches for a question that most rows share.

    Args:
        by: the rule; see `sgi.kernel.clusters`.
    """

    def __init__(self, by: str = BY_QUESTION) -> None:
        self.by = by
        self._numbers = array("q")
        self._codes: dict[int, int] = {}
        self._contexts = array("q")
        self._without_value = 0
        self._candidate, self._text, self._votes = -1, "", 0

    def add(self, sample: Sample) -> None:
        """Enter the next row."""
        position = len(self._numbers)
        code = self._codes.setdefault(sample.cluster(position, self.by), len(self._codes))
        self._numbers.append(code)
        if is_column(self.by):
            self._without_value += not has_value(sample.metadata, self.by)
        if self.by == BY_QUESTION:
            self._contexts.append(sample.cluster(position, BY_CONTEXTS))
            self._vote(code, sample.question)

    def _vote(self, code: int, question: str) -> None:
        """Majority vote of Boyer and Moore: a cluster with more than half of the rows is the candidate."""
        if not self._votes:
            self._candidate, self._text = code, question
        self._votes += 1 if code == self._candidate else -1

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The cluster of each row, counted from 0 in the order of their first rows, shape (n,)."""
        return np.array(self._numbers, dtype=np.int64)

    def clustering(self) -> Clustering:
        """The rule, and what its notes need."""
        return Clustering(self.by, self._without_value, self._dominant())

    def _dominant(self) -> DominantQuestion | None:
        if self.by != BY_QUESTION:
            return None
        rows = np.flatnonzero(self.numbers == self._candidate)
        contexts = np.unique(np.array(self._contexts, dtype=np.int64)[rows])
        return dominant_question(self._text, len(rows), len(contexts), of=len(self._numbers))


def clustering_of(samples: Sequence[Sample], by: str, name: str) -> Clustering:
    """The clustering of rows in memory.

    Args:
        samples: the rows.
        by: the rule; see `sgi.kernel.clusters`.
        name: what messages call the data.

    Raises:
        UnknownNameError: the rule is a column that no row has.
    """
    columns = {column for sample in samples for column in sample.metadata}
    if is_column(by) and by not in columns:
        raise unknown_column(name, by, columns)
    clusters = ClusterAccumulator(by)
    for sample in samples:
        clusters.add(sample)
    return clusters.clustering()
