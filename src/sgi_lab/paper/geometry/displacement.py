"""Displacement scores on the sphere, which compare a response with those to similar reference questions.

A reference pair is a question with a correct response. Unless stated otherwise, a score ignores the context.
It measures whether the response resembles the responses to similar questions.

All scores take unit rows of ``questions`` and ``responses``, shape (n, d), and the `Neighbours` of these
rows. They raise ValueError if shapes differ or a row is not of unit length.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sgi.geometry.angles import angle
from sgi_lab.paper.geometry.sphere import exp_map, karcher_means, log_map, parallel_transport
from sgi_lab.paper.geometry.subspace import fewest_axes, held_out_residuals, principal_axes, squared_residuals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[Any]

_BLOCK_BYTES = 2**22
# A shorter displacement, in radians, is rounding error without direction.
_LEAST_LENGTH = 1e-12
# Distances are computed from differences of squares, with a rounding error of about 1e-8.
_LEAST_SPREAD = 1e-6
_THREADS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Nearest reference pairs of each scored row, by question; see `ReferenceSet.neighbours`.

    Attributes:
        indices: reference pairs of each row, nearest first, shape (n, k).
        weights: weights of the pairs, with sum 1 in each row, shape (n, k).
        angles: θ(q, q_i) in radians, shape (n, k).
        questions: unit rows of all reference questions, shape (m, d).
        responses: unit rows of all reference responses, shape (m, d).
    """

    indices: NDArray[np.int64]
    weights: Floats
    angles: Floats
    questions: Rows
    responses: Rows

    @classmethod
    def of(
        cls, rows: Rows, indices: NDArray[np.int64], temperature: float, *, questions: Rows, responses: Rows
    ) -> Self:
        """Compute angles and weights of the given pairs: w_i = softmax(−θ(q, q_i) / τ).

        ``rows`` are the scored questions, shape (n, d), k is at least 1, and ``temperature`` is τ in radians,
        above 0.

        Raises:
            ValueError: shapes differ, or a row is not of unit length.

        Source: Marín, notebook "geometric_hallucination_detection_1" of the displacement study.

        >>> eye = np.eye(3)
        >>> near = Neighbours.of(eye[:1], np.array([[0, 1]]), 1.0, questions=eye, responses=eye)
        >>> near.angles.round(3).tolist(), near.weights.round(3).tolist()
        ([[0.0, 1.571]], [[0.828, 0.172]])
        """
        count = indices.shape[1]
        angles = angle(np.repeat(rows, count, axis=0), questions[indices.ravel()]).reshape(-1, count)
        lead = np.exp((angles.min(axis=1, keepdims=True) - angles) / temperature)
        return cls(indices, lead / lead.sum(axis=1, keepdims=True), angles, questions, responses)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, rows: slice) -> Neighbours:
        return Neighbours(
            self.indices[rows], self.weights[rows], self.angles[rows], self.questions, self.responses
        )

    def response_angles(self, responses: Rows) -> Floats:
        """Return the angles θ(r, r_i) between each response and its neighbours' responses, shape (n, k)."""
        count = self.indices.shape[1]
        theirs = self.responses[self.indices.ravel()]
        return angle(np.repeat(responses, count, axis=0), theirs).reshape(-1, count)


def in_blocks(
    score: Callable[[Rows, Rows, Neighbours], Floats],
) -> Callable[[ArrayLike, ArrayLike, Neighbours], Floats]:
    """Decorator that computes a score in parallel blocks of rows, which limits memory.

    The score of a row must depend on that row alone. Calls raise ValueError for different numbers of rows.
    """

    @wraps(score)
    def score_blocks(questions: ArrayLike, responses: ArrayLike, neighbours: Neighbours) -> Floats:
        starts, ends = np.asarray(questions), np.asarray(responses)
        if not len(starts) == len(ends) == len(neighbours):
            raise ValueError("Questions, responses and neighbours must have the same number of rows.")
        step = max(1, _BLOCK_BYTES // (8 * neighbours.indices.shape[1] * starts.shape[1]))
        blocks = [slice(first, first + step) for first in range(0, len(starts), step)]
        with ThreadPoolExecutor(_THREADS) as pool:  # numpy releases the GIL
            values = list(pool.map(lambda rows: score(starts[rows], ends[rows], neighbours[rows]), blocks))
        return np.concatenate(values) if values else np.empty(0)

    return score_blocks


def cosine_of_tangents(first: Floats, second: Floats) -> Floats:
    """Return the cosines of vectors of any length, shape (…, d); NaN for a zero vector."""
    one, two = (np.linalg.norm(vectors, axis=-1) for vectors in (first, second))
    known = (one > _LEAST_LENGTH) & (two > _LEAST_LENGTH)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.vecdot(first, second) / one / two
    return np.where(known, np.clip(cosine, -1.0, 1.0), np.nan)


@in_blocks
def displacement_consistency(questions: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return DC, the cosine between the displacements of r and of its neighbours; high means grounded.

    DC = cos(Log_q r, v̄), v̄ = Σ w_i P_{q_i→q}(Log_{q_i} r_i): the neighbours' displacements, transported to
    q.

    Returns values in [−1, 1], shape (n,); NaN if r or the mean equals q, or for antipodes.

    Source: `flat_displacement_consistency`, in tangent spaces of the sphere.

    >>> eye = np.eye(3)
    >>> near = Neighbours.of(eye[:1], np.array([[0]]), 1.0, questions=eye[:1], responses=eye[1:2])
    >>> displacement_consistency(eye[:1], eye[1:2], near).round(6).tolist()
    [1.0]
    """
    return cosine_of_tangents(log_map(questions, responses), _expected_angle(questions, neighbours))


def _expected_angle(questions: Rows, neighbours: Neighbours) -> Floats:
    """Return v̄, the weighted mean of the neighbours' displacements, transported to each question."""
    starts = neighbours.questions[neighbours.indices]
    ways = log_map(starts, neighbours.responses[neighbours.indices])
    carried = parallel_transport(starts, questions[:, None], ways)
    return np.asarray((neighbours.weights[:, None] @ carried)[:, 0])


@in_blocks
def expected_response_deviation(questions: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return ERD, the angle between r and the response expected from the neighbours. Low means grounded.

    ERD = θ(r, Exp_q v̄), with v̄ as for `displacement_consistency`.

    Returns angles in radians, in [0, π], shape (n,); NaN if a neighbour leads to an antipode.

    Source: `flat_expected_response_deviation`, on the sphere.

    >>> eye = np.eye(3)
    >>> near = Neighbours.of(eye[:1], np.array([[0]]), 1.0, questions=eye[:1], responses=eye[1:2])
    >>> expected_response_deviation(eye[:1], eye[2:], near).round(4).tolist()
    [1.5708]
    """
    ends = exp_map(questions, _expected_angle(questions, neighbours))
    known = ~np.isnan(ends[:, 0])
    deviation = np.full(len(ends), np.nan)
    deviation[known] = angle(responses[known], ends[known])
    return deviation


@in_blocks
def displacement_magnitude_ratio(questions: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return DMR, the length of the displacement relative to the neighbours'. Low means grounded.

    DMR = |log(θ(q, r) / Σ w_i θ(q_i, r_i))|.

    Returns values in [0, ∞], shape (n,): 0 for equal lengths, ∞ if one length is 0, NaN if both are.

    Source: `flat_displacement_magnitude_ratio`, with angles in place of chords.

    >>> eye = np.eye(3)
    >>> near = Neighbours.of(eye[:1], np.array([[0]]), 1.0, questions=eye[:1], responses=eye[1:2])
    >>> displacement_magnitude_ratio(eye[:1], eye[2:], near).tolist()
    [0.0]
    """
    rows = neighbours.indices.ravel()
    lengths = angle(neighbours.questions[rows], neighbours.responses[rows]).reshape(neighbours.indices.shape)
    usual = np.vecdot(neighbours.weights, lengths)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.abs(np.log(angle(questions, responses) / usual)))


@in_blocks
def local_grounding_index(_: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return LSGI, the distance from the neighbours' responses divided by the distance from their questions.

    Low means grounded.

    LSGI = Σ w_i θ(r, r_i) / Σ w_i θ(q, q_i). It is a ratio of means, because the nearest neighbour alone
    would dominate a mean of ratios.

    Returns values in [0, ∞], shape (n,); NaN if both sums are 0.

    Source: `flat_local_grounding_index`, as a ratio of means.

    >>> eye = np.eye(3)
    >>> near = Neighbours.of(eye[:1], np.array([[0]]), 1.0, questions=eye[1:2], responses=eye[1:2])
    >>> local_grounding_index(eye[:1], eye[2:], near).tolist()
    [1.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            np.vecdot(neighbours.weights, neighbours.response_angles(responses))
            / np.vecdot(neighbours.weights, neighbours.angles)
        )


@in_blocks
def tangent_space_residual(_: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return TSR, the distance of r from the plane of the neighbours' responses. Low means grounded.

    With μ the Fréchet mean of the neighbours' r_i, TSR is the length of Log_μ r outside the first m principal
    axes of Log_μ r_i, divided by the median of the leave-one-out residuals of the r_i. A value of 1 means as
    far from the plane as the neighbours are.

    m is the smallest number below k − 1 and d − 1 whose leave-one-out mean squared residual per remaining
    dimension is within one standard error of the best. This rule, equal weights and the fixed μ are new.

    Returns values in [0, ∞), shape (n,); NaN if the neighbours' responses coincide, span only m dimensions or
    have no mean. It needs at least 3 neighbours.

    Source: `flat_tangent_space_residual`, on the sphere and scale-free; Hastie, Tibshirani and Friedman,
    "The Elements of Statistical Learning" (2009), §7.10, for the one-standard-error rule.

    >>> from sgi.geometry import unit
    >>> eye = np.eye(8)
    >>> arc = eye[0] + 0.3 * np.outer([-2, -1, 0, 1, 2], eye[1]) + 0.02 * eye[3:]  # nearly a great circle
    >>> arc, along, across = unit(arc), unit(eye[0] + 0.4 * eye[1]), unit(eye[0] + 0.4 * eye[2])
    >>> near = Neighbours.of(eye[:2], np.array([[0, 1, 2, 3, 4]] * 2), 1.0, questions=arc, responses=arc)
    >>> tangent_space_residual(eye[:2], [along, across], near).round(2).tolist()
    [0.51, 16.5]
    """
    theirs = neighbours.responses[neighbours.indices]
    count, dimension = theirs.shape[1:]
    centre = karcher_means(theirs, np.full(theirs.shape[:2], 1.0 / count))
    known = ~np.isnan(centre[:, 0])
    ways, way = log_map(centre[known][:, None], theirs[known]), log_map(centre[known], responses[known])
    gram = ways @ ways.mT
    axes = principal_axes(gram)[1]
    own = squared_residuals(axes, (ways @ way[..., None])[..., 0], np.vecdot(way, way))
    held_out = held_out_residuals(gram)[..., : min(count, dimension) - 1]
    chosen = fewest_axes(held_out, dimension - 1)[:, None]
    outside = np.sqrt(np.take_along_axis(own, chosen, axis=1)[:, 0])
    usual = np.median(np.sqrt(np.take_along_axis(held_out, chosen[..., None], axis=2)[..., 0]), axis=1)
    residual = np.full(len(theirs), np.nan)
    residual[known] = np.divide(outside, usual, out=np.full(len(usual), np.nan), where=usual > _LEAST_SPREAD)
    return residual


def directional_grounding_index(questions: ArrayLike, responses: ArrayLike, directions: ArrayLike) -> Floats:
    """Return DGI, the cosine between displacement and mean reference direction. High means grounded.

    DGI = cos(r − q, μ̂), where μ̂ is the mean direction of the r_i − q_i at unit length. It uses chords,
    because tangent vectors at distant questions have no common direction. ``directions`` is μ̂ of
    `ReferenceSet.directions`, shape (n, d), or one for all, shape (d,).

    Returns values in [−1, 1], shape (n,); NaN if the response equals the question.

    Source: Marín, groundlens, `docs/benchmarks/results.md`; Mardia and Jupp, "Directional Statistics" (2000),
    §9.2, for the mean direction.

    >>> eye = np.eye(3)
    >>> directional_grounding_index(eye[:1], eye[1:2], [-1.0, 0.0, 0.0]).round(4).tolist()
    [0.7071]
    """
    start, end = np.asarray(questions, dtype=np.float64), np.asarray(responses, dtype=np.float64)
    return cosine_of_tangents(end - start, np.asarray(directions, dtype=np.float64))
