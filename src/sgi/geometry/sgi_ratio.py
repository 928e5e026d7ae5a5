"""The semantic grounding index (SGI), its bounds and its bounded form, computed from angles or vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sgi.geometry.angles import angle, unit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

EPSILON = 1e-8
"""Added to θ(r,c), so that SGI is finite for a response equal to its context."""


@dataclass(frozen=True)
class Grounding:
    """SGI of one response, with its angles.

    Attributes:
        sgi: θ(r,q) / (θ(r,c) + ε), in [0, ∞).
        theta_rq: angle between response and question, in radians.
        theta_rc: angle between response and context, in radians.
    """

    sgi: float
    theta_rq: float
    theta_rc: float


def compute_sgi(
    q_emb: ArrayLike, c_emb: ArrayLike, r_emb: ArrayLike, *, epsilon: float = EPSILON
) -> Grounding:
    """Compute the semantic grounding index (SGI) of one response from three vectors of any length.

    SGI = θ(r,q) / (θ(r,c) + ε), where θ is the angle between two vectors. Above 1, the response is nearer to
    its context than to its question. If question and context are equal, SGI is 0 for a response equal to
    both, and about 1 for every other response.

    Args:
        q_emb: vector of the question, shape (d,).
        c_emb: vector of the context, shape (d,).
        r_emb: vector of the response, shape (d,).
        epsilon: ε, a number above 0 that keeps SGI finite.

    Returns:
        ``sgi`` in [0, ∞), and the angles ``theta_rq`` and ``theta_rc`` in radians, in [0, π].

    Raises:
        ValueError: a vector is zero, not finite or not one-dimensional, or the dimensions differ.

    Source: Marín (2025), arXiv:2512.13771, equation 3 and algorithm 1.

    >>> compute_sgi(q_emb=[1, 0], c_emb=[0, 2], r_emb=[1, 1]).sgi  # half-way between the two
    0.9999999872676046
    """
    named = {"q_emb": np.asarray(q_emb), "c_emb": np.asarray(c_emb), "r_emb": np.asarray(r_emb)}
    if any(array.ndim != 1 for array in named.values()) or len({array.shape for array in named.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in named.items())
        raise ValueError(f"The three vectors must have the same shape (d,), not {shapes}.")
    question, context, response = (_direction(name, array) for name, array in named.items())
    theta_rq, theta_rc = angle([response, response], [question, context])
    index = grounding_index(theta_rq, theta_rc, epsilon)
    return Grounding(float(index), float(theta_rq), float(theta_rc))


def _direction(name: str, vector: NDArray[np.generic]) -> NDArray[np.float64]:
    try:
        return unit(vector)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def grounding_index(
    theta_rq: ArrayLike, theta_rc: ArrayLike, epsilon: float = EPSILON
) -> NDArray[np.float64]:
    """Return SGI = θ(r,q) / (θ(r,c) + ε), in [0, ∞); above 1, the response is nearer to the context.

    Args:
        theta_rq: angles between response and question, in radians, of any shape.
        theta_rc: angles between response and context, of the same shape.
        epsilon: ε, which keeps SGI finite if the response equals the context.

    Source: Marín (2025), arXiv:2512.13771, equation 3; ε from algorithm 1.

    >>> grounding_index([1.2, 0.5], [0.6, 1.0]).round(4).tolist()
    [2.0, 0.5]
    """
    return np.asarray(theta_rq, dtype=np.float64) / (np.asarray(theta_rc, dtype=np.float64) + epsilon)


def bounded_grounding_index(
    theta_rq: ArrayLike, theta_rc: ArrayLike, theta_qc: ArrayLike
) -> NDArray[np.float64]:
    """Return the bounded SGI, (θ(r,q) − θ(r,c)) / θ(q,c), in [−1, 1]; positive exactly if SGI is above 1.

    It has no ε and is NaN if θ(q,c) is 0. The angles are in radians and have the same shape.

    Source: the triangle inequality of angles, arXiv:2512.13771, equation 4.

    >>> bounded_grounding_index([0.9, 0.3], [0.3, 0.9], [1.2, 1.2]).round(4).tolist()
    [0.5, -0.5]
    """
    lead = np.asarray(theta_rq, dtype=np.float64) - np.asarray(theta_rc, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = lead / np.asarray(theta_qc, dtype=np.float64)
    # Clip rounding errors; 0/0 has no value.
    return np.where(np.asarray(theta_qc) > 0.0, np.clip(share, -1.0, 1.0), np.nan)


def bounds(theta_qc: ArrayLike, theta_rc: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the minimum and maximum of SGI (without ε) for θ(q,c) = a and θ(r,c) = x.

    |a/x − 1| ≤ SGI ≤ min(a + x, 2π − a − x) / x, by the triangle inequality and because a spherical triangle
    has a perimeter of at most 2π. Both bounds are attained on the great circle through q and c.

    Args:
        theta_qc: angles between question and context, in radians.
        theta_rc: angles between response and context, of the same shape.

    Returns:
        Minima and maxima, in [0, ∞]; infinite if x is 0 and a is not, NaN if both are 0.

    Source: arXiv:2512.13771, equations 4 and 5, with the absolute value that is missing in equation 5.

    >>> low, high = bounds(1.0, 0.5)
    >>> float(low), float(high)
    (1.0, 3.0)
    """
    a, x = np.asarray(theta_qc, dtype=np.float64), np.asarray(theta_rc, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.abs(a - x) / x, np.minimum(a + x, 2.0 * np.pi - a - x) / x
