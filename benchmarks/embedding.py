"""Compare texts per second of the embedded model and of sentence-transformers on texts of HaluEval.

    python benchmarks/embedding.py [--quick]

Both use the same weights and compute in float32. The bound of our embedder is the rate of its matrix products
alone: on all cores, with the weights in the processor cache.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from harness import REPEATS, Figure, benchmark_main, seconds_of, time_alternately
from material import texts as halueval_texts
from peer_processes import NotInstalledError, Peer, PeerError, peer
from peer_weights import same_weights
from sgi.models.cores import usable_cores
from sgi.models.embedder.load import load_embedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import Embedder

ROWS = 250
"""Rows of HaluEval with four texts each."""
LAYERS, WIDTH, INNER = 6, 384, 1536
SHAPES = {(WIDTH, WIDTH): 4, (WIDTH, INNER): 1, (INNER, WIDTH): 1}
"""Products of a layer and their number: four of attention, two of the feed-forward part."""
TOKENS = 512
OPERATIONS = sum(2 * TOKENS * inner * outer * times for (inner, outer), times in SHAPES.items())
TURN_SECONDS = 0.4


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure our embedder and the peer alternately, then our embedder and the bound."""
    texts = halueval_texts(25 if quick else ROWS)
    embedder = load_embedder("minilm")
    work: dict[str, Callable[[], object]] = {"ours": partial(embedder.embed, texts)}
    with ExitStack() as stack:
        other, note = start(stack, texts)
        if other is not None:
            work["peer"] = other.run
        times = time_alternately(work, 1 if quick else REPEATS)
        if other is not None:
            theirs = np.asarray(other.result(), dtype=np.float32)
            cosines = np.einsum("ij,ij->i", embedder.embed(texts), theirs, dtype=np.float64)
            note = f"{note}; cosine mean {cosines.mean():.5f}, minimum {cosines.min():.5f}"
    yield Figure(
        f"embed {len(texts):,} texts",
        "texts/s",
        ours=len(texts) / times["ours"].median,
        peer=len(texts) / times["peer"].median if "peer" in times else None,
        beside="sentence-transformers f32",
        wanted=2.5,
        note=note,
        repeats=seconds_of(times),
    )
    yield share_of_bound(embedder, texts[: len(texts) // 4], quick=quick)


def start(stack: ExitStack, texts: list[str]) -> tuple[Peer | None, str]:
    """Start the peer, and describe it; or return None and the reason."""
    try:
        folder = stack.enter_context(same_weights("encoders"))
        other = stack.enter_context(peer("encoders", "encode", {"texts": texts, "folder": str(folder)}))
    except (NotInstalledError, PeerError) as error:
        return None, str(error)
    about = other.about
    return other, f"sentence-transformers {about['version']}, {about['threads']} threads, same weights"


def share_of_bound(embedder: Embedder, texts: list[str], *, quick: bool) -> Figure:
    """Compare the matrix products of the embedder with the rate of matrix products alone."""
    billions = operations(texts) / 1e9
    bound = partial(seconds_per_billion, layers(), 0.1 if quick else TURN_SECONDS)
    work = {"ours": partial(embedder.embed, texts), "bound": bound}
    times = time_alternately(work, 1 if quick else REPEATS)
    return Figure(
        "products of the embedder",
        "GFLOP/s",
        ours=billions / times["ours"].median,
        peer=1 / times["bound"].median,
        beside="float32 products alone",
        is_bound=True,
        wanted=0.75,
        repeats={
            "ours": tuple(billions / second for second in times["ours"].seconds),
            "bound": tuple(1 / second for second in times["bound"].seconds),
        },
    )


def operations(texts: Sequence[str]) -> float:
    """Count the operations of all matrix products for the texts, including attention."""
    from sgi.models.files import embedded_files
    from sgi.models.known_models import MODELS
    from sgi.models.tokenizer import open_tokenizer, tokenize

    files = embedded_files(MODELS["minilm"])
    ids = tokenize(open_tokenizer(files.tokenizer, files.limit), texts).ids
    lengths = np.array([len(text) for text in ids], dtype=np.float64)
    per_token = OPERATIONS / TOKENS
    return float(LAYERS * (per_token * lengths.sum() + 4 * WIDTH * (lengths**2).sum()))


def layers() -> list[Callable[[], None]]:
    """Return for each core a function that computes the products of a layer."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = [
        (onnxruntime.InferenceSession(graph(*shape), options), numbers((TOKENS, shape[0])), times)
        for shape, times in SHAPES.items()
    ]

    def layer() -> None:
        for session, rows, times in sessions:
            for _ in range(times):
                session.run(None, {"rows": rows})

    return [layer] * usable_cores()


def graph(inner: int, outer: int) -> bytes:
    """Return an ONNX model with one product and its weights."""
    from onnx import TensorProto, helper, numpy_helper

    network = helper.make_graph(
        [helper.make_node("MatMul", ["rows", "weights"], ["product"])],
        "product",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [TOKENS, inner])],
        [helper.make_tensor_value_info("product", TensorProto.FLOAT, [TOKENS, outer])],
        [numpy_helper.from_array(numbers((inner, outer)), "weights")],
    )
    model = helper.make_model(network, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def numbers(shape: tuple[int, ...]) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def seconds_per_billion(work: list[Callable[[], None]], seconds: float) -> float:
    """Run one layer on each core for some seconds; return the seconds per billion operations."""
    with ThreadPoolExecutor(len(work)) as pool:
        begin = time.perf_counter()
        count = sum(pool.map(repeat_until, work, repeat(begin + seconds)))
        return (time.perf_counter() - begin) / (count * OPERATIONS / 1e9)


def repeat_until(layer: Callable[[], None], end: float) -> int:
    count = 0
    while time.perf_counter() < end or not count:
        layer()
        count += 1
    return count


if __name__ == "__main__":
    benchmark_main(measure)
