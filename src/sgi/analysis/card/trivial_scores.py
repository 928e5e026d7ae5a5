"""Trivial scores of a detector card: length, content-word precision, verbatim copies and cosines."""

from __future__ import annotations

import math
from itertools import chain, compress
from typing import TYPE_CHECKING

import anyio.to_thread
import numpy as np

from sgi.geometry.angles import cosine
from sgi.kernel.protocols import embedder_name, encode
from sgi.kernel.sample import Field
from sgi.kernel.vectors import VectorTable
from sgi.metrics.grounding.content_precision import content_word_precisions
from sgi.text.overlap import is_verbatim, token_precisions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import Embedder
    from sgi.kernel.sample import Sample

    Floats = NDArray[np.float64]


def lengths(samples: Sequence[Sample]) -> Floats:
    """Return the number of characters of each response, NaN without a response."""
    return np.array([len(s.response) if s.has(Field.RESPONSE) else math.nan for s in samples], dtype=float)


def precisions(samples: Sequence[Sample]) -> Floats:
    """Return the content-word precision of each response, NaN without contexts or content words."""
    texts = (((s.response, s.contexts) if _has_texts(s) else ("", ())) for s in samples)
    return np.array(content_word_precisions(texts), dtype=float)


def overlaps(samples: Sequence[Sample]) -> Floats:
    """Return the share of each response's distinct words in its contexts, NaN without one of them."""
    shares = token_precisions((s.response, s.contexts) for s in samples)
    return np.array([value if _has_texts(s) else math.nan for s, value in zip(samples, shares, strict=True)])


def verbatim(samples: Sequence[Sample]) -> Floats:
    """Return 1 if a passage contains the response verbatim, 0 if not, NaN without response or contexts."""
    copies = (is_verbatim(s.response, s.contexts) if _has_texts(s) else math.nan for s in samples)
    return np.fromiter(copies, dtype=float)


def _has_texts(sample: Sample) -> bool:
    return sample.has(Field.RESPONSE) and bool(sample.contexts)


async def cosines(samples: Sequence[Sample], embedder: Embedder) -> tuple[Floats, Floats]:
    """Return the cosine of each response with its question, and with its nearest passage.

    Both are in [−1, 1], shape (n,), and NaN if a text is blank, absent or not read by the embedder.

    Raises:
        EmbedderError: there are no usable vectors.
    """
    questions = [_pairs(sample, [sample.question]) for sample in samples]
    passages = [_pairs(sample, sample.contexts) for sample in samples]
    texts = sorted({text for pairs in (*questions, *passages) for pair in pairs for text in pair})
    if not texts:
        return np.full(len(samples), math.nan), np.full(len(samples), math.nan)
    vectors = await anyio.to_thread.run_sync(encode, embedder, texts, abandon_on_cancel=True)
    unread = compress(texts, vectors.unread.tolist())
    table = VectorTable.of(embedder_name(embedder), texts, vectors.rows, unread=unread)
    return _greatest_cosines(questions, table), _greatest_cosines(passages, table)


def _pairs(sample: Sample, others: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of the response with each of the other texts that is not blank."""
    return [(sample.response, other) for other in others if sample.response.strip() and other.strip()]


def _greatest_cosines(rows: Sequence[Sequence[tuple[str, str]]], table: VectorTable) -> Floats:
    read = [[pair for pair in pairs if table.unread.isdisjoint(pair)] for pairs in rows]
    flat = [*chain.from_iterable(read)]
    greatest = np.full(len(rows), -math.inf)
    if flat:
        left, right = (table.rows([pair[side] for pair in flat]).astype(np.float64) for side in (0, 1))
        numbers = np.repeat(np.arange(len(rows)), [len(pairs) for pairs in read])
        np.maximum.at(greatest, numbers, cosine(left, right))
    return np.where(np.isinf(greatest), math.nan, greatest)
