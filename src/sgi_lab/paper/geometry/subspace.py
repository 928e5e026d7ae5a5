"""Residuals of vectors outside the principal axes of others, from inner products alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Axes below this share of the largest eigenvalue are rounding errors.
_LEAST_SHARE = 1e-10


def principal_axes(gram: Floats) -> tuple[Floats, Floats]:
    """Return the principal axes of vectors x_1 … x_k, from their inner products, shape (…, k, k).

    Axis j is Σ_i u_ij x_i / √λ_j for the eigenpairs (λ_j, u_j) of the matrix. The cost does not depend on the
    dimension of the vectors.

    Returns:
        Eigenvalues λ_j, descending, shape (…, k), with rounding errors set to 0; and the coefficients u_j /
        √λ_j as columns, shape (…, k, k), 0 for an eigenvalue of 0.

    Source: Schölkopf, Smola and Müller (1998), Neural Computation 10, for the linear kernel.

    >>> values, _ = principal_axes(np.diag([1.0, 4.0, 0.0]))
    >>> values.tolist()
    [4.0, 1.0, 0.0]
    """
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[..., ::-1], vectors[..., ::-1]
    kept = values > _LEAST_SHARE * np.maximum(values[..., :1], 0.0)
    coefficients = vectors / np.sqrt(np.where(kept, values, 1.0))[..., None, :]
    return np.where(kept, values, 0.0), np.where(kept[..., None, :], coefficients, 0.0)


def squared_residuals(coefficients: Floats, cross: Floats, squared: Floats) -> Floats:
    """Return squared distances of y to the span of the first m axes, for m from 0 to k, shape (…, k + 1).

    ``coefficients`` are those of `principal_axes`, shape (…, k, k), ``cross`` the inner products ⟨x_i, y⟩,
    shape (…, k), and ``squared`` is ‖y‖². The error is about 1e-15·‖y‖².

    >>> _, axes = principal_axes(np.diag([4.0, 1.0]))  # x_1 = (2, 0), x_2 = (0, 1), y = (3, 4)
    >>> squared_residuals(axes, np.array([6.0, 4.0]), np.array(25.0)).tolist()
    [25.0, 16.0, 0.0]
    """
    inside = np.square((cross[..., None, :] @ coefficients)[..., 0, :])
    outside = squared[..., None] - np.cumsum(inside, axis=-1)
    return np.concatenate([squared[..., None], np.maximum(outside, 0.0)], axis=-1)


def held_out_residuals(gram: Floats) -> Floats:
    """Return squared residuals of each vector outside the first m axes of the others, about their mean.

    ``gram`` has shape (…, k, k), k ≥ 2; so has the result, for each vector left out and m from 0 to k − 1.

    >>> held_out_residuals(np.eye(3))[0].round(6).tolist()  # (1, 0, 0), seen from midway between the others
    [1.5, 1.5, 1.5]
    """
    count = gram.shape[-1]
    own = np.eye(count, dtype=np.bool_)
    # Row i of `about` subtracts the mean of all vectors but i.
    about = np.eye(count) - (~own)[:, None, :] / (count - 1)
    moved = about @ gram[..., None, :, :] @ about.mT
    others = np.nonzero(~own)[1].reshape(count, count - 1)
    each = np.arange(count)
    among = moved[..., each[:, None, None], others[:, :, None], others[:, None, :]]
    cross = moved[..., each[:, None], others, each[:, None]]
    return squared_residuals(principal_axes(among)[1], cross, np.maximum(moved[..., each, each, each], 0.0))


def fewest_axes(residuals: Floats, dimension: int) -> NDArray[np.int64]:
    """Return the least number of axes with a mean squared residual within one standard error of the best.

    Residuals are compared per remaining dimension, r(m) / (D − m), because a random axis also reduces them.

    Args:
        residuals: squared, for each vector left out and m from 0 on, shape (…, k, m + 1), k ≥ 2.
        dimension: D of the space, above every m.

    Source: Hastie, Tibshirani and Friedman, "The Elements of Statistical Learning" (2009), §7.10.

    >>> fewest_axes(np.array([[9.0, 2.1, 2.0], [8.0, 1.2, 1.0]]), dimension=100).tolist()
    1
    """
    losses = residuals / (dimension - np.arange(residuals.shape[-1]))
    mean = losses.mean(axis=-2)
    best = mean.argmin(axis=-1)[..., None]
    error = losses.std(axis=-2, ddof=1) / np.sqrt(losses.shape[-2])
    most = np.take_along_axis(mean + error, best, axis=-1)
    # Tolerate rounding between equal values.
    return np.asarray((mean <= most + _LEAST_SHARE * mean[..., :1]).argmax(axis=-1))
