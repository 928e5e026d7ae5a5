"""Texts a second: our backends beside sentence-transformers, on texts of HaluEval, by turns.

    python benchmarks/embedding.py [--quick]

All have the same weights, the embedded model's, and compute in the precision that is named, the peer in
float32. Cosines are to the peer's vectors, or to our own float32 where it is not installed.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness import REPEATS, Figure, Timing, benchmark_main, seconds_of, time_alternately
from material import texts as halueval_texts
from matrix_rate import MOMENT, best_of, products
from peer_processes import NotInstalledError, Peer, PeerError, peer
from peer_weights import same_weights
from sgi.kernel.errors import SgiError
from sgi.models.embedder.load import load_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import Embedder

ROWS = 250
"""Of HaluEval, each with four texts."""
BACKENDS = {
    "onnx f32": ("onnx", "f32"),
    "openvino f32": ("openvino", "f32"),
    "openvino int8": ("openvino", "int8"),
    "openvino bf16": ("openvino", "bf16"),
}
FORMATS = {"f32": "float32", "int8": "int8", "bf16": "bf16"}
CLOSE = 0.9999
LAYERS, WIDTH, INNER = 6, 384, 1536


@dataclass(frozen=True)
class Backend:
    """One of ours, with what it came to."""

    name: str
    rate: float
    cosines: NDArray[np.float64]
    seconds: tuple[float, ...]

    @property
    def told(self) -> str:
        """How near its vectors are."""
        return f"{self.name}: cosine mean {self.cosines.mean():.5f}, least {self.cosines.min():.5f}"


def opened() -> tuple[dict[str, Embedder], str]:
    """The backends to be had here, and why others are not."""
    found, missing = {}, []
    for name, (backend, precision) in BACKENDS.items():
        try:
            embedder = load_embedder("minilm", backend=backend, precision=precision)
            embedder.embed(["warm"])
        except SgiError as error:
            missing.append(f"{name}: {str(error).splitlines()[0]}")
        else:
            found[name] = embedder
    return found, "; ".join(missing)


def operations(texts: Sequence[str]) -> float:
    """Operations of the matrix products that these texts take, attention's among them."""
    from sgi.models.files import embedded_files
    from sgi.models.known_models import MODELS
    from sgi.models.tokenizer import open_tokenizer, tokenize

    files = embedded_files(MODELS["minilm"])
    ids = tokenize(open_tokenizer(files.tokenizer, files.limit), texts).ids
    lengths = np.array([len(text) for text in ids], dtype=np.float64)
    a_token = 2 * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER)
    return float(LAYERS * (a_token * lengths.sum() + 4 * WIDTH * (lengths**2).sum()))


def measure(*, quick: bool) -> Iterator[Figure]:
    """All by turns in one run."""
    texts = halueval_texts(25 if quick else ROWS)
    embedders, missing = opened()
    with ExitStack() as stack:
        other, why = start(stack, texts)
        work: dict[str, Callable[[], object]] = {
            name: partial(embedder.embed, texts) for name, embedder in embedders.items()
        }
        if other is not None:
            work["peer"] = other.run
        times = time_alternately(work, 1 if quick else REPEATS)
        vectors = {name: embedder.embed(texts) for name, embedder in embedders.items()}
        true = vectors["onnx f32"] if other is None else np.asarray(other.result(), dtype=np.float32)
    ours = [
        Backend(name, len(texts) / times[name].median, rows_cosine(rows, true), times[name].seconds)
        for name, rows in vectors.items()
    ]
    yield from figures(ours, times, texts, why or told_of(other), missing)
    yield from shares(embedders, texts[: len(texts) // 4], quick=quick)


def start(stack: ExitStack, texts: list[str]) -> tuple[Peer | None, str]:
    """The peer, or why there is none."""
    try:
        folder = stack.enter_context(same_weights("encoders"))
        return stack.enter_context(peer("encoders", "encode", {"texts": texts, "folder": str(folder)})), ""
    except (NotInstalledError, PeerError) as error:
        return None, str(error)


def rows_cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    """Of unit rows, pair by pair."""
    return np.asarray(np.einsum("ij,ij->i", left, right, dtype=np.float64))


def told_of(other: Peer | None) -> str:
    """Version and threads of the peer."""
    about = {} if other is None else other.about
    return f"sentence-transformers {about.get('version')}, {about.get('threads')} threads, same weights"


def figures(
    ours: list[Backend], times: dict[str, Timing], texts: list[str], against: str, missing: str
) -> Iterator[Figure]:
    """The default, the quickest that is close to float32, and every backend."""
    theirs = times.get("peer")
    line = Figure(
        "",
        "texts/s",
        peer=None if theirs is None else len(texts) / theirs.median,
        beside="sentence-transformers f32",
    )
    repeats = seconds_of({} if theirs is None else {"peer": theirs})

    def figure(backend: Backend, work: str, target: float | None, note: str = "") -> Figure:
        told = {"ours": backend.seconds, **repeats}
        return replace(line, work=work, ours=backend.rate, wanted=target, note=note, repeats=told)

    count = f"{len(texts):,} texts"
    yield figure(
        ours[0], f"embed {count}, default backend ({ours[0].name})", 2.5, f"{against}; {ours[0].told}"
    )
    best = max((each for each in ours if each.cosines.min() >= CLOSE), key=lambda each: each.rate)
    yield figure(best, f"embed {count}, fastest at cosine ≥ {CLOSE}", 5, best.told)
    for backend in ours[1:]:
        yield figure(backend, f"embed {count}, {backend.name}", None, backend.told)
    if missing:
        yield Figure("backends not measured", "", note=missing)


def shares(embedders: dict[str, Embedder], texts: list[str], *, quick: bool) -> Iterator[Figure]:
    """What part of the machine's own rate of products each backend reaches in its number format, by turns."""
    billions = operations(texts) / 1e9
    for name, embedder in embedders.items():
        format_ = FORMATS[name.rpartition(" ")[2]]
        bounds = products(format_, 0.1 if quick else MOMENT)
        times = time_alternately({"ours": partial(embedder.embed, texts), **bounds}, 1 if quick else REPEATS)
        spent = times.pop("ours")
        bound, runtime, rates = best_of(times)
        yield Figure(
            f"products of the embedder, {name}",
            "GFLOP/s",
            ours=billions / spent.median,
            peer=bound,
            beside=f"{format_} rate ({runtime})",
            is_bound=True,
            wanted=0.75,
            repeats={"ours": tuple(billions / second for second in spent.seconds), **rates},
        )


if __name__ == "__main__":
    benchmark_main(measure)
