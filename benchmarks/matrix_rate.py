"""Measure the rate of matrix products with the shapes of MiniLM: float32, int8 and bf16.

    python benchmarks/matrix_rate.py [--quick]

This rate is the bound for our embedders: only products, on all cores, with the weights in the processor
cache. It is the best rate of the runtimes that support the format (ONNX Runtime, OpenVINO).
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import REPEATS, Figure, benchmark_main, time_alternately
from sgi.models.cores import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from harness import Timing

SHAPES = {(384, 384): 4, (384, 1536): 1, (1536, 384): 1}
"""Products of a layer and their number: four of attention, two of the feed-forward part."""
TOKENS = 512
OPERATIONS = sum(2 * TOKENS * inner * outer * times for (inner, outer), times in SHAPES.items())
TURN_SECONDS = 0.4
FORMATS = ("float32", "int8", "bf16")


def products(format_: str, seconds: float) -> dict[str, Callable[[], float]]:
    """Return a function for each runtime that supports the format.

    Each works on all cores for the given seconds, and returns the seconds per billion operations.
    """
    runtimes = {name: make(format_) for name, make in RUNTIMES.items()}
    return {name: partial(_turn, layers, seconds) for name, layers in runtimes.items() if layers is not None}


def best_of(times: Mapping[str, Timing]) -> tuple[float, str, dict[str, tuple[float, ...]]]:
    """Return the best rate in billion operations per second, its runtime, and the rates of all."""
    best = min(times, key=lambda name: times[name].median)
    rates = {name: tuple(1 / second for second in timing.seconds) for name, timing in times.items()}
    return 1 / times[best].median, best, rates


def _turn(layers: list[Callable[[], None]], seconds: float) -> float:
    """Run one layer on each core."""
    with ThreadPoolExecutor(len(layers)) as pool:
        start = time.perf_counter()
        count = sum(pool.map(_repeat_until, layers, repeat(start + seconds)))
        return (time.perf_counter() - start) / (count * OPERATIONS / 1e9)


def _repeat_until(layer: Callable[[], None], end: float) -> int:
    count = 0
    while time.perf_counter() < end or not count:
        layer()
        count += 1
    return count


def _numbers(shape: tuple[int, ...]) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def _graph(inner: int, outer: int, format_: str) -> bytes:
    """Return an ONNX model with one product and its weights."""
    from onnx import TensorProto, helper, numpy_helper

    if format_ == "int8":
        rows, product = TensorProto.UINT8, TensorProto.INT32
        weights: NDArray[Any] = np.random.default_rng(0).integers(-127, 128, (inner, outer), dtype=np.int8)
        node = helper.make_node("MatMulInteger", ["rows", "weights", "zero"], ["product"])
        more = [numpy_helper.from_array(np.array(128, np.uint8), "zero")]
    else:
        rows = product = TensorProto.FLOAT
        node, more = helper.make_node("MatMul", ["rows", "weights"], ["product"]), []
        weights = _numbers((inner, outer))
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("rows", rows, [TOKENS, inner])],
        [helper.make_tensor_value_info("product", product, [TOKENS, outer])],
        [numpy_helper.from_array(weights, "weights"), *more],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def _rows(inner: int, format_: str) -> NDArray[Any]:
    if format_ == "int8":
        return np.random.default_rng(1).integers(0, 256, (TOKENS, inner), dtype=np.uint8)
    return _numbers((TOKENS, inner))


def _onnx_runtime(format_: str) -> list[Callable[[], None]] | None:
    if format_ == "bf16":  # not supported on processors
        return None
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = [
        (onnxruntime.InferenceSession(_graph(*shape, format_), options), _rows(shape[0], format_), times)
        for shape, times in SHAPES.items()
    ]

    def layer() -> None:
        for session, rows, times in sessions:
            for _ in range(times):
                session.run(None, {"rows": rows})

    return [layer] * usable_cores()


def _openvino(format_: str) -> list[Callable[[], None]] | None:
    """Support float32 and bf16, with one request per core."""
    if format_ == "int8":
        return None
    try:
        import openvino
    except ImportError:
        return None
    core = openvino.Core()
    if format_ == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        return None
    settings = {
        "INFERENCE_PRECISION_HINT": {"float32": "f32", "bf16": "bf16"}[format_],
        "INFERENCE_NUM_THREADS": usable_cores(),
        "NUM_STREAMS": usable_cores(),
    }
    models = [
        (core.compile_model(core.read_model(_graph(*shape, format_), b""), "CPU", settings), shape, times)
        for shape, times in SHAPES.items()
    ]

    def layer(requests: list[tuple[Any, int]]) -> None:
        for request, times in requests:
            for _ in range(times):
                request.infer()

    def requests() -> list[tuple[Any, int]]:
        result = []
        for model, shape, times in models:
            request = model.create_infer_request()
            request.set_input_tensor(openvino.Tensor(_rows(shape[0], format_)))
            result.append((request, times))
        return result

    return [partial(layer, requests()) for _ in range(usable_cores())]


RUNTIMES = {"ONNX Runtime": _onnx_runtime, "OpenVINO": _openvino}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Yield one figure per number format."""
    for format_ in FORMATS:
        work = f"matrix products, {format_}, {usable_cores()} cores"
        functions = products(format_, 0.1 if quick else TURN_SECONDS)
        if functions:
            rate, best, rates = best_of(time_alternately(functions, 1 if quick else REPEATS))
            yield Figure(work, "GFLOP/s", rate, note=f"by {best}", repeats=rates)
        else:
            yield Figure(work, "GFLOP/s", note="not supported by this processor")


if __name__ == "__main__":
    benchmark_main(measure)
