"""Embedders run by OpenVINO (extra ``openvino``)."""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sgi.kernel.errors import EmbedderError, ModelCorruptError, UsageError, require_extra
from sgi.models.batching import TOKENS_PER_BATCH
from sgi.models.embedder.local import LocalEmbedder, vector_length
from sgi.models.embedder.long_texts import LONG_TEXTS, LongTexts
from sgi.models.onnx_session import graph_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sgi.models.files import ModelFiles

Precision = Literal["f32", "bf16", "int8"]

_GROUP = 64
"""The number of 8-bit activations with a common scale. The mean cosine of a vector with its float32 vector is
0.9995 for 64; 0.9997 for 32, which takes a sixth more time; 0.9991 for 128, in the same time."""
_ARITHMETIC: dict[Precision, tuple[str, int]] = {
    "f32": ("f32", 0),
    "bf16": ("bf16", 0),
    "int8": ("f32", _GROUP),
}
"""The runtime's settings for each precision: data type, and size of a group of 8-bit activations (0: no 8-bit
activations, which the runtime otherwise uses by default)."""
_EIGHT_BITS = ("i8", "u8")
_PROBE_TEXTS = 3
_PROBE_LENGTHS = (3, 5, 12, 40)
"""The numbers of tokens of the test texts: the runtime chooses matrix kernels by the number of rows."""
_CORE_LOCK = Lock()


class Processor(NamedTuple):
    """The processor's name, and the precisions below float32 that it supports."""

    name: str
    bf16: bool
    int8: bool


class OpenvinoEmbedder(LocalEmbedder):
    """Computes unit vectors with a model in ONNX form, run by OpenVINO.

    In ``f32`` vectors differ from those of ONNX Runtime only by rounding. ``bf16`` multiplies matrices in
    bfloat16. ``int8`` multiplies 8-bit weights with 8-bit activations, of which each 64 have a common scale;
    with the embedded model and 1,000 texts of HaluEval, the cosine of a vector with its float32 vector is
    0.9995 on average and at least 0.997.

    Args:
        files: the files of the model.
        precision: ``f32``, ``bf16``, ``int8``, or ``auto``: bf16 if the processor supports it, otherwise f32.
        threads: number of batches computed in parallel; None means all cores that this process may use.
        long_texts: how texts that exceed the token limit are read; see `load_embedder`.

    Raises:
        MissingExtraError: OpenVINO is not installed (raised at first use).
        UsageError: the processor or the model does not support the precision (raised at first use).

    Source: OpenVINO, "Precision control" and "Dynamic quantization".
    """

    def __init__(
        self,
        files: ModelFiles,
        *,
        precision: str = "auto",
        threads: int | None = None,
        long_texts: LongTexts = LONG_TEXTS[0],
    ) -> None:
        super().__init__(files, threads=threads, long_texts=long_texts)
        self._requested_precision = precision

    @cached_property
    def precision(self) -> Precision:
        """The precision of matrix products."""
        return supported_precision(self._requested_precision)

    @property
    def arithmetic(self) -> str:
        """The runtime and the precision; with int8 also the number of activations with a common scale."""
        return f"openvino-{self.precision}" + (f"x{_GROUP}" if self.precision == "int8" else "")

    def _open(self, *, alone: bool) -> OpenvinoNetwork:
        streams = 1 if alone else self.threads
        return OpenvinoNetwork(self.files, precision=self.precision, threads=self.threads, streams=streams)


class OpenvinoNetwork:
    """A model opened by OpenVINO; its first output contains the token vectors. It is thread-safe.

    Args:
        files: the files of the model.
        precision: the precision of matrix products.
        threads: the total number of threads.
        streams: the number of batches computed in parallel, among which the threads are divided.
    """

    def __init__(
        self, files: ModelFiles, *, precision: Precision, threads: int = 1, streams: int = 1
    ) -> None:
        self.files = files
        compiled = _compile_model(files, _settings(precision, threads, streams))
        self._names = [port.any_name for port in compiled.inputs]
        shape = compiled.outputs[0].partial_shape
        dimensions = [extent.get_length() if extent.is_static else "?" for extent in shape]
        self.dimension = vector_length(files, self._names, dimensions)
        if precision == "int8" and not _has_small_weights(compiled):
            message = f"The precision int8 requires 8-bit weights; the weights of {files.name} are not 8-bit."
            raise UsageError(message, hint="Use the precision f32 or auto.")
        self._requests: SimpleQueue[Any] = SimpleQueue()
        for _ in range(streams):
            self._requests.put(compiled.create_infer_request())

    def token_vectors(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return token vectors, shape (n, length, dimension), for token ids of shape (n, length)."""
        request = self._requests.get()
        try:
            vectors = request.infer(graph_inputs(self._names, ids))[0]
        except Exception as error:  # the runtime's errors share no other class
            raise EmbedderError(f"The model {self.files.name} failed: {error}.") from error
        finally:
            self._requests.put(request)
        if vectors.shape != (*ids.shape, self.dimension):  # an empty array, after a failure
            message = (
                f"The model {self.files.name} failed: it returned {vectors.shape} for tokens {ids.shape}."
            )
            raise EmbedderError(message)
        return np.asarray(vectors, dtype=np.float32)

    @cached_property
    def tokens_per_batch(self) -> int:
        """The maximum number of tokens in a batch; 1 (one text per batch) if a batch changes the bits."""
        return TOKENS_PER_BATCH if self._batches_keep_bits() else 1

    def _batches_keep_bits(self) -> bool:
        """Return whether the vectors of a text have the same bits in a batch as alone.

        OpenVINO chooses matrix kernels by the number of rows. Without AVX-512 these kernels sum in different
        orders, and two thirds of the vectors differ in their last digits.
        """
        generator = np.random.default_rng(0)
        batches = [generator.integers(0, 2, (_PROBE_TEXTS, length)) for length in _PROBE_LENGTHS]
        compute = self.token_vectors
        return all(
            np.array_equal(compute(batch), np.concatenate([compute(row[None]) for row in batch]))
            for batch in batches
        )


def supported_precision(precision: str) -> Precision:
    """Return the precision that ``precision`` (which may be ``auto``) means on this processor.

    Raises a UsageError if the processor does not support it, a MissingExtraError without OpenVINO.
    """
    if precision == "f32":
        return "f32"
    cpu = processor()
    if precision == "auto":
        return "bf16" if cpu.bf16 else "f32"
    supported: dict[str, bool] = {"f32": True, "bf16": cpu.bf16, "int8": cpu.int8}
    for name in _ARITHMETIC:
        if name == precision and supported[name]:
            return name
    names = ", ".join(name for name in supported if supported[name])
    message = f"This processor ({cpu.name}) has no instructions for {precision}; it supports {names}."
    raise UsageError(message, hint="Use the precision auto.")


@cache
def processor() -> Processor:
    """Return the name of this processor, and which precisions it supports.

    The runtime reports support of bfloat16. It does not report support of 8-bit activations and silently
    ignores the setting, so a test multiplies small matrices with and without it.
    """
    core = _core()
    bf16 = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return Processor(str(core.get_property("CPU", "FULL_DEVICE_NAME")).strip(), bf16, _quantises(core))


def _quantises(core: Any) -> bool:
    from openvino import Model, opset13

    size = _GROUP
    numbers = np.sin(np.arange(size * size)).reshape(size, size).astype(np.float32)
    weights = opset13.convert(opset13.constant((numbers * 127).astype(np.int8)), "f32")
    rows = opset13.parameter([-1, size], np.float32)
    scaled = opset13.multiply(weights, opset13.constant(np.float32(0.01)))
    product = opset13.matmul(rows, scaled, transpose_a=False, transpose_b=False)
    model = Model([product], [rows])
    exact, small = (
        np.array(core.compile_model(model, "CPU", _settings(precision, 1, 1))([numbers])[0])
        for precision in ("f32", "int8")
    )
    return not np.array_equal(exact, small)


def _core() -> Any:
    """Return the runtime, which is opened once and stays open until the process ends.

    The runtime replaces the signal stack of the thread that opens it, and frees that stack when it is closed
    in any thread; the next Ctrl-C would then crash the process.
    """
    with _CORE_LOCK:
        return _open_core()


@cache
def _open_core() -> Any:
    with require_extra("The openvino backend", "openvino"), _without_telemetry():
        from openvino import Core, Tensor
    # The first array that OpenVINO returns initialises its NumPy interface. Two threads that do this
    # together deadlock: one holds the lock of the initialisation, the other the GIL.
    _ = Tensor(np.zeros(1, dtype=np.float32)).data
    core = Core()
    core.set_property({"ENABLE_MMAP": False})  # some systems cannot remove mapped files
    return core


@contextmanager
def _without_telemetry() -> Iterator[None]:
    """Context manager that hides the package that reports imports of OpenVINO; OpenVINO works without it."""
    package = "openvino_telemetry"
    loaded = sys.modules.get(package)
    sys.modules[package] = None  # type: ignore[assignment]  # an import of it fails
    try:
        yield
    finally:
        del sys.modules[package]
        if loaded is not None:
            sys.modules[package] = loaded


def _settings(precision: Precision, threads: int, streams: int) -> dict[str, Any]:
    hint, group = _ARITHMETIC[precision]
    return {
        "PERFORMANCE_HINT": "THROUGHPUT" if streams > 1 else "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": streams,
        "INFERENCE_PRECISION_HINT": hint,
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": group,
        "ENABLE_CPU_PINNING": False,  # pinning would bind two processes to the same cores
    }


def _compile_model(files: ModelFiles, settings: dict[str, Any]) -> Any:
    core = _core()
    try:
        with _graph_with_weights(files) as graph:
            return core.compile_model(core.read_model(str(graph)), "CPU", settings)
    except Exception as error:  # the runtime's errors share no other class
        message = f"{files.graph} cannot be loaded as a model: {error}."
        raise ModelCorruptError(message, hint=files.hint) from error


@contextmanager
def _graph_with_weights(files: ModelFiles) -> Iterator[Path]:
    """Context manager that gives a graph in the folder of its weights: the runtime looks only there."""
    separate = files.weights is not None and files.weights.parent != files.graph.parent
    if files.weights is None or not (separate or files.weights.is_symlink()):
        yield files.graph
        return
    with TemporaryDirectory(prefix="sgi-") as folder:
        weights = Path(folder) / files.weights.name
        graph = weights.with_name(f"graph-{weights.name}")
        shutil.copyfile(files.weights, weights)
        shutil.copyfile(files.graph, graph)
        yield graph


def _has_small_weights(compiled: Any) -> bool:
    infos = [node.get_rt_info() for node in compiled.get_runtime_model().get_ops()]
    return any(
        _entry(info, "layerType") == "FullyConnected" and _entry(info, "runtimePrecision") in _EIGHT_BITS
        for info in infos
    )


def _entry(info: Any, name: str) -> str:
    return str(info[name].astype(str)) if name in info else ""
