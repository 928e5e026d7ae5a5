"""Displacement scores relative to the context; they need no reference set.

Sentences of all rows are stored one after another: row i has ``sentences[offsets[i]:offsets[i + 1]]``, as in
`sgi.kernel.sample_parts`. Other arguments are unit rows, shape (n, d). All scores raise ValueError if shapes
differ or a row is not of unit length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.geometry.angles import angle
from sgi_lab.paper.geometry.displacement import cosine_of_tangents
from sgi_lab.paper.geometry.sphere import log_map
from sgi_lab.paper.geometry.subspace import principal_axes, squared_residuals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_BLOCK_BYTES = 2**22
_LEAST_LENGTH = 1e-12


def context_displacement_consistency(contexts: ArrayLike, sentences: ArrayLike, offsets: ArrayLike) -> Floats:
    """Measure whether the sentences of a response leave its context in one direction.

    It is the mean of cos(Log_c s_i, Log_c s_{i+1}) over consecutive sentences of the response. The published
    notebook calls high values grounded. For fewer than two sentences it gives 0; this function gives NaN.

    Returns values in [−1, 1], shape (n,); NaN if no two consecutive sentences leave the context.

    Source: Marín, notebook "03_displacement_consistency", with tangent vectors for differences.
    """
    bases, rows, ends = map(np.asarray, (contexts, sentences, offsets))
    owners = np.repeat(np.arange(len(bases)), np.diff(ends))
    ways = log_map(bases[owners], rows)
    together = np.flatnonzero(owners[1:] == owners[:-1])
    cosines = cosine_of_tangents(ways[together], ways[together + 1])
    known = ~np.isnan(cosines)
    total = np.bincount(owners[together][known], cosines[known], len(bases))
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.bincount(owners[together][known], minlength=len(bases)))


def context_tangent_residual(
    contexts: ArrayLike, responses: ArrayLike, sentences: ArrayLike, offsets: ArrayLike, *, axes: int = 3
) -> Floats:
    """Measure how much of the displacement from context to response is outside the context's sentences.

    It is the length of Log_c r outside the first m principal axes of Log_c s_j about c, divided by ‖Log_c r‖:
    the sine of the angle between the two. Low means grounded. The source does not use c as centre.

    ``offsets`` delimits the sentences of each context; ``axes`` is m, at least 1. A context of fewer
    sentences has as many axes as sentences.

    Returns values in [0, 1], shape (n,); NaN if the response is the context or its antipode, or if every
    sentence equals the context.

    Source: Marín, notebook "03_displacement_consistency", with the context's sentences for
    reference responses.
    """
    bases, rows, ends = map(np.asarray, (contexts, sentences, offsets))
    way = log_map(bases, responses)
    squared = np.vecdot(way, way)
    share = np.full(len(bases), np.nan)
    for chosen, count in _of_equal_count(ends, bases.shape[1]):
        ways = log_map(bases[chosen][:, None], rows[ends[chosen][:, None] + np.arange(count)])
        values, coefficients = principal_axes(ways @ ways.mT)
        cross = (ways @ way[chosen][..., None])[..., 0]
        outside = squared_residuals(coefficients, cross, squared[chosen])[:, min(axes, count)]
        spanned = (values[:, 0] > _LEAST_LENGTH**2) & (squared[chosen] > _LEAST_LENGTH**2)
        share[chosen[spanned]] = np.sqrt(outside[spanned] / squared[chosen][spanned])
    return share


def context_local_grounding_index(
    questions: ArrayLike, contexts: ArrayLike, sentences: ArrayLike, offsets: ArrayLike
) -> Floats:
    """Compute SGI of a response's sentences as Σ θ(s_i, q) / Σ θ(s_i, c). High means grounded.

    Returns values in [0, ∞], shape (n,); ∞ if every sentence equals the context, NaN without a sentence.

    Source: Marín, notebook "03_displacement_consistency", as a ratio of means.
    """
    starts, bases, rows, ends = map(np.asarray, (questions, contexts, sentences, offsets))
    owners = np.repeat(np.arange(len(bases)), np.diff(ends))
    from_question = np.bincount(owners, angle(rows, starts[owners]), len(bases))
    from_context = np.bincount(owners, angle(rows, bases[owners]), len(bases))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(from_question / from_context)


def displacement_alignment(questions: ArrayLike, contexts: ArrayLike, responses: ArrayLike) -> Floats:
    """Measure how far r leaves q in the direction of c: cos(Log_q r, Log_q c). High means grounded.

    Returns values in [−1, 1], shape (n,); NaN if context or response is the question or its antipode.

    Source: the spherical law of cosines; its use as a score is new.
    """
    return cosine_of_tangents(log_map(questions, responses), log_map(questions, contexts))


def _of_equal_count(offsets: NDArray[np.int64], dimension: int) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield batches of rows with the same number of sentences, and that number."""
    counts = np.diff(offsets)
    for count in np.unique(counts[counts > 0]).tolist():
        of_count = np.flatnonzero(counts == count)
        step = max(1, _BLOCK_BYTES // (8 * count * dimension))
        for start in range(0, len(of_count), step):
            yield of_count[start : start + step], count
