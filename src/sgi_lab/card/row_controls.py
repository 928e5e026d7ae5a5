"""Trivial scores of the rows of a detector card, and contexts of other questions."""

from __future__ import annotations

import math
from itertools import chain, compress, cycle
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
    from collections.abc import Hashable, Iterable, Sequence

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


def shuffled_contexts(
    samples: Sequence[Sample], *, seed: int = 0, questions: bool = True
) -> list[tuple[str, ...]] | None:
    """Return passages of another question for each sample, never of its own and never equal to its own.

    Samples that share a question or passages, directly or through others, form a group. Each group takes the
    passages of the next group in a random circle, in order; if that group is smaller, its passages repeat.

    A blank question is not shared. ``questions`` says whether rows that share only their question form a
    group. The result is None with fewer than two groups.

    >>> from sgi.kernel.sample import Sample
    >>> rows = [Sample(id=n, question=n[0], contexts=(f"about {n[0]}",)) for n in ("a1", "a2", "b1")]
    >>> shuffled_contexts(rows)
    [('about b',), ('about b',), ('about a',)]
    """
    groups = _groups(samples, questions=questions)
    if len(groups) < 2:  # noqa: PLR2004 - one group has no other
        return None
    circle = np.random.default_rng(seed).permutation(len(groups)).tolist()
    passages: list[tuple[str, ...]] = [()] * len(samples)
    for group, other in zip(circle, [*circle[1:], circle[0]], strict=True):
        for row, source in zip(groups[group], cycle(groups[other]), strict=False):
            passages[row] = samples[source].contexts
    return passages


def _groups(samples: Sequence[Sample], *, questions: bool) -> list[list[int]]:
    """Return the rows of each group, in the order of their first rows."""
    parents: dict[Hashable, Hashable] = {}

    def root(node: Hashable) -> Hashable:
        while parents.setdefault(node, node) != node:
            parents[node] = parents[parents[node]]  # shortens later searches
            node = parents[node]
        return node

    nodes = [
        ("question", sample.question if questions and sample.question.strip() else row)
        for row, sample in enumerate(samples)
    ]
    for node, sample in zip(nodes, samples, strict=True):
        parents[root(("passages", sample.contexts))] = root(node)
    groups: dict[Hashable, list[int]] = {}
    for row, node in enumerate(nodes):
        groups.setdefault(root(node), []).append(row)
    return list(groups.values())
