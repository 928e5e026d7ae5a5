"""Angles and cosines between unit rows, exact where rows nearly coincide, block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


# The differences of one block stay in the nearest caches until they are summed.
_BLOCK_BYTES = 2**18
# A quarter of ‖u−v‖² + ‖u+v‖² is the mean of the two squared lengths: 1 for unit rows, at no extra cost.
_UNIT_TOLERANCE = 1e-3


def angle(u: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """Angle between unit rows.

    Computed as 2·atan2(‖u−v‖, ‖u+v‖), which keeps its digits where arccos loses half of them: at a true
    angle of 1e-3, float32 rows give it to 1e-5. A row's angle does not depend on the rows beside it.

    Args:
        u: unit rows, shape (n, d).
        v: unit rows, shape (n, d).

    Returns:
        Angles in radians, in [0, π], shape (n,).

    Raises:
        ValueError: shapes differ, or rows are not of unit length (zero, NaN and infinity among them).

    Source: W. Kahan, "How Futile are Mindless Assessments of Roundoff in Floating-Point Computation?", §12.

    >>> angle(np.eye(2), np.eye(2)[::-1]).round(6).tolist()
    [1.570796, 1.570796]
    """
    apart, together = _squared_chords(u, v)
    return 2.0 * np.arctan2(np.sqrt(apart), np.sqrt(together))


def cosine(u: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """Cosine between unit rows, by (‖u+v‖² − ‖u−v‖²) / (‖u+v‖² + ‖u−v‖²).

    It is exactly 1 for equal rows and −1 for opposite ones.

    Args:
        u: unit rows, shape (n, d).
        v: unit rows, shape (n, d).

    Returns:
        Cosines in [−1, 1], shape (n,).

    Raises:
        ValueError: as for `angle`.

    Source: the parallelogram law.

    >>> cosine(np.eye(2), np.eye(2)).tolist()
    [1.0, 1.0]
    """
    apart, together = _squared_chords(u, v)
    return (together - apart) / (together + apart)


def unit(vectors: ArrayLike) -> NDArray[np.float64]:
    """Vectors at length one, v / ‖v‖, in float64.

    Args:
        vectors: shape (d,), or rows of shape (n, d).

    Returns:
        The same shape; lengths are 1 to 1e-15, whatever their size was.

    Raises:
        ValueError: a vector is zero or holds NaN or infinity, or the shape is another.

    Source: metrics of direction are defined on the unit sphere (Marín 2025, arXiv:2512.13771, algorithm 1).

    >>> unit([3.0, 4.0]).tolist()
    [0.6, 0.8]
    """
    array = _numbers(vectors)
    if array.ndim not in (1, 2):
        raise ValueError(f"Vectors have shape (d,) or (n, d), not {array.shape}.")
    # Scaled by the largest entry first, so that no square overflows or vanishes.
    largest = np.max(np.abs(array), axis=-1, keepdims=True, initial=0.0)
    bad = np.flatnonzero(~(np.isfinite(largest) & (largest > 0)))
    if bad.size:
        place = f"Row {bad[0]} of the vectors" if array.ndim == 2 else "The vector"  # noqa: PLR2004 - rows, columns
        raise ValueError(f"{place} is zero or not finite; such a vector has no direction.")
    scaled = array.astype(np.float64) / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def _numbers(values: ArrayLike) -> NDArray[Any]:
    """The values as float32 or float64; anything but real numbers is an error."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"Vectors hold real numbers, not {array.dtype}.")
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def _squared_chords(u: ArrayLike, v: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """‖u−v‖² and ‖u+v‖² of each pair of rows."""
    left, right = _numbers(u), _numbers(v)
    if left.ndim != 2 or left.shape != right.shape:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"Rows of one shape (n, d) are wanted, not {left.shape} and {right.shape}.")
    n, dimension = left.shape
    kind = np.result_type(left, right)
    step = max(1, _BLOCK_BYTES // max(1, dimension * kind.itemsize))
    room = np.empty((min(n, step), dimension), dtype=kind)
    apart, together = np.empty(n), np.empty(n)
    with np.errstate(invalid="ignore", over="ignore"):  # told below, in words
        for start in range(0, n, step):
            block = slice(start, start + step)
            here = room[: len(left[block])]
            # Near-equal float32 numbers subtract exactly; each row is summed alone, so blocks leave no trace.
            np.subtract(left[block], right[block], out=here)
            apart[block] = np.vecdot(here, here)
            np.add(left[block], right[block], out=here)
            together[block] = np.vecdot(here, here)
        bad = np.flatnonzero(~(np.abs((apart + together) / 4.0 - 1.0) <= _UNIT_TOLERANCE))
    if bad.size:
        raise ValueError(f"Row {bad[0]} is not of unit length; sgi.geometry.unit brings rows to it.")
    return apart, together
