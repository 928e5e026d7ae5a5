"""The published displacement scores: chords, weighted sums and percentiles in flat space.

They reproduce published tables, with k = 10 neighbours and τ = 0.1. For other uses, take
`sgi_lab.paper.geometry.displacement`.

All scores take unit rows of ``questions`` and ``responses``, shape (n, d), and the `Neighbours` of these
rows. They raise ValueError if shapes differ; those that compute angles also check for unit length.

Source: Marín, notebook "geometric_hallucination_detection_1" of the displacement study.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.geometry.angles import angle
from sgi_lab.paper.geometry.displacement import Neighbours, cosine_of_tangents, in_blocks
from sgi_lab.paper.geometry.subspace import principal_axes, squared_residuals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[Any]

_EPSILON = 1e-8
_EXPLAINED = 0.95
_FEWEST_AXES = 3


@in_blocks
def flat_displacement_consistency(questions: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return DC as published: cos(r − q, Σ w_i (r_i − q_i)). High means grounded.

    Returns values in [−1, 1], shape (n,); NaN if r equals q, or the neighbours' displacements cancel out.
    """
    ways = _chords(neighbours.questions[neighbours.indices], neighbours.responses[neighbours.indices])
    return cosine_of_tangents(_chords(questions, responses), _weighted_mean(neighbours, ways))


@in_blocks
def flat_expected_response_deviation(_: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return ERD as published: θ(r, r̂), r̂ the direction of Σ w_i r_i. Low means grounded.

    Returns angles in radians, in [0, π], shape (n,); NaN if the neighbours' responses cancel out.
    """
    expected = _weighted_mean(neighbours, neighbours.responses[neighbours.indices].astype(np.float64))
    length = np.linalg.norm(expected, axis=1)
    known = length > _EPSILON
    deviation = np.full(len(expected), np.nan)
    deviation[known] = angle(responses[known], expected[known] / length[known, None])
    return deviation


@in_blocks
def flat_displacement_magnitude_ratio(questions: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return DMR as published: |log(‖r − q‖ / Σ w_i ‖r_i − q_i‖ + 1e−8)|. Low means grounded.

    Returns values in [0, ∞], shape (n,); NaN if all these lengths are 0.
    """
    ways = _chords(neighbours.questions[neighbours.indices], neighbours.responses[neighbours.indices])
    usual = np.vecdot(neighbours.weights, np.linalg.norm(ways, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.linalg.norm(_chords(questions, responses), axis=-1) / usual
    return np.asarray(np.abs(np.log(ratio + _EPSILON)))


@in_blocks
def flat_tangent_space_residual(_: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return TSR as published: ‖(I − BᵀB)(r − r̄)‖, B the first m principal axes of the r_i about r̄.

    m is the smallest number of axes with 95 % of the variance, at least 3. Low means grounded.

    Returns lengths in [0, 2], shape (n,).
    """
    theirs = neighbours.responses[neighbours.indices].astype(np.float64)
    mean = theirs.mean(axis=1)
    ways, way = theirs - mean[:, None], responses - mean
    values, axes = principal_axes(ways @ ways.mT)
    share = np.cumsum(values, axis=1)
    axes_needed = 1 + np.sum(share < _EXPLAINED * share[:, -1:], axis=1)
    outside = squared_residuals(axes, (ways @ way[..., None])[..., 0], np.vecdot(way, way))
    chosen = np.minimum(np.maximum(axes_needed, _FEWEST_AXES), values.shape[1])
    return np.sqrt(np.take_along_axis(outside, chosen[:, None], axis=1)[:, 0])


@in_blocks
def flat_local_grounding_index(_: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return LSGI as published: the mean of θ(r, r_i) / θ(q, q_i) over neighbours with θ(q, q_i) > 1e−8.

    Low means grounded.

    Returns values in [0, ∞), shape (n,); NaN if no neighbour remains.
    """
    apart = neighbours.angles > _EPSILON
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(apart, neighbours.response_angles(responses) / neighbours.angles, 0.0)
        return np.asarray(ratios.sum(axis=1) / apart.sum(axis=1))


@in_blocks
def flat_response_rank(_: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return the response rank as published: share of the θ(r_i, r_j), i < j, below the mean of θ(r, r_i).

    Equal angles count half, which the source does not specify. Low means grounded.

    Returns values in [0, 1], shape (n,). It needs at least 2 neighbours.
    """
    first, second = np.triu_indices(neighbours.indices.shape[1], k=1)
    one, two = neighbours.indices[:, first].ravel(), neighbours.indices[:, second].ravel()
    among = angle(neighbours.responses[one], neighbours.responses[two]).reshape(len(responses), -1)
    own = neighbours.response_angles(responses).mean(axis=1, keepdims=True)
    return np.asarray(((among < own).mean(axis=1) + (among <= own).mean(axis=1)) / 2.0)


@in_blocks
def flat_local_density_ratio(_: Rows, responses: Rows, neighbours: Neighbours) -> Floats:
    """Return LDR as published: log(ρ_R(r) / ρ_Q(q)), ρ = 1 / the mean angle to the neighbours.

    High means grounded. Unlike `flat_local_grounding_index`, it includes neighbours with θ(q, q_i) = 0.

    Returns real values, shape (n,); ∞ if all θ(r, r_i) are 0, −∞ if all θ(q, q_i) are, NaN if both.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.log(neighbours.angles.mean(axis=1))
        return np.asarray(apart - np.log(neighbours.response_angles(responses).mean(axis=1)))


def _chords(starts: Rows, ends: Rows) -> Floats:
    return np.asarray(ends.astype(np.float64) - starts)


def _weighted_mean(neighbours: Neighbours, rows: Floats) -> Floats:
    return np.asarray((neighbours.weights[:, None] @ rows)[:, 0])
