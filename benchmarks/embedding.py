"""Compare texts per second of our backends and of sentence-transformers on texts of HaluEval.

    python benchmarks/embedding.py [--quick]

All use the weights of the embedded model. Our backends compute in the named precision, the peer in float32.
Cosines compare with the vectors of the peer, or with our float32 vectors if the peer is not installed.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness import REPEATS, Figure, Timing, benchmark_main, seconds_of, time_alternately
from material import texts as halueval_texts
from matrix_rate import TURN_SECONDS, best_of, products
from peer_processes import NotInstalledError, Peer, PeerError, peer
from peer_weights import same_weights
from sgi.kernel.errors import SgiError
from sgi.models.embedder.load import load_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import Embedder

ROWS = 250
"""Rows of HaluEval with four texts each."""
BACKENDS = {
    "onnx f32": ("onnx", "f32"),
    "openvino f32": ("openvino", "f32"),
    "openvino int8": ("openvino", "int8"),
    "openvino bf16": ("openvino", "bf16"),
}
FORMATS = {"f32": "float32", "int8": "int8", "bf16": "bf16"}
MIN_COSINE = 0.9999
LAYERS, WIDTH, INNER = 6, 384, 1536


@dataclass(frozen=True)
class Backend:
    """Results of one of our backends."""

    name: str
    rate: float
    cosines: NDArray[np.float64]
    seconds: tuple[float, ...]

    @property
    def accuracy(self) -> str:
        """Describe the cosines with the reference vectors."""
        return f"{self.name}: cosine mean {self.cosines.mean():.5f}, minimum {self.cosines.min():.5f}"


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


def operations(texts: Sequence[str]) -> float:
    """Count the operations of all matrix products for the texts, including attention."""
    from sgi.models.files import embedded_files
    from sgi.models.known_models import MODELS
    from sgi.models.tokenizer import open_tokenizer, tokenize

    files = embedded_files(MODELS["minilm"])
    ids = tokenize(open_tokenizer(files.tokenizer, files.limit), texts).ids
    lengths = np.array([len(text) for text in ids], dtype=np.float64)
    per_token = 2 * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER)
    return float(LAYERS * (per_token * lengths.sum() + 4 * WIDTH * (lengths**2).sum()))


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure all backends and the peer alternately."""
    texts = halueval_texts(25 if quick else ROWS)
    embedders, missing = open_embedders()
    with ExitStack() as stack:
        other, error = start(stack, texts)
        work: dict[str, Callable[[], object]] = {
            name: partial(embedder.embed, texts) for name, embedder in embedders.items()
        }
        if other is not None:
            work["peer"] = other.run
        times = time_alternately(work, 1 if quick else REPEATS)
        vectors = {name: embedder.embed(texts) for name, embedder in embedders.items()}
        reference = vectors["onnx f32"] if other is None else np.asarray(other.result(), dtype=np.float32)
    ours = [
        Backend(name, len(texts) / times[name].median, rows_cosine(rows, reference), times[name].seconds)
        for name, rows in vectors.items()
    ]
    yield from figures(ours, times, texts, error or describe_peer(other), missing)
    yield from shares(embedders, texts[: len(texts) // 4], quick=quick)


def start(stack: ExitStack, texts: list[str]) -> tuple[Peer | None, str]:
    """Start the peer; return it, or None and the reason."""
    try:
        folder = stack.enter_context(same_weights("encoders"))
        return stack.enter_context(peer("encoders", "encode", {"texts": texts, "folder": str(folder)})), ""
    except (NotInstalledError, PeerError) as error:
        return None, str(error)


def rows_cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the cosine of each pair of unit rows."""
    return np.asarray(np.einsum("ij,ij->i", left, right, dtype=np.float64))


def describe_peer(other: Peer | None) -> str:
    about = {} if other is None else other.about
    return f"sentence-transformers {about.get('version')}, {about.get('threads')} threads, same weights"


def figures(
    ours: list[Backend], times: dict[str, Timing], texts: list[str], peer_note: str, missing: str
) -> Iterator[Figure]:
    """Yield the default backend, the fastest one near float32, and the others."""
    theirs = times.get("peer")
    line = Figure(
        "",
        "texts/s",
        peer=None if theirs is None else len(texts) / theirs.median,
        beside="sentence-transformers f32",
    )
    repeats = seconds_of({} if theirs is None else {"peer": theirs})

    def figure(backend: Backend, work: str, target: float | None, note: str = "") -> Figure:
        seconds = {"ours": backend.seconds, **repeats}
        return replace(line, work=work, ours=backend.rate, wanted=target, note=note, repeats=seconds)

    count = f"{len(texts):,} texts"
    yield figure(
        ours[0], f"embed {count}, default backend ({ours[0].name})", 2.5, f"{peer_note}; {ours[0].accuracy}"
    )
    best = max((each for each in ours if each.cosines.min() >= MIN_COSINE), key=lambda each: each.rate)
    yield figure(best, f"embed {count}, fastest at cosine ≥ {MIN_COSINE}", 5, best.accuracy)
    for backend in ours[1:]:
        yield figure(backend, f"embed {count}, {backend.name}", None, backend.accuracy)
    if missing:
        yield Figure("backends not measured", "", note=missing)


def shares(embedders: dict[str, Embedder], texts: list[str], *, quick: bool) -> Iterator[Figure]:
    """Compare the matrix products of each backend with the rate of the machine in its number format."""
    billions = operations(texts) / 1e9
    for name, embedder in embedders.items():
        format_ = FORMATS[name.rpartition(" ")[2]]
        bounds = products(format_, 0.1 if quick else TURN_SECONDS)
        times = time_alternately({"ours": partial(embedder.embed, texts), **bounds}, 1 if quick else REPEATS)
        timing = times.pop("ours")
        bound, runtime, rates = best_of(times)
        yield Figure(
            f"products of the embedder, {name}",
            "GFLOP/s",
            ours=billions / timing.median,
            peer=bound,
            beside=f"{format_} rate ({runtime})",
            is_bound=True,
            wanted=0.75,
            repeats={"ours": tuple(billions / second for second in timing.seconds), **rates},
        )


if __name__ == "__main__":
    benchmark_main(measure)
