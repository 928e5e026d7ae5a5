"""The token vectors of a batch, a part of its rows at a time, and how rare tokens are in the whole data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import numpy as np

from sgi.engine.in_thread import in_thread
from sgi.kernel.errors import EmbedderError, NonFiniteVectorError, UsageError
from sgi.kernel.sample import REFERENCE
from sgi.kernel.tokens import TokenFrequencies, TokenTable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence

    from sgi.engine.resources import Resources
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import TokenEncoder
    from sgi.kernel.sample import Batch
    from sgi.kernel.tokens import TokenModel

MOST_BYTES = 64 << 20
"""What token vectors held at once may take, as long as no row alone takes more."""

_FLOAT = np.dtype(np.float32).itemsize


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """What a model made of the texts of some rows.

    Attributes:
        model: the model.
        table: the vectors, empty where there is a failure.
        unusable: texts for which the model has none.
        failure: why there are none at all.
    """

    model: TokenModel
    table: TokenTable
    unusable: frozenset[str] = frozenset()
    failure: str = ""


def require_token_models(metrics: Iterable[AnyMetric], resources: Resources) -> None:
    """Raise a UsageError where a metric wants a token model that is not open, or lacks the whole data."""
    for metric in metrics:
        model = metric.token_model
        if model is None:
            continue
        if model not in resources.token_encoders:
            message = (
                f"The metric {metric.canonical!r} wants token vectors of {model}, which is not open here."
            )
            raise UsageError(message, hint="Score it with `sgi run` or sgi.evaluate.")
        if metric.weighs_tokens and model not in resources.frequencies:
            message = f"The metric {metric.canonical!r} weighs tokens by all references of the data"
            hint = (
                "Here rows come one by one; score the whole with `sgi run` or sgi.evaluate, or leave out idf."
            )
            raise UsageError(f"{message}.", hint=hint)


async def token_parts(
    model: TokenModel, resources: Resources, texts: Sequence[Sequence[str]]
) -> AsyncIterator[tuple[range, TokenVectors]]:
    """The token vectors of consecutive rows, as many rows at once as stay within `MOST_BYTES`.

    Each distinct text of a part is encoded once. What goes wrong is told in the part.

    Args:
        model: whose vectors.
        resources: hold its encoder, and the frequencies if they were counted.
        texts: of each row.

    Returns:
        The rows of each part, which together are all rows, and the vectors of their texts.
    """
    encoder = resources.token_encoders[model]
    distinct = list(dict.fromkeys(text for row in texts for text in row))
    try:
        sizes = await anyio.to_thread.run_sync(_sizes, encoder, distinct, abandon_on_cancel=True)
    except EmbedderError as error:
        yield range(len(texts)), TokenVectors(model, _empty(model), failure=str(error))
        return
    for rows in row_parts(texts, sizes, MOST_BYTES):
        wanted = list(dict.fromkeys(text for row in rows for text in texts[row]))
        made = await _encoded(model, encoder, wanted)
        counted = replace(made.table, frequencies=resources.frequencies.get(model))
        yield rows, replace(made, table=counted)


def row_parts(texts: Sequence[Sequence[str]], sizes: Mapping[str, int], most: int) -> Iterator[range]:
    """Consecutive rows whose distinct texts take no more than ``most`` in all, or one row that takes more.

    >>> list(row_parts([["a"], ["a", "b"], ["c"]], {"a": 3, "b": 2, "c": 4}, 5))
    [range(0, 2), range(2, 3)]
    """
    start, held, size = 0, set[str](), 0
    for row, own in enumerate(texts):
        added = sum(sizes[text] for text in set(own) - held)
        if row > start and size + added > most:
            yield range(start, row)
            start, held, size = row, set(), 0
            added = sum(sizes[text] for text in set(own))
        held.update(own)
        size += added
    if start < len(texts):
        yield range(start, len(texts))


def _sizes(encoder: TokenEncoder, texts: Sequence[str]) -> dict[str, int]:
    """What the token vectors of each text take, in bytes."""
    if not texts:
        return {}
    row = _FLOAT * encoder.dimension
    return {text: row * len(ids) for text, ids in zip(texts, encoder.token_ids(texts), strict=True)}


async def _encoded(model: TokenModel, encoder: TokenEncoder, texts: Sequence[str]) -> TokenVectors:
    """The vectors of these texts; those for which the model has none are named and left out."""
    unusable: frozenset[str] = frozenset()
    while True:
        asked = [text for text in texts if text not in unusable]
        if not asked:
            return TokenVectors(model, _empty(model), unusable)
        try:
            table = await in_thread(encoder.encode_tokens, asked)
        except EmbedderError as error:
            named = frozenset(error.texts if isinstance(error, NonFiniteVectorError) else ()) - unusable
            if not named:
                return TokenVectors(model, _empty(model), failure=str(error))
            unusable |= named
        else:
            return TokenVectors(model, table, unusable)


def _empty(model: TokenModel) -> TokenTable:
    return TokenTable.checked(str(model), [], [], np.zeros((0, 0), dtype=np.float32), special=())


async def with_frequencies(
    batches: Iterable[Batch], metrics: Iterable[AnyMetric], resources: Resources
) -> Resources:
    """The resources, and for models of metrics that weigh tokens, in how many references each token stands.

    Args:
        batches: the whole data; read only if some metric wants it.
        metrics: what will be scored.
        resources: hold the encoders.

    Raises:
        EmbedderError: a model's tokenizer cannot be used.
    """
    weighing = [metric.token_model for metric in metrics if metric.weighs_tokens]
    counts = {model: TokenFrequencies.none() for model in weighing if model is not None}
    if counts.keys() <= resources.frequencies.keys():
        return resources
    for batch in batches:
        known = batch.take(np.flatnonzero(batch.present(REFERENCE)))
        texts = [text for text in known.references.values if text.strip()]
        for model, counted in counts.items():
            ids = await anyio.to_thread.run_sync(resources.token_encoders[model].token_ids, texts)
            counts[model] = counted.counting(ids)
    return replace(resources, frequencies=counts)
