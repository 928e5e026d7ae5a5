"""Reference pairs to score others against, which refuse to be the answer key of what is scored.

A score that may find the scored pair itself, or another answer to its question, among the reference pairs no
longer measures geometry: it looks the answer up.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sgi.geometry.angles import angle
from sgi.geometry.displacement import Neighbours
from sgi.kernel.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]
    Rows = NDArray[Any]

_BLOCK_BYTES = 2**25
# Inner products bring this many more than wanted; exact angles then choose among them.
_MARGIN = 8
# A displacement this short, or a mean of unit ones, is rounding, and has no direction.
_LEAST_LENGTH = 1e-12


@dataclass(frozen=True, eq=False)
class ReferenceSet:
    """Questions with responses known to be good; `fit` makes one.

    Two pairs are *kin* if they share an id, a group or the text of their question (but for case, Unicode form
    and white space), or if both are kin to a third. `neighbours` and `directions` ask by name what becomes of
    the kin of scored pairs:

    * as it stands, kin in the reference set are an error: the two must be kept apart;
    * ``exclude="group"`` passes over them, so that one set can be scored and reference (leave-question-out);
    * ``leaky=True`` allows them. It repeats a published mistake: a good response finds itself, a bad one the
      good one it is not, and an AUROC of 1 says nothing.

    Attributes:
        question_rows: unit rows, shape (m, d).
        response_rows: unit rows, shape (m, d).
    """

    question_rows: Rows
    response_rows: Rows
    _pairs: _Pairs

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
        """Keep pairs as reference.

        Args:
            ids: one a pair.
            groups: what belongs together: answers to one question, or questions about one context.
            question_texts: one a pair.
            response_texts: one a pair.
            question_rows: unit rows, shape (m, d).
            response_rows: unit rows, shape (m, d).

        Raises:
            DataError: there is no pair.
            ValueError: lengths or shapes differ, or a row is not of unit length.

        >>> eye = np.eye(3)
        >>> len(ReferenceSet.fit(["a", "b"], [1, 2], ["x?", "y?"], ["x", "y"], eye[:2], eye[1:]))
        2
        """
        pairs = _Pairs.of(ids, groups, question_texts, response_texts)
        if not len(pairs):
            raise DataError("A reference set is empty", hint="Give it pairs that are known to be good.")
        asked, answered = pairs.rows(question_rows), pairs.rows(response_rows)
        angle(asked, answered)  # raises where they are no unit rows of one shape
        return cls(asked, answered, pairs)

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
        """For each scored pair, the k reference pairs of the nearest questions, and their weights.

        Args:
            ids: one a scored pair.
            groups: what belongs together, named as in the reference set.
            question_texts: one a scored pair.
            response_texts: one a scored pair.
            question_rows: unit rows, shape (n, d).
            k: how many neighbours each has, at least 1.
            temperature: τ of the weights softmax(−θ(q, q_i) / τ), in radians; None takes `temperature` of k.
            exclude: ``"group"`` passes over kin.
            leaky: allow a pair to be scored against itself.

        Raises:
            DataError: a scored pair has kin in the reference set; both ids are named.
            UsageError: fewer than k pairs are left for one, or ``exclude`` and ``leaky`` contradict.
            ValueError: lengths or shapes differ, or a row is not of unit length.

        Source: leave-group-out cross-validation; what counts as kin is ours.

        >>> eye = np.eye(3)
        >>> known = ReferenceSet.fit(["a", "b"], [1, 2], ["x?", "y?"], ["x", "y"], eye[:2], eye[1:])
        >>> known.neighbours(["c"], [1], ["z?"], ["z"], eye[:1], k=1, temperature=1, exclude="group").indices
        array([[1]])
        >>> known.neighbours(["c"], [3], ["X?"], ["z"], eye[:1], k=1)
        Traceback (most recent call last):
        ...
        sgi.kernel.errors.DataError: id 'c': Reference pair 'a' has the same question. Keep ...
        """
        scored = _Pairs.of(ids, groups, question_texts, response_texts)
        rows = scored.rows(question_rows)
        kin = self._kin(scored, exclude, leaky=leaky)
        chosen = _nearest(rows, self.question_rows, k, kin, scored.ids)
        if not leaky:
            self._refuse(scored, chosen)
        scale = self.temperature(k) if temperature is None else temperature
        return Neighbours.of(rows, chosen, scale, questions=self.question_rows, responses=self.response_rows)

    def temperature(self, k: int) -> float:
        """τ: the median angle between a reference question and its k-th neighbour that is no kin.

        Args:
            k: at least 1.

        Returns:
            An angle in radians. It knows no labels and nothing of what is scored.

        Raises:
            UsageError: a pair has fewer than k others that are no kin.

        Source: the median heuristic for the width of a kernel.

        >>> eye = np.eye(3)
        >>> known = ReferenceSet.fit(["a", "b"], [1, 2], ["x?", "y?"], ["x", "y"], eye[:2], eye[1:])
        >>> round(known.temperature(1), 4)
        1.5708
        """
        kin = _kin_codes(self._pairs)
        chosen = _nearest(self.question_rows, self.question_rows, k, (kin, kin), self._pairs.ids)
        return float(np.median(angle(self.question_rows, self.question_rows[chosen[:, -1]])))

    def directions(
        self,
        ids: Sequence[str],
        groups: Sequence[Hashable],
        question_texts: Sequence[str],
        response_texts: Sequence[str],
        *,
        exclude: Literal["group"] | None = None,
        leaky: bool = False,
    ) -> Floats:
        """For each scored pair, the mean direction μ̂ of the reference displacements, for the DGI.

        μ̂ is the direction of Σ (r_i − q_i) / ‖r_i − q_i‖; a response that is its question adds nothing.

        Args:
            ids: one a scored pair.
            groups: what belongs together, named as in the reference set.
            question_texts: one a scored pair.
            response_texts: one a scored pair.
            exclude: ``"group"`` passes over kin.
            leaky: allow a pair to be scored against itself.

        Returns:
            Unit rows, shape (n, d).

        Raises:
            DataError: a scored pair has kin in the reference set, or no displacements are left for it.
            UsageError: ``exclude`` and ``leaky`` contradict.
            ValueError: lengths differ.

        Source: as for `directional_grounding_index`.

        >>> eye = np.eye(3)
        >>> known = ReferenceSet.fit(["a", "b"], [1, 2], ["x?", "y?"], ["x", "y"], eye[:2], eye[1:])
        >>> known.directions(["a"], [1], ["x?"], ["x"], exclude="group").round(4).tolist()
        [[0.0, -0.7071, 0.7071]]
        """
        scored = _Pairs.of(ids, groups, question_texts, response_texts)
        apart = (np.full(len(scored), -1), np.zeros(len(self), dtype=np.int64))
        own, kin = self._kin(scored, exclude, leaky=leaky) or apart
        ways = self.response_rows.astype(np.float64) - self.question_rows
        length = np.linalg.norm(ways, axis=1, keepdims=True)
        ways = np.divide(ways, length, out=np.zeros_like(ways), where=length > _LEAST_LENGTH)
        known, place = np.unique(kin, return_inverse=True)
        sums = np.zeros((len(known) + 1, ways.shape[1]))  # the last for those without kin
        np.add.at(sums, place, ways)
        found = np.minimum(np.searchsorted(known, own), len(known) - 1)
        left = ways.sum(axis=0) - sums[np.where(known[found] == own, found, -1)]
        total = np.linalg.norm(left, axis=1, keepdims=True)
        bad = np.flatnonzero(total <= _LEAST_LENGTH * len(self))
        if bad.size:
            raise DataError("No mean direction is left in the reference set", sample_id=scored.ids[bad[0]])
        return np.asarray(left / total)

    def _kin(
        self, scored: _Pairs, exclude: Literal["group"] | None, *, leaky: bool
    ) -> tuple[Codes, Codes] | None:
        """Codes of scored and reference pairs, alike for those that must not meet; None where all may."""
        if exclude not in (None, "group"):
            raise UsageError(f"exclude is 'group' or None, not {exclude!r}.")
        if leaky and exclude:
            raise UsageError(
                "leaky=True allows what exclude='group' passes over", hint="Ask for one of them."
            )
        if leaky:
            return None
        if exclude is None:
            self._refuse(scored)
        codes = _kin_codes(self._pairs, scored)
        return codes[len(self) :], codes[: len(self)]

    def _refuse(self, scored: _Pairs, chosen: Codes | None = None) -> None:
        """Raise where a scored pair shares something with a reference pair, or with one chosen for it."""
        for (what, theirs), (_, ours) in zip(self._pairs.marks(), scored.marks(), strict=True):
            place: dict[Hashable, int] = {}
            known = np.array([place.setdefault(mark, at) for at, mark in enumerate(theirs)], dtype=np.int64)
            own = np.array([place.get(mark, -1) for mark in ours], dtype=np.int64)
            shared = own[:, None] >= 0 if chosen is None else known[chosen] == own[:, None]
            bad = np.flatnonzero(shared.any(axis=1))
            if bad.size:
                raise DataError(
                    f"Reference pair {self._pairs.ids[own[bad[0]]]!r} has the same {what}",
                    sample_id=scored.ids[bad[0]],
                    hint='Keep scored and reference pairs apart, or pass exclude="group".',
                )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of question and response, and what makes two of them one: ids, groups and texts."""

    ids: tuple[str, ...]
    groups: tuple[Hashable, ...]
    questions: tuple[str, ...]
    responses: tuple[str, ...]

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        groups: Sequence[Hashable],
        questions: Sequence[str],
        responses: Sequence[str],
    ) -> Self:
        if not len(ids) == len(groups) == len(questions) == len(responses):
            raise ValueError(
                f"{len(ids)} ids, {len(groups)} groups, {len(questions)} questions and {len(responses)} "
                "responses are not of one length."
            )
        return cls(tuple(ids), tuple(groups), tuple(map(_same, questions)), tuple(map(_same, responses)))

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, values: ArrayLike) -> Rows:
        """One row of numbers for each pair."""
        rows = np.asarray(values)
        if rows.ndim != 2 or len(rows) != len(self):  # noqa: PLR2004 - rows and columns
            raise ValueError(f"{len(self)} pairs have rows of shape (n, d), not {rows.shape}.")
        return rows

    def marks(self) -> tuple[tuple[str, Sequence[Hashable]], ...]:
        """What two pairs may share, the closest tie first, with what each has of it."""
        return (
            ("id", self.ids),
            ("question and response", tuple(zip(self.questions, self.responses, strict=True))),
            ("question", self.questions),
            ("group", self.groups),
        )


def _same(text: str) -> str:
    """A text as it is compared: what differs in case, Unicode form or white space alone is one."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


def _kin_codes(*sets: _Pairs) -> Codes:
    """A code for each pair of all sets in turn; kin have the same."""
    leader = list(range(sum(map(len, sets))))
    for of_one_kind in zip(*(pairs.marks() for pairs in sets), strict=True):
        _join(leader, chain.from_iterable(values for _, values in of_one_kind))
    return np.array([_lead(leader, place) for place in range(len(leader))], dtype=np.int64)


def _join(leader: list[int], marks: Iterable[Hashable]) -> None:
    first: dict[Hashable, int] = {}
    for place, mark in enumerate(marks):
        leader[_lead(leader, place)] = _lead(leader, first.setdefault(mark, place))


def _lead(leader: list[int], place: int) -> int:
    while leader[place] != place:
        leader[place] = place = leader[leader[place]]
    return place


def _nearest(rows: Rows, known: Rows, k: int, kin: tuple[Codes, Codes] | None, ids: Sequence[str]) -> Codes:
    """The k nearest of the known rows that are no kin, nearest first, the earlier of equals."""
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
