"""Limits on the work of one ``POST /score``."""

from collections.abc import Sequence

import anyio.to_thread

from sgi.kernel.errors import UsageError
from sgi.kernel.metric import AnyMetric
from sgi.kernel.sample import Batch, Sample

MAX_TEXTS = 4096
"""The maximum number of texts to embed in one call. At 41 tokens each, the bundled model needs 58 s of CPU
time.
"""

MAX_COMPARED = 20_000_000_000
"""The maximum number of pairs of characters (response × reference, over all metrics) for one call; the
slowest metric compares 30 billion pairs per second.
"""

_TEXT = 160  # characters of a usual text of 41 tokens
_LONG = 8192  # characters; calls with fewer are accepted without counting the texts
_FEW = 64  # texts; likewise


async def check_size(samples: Sequence[Sample], metrics: Sequence[AnyMetric]) -> None:
    """Raise a UsageError if the rows have too many texts to embed, or too much text to compare."""
    texts = [text for sample in samples for text in _texts_of(sample)]
    compared = sum(len(row.response) * sum(map(len, row.references)) for row in samples) * len(metrics)
    if compared > MAX_COMPARED:
        message = f"These rows need {compared:,} character comparisons; the limit is {MAX_COMPARED:,}."
        raise UsageError(message, hint="Give fewer rows, metrics or references, or shorter ones.")
    if len(texts) < _FEW and sum(map(len, texts)) < _LONG:
        return
    count = await anyio.to_thread.run_sync(_count_texts, Batch(tuple(samples)), metrics)
    if count > MAX_TEXTS:
        message = f"These rows have {count:,} texts to embed; the limit is {MAX_TEXTS:,}."
        raise UsageError(message, hint="Give fewer rows, or name sgi(sentences=false).")


def _count_texts(batch: Batch, metrics: Sequence[AnyMetric]) -> int:
    embedded_texts, token_texts = set[str](), set[str]()
    for metric in metrics:
        prepared = metric.prepare(batch.take(batch.present(metric.spec.needs).nonzero()[0]))
        embedded_texts.update(metric.vector_needs.texts(prepared) if metric.vector_needs else ())
        token_texts.update(metric.token_needs.token_texts(prepared) if metric.token_needs else ())
    return len(embedded_texts) + sum(1 + len(text) // _TEXT for text in token_texts)  # not truncated


def _texts_of(sample: Sample) -> tuple[str, ...]:
    return (sample.question, *sample.contexts, sample.response, *sample.references)
