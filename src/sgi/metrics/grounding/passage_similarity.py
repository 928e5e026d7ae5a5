"""The similarity of each sentence of a response to its passages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NO_QUESTION = 0.5
"""Cosine with the question that is assumed if there is none: the mean of the training sets' medians."""


@dataclass(frozen=True, eq=False)
class PassageSimilarity:
    """Similarity of each sentence of a response to its passages and to the question.

    Attributes:
        best: greatest cosine with a sentence of each passage, shape (sentences, passages).
        place: index of that sentence in the passage, shape (sentences, passages).
        question: cosine with the question, shape (sentences,); `NO_QUESTION` if there is no question.
    """

    best: NDArray[np.float64]
    place: NDArray[np.int64]
    question: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        statements: NDArray[np.float32],
        passages: Sequence[NDArray[np.float32]],
        question: NDArray[np.float32] | None,
    ) -> PassageSimilarity:
        """Compare unit vectors: of the response's sentences, each passage's sentences, and the question.

        >>> axis = np.eye(2, dtype=np.float32)
        >>> PassageSimilarity.of(axis, [axis[:1], axis], axis[0]).best.tolist()
        [[1.0, 1.0], [0.0, 1.0]]
        """
        cosines = [np.asarray(statements @ rows.T, dtype=np.float64) for rows in passages]
        best = np.stack([matrix.max(axis=1) for matrix in cosines], axis=1)
        place = np.stack([matrix.argmax(axis=1) for matrix in cosines], axis=1)
        to_question = np.full(len(statements), NO_QUESTION) if question is None else statements @ question
        return cls(best, place, np.asarray(to_question, dtype=np.float64))

    def least_margin(self, sentences: Sequence[int]) -> float:
        """Return the smallest of `margins` over these sentences; NaN if there are no sentences."""
        return min((self.margins[number] for number in sentences), default=float("nan"))

    @cached_property
    def margins(self) -> list[float]:
        """For each sentence, the cosine with its most similar passage minus the cosine with the question."""
        numbers: list[float] = (self.best.max(axis=1) - self.question).tolist()
        return numbers
