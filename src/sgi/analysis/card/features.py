"""What can be read off a sample without looking at meaning: the trivial scores of a detector card."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import anyio.to_thread
import numpy as np

from sgi.geometry.angles import cosine
from sgi.kernel.protocols import embedder_name, encode
from sgi.kernel.sample import Field
from sgi.kernel.vectors import VectorTable
from sgi.text.overlap import is_verbatim, token_precision

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import Embedder
    from sgi.kernel.sample import Sample

    Floats = NDArray[np.float64]


def lengths(samples: Sequence[Sample]) -> Floats:
    """Characters of each response; NaN where there is none."""
    return np.array([len(s.response) if s.has(Field.RESPONSE) else math.nan for s in samples], dtype=float)


def overlaps(samples: Sequence[Sample]) -> Floats:
    """The share of each response's words found in its contexts; NaN without response or contexts."""
    return np.array(
        [token_precision(s.response, s.contexts) if _has_answer(s) else math.nan for s in samples],
        dtype=float,
    )


def verbatim(samples: Sequence[Sample]) -> Floats:
    """1 where the response stands in a passage as it is, else 0; NaN without response or contexts."""
    found = [is_verbatim(s.response, s.contexts) if _has_answer(s) else math.nan for s in samples]
    return np.array(found, dtype=float)


def _has_answer(sample: Sample) -> bool:
    return sample.has(Field.RESPONSE) and bool(sample.contexts)


async def cosines(samples: Sequence[Sample], embedder: Embedder) -> tuple[Floats, Floats]:
    """The cosine of each response with its question, and with the passage that is nearest to it.

    Args:
        samples: the rows.
        embedder: of all texts.

    Returns:
        Both in [−1, 1], NaN where one of the two texts is blank or absent, shape (n,).

    Raises:
        EmbedderError: there are no usable vectors.
    """
    of_question = [_pairs(sample, [sample.question]) for sample in samples]
    of_passages = [_pairs(sample, sample.contexts) for sample in samples]
    texts = {text for found in (*of_question, *of_passages) for pair in found for text in pair}
    if not texts:
        return np.full(len(samples), math.nan), np.full(len(samples), math.nan)
    asked = sorted(texts)
    made = await anyio.to_thread.run_sync(encode, embedder, asked, abandon_on_cancel=True)
    table = VectorTable.of(embedder_name(embedder), asked, made.rows)
    return _nearest(of_question, table), _nearest(of_passages, table)


def _pairs(sample: Sample, others: Iterable[str]) -> list[tuple[str, str]]:
    """The response beside each of the others, blank texts left out."""
    return [(sample.response, other) for other in others if sample.response.strip() and other.strip()]


def _nearest(pairs: Sequence[Sequence[tuple[str, str]]], table: VectorTable) -> Floats:
    """The greatest cosine of each row's pairs."""
    flat = [pair for found in pairs for pair in found]
    best = np.full(len(pairs), -math.inf)
    if flat:
        left, right = (table.rows([pair[side] for pair in flat]).astype(np.float64) for side in (0, 1))
        rows = np.repeat(np.arange(len(pairs)), [len(found) for found in pairs])
        np.maximum.at(best, rows, cosine(left, right))
    return np.where(np.isinf(best), math.nan, best)
