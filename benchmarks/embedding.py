"""Compare texts per second of the embedder and of sentence-transformers on texts of HaluEval.

    python benchmarks/embedding.py [--quick]

Both use the weights of the embedded model, float32 and all cores.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness import REPEATS, Figure, benchmark_main, rate_figure, time_alternately
from material import texts as halueval_texts
from peer_processes import start_peer
from sgi.models.embedder.load_embedder import load_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = 250
"""Rows of HaluEval with four texts each."""
TARGET = 2.5


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure the embedder and the peer alternately."""
    texts = halueval_texts(25 if quick else ROWS)
    embedder = load_embedder("minilm")
    work: dict[str, Callable[[], object]] = {"ours": partial(embedder.embed, texts)}
    with ExitStack() as stack:
        other, note = start_peer(stack, "encoders", "sentence_transformers", same_weights=True, texts=texts)
        if other is not None:
            work["peer"] = other.run
        times = time_alternately(work, 1 if quick else REPEATS)
        if other is not None:
            cosines = np.vecdot(embedder.embed(texts), np.asarray(other.result(), dtype=np.float32))
            note += f"; cosine mean {cosines.mean():.5f}, minimum {cosines.min():.5f}"
    yield rate_figure(
        f"embed {len(texts):,} texts",
        "texts/s",
        times,
        len(texts),
        beside="sentence-transformers f32",
        wanted=TARGET,
        note=note,
    )


if __name__ == "__main__":
    benchmark_main(measure)
