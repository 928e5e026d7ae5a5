"""Angles and cosines between unit vectors (vectors of length 1), precise for nearly equal vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_BLOCK_BYTES = 2**17  # a block and its difference fit into the CPU cache
_UNIT_TOLERANCE = 1e-3  # how far the mean of two squared lengths may be from 1
_CANCELLATION = 1.0  # below it, ‖u−v‖² + 4·u·v is less precise than the square of u + v


def angle(u: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """Return the angle between each row of u and the same row of v, in radians, in [0, π], shape (n,).

    Computed as 2·atan2(‖u−v‖, ‖u+v‖), because arccos loses half of the digits for small angles. The result
    for a row does not depend on other rows.

    Args:
        u: unit vectors as rows, shape (n, d).
        v: unit vectors as rows, shape (n, d).

    Raises:
        ValueError: the shapes differ, or a row does not have length 1 (it may be zero, or contain NaN).

    Source: W. Kahan, "How Futile are Mindless Assessments of Roundoff in Floating-Point Computation?", §12.

    >>> angle(np.eye(2), np.eye(2)[::-1]).round(6).tolist()
    [1.570796, 1.570796]
    """
    return angles_to(u, v)[0]


def angles_to(u: ArrayLike, *others: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    """Return the angles of u to each of several arrays, as `angle` does; each row of u is read only once.

    >>> [theta.round(4).tolist() for theta in angles_to(np.eye(2), np.eye(2), np.eye(2)[::-1])]
    [[0.0, 0.0], [1.5708, 1.5708]]
    """
    return tuple(
        2.0 * np.arctan2(np.sqrt(apart), np.sqrt(together)) for apart, together in _squared_chords(u, *others)
    )


def cosine(u: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """Return the cosine between each row of u and the same row of v, in [−1, 1], shape (n,).

    Computed as (‖u+v‖² − ‖u−v‖²) / (‖u+v‖² + ‖u−v‖²), which is exactly 1 for equal rows and −1 for opposite
    rows. Arguments and errors are as in `angle`.

    Source: the parallelogram law.

    >>> cosine(np.eye(2), np.eye(2)).tolist()
    [1.0, 1.0]
    """
    ((apart, together),) = _squared_chords(u, v)
    return (together - apart) / (together + apart)


def unit(vectors: ArrayLike) -> NDArray[np.float64]:
    """Divide each vector by its length, v / ‖v‖; the result is in float64.

    Args:
        vectors: shape (d,) or (n, d).

    Raises:
        ValueError: a vector is zero or contains NaN or infinity, or the shape is invalid.

    Source: Marín (2025), arXiv:2512.13771, algorithm 1.

    >>> unit([3.0, 4.0]).tolist()
    [0.6, 0.8]
    """
    array = _numbers(vectors)
    if array.ndim not in (1, 2):
        raise ValueError(f"The vectors must have shape (d,) or (n, d), not {array.shape}.")
    # Scale by the largest entry first, so that squares cannot overflow or underflow.
    largest = np.max(np.abs(array), axis=-1, keepdims=True, initial=0.0)
    bad = np.flatnonzero(~(np.isfinite(largest) & (largest > 0)))
    if bad.size:
        name = f"Row {bad[0]} of the vectors" if array.ndim == 2 else "The vector"
        raise ValueError(f"{name} is zero or not finite; such a vector has no direction.")
    scaled = array.astype(np.float64) / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def _numbers(values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"The vectors must hold real numbers, not {array.dtype}.")
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def _squared_chords(
    u: ArrayLike, *others: ArrayLike
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return ‖u−v‖² and ‖u+v‖² of each pair of rows, for each v."""
    left, rights = _numbers(u), [_numbers(other) for other in others]
    for right in rights:
        if left.ndim != 2 or left.shape != right.shape:
            raise ValueError(
                f"Both arrays must have the same shape (n, d), not {left.shape} and {right.shape}."
            )
    n = len(left)
    apart, together = np.empty((len(rights), n)), np.empty((len(rights), n))
    step = _rows_per_block(left, *rights)
    buffers = [np.empty((min(n, step), left.shape[-1]), np.result_type(left, right)) for right in rights]
    with np.errstate(invalid="ignore", over="ignore"):  # reported below
        for start in range(0, n, step):
            block = slice(start, start + step)
            rows = np.ascontiguousarray(left[block])  # other memory layouts change the last bits
            for at, (right, buffer) in enumerate(zip(rights, buffers, strict=True)):
                other, difference = np.ascontiguousarray(right[block]), buffer[: len(rows)]
                # Nearly equal float32 numbers subtract exactly. Rows are summed one by one.
                np.subtract(rows, other, out=difference)
                apart[at, block] = np.vecdot(difference, difference)
                together[at, block] = np.vecdot(rows, other)
        together = apart + 4.0 * together  # ‖u+v‖² = ‖u−v‖² + 4·u·v
    _check_lengths(apart + together)
    for right, sums in zip(rights, together, strict=True):
        _refine(left, right, sums)
    return list(zip(apart, together, strict=True))


def _rows_per_block(*arrays: NDArray[Any]) -> int:
    itemsize = max(array.itemsize for array in arrays)
    return max(1, _BLOCK_BYTES // max(1, int(arrays[0].shape[-1]) * itemsize))


def _refine(left: NDArray[Any], right: NDArray[Any], together: NDArray[np.float64]) -> None:
    """Recompute ‖u+v‖² from the sum itself where the value from u·v is imprecise."""
    opposite = np.flatnonzero(together < _CANCELLATION)
    step = _rows_per_block(left, right)
    for start in range(0, len(opposite), step):
        rows = opposite[start : start + step]
        sums = left[rows] + right[rows]
        together[rows] = np.vecdot(sums, sums)


def _check_lengths(squares: NDArray[np.float64]) -> None:
    """Raise if a length is not 1; ‖u−v‖² + ‖u+v‖² is four times the mean of the two squared lengths."""
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~(np.abs(squares / 4.0 - 1.0) <= _UNIT_TOLERANCE).all(axis=0))
    if bad.size:
        raise ValueError(f"Row {bad[0]} must have length 1; normalise it with sgi.geometry.unit.")
