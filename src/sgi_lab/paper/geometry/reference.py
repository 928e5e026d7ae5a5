"""Reference pairs for displacement scores, with protection against leakage.

A score that finds the scored pair, or another answer to its question, among the reference pairs looks the
answer up instead of measuring geometry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sgi.geometry.angles import angle
from sgi.kernel.errors import DataError, UsageError
from sgi_lab.paper.geometry.displacement import Neighbours
from sgi_lab.paper.geometry.near_duplicates import Pairs, duplicate_codes, ties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]
    Rows = NDArray[Any]
    Ties = Sequence[tuple[str, Codes]]

_BLOCK_BYTES = 2**25
# Inner products select this many extra candidates; exact angles then choose among them.
_MARGIN = 8
# A shorter displacement, or mean of unit displacements, is rounding error without direction.
_LEAST_LENGTH = 1e-12


@dataclass(frozen=True, eq=False)
class ReferenceSet:
    """Questions with correct responses; create one with `fit`.

    Two pairs are *near duplicates* if they share an id, a group, the text or the vector of their question, or
    if both are near duplicates of a third pair. `same_name` and `same_text` define which names and texts are
    equal. A missing group (None) matches nothing. Vectors less than 0.001 radians apart count as
    equal (with MiniLM, the nearest two of 2,997 HaluEval questions are 0.14 apart).

    In `neighbours` and `directions`, near duplicates of scored pairs in the reference set are

    * an error by default;
    * skipped with ``exclude="group"``, so that a set can be both scored and used as its own reference
      (leave-question-out);
    * allowed with ``leaky=True``, which reproduces a published mistake: a correct response is then its own
      nearest neighbour, so an AUROC of 1 means nothing.
    """

    pairs: Pairs
    response_rows: Rows

    @classmethod
    def fit(cls, pairs: Pairs, response_rows: ArrayLike) -> Self:
        """Create a reference set.

        Raises:
            DataError: there is no pair.
            ValueError: shapes differ, or a row is not of unit length.

        >>> eye = np.eye(3)
        >>> pairs = Pairs.of(["a", "b"], ["1", "2"], ["x?", "y?"], ["x", "y"], eye[:2])
        >>> len(ReferenceSet.fit(pairs, eye[1:]))
        2
        """
        if not len(pairs):
            raise DataError(
                "The reference set has no pair of a question and a response.",
                hint="Give it pairs that are known to be good.",
            )
        responses = np.asarray(response_rows)
        angle(pairs.question_rows, responses)  # raises if shapes differ, or a row is not of unit length
        return cls(pairs, responses)

    def __len__(self) -> int:
        return len(self.pairs)

    def neighbours(
        self,
        scored: Pairs,
        k: int = 10,
        temperature: float | None = None,
        *,
        exclude: Literal["group"] | None = None,
        leaky: bool = False,
    ) -> Neighbours:
        """Find the k reference pairs with the nearest questions for each scored pair, with weights.

        Args:
            scored: pairs; their groups are named as in the reference set.
            k: neighbours per pair, at least 1.
            temperature: τ of the weights softmax(−θ(q, q_i) / τ), in radians; None takes `temperature` of k.
            exclude: ``"group"`` skips near duplicates of the scored pair; None raises DataError for them.
            leaky: use near duplicates too.

        Raises:
            DataError: a scored pair has a near duplicate in the reference set; the message names both ids.
            UsageError: fewer than k pairs remain, or ``exclude`` and ``leaky`` contradict each other.
            ValueError: ``scored`` has rows of another dimension.

        Source: leave-group-out cross-validation; the definition of near duplicates is new.

        >>> eye = np.eye(3)
        >>> pairs = Pairs.of(["a", "b"], ["1", "2"], ["x?", "y?"], ["x", "y"], eye[:2])
        >>> ReferenceSet.fit(pairs, eye[1:]).neighbours(Pairs.of(["c"], ["3"], ["X?"], ["z"], eye[:1]), k=1)
        Traceback (most recent call last):
        ...
        sgi.kernel.errors.DataError: id 'c': Reference pair 'a' has the same question. Keep ...
        """
        rows, known = scored.question_rows, self.pairs.question_rows
        shared = self._shared_keys(scored, exclude, leaky=leaky)
        chosen = _nearest(rows, known, k, self._duplicates(shared), scored.ids)
        self._refuse(scored, shared, chosen)
        scale = self.temperature(k) if temperature is None else temperature
        return Neighbours.of(rows, chosen, scale, questions=known, responses=self.response_rows)

    def temperature(self, k: int) -> float:
        """Return τ, the median angle (radians) to the k-th neighbour that is not a near duplicate.

        Raises:
            UsageError: a pair has fewer than k others that are not near duplicates.

        Source: the median heuristic for the width of a kernel.
        """
        duplicates, rows = duplicate_codes(ties(self.pairs)), self.pairs.question_rows
        chosen = _nearest(rows, rows, k, (duplicates, duplicates), self.pairs.ids)
        return float(np.median(angle(rows, rows[chosen[:, -1]])))

    def directions(
        self, scored: Pairs, *, exclude: Literal["group"] | None = None, leaky: bool = False
    ) -> Floats:
        """Return the mean direction μ̂ of the reference displacements for each scored pair, shape (n, d).

        μ̂ is the direction of Σ (r_i − q_i) / ‖r_i − q_i‖; a response equal to its question adds nothing.
        Arguments and errors are as in `neighbours`. DataError also if no displacements remain for a pair.

        >>> eye = np.eye(3)
        >>> pairs = Pairs.of(["a", "b"], ["1", "2"], ["x?", "y?"], ["x", "y"], eye[:2])
        >>> known, first = ReferenceSet.fit(pairs, eye[1:]), Pairs.of(["a"], ["1"], ["x?"], ["x"], eye[:1])
        >>> known.directions(first, exclude="group").round(4).tolist()
        [[0.0, -0.7071, 0.7071]]
        """
        nobody = (np.full(len(scored), -1), np.zeros(len(self), dtype=np.int64))
        own, duplicates = self._duplicates(self._shared_keys(scored, exclude, leaky=leaky)) or nobody
        ways = self.response_rows.astype(np.float64) - self.pairs.question_rows
        length = np.linalg.norm(ways, axis=1, keepdims=True)
        ways = np.divide(ways, length, out=np.zeros_like(ways), where=length > _LEAST_LENGTH)
        known, place = np.unique(duplicates, return_inverse=True)
        sums = np.zeros((len(known) + 1, ways.shape[1]))  # last row: pairs without near duplicates
        np.add.at(sums, place, ways)
        found = np.minimum(np.searchsorted(known, own), len(known) - 1)
        left = ways.sum(axis=0) - sums[np.where(known[found] == own, found, -1)]
        total = np.linalg.norm(left, axis=1, keepdims=True)
        bad = np.flatnonzero(total <= _LEAST_LENGTH * len(self))
        if bad.size:
            raise DataError("The reference set has no direction for this pair", sample_id=scored.ids[bad[0]])
        return np.asarray(left / total)

    def _shared_keys(self, scored: Pairs, exclude: Literal["group"] | None, *, leaky: bool) -> Ties:
        """Return the keys that reference and scored pairs share; empty if near duplicates are used."""
        if leaky and exclude:
            raise UsageError("leaky=True and exclude='group' contradict each other", hint="Give one of them.")
        shared = () if leaky else ties(self.pairs, scored)
        if exclude is None:
            self._refuse(scored, shared)
        return shared

    def _duplicates(self, shared: Ties) -> tuple[Codes, Codes] | None:
        """Return codes of scored and reference pairs, of which equal ones exclude each other, or None."""
        if not shared:
            return None
        codes = duplicate_codes(shared)
        return codes[len(self) :], codes[: len(self)]

    def _refuse(self, scored: Pairs, shared: Ties, chosen: Codes | None = None) -> None:
        """Raise if a scored pair shares a key with a reference pair, or with one of its neighbours."""
        for what, codes in shared:
            known, own = codes[: len(self)], codes[len(self) :]
            met = own[:, None] < len(self) if chosen is None else known[chosen] == own[:, None]
            bad = np.flatnonzero(met.any(axis=1))
            if bad.size:
                raise DataError(
                    f"Reference pair {self.pairs.ids[own[bad[0]]]!r} has the same {what}",
                    sample_id=scored.ids[bad[0]],
                    hint='Keep scored and reference pairs apart, or pass exclude="group".',
                )


def _nearest(
    rows: Rows, known: Rows, k: int, duplicates: tuple[Codes, Codes] | None, ids: Sequence[str]
) -> Codes:
    """Return the k nearest reference rows without near duplicates, nearest first; ties keep the order."""
    if not 1 <= k <= len(known):
        raise UsageError(f"`k` must be from 1 to {len(known)}, the number of reference pairs, not {k}.")
    candidates = min(k + _MARGIN, len(known))
    step = max(1, _BLOCK_BYTES // (8 * len(known)))
    chosen = np.empty((len(rows), k), dtype=np.int64)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        cosines = rows[block] @ known.T
        if duplicates is not None:
            cosines[duplicates[0][block, None] == duplicates[1]] = -np.inf
        near = np.argpartition(cosines, -candidates, axis=1)[:, -candidates:]
        angles = angle(np.repeat(rows[block], candidates, axis=0), known[near.ravel()]).reshape(near.shape)
        angles[np.isneginf(np.take_along_axis(cosines, near, axis=1))] = np.inf
        order = np.lexsort((near, angles), axis=1)[:, :k]
        short = np.flatnonzero(np.isinf(np.take_along_axis(angles, order[:, -1:], axis=1)))
        if short.size:
            raise UsageError(
                f"Id {ids[start + short[0]]!r} has fewer than {k} reference pairs of other groups.",
                hint="Take fewer neighbours, or give more pairs.",
            )
        chosen[block] = np.take_along_axis(near, order, axis=1)
    return chosen
