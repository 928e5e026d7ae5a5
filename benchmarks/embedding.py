"""Compare texts per second of our backends and of sentence-transformers on texts of HaluEval.

    python benchmarks/embedding.py [--quick]

All use the weights of the embedded model. Our backends compute in the named precision, the peer in float32.
Cosines compare with the vectors of the peer, or with our float32 vectors if the peer is not installed.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness import REPEATS, Figure, benchmark_main, rate_figure, time_alternately
from material import texts as halueval_texts
from peer_processes import start_peer
from sgi.kernel.errors import SgiError
from sgi.models.embedder.load import load_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sgi.kernel.protocols import Embedder

ROWS = 250
"""Rows of HaluEval with four texts each."""
DEFAULT = "onnx f32"
BACKENDS = {
    DEFAULT: ("onnx", "f32"),
    "openvino f32": ("openvino", "f32"),
    "openvino int8": ("openvino", "int8"),
    "openvino bf16": ("openvino", "bf16"),
}
TARGET = 2.5


def open_embedders() -> tuple[dict[str, Embedder], str]:
    """Return the available backends, and the reasons why others are missing."""
    embedders, missing = {}, []
    for name, (backend, precision) in BACKENDS.items():
        try:
            embedder = load_embedder("minilm", backend=backend, precision=precision)
            embedder.embed(["warm"])
        except SgiError as error:
            missing.append(f"{name}: {str(error).splitlines()[0]}")
        else:
            embedders[name] = embedder
    return embedders, "; ".join(missing)


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure all backends and the peer alternately."""
    texts = halueval_texts(25 if quick else ROWS)
    embedders, missing = open_embedders()
    with ExitStack() as stack:
        other, note = start_peer(stack, "encoders", "sentence_transformers", same_weights=True, texts=texts)
        work: dict[str, Callable[[], object]] = {
            name: partial(embedder.embed, texts) for name, embedder in embedders.items()
        }
        if other is not None:
            work["peer"] = other.run
        times = time_alternately(work, 1 if quick else REPEATS)
        vectors = {name: embedder.embed(texts) for name, embedder in embedders.items()}
        reference = vectors[DEFAULT] if other is None else np.asarray(other.result(), dtype=np.float32)
    for name, rows in vectors.items():
        cosines = np.vecdot(rows, reference)
        work_name = f"default backend ({name})" if name == DEFAULT else name
        yield rate_figure(
            f"embed {len(texts):,} texts, {work_name}",
            "texts/s",
            {"ours": times[name], **{key: times[key] for key in times if key == "peer"}},
            len(texts),
            beside="sentence-transformers f32",
            wanted=TARGET if name == DEFAULT else None,
            note=f"{note}; cosine mean {cosines.mean():.5f}, minimum {cosines.min():.5f}",
        )
    if missing:
        yield Figure("backends not measured", "", note=missing)


if __name__ == "__main__":
    benchmark_main(measure)
