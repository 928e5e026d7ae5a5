"""Limits on the work of one ``POST /score``."""

from collections.abc import Sequence

import anyio.to_thread

from sgi.kernel.errors import UsageError
from sgi.kernel.metric import AnyMetric
from sgi.kernel.sample import Batch, Sample

MAX_TEXTS = 4096
"""The maximum number of texts to embed in one call; each window of a long text counts. At 41 tokens each, the
bundled model needs 58 s of CPU time.
"""

MAX_COMPARED = 20_000_000_000
"""The maximum number of pairs of characters (response × reference, over all metrics) for one call; the
slowest metric compares 30 billion pairs per second.
"""

_TEXT = 160  # characters of a usual text of 41 tokens
_WINDOW = 1000  # bytes of UTF-8 of 256 tokens, the limit of the bundled model
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
        what = "texts to embed (each window of a long text counts)"
        message = f"These rows have {count:,} {what}; the limit is {MAX_TEXTS:,}."
        raise UsageError(message, hint="Give fewer or shorter rows, or name sgi(sentences=false).")


def _count_texts(batch: Batch, metrics: Sequence[AnyMetric]) -> int:
    embedded_texts, token_texts = set[str](), set[str]()
    for metric in metrics:
        prepared = metric.prepare(batch.take(batch.present(metric.spec.needs).nonzero()[0]))
        embedded_texts.update(metric.vector_needs.texts(prepared) if metric.vector_needs else ())
        token_texts.update(metric.token_needs.token_texts(prepared) if metric.token_needs else ())
    windows = sum(map(_windows, embedded_texts))
    return windows + sum(1 + len(text) // _TEXT for text in token_texts)


def _windows(text: str) -> int:
    """Return about how many windows an embedder reads for this text."""
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // _WINDOW))


def _texts_of(sample: Sample) -> tuple[str, ...]:
    return (sample.question, *sample.contexts, sample.response, *sample.references)
