"""Geometry of the unit sphere: tangent vectors, exponential and logarithm maps, and Fréchet means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_UNIT_TOLERANCE = 1e-3
_EXACT = 1e-14
# A shorter sum of unit vectors (weights of sum 1) is rounding error without direction.
_LEAST_RESULTANT = 1e-12


def log_map(base: ArrayLike, points: ArrayLike) -> Floats:
    """Return the tangent vector at each base that leads to its point: Log_b(p) = θ·(p − cos θ·b) / sin θ.

    Its length is the angle θ; its direction is the direction of the great circle from b to p. It is computed
    from the shorter of p − b and p + b, which is precise near 0 and near π.

    Args:
        base: unit rows, shape (n, d); here and below, more axes may precede and broadcast.
        points: unit rows, shape (n, d).

    Returns:
        Rows orthogonal to ``base``, of length in [0, π], shape (n, d); NaN for antipodes.

    Raises:
        ValueError: shapes do not fit, or a row is not of unit length.

    Source: do Carmo, "Riemannian Geometry" (1992), chapter 3, for the unit sphere.

    >>> log_map([[1.0, 0.0]], [[0.0, 1.0]]).round(6).tolist()
    [[0.0, 1.570796]]
    """
    return _log(_directions(base), _directions(points))


def exp_map(base: ArrayLike, tangents: ArrayLike) -> Floats:
    """Follow each tangent vector from its base: Exp_b(v) = cos‖v‖·b + sin‖v‖·v/‖v‖, the inverse of `log_map`.

    ``tangents`` must be orthogonal to ``base`` (unit rows), shape (n, d). NaN in a tangent vector gives NaN.

    Raises:
        ValueError: shapes differ, or a row is not of unit length.

    Source: do Carmo, "Riemannian Geometry" (1992), chapter 3, for the unit sphere.

    >>> exp_map([[1.0, 0.0]], [[0.0, np.pi / 2]]).round(6).tolist()
    [[0.0, 1.0]]
    """
    return _exp(_directions(base), np.asarray(tangents, dtype=np.float64))


def parallel_transport(start: ArrayLike, end: ArrayLike, tangents: ArrayLike) -> Floats:
    """Transport tangent vectors along great circles: P(v) = v − ⟨y,v⟩/(1 + ⟨x,y⟩)·(x + y).

    It rotates the tangent space at x into that at y, and preserves lengths and angles. The result is
    orthogonal to ``end`` (y), shape (n, d), with NaN for antipodes. ``tangents`` must be orthogonal to
    ``start`` (x).

    Raises:
        ValueError: as for `exp_map`.

    Source: Absil, Mahony and Sepulchre, "Optimization Algorithms on Matrix Manifolds" (2008), §8.1.

    >>> parallel_transport([[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 2.0]]).round(6).tolist()
    [[-2.0, 0.0]]
    """
    first, last, ways = _directions(start), _directions(end), np.asarray(tangents, dtype=np.float64)
    middle = first + last
    # 1 + ⟨x,y⟩ is half of ‖x + y‖², which is precise for nearly opposite rows.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 2.0 * np.vecdot(last, ways) / np.vecdot(middle, middle)
        # For x = −y, 0/0 is NaN; the rounding error in ⟨y,v⟩ must not make it infinite.
        return np.asarray(ways - np.where(middle.any(axis=-1), share, np.nan)[..., None] * middle)


def karcher_means(
    points: ArrayLike, weights: Floats, tolerance: float = 1e-10, most_steps: int = 200
) -> Floats:
    """Compute Fréchet means, the points with the smallest sums of squared angles: argmin_μ Σ w_i θ(μ, p_i)².

    Karcher's iteration starts at the mean direction and moves μ by the mean of Log_μ(p_i). The minimum is
    unique if all points lie within π/2 of it.

    Args:
        points: sets of unit rows, shape (n, k, d).
        weights: not negative, with sum 1 in each set, shape (n, k).
        tolerance: length of the last step, in radians.
        most_steps: maximum number of steps.

    Returns:
        Unit rows, shape (n, d); NaN for a set without a mean: its points cancel out, or ``most_steps`` steps
        do not converge.

    Raises:
        ValueError: a row is not of unit length.

    Source: Karcher (1977), Communications on Pure and Applied Mathematics 30; Afsari (2011), Proceedings of
    the American Mathematical Society 139, for uniqueness.

    >>> karcher_means(np.eye(2)[None], np.array([[2 / 3, 1 / 3]])).round(6).tolist()  # a third of the way
    [[0.866025, 0.5]]
    """
    rows = _directions(points)
    if rows.shape[-2] < rows.shape[-1]:
        # The mean lies in the span of its points, so compute it in k dimensions.
        span, inside = np.linalg.qr(rows.mT)
        return np.asarray(
            (span @ _karcher_means(inside.mT, weights, tolerance, most_steps)[..., None])[..., 0]
        )
    return _karcher_means(rows, weights, tolerance, most_steps)


def _karcher_means(rows: Floats, weights: Floats, tolerance: float, most_steps: int) -> Floats:
    means = _mean(weights, rows)
    length = np.linalg.norm(means, axis=-1, keepdims=True)
    moving = np.flatnonzero(length > _LEAST_RESULTANT)
    means = np.divide(means, length, out=np.full_like(means, np.nan), where=length > _LEAST_RESULTANT)
    for _ in range(most_steps):
        step = _mean(weights[moving], _log(means[moving][:, None], rows[moving]))
        means[moving] = _exp(means[moving], step)
        # A point at the antipode makes step and mean NaN, which ends the iteration.
        moving = moving[np.linalg.norm(step, axis=-1) > tolerance]
        if not moving.size:
            break
    means[moving] = np.nan
    return np.asarray(means)


def _log(base: Floats, points: Floats) -> Floats:
    cosine = np.vecdot(base, points)
    away = cosine < 0.0
    # The part of p orthogonal to b is the same for p − b and p + b; the shorter one is more precise.
    across = points - np.where(away, -1.0, 1.0)[..., None] * base
    across -= np.vecdot(base, across)[..., None] * base
    sine = np.linalg.norm(across, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        stretch = np.arctan2(sine, cosine) / sine
    across *= np.where(sine > 0.0, stretch, np.where(away, np.nan, 1.0))[..., None]
    return np.asarray(across)


def _exp(base: Floats, tangents: Floats) -> Floats:
    length = np.linalg.norm(tangents, axis=-1, keepdims=True)
    # numpy's sinc(x) is sin(πx) / (πx), and 1 at 0.
    ends = np.cos(length) * base + np.sinc(length / np.pi) * tangents
    return np.asarray(ends / np.linalg.norm(ends, axis=-1, keepdims=True))


def _mean(shares: Floats, rows: Floats) -> Floats:
    return np.asarray((shares[..., None, :] @ rows)[..., 0, :])


def _directions(rows: ArrayLike) -> Floats:
    """Normalise rows in float64."""
    exact = np.asarray(rows, dtype=np.float64)
    off = np.linalg.norm(exact, axis=-1, keepdims=True) - 1.0
    bad = np.flatnonzero(~(np.abs(off) <= _UNIT_TOLERANCE))
    if bad.size:
        raise ValueError(f"Row {bad[0]} must have length 1; normalise it with sgi.geometry.unit.")
    return exact if np.all(np.abs(off) <= _EXACT) else exact / (1.0 + off)
