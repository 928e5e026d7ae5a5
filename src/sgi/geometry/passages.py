"""Angles between statements (responses, or sentences of responses) and the passages of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from sgi.geometry.angles import angle
from sgi.geometry.sgi_ratio import bounded_grounding_index, grounding_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

Aggregate = Literal["nearest", "mean"]

LEAST_SEPARATION = 1e-3
"""Below this θ(q,c), in radians, question and passage count as equal: SGI is about 1 for every response."""

VERBATIM_ANGLE = 0.01
"""Below this θ(r,c), in radians, a response counts as a verbatim copy; SGI uses at least this angle.

Measured on 200 bundled passages with the embedded model: copies with other white space or case have an angle
of 0; copies without the final full stop, with other quotation marks or without commas have 0.012 or more.
"""


@dataclass(frozen=True, eq=False)
class PassageAngles:
    """Angles between statements and the passages of their rows; a pair is one statement with one passage.

    Attributes:
        theta_rq: angle between each statement and its question, in radians, shape (m,).
        theta_rc: angle between the statement and the passage of each pair, shape (pairs,).
        theta_qc: angle between the question and the passage of each pair, shape (pairs,).
        passage: index of each pair's passage among all passages, shape (pairs,).
        lengths: number of pairs of each statement, which are consecutive; at least 1, shape (m,).
    """

    theta_rq: NDArray[np.float64]
    theta_rc: NDArray[np.float64]
    theta_qc: NDArray[np.float64]
    passage: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        statements: NDArray[np.float32],
        questions: NDArray[np.float32],
        passages: NDArray[np.float32],
        *,
        owners: NDArray[np.int64],
        offsets: NDArray[np.int64],
    ) -> Self:
        """Compute the angles between each statement and every passage of its row.

        Args:
            statements: unit vectors, shape (m, d).
            questions: unit vectors, one for each of n rows, shape (n, d).
            passages: unit vectors of the passages, ordered by row, shape (p, d).
            owners: index of the row of each statement, shape (m,).
            offsets: index of the first passage of each row, then p; shape (n + 1,). Each row has a passage.

        Source: Marín (2025), arXiv:2512.13771, equation 2, applied to each passage.

        >>> eye = np.eye(3, dtype=np.float32)
        >>> pair = PassageAngles.of(eye[2:], eye[:1], eye[1:], owners=np.array([0]), offsets=np.array([0, 2]))
        >>> pair.theta_rc.round(4).tolist(), pair.nearest.tolist()
        ([1.5708, 0.0], [1])
        """
        lengths = np.diff(offsets)[owners]
        pair_statement = np.repeat(np.arange(len(owners)), lengths)
        within = np.arange(len(pair_statement)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        passage = offsets[owners][pair_statement] + within
        passage_owners = np.repeat(np.arange(len(questions)), np.diff(offsets))
        # One call, since a call for a single row costs much more than the row.
        left = np.concatenate([statements, statements[pair_statement], questions[passage_owners]])
        right = np.concatenate([questions[owners], passages[passage], passages])
        ends = [len(owners), len(owners) + len(passage)]
        theta_rq, theta_rc, theta_qc = np.split(angle(left, right), ends)
        return cls(theta_rq, theta_rc, theta_qc[passage], passage, lengths)

    @cached_property
    def grounding(self) -> NDArray[np.float64]:
        """SGI of each pair, with θ(r,c) of at least `VERBATIM_ANGLE`, shape (pairs,); valid where `apart`."""
        theta_rc = np.maximum(self.theta_rc, VERBATIM_ANGLE)
        return grounding_index(np.repeat(self.theta_rq, self.lengths), theta_rc)

    @cached_property
    def verbatim(self) -> NDArray[np.bool_]:
        """Mask of the pairs whose statement is a verbatim copy of the passage, shape (pairs,)."""
        return self.theta_rc < VERBATIM_ANGLE

    @cached_property
    def bounded_index(self) -> NDArray[np.float64]:
        """Bounded SGI of each pair, in [−1, 1], shape (pairs,); valid where `apart`."""
        return bounded_grounding_index(np.repeat(self.theta_rq, self.lengths), self.theta_rc, self.theta_qc)

    @cached_property
    def apart(self) -> NDArray[np.bool_]:
        """Mask of the pairs whose passage differs from the question, shape (pairs,); others have no SGI."""
        return self.theta_qc >= LEAST_SEPARATION

    @cached_property
    def separate(self) -> NDArray[np.bool_]:
        """Mask of the statements with a passage that differs from the question, shape (m,)."""
        return np.logical_or.reduceat(self.apart, self._starts)

    @cached_property
    def nearest(self) -> NDArray[np.int64]:
        """For each statement, the index of the pair with its nearest passage (highest SGI), shape (m,)."""
        distance = np.where(self._counts, self.theta_rc, np.inf)
        least = np.repeat(np.minimum.reduceat(distance, self._starts), self.lengths)
        hits = np.flatnonzero(distance == least)  # the first of equals counts
        return hits[np.searchsorted(hits, self._starts)]

    def aggregate(self, pairs: NDArray[np.float64], how: Aggregate) -> NDArray[np.float64]:
        """Return the value of each statement's nearest passage, or the mean of its passages, shape (m,)."""
        if how == "nearest":
            return pairs[self.nearest]
        total = np.add.reduceat(np.where(self._counts, pairs, 0.0), self._starts)
        return np.asarray(total / np.add.reduceat(self._counts.astype(np.float64), self._starts))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return self.lengths.cumsum() - self.lengths

    @cached_property
    def _counts(self) -> NDArray[np.bool_]:
        """Mask of the pairs to use: a passage equal to the question is used only if the row has no other."""
        return self.apart | ~np.repeat(self.separate, self.lengths)
