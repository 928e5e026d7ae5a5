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
from sgi.paper.geometry.displacement import Neighbours
from sgi.paper.geometry.near_duplicates import Pairs, kin_codes, ties, unit_rows

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

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

    Two pairs are *kin* (duplicates of one question) if they share an id, a group, the text or the vector of
    their question, or if both are kin to a third pair. Ids, groups and texts are compared without case,
    compatibility forms, outer white space and invisible characters; texts also without outer punctuation.
    Numbers equal their digits. Missing groups (None, NaN) match nothing. Vectors less than 0.001 radians
    apart count as equal (with MiniLM, the nearest two of 2,997 HaluEval questions are 0.14 apart).
    Paraphrases count as different questions unless id or group says otherwise.

    In `neighbours` and `directions`, kin of scored pairs in the reference set are

    * an error by default;
    * skipped with ``exclude="group"``, so that one set can be scored and reference (leave-question-out);
    * allowed with ``leaky=True``, which reproduces a published mistake: a correct response finds itself, so
      an AUROC of 1 means nothing.

    Attributes:
        question_rows: unit rows, shape (m, d), read-only.
        response_rows: unit rows, shape (m, d), read-only.
    """

    question_rows: Rows
    response_rows: Rows
    _pairs: Pairs

    @classmethod
    def fit(
        cls,
        ids: Sequence[str],
        groups: Sequence[Hashable],
        question_texts: Sequence[str],
        response_texts: Sequence[str],
        question_rows: ArrayLike,
        response_rows: ArrayLike,
    ) -> Self:
        """Create a reference set; rows are copied.

        Args:
            ids: one per pair.
            groups: pairs that belong together, such as answers to one question; None or NaN if unknown.
            question_texts: one per pair.
            response_texts: one per pair.
            question_rows: unit rows, shape (m, d).
            response_rows: unit rows, shape (m, d).

        Raises:
            DataError: there is no pair, an id is missing, or a group, question or response is invalid.
            ValueError: lengths or shapes differ, or a row is not of unit length.

        >>> eye = np.eye(3)
        >>> len(ReferenceSet.fit(["a", "b"], [1, 2], ["x?", "y?"], ["x", "y"], eye[:2], eye[1:]))
        2
        """
        if not len(ids):
            raise DataError("A reference set is empty", hint="Give it pairs that are known to be good.")
        asked, answered = (_valid_rows(rows, len(ids)) for rows in (question_rows, response_rows))
        angle(asked, answered)  # raises if shapes differ
        return cls(asked, answered, Pairs.of(ids, groups, question_texts, response_texts, asked))

    def __len__(self) -> int:
        return len(self._pairs)

    def neighbours(
        self,
        ids: Sequence[str],
        groups: Sequence[Hashable],
        question_texts: Sequence[str],
        response_texts: Sequence[str],
        question_rows: ArrayLike,
        k: int = 10,
        temperature: float | None = None,
        *,
        exclude: Literal["group"] | None = None,
        leaky: bool = False,
    ) -> Neighbours:
        """Find the k reference pairs with the nearest questions for each scored pair, with weights.

        Args:
            ids: one per scored pair.
            groups: groups of the scored pairs, named as in the reference set.
            question_texts: one per scored pair.
            response_texts: one per scored pair.
            question_rows: unit rows, shape (n, d).
            k: neighbours per pair, at least 1.
            temperature: τ of the weights softmax(−θ(q, q_i) / τ), in radians; None takes `temperature` of k.
            exclude: ``"group"`` skips kin.
            leaky: allow kin.

        Raises:
            DataError: a scored pair has kin in the reference set (the message names both ids), or a column is
                invalid.
            UsageError: fewer than k pairs remain, or ``exclude`` and ``leaky`` contradict each other.
            ValueError: lengths or shapes differ, or a row is not of unit length.

        Source: leave-group-out cross-validation; the definition of kin is new.

        >>> eye = np.eye(3)
        >>> known = ReferenceSet.fit(["a", "b"], [1, 2], ["x?", "y?"], ["x", "y"], eye[:2], eye[1:])
        >>> known.neighbours(["c"], [1], ["z?"], ["z"], eye[:1], k=1, temperature=1, exclude="group").indices
        array([[1]])
        >>> known.neighbours(["c"], [3], ["X?"], ["z"], eye[:1], k=1)
        Traceback (most recent call last):
        ...
        sgi.kernel.errors.DataError: id 'c': Reference pair 'a' has the same question. Keep ...
        """
        rows = unit_rows(question_rows, len(ids))
        scored = Pairs.of(ids, groups, question_texts, response_texts, rows)
        shared = self._shared(scored, exclude, leaky=leaky)
        chosen = _nearest(rows, self.question_rows, k, self._apart(shared), scored.ids)
        self._refuse(scored, shared, chosen)
        scale = self.temperature(k) if temperature is None else temperature
        return Neighbours.of(rows, chosen, scale, questions=self.question_rows, responses=self.response_rows)

    def temperature(self, k: int) -> float:
        """τ in radians: the median angle between a reference question and its k-th neighbour that is not kin.

        Raises:
            UsageError: a pair has fewer than k others that are not kin.

        Source: the median heuristic for the width of a kernel.

        >>> eye = np.eye(3)
        >>> known = ReferenceSet.fit(["a", "b"], [1, 2], ["x?", "y?"], ["x", "y"], eye[:2], eye[1:])
        >>> round(known.temperature(1), 4)
        1.5708
        """
        kin = kin_codes(ties(self._pairs))
        chosen = _nearest(self.question_rows, self.question_rows, k, (kin, kin), self._pairs.ids)
        return float(np.median(angle(self.question_rows, self.question_rows[chosen[:, -1]])))

    def directions(
        self,
        ids: Sequence[str],
        groups: Sequence[Hashable],
        question_texts: Sequence[str],
        response_texts: Sequence[str],
        question_rows: ArrayLike | None = None,
        *,
        exclude: Literal["group"] | None = None,
        leaky: bool = False,
    ) -> Floats:
        """Mean direction μ̂ of the reference displacements for each scored pair, for the DGI, shape (n, d).

        μ̂ is the direction of Σ (r_i − q_i) / ‖r_i − q_i‖; a response equal to its question adds nothing.
        Arguments are those of `neighbours`; without ``question_rows``, kin by vector are not found.

        Raises:
            DataError: as for `neighbours`, or no displacements remain for a pair.
            UsageError: ``exclude`` and ``leaky`` contradict each other.
            ValueError: lengths or shapes differ, or a row is not of unit length.

        >>> eye = np.eye(3)
        >>> known = ReferenceSet.fit(["a", "b"], [1, 2], ["x?", "y?"], ["x", "y"], eye[:2], eye[1:])
        >>> known.directions(["a"], [1], ["x?"], ["x"], exclude="group").round(4).tolist()
        [[0.0, -0.7071, 0.7071]]
        """
        scored = Pairs.of(ids, groups, question_texts, response_texts, question_rows)
        nobody = (np.full(len(scored), -1), np.zeros(len(self), dtype=np.int64))
        own, kin = self._apart(self._shared(scored, exclude, leaky=leaky)) or nobody
        ways = self.response_rows.astype(np.float64) - self.question_rows
        length = np.linalg.norm(ways, axis=1, keepdims=True)
        ways = np.divide(ways, length, out=np.zeros_like(ways), where=length > _LEAST_LENGTH)
        known, place = np.unique(kin, return_inverse=True)
        sums = np.zeros((len(known) + 1, ways.shape[1]))  # last row: pairs without kin
        np.add.at(sums, place, ways)
        found = np.minimum(np.searchsorted(known, own), len(known) - 1)
        left = ways.sum(axis=0) - sums[np.where(known[found] == own, found, -1)]
        total = np.linalg.norm(left, axis=1, keepdims=True)
        bad = np.flatnonzero(total <= _LEAST_LENGTH * len(self))
        if bad.size:
            raise DataError("No mean direction is left in the reference set", sample_id=scored.ids[bad[0]])
        return np.asarray(left / total)

    def _shared(self, scored: Pairs, exclude: Literal["group"] | None, *, leaky: bool) -> Ties:
        """Keys that reference and scored pairs share, if kin are excluded or refused."""
        if exclude not in (None, "group"):
            raise UsageError(f"exclude is 'group' or None, not {exclude!r}.")
        if leaky and exclude:
            raise UsageError(
                "leaky=True allows what exclude='group' passes over", hint="Ask for one of them."
            )
        shared = () if leaky else ties(self._pairs, scored)
        if exclude is None:
            self._refuse(scored, shared)
        return shared

    def _apart(self, shared: Ties) -> tuple[Codes, Codes] | None:
        """Codes of scored and reference pairs; equal codes exclude each other. None if all are allowed."""
        if not shared:
            return None
        codes = kin_codes(shared)
        return codes[len(self) :], codes[: len(self)]

    def _refuse(self, scored: Pairs, shared: Ties, chosen: Codes | None = None) -> None:
        """Raise if a scored pair shares a key with a reference pair, or with one of its neighbours."""
        for what, codes in shared:
            known, own = codes[: len(self)], codes[len(self) :]
            met = own[:, None] < len(self) if chosen is None else known[chosen] == own[:, None]
            bad = np.flatnonzero(met.any(axis=1))
            if bad.size:
                raise DataError(
                    f"Reference pair {self._pairs.ids[own[bad[0]]]!r} has the same {what}",
                    sample_id=scored.ids[bad[0]],
                    hint='Keep scored and reference pairs apart, or pass exclude="group".',
                )


def _valid_rows(values: ArrayLike, count: int) -> Rows:
    """Read-only copy of unit rows."""
    rows = np.array(unit_rows(values, count))
    rows.flags.writeable = False
    return rows


def _nearest(rows: Rows, known: Rows, k: int, kin: tuple[Codes, Codes] | None, ids: Sequence[str]) -> Codes:
    """The k nearest reference rows that are not kin, nearest first; ties keep the row order."""
    if not 1 <= k <= len(known):
        raise UsageError(f"{k} neighbours cannot be taken from {len(known)} reference pairs.")
    wanted = min(k + _MARGIN, len(known))
    step = max(1, _BLOCK_BYTES // (8 * len(known)))
    chosen = np.empty((len(rows), k), dtype=np.int64)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        cosines = rows[block] @ known.T
        if kin is not None:
            cosines[kin[0][block, None] == kin[1]] = -np.inf
        near = np.argpartition(cosines, -wanted, axis=1)[:, -wanted:]
        angles = angle(np.repeat(rows[block], wanted, axis=0), known[near.ravel()]).reshape(near.shape)
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
