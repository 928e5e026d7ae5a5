"""Compute token vectors for a part of the rows at a time, and token frequencies over the whole data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import numpy as np

from sgi.engine.in_thread import in_thread
from sgi.engine.plan import batches
from sgi.kernel.errors import EmbedderError, NonFiniteVectorError
from sgi.kernel.sample import REFERENCE
from sgi.kernel.tokens import TokenFrequencies, TokenTable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence

    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import TokenEncoder
    from sgi.kernel.sample import Sample
    from sgi.kernel.tokens import TokenModel

MAX_BYTES = 64 << 20
"""Memory for the token vectors of a part, unless a single row needs more."""

_FLOAT = np.dtype(np.float32).itemsize


@dataclass(frozen=True, eq=False)
class TokenFeatures:
    """The token vectors of some rows.

    Attributes:
        model: the model.
        table: the vectors; empty where the model failed.
        unusable: texts without token vectors.
        failure: why there are no vectors at all; empty where there are some.
    """

    model: TokenModel
    table: TokenTable
    unusable: frozenset[str] = frozenset()
    failure: str = ""


async def token_parts(
    model: TokenModel, resources: Resources, texts: Sequence[Sequence[str]]
) -> AsyncIterator[tuple[range, TokenFeatures]]:
    """Encode consecutive rows, as many at once as fit into `MAX_BYTES`; each distinct text of a part once.

    Args:
        model: the model.
        resources: hold its encoder, and the frequencies if they were counted.
        texts: the texts of each row.

    Yields:
        The rows of each part, which together are all rows, and the vectors of their texts.
    """
    encoder = resources.token_encoders[model]
    distinct = list(dict.fromkeys(text for row in texts for text in row))
    try:
        sizes = await anyio.to_thread.run_sync(_sizes, encoder, distinct, abandon_on_cancel=True)
    except EmbedderError as error:
        yield range(len(texts)), TokenFeatures(model, _empty(model), failure=str(error))
        return
    for rows in row_parts(texts, sizes, MAX_BYTES):
        part = await _encode(model, encoder, list(dict.fromkeys(text for row in rows for text in texts[row])))
        table = replace(part.table, frequencies=resources.frequencies.get(model))
        yield rows, replace(part, table=table)


def row_parts(texts: Sequence[Sequence[str]], sizes: Mapping[str, int], most: int) -> Iterator[range]:
    """Divide rows into parts whose distinct texts need at most ``most`` bytes, or that have one row.

    >>> list(row_parts([["a"], ["a", "b"], ["c"]], {"a": 3, "b": 2, "c": 4}, 5))
    [range(0, 2), range(2, 3)]
    """
    start, part_texts, size = 0, set[str](), 0
    for row, own in enumerate(texts):
        added = sum(sizes[text] for text in set(own) - part_texts)
        if row > start and size + added > most:
            yield range(start, row)
            start, part_texts, size = row, set(), 0
            added = sum(sizes[text] for text in set(own))
        part_texts.update(own)
        size += added
    if start < len(texts):
        yield range(start, len(texts))


def _sizes(encoder: TokenEncoder, texts: Sequence[str]) -> dict[str, int]:
    if not texts:
        return {}
    row = _FLOAT * encoder.dimension
    return {text: row * len(ids) for text, ids in zip(texts, encoder.token_ids(texts), strict=True)}


async def _encode(model: TokenModel, encoder: TokenEncoder, texts: Sequence[str]) -> TokenFeatures:
    """Encode texts in a thread; texts without token vectors are named and left out."""
    unusable: frozenset[str] = frozenset()
    while True:
        remaining = [text for text in texts if text not in unusable]
        if not remaining:
            return TokenFeatures(model, _empty(model), unusable)
        try:
            return TokenFeatures(model, await in_thread(encoder.encode_tokens, remaining), unusable)
        except EmbedderError as error:
            named = unusable_texts(error) - unusable
            if not named:
                return TokenFeatures(model, _empty(model), failure=str(error))
            unusable |= named


def _empty(model: TokenModel) -> TokenTable:
    return TokenTable.build(str(model), [], [], np.zeros((0, 0), dtype=np.float32), special=())


async def with_frequencies(
    samples: Iterable[Sample], metrics: Iterable[AnyMetric], resources: Resources
) -> Resources:
    """Add token frequencies over all references, for the models of metrics that weigh tokens.

    Args:
        samples: the whole data; read only if a metric weighs tokens.
        metrics: the metrics to score.
        resources: hold the encoders.

    Raises:
        EmbedderError: a model's tokenizer cannot be used.
    """
    needs = [metric.token_needs for metric in metrics]
    counts = {need.token_model: TokenFrequencies.none() for need in needs if need and need.weighs_tokens}
    if counts.keys() <= resources.frequencies.keys():
        return resources
    for batch in batches(samples):
        known = batch.take(np.flatnonzero(batch.present(REFERENCE)))
        texts = [text for text in known.references.values if text.strip()]
        for model, counted in counts.items():
            ids = await anyio.to_thread.run_sync(resources.token_encoders[model].token_ids, texts)
            counts[model] = counted.add(ids)
    return replace(resources, frequencies=counts)


def unusable_texts(error: EmbedderError) -> frozenset[str]:
    """Return the texts that caused an error; none if the model failed as a whole."""
    return frozenset(error.texts) if isinstance(error, NonFiniteVectorError) else frozenset()
