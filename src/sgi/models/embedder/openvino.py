"""Vectors by OpenVINO (extra ``openvino``)."""

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

from sgi.kernel.errors import EmbedderError, MissingExtraError, ModelCorruptError, UsageError
from sgi.models.batching import TOKENS_A_BATCH
from sgi.models.embedder.local import LocalEmbedder, chosen_output, feeds, row_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sgi.models.files import ModelFiles

Precision = Literal["f32", "bf16", "int8"]

_GROUP = 64
"""Activations that share a scale: cosines with float32 of 0.9995 in the mean; 32 took a sixth
longer for 0.9997, 128 brought no speed for 0.9991."""
_ARITHMETIC: dict[Precision, tuple[str, int]] = {
    "f32": ("f32", 0),
    "bf16": ("bf16", 0),
    "int8": ("f32", _GROUP),
}
"""The runtime's precision, and its group of activations in 8 bits; left alone it takes 8 bits unasked."""
_EIGHT_BITS = ("i8", "u8")
_PROBE_TEXTS = 3
_PROBE_LENGTHS = (5, 12, 40)
"""Tokens of the texts with which a network is probed: kernels are chosen by the number of rows."""
_CORE_LOCK = Lock()


class Processor(NamedTuple):
    """What the processor is called, and the precisions below float32 that it has instructions for."""

    name: str
    bf16: bool
    int8: bool


class OpenvinoEmbedder(LocalEmbedder):
    """Unit rows from a model in ONNX form, run by OpenVINO.

    In ``f32`` rows differ from those of ONNX Runtime by rounding only. ``bf16`` multiplies matrices in
    bfloat16. ``int8`` multiplies the 8-bit weights of a model that has them with activations in 8 bits, 64 to
    a scale; with the embedded model, 1,000 texts of HaluEval had cosines with float32 of 0.9995 in the mean
    and 0.997 at least.

    Args:
        files: the model.
        precision: ``f32``, ``bf16``, ``int8``, or ``auto``: bf16 where the processor has it, else f32.
        threads: batches computed at once; None for the cores this process may use.

    Raises:
        MissingExtraError: at first use: OpenVINO is not installed.
        UsageError: at first use: processor or model does not do that precision.

    Source: OpenVINO, "Precision control" and "Dynamic quantization".

    >>> from sgi.models.files import embedded_files
    >>> from sgi.models.known_models import MODELS
    >>> OpenvinoEmbedder(embedded_files(MODELS["minilm"]), precision="f32", threads=2).threads
    2
    """

    def __init__(self, files: ModelFiles, *, precision: str = "auto", threads: int | None = None) -> None:
        super().__init__(files, threads=threads)
        self.asked = precision

    @cached_property
    def precision(self) -> Precision:
        """In which precision matrices are multiplied.

        Raises:
            MissingExtraError: OpenVINO is not installed.
            UsageError: the processor does not do what was asked.
        """
        return offered(self.asked)

    @property
    def arithmetic(self) -> str:
        """OpenVINO's, with the precision; of 8 bits also how many activations share a scale."""
        return f"openvino-{self.precision}" + (f"x{_GROUP}" if self.precision == "int8" else "")

    def _open(self, *, alone: bool) -> OpenvinoNetwork:
        streams = 1 if alone else self.threads
        return OpenvinoNetwork(self.files, precision=self.precision, threads=self.threads, streams=streams)


class OpenvinoNetwork:
    """A model in OpenVINO; threads may share it.

    Args:
        files: the model.
        precision: in which matrices are multiplied.
        threads: in all.
        streams: batches computed at once, among which the threads are divided.
        output: which of the graph's outputs holds the rows; the first where none is named.

    Raises:
        ModelCorruptError: the graph cannot be loaded, or is no encoder of texts.
        UsageError: it has no such output; or ``int8`` is asked of a model without 8-bit weights.
    """

    def __init__(
        self,
        files: ModelFiles,
        *,
        precision: Precision,
        threads: int = 1,
        streams: int = 1,
        output: str = "",
    ) -> None:
        self.files = files
        compiled = _compiled(files, _settings(precision, threads, streams))
        self._names = [port.any_name for port in compiled.inputs]
        self._output = chosen_output(files, [port.any_name for port in compiled.outputs], output)
        shape = compiled.outputs[self._output].partial_shape
        known = [extent.get_length() if extent.is_static else "?" for extent in shape]
        self.dimension = row_length(files, self._names, known)
        if precision == "int8" and not _has_small_weights(compiled):
            message = f"The weights of {files.name} are no 8-bit numbers, and int8 is for models with such."
            raise UsageError(message, hint="Take precision f32, or auto.")
        self._requests: SimpleQueue[Any] = SimpleQueue()
        for _ in range(streams):
            self._requests.put(compiled.create_infer_request())

    def hidden(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """A row for each token, shape (n, length, dimension), of ids of shape (n, length).

        Raises:
            EmbedderError: the model failed.
        """
        request = self._requests.get()
        try:
            found = request.infer(feeds(self._names, ids))[self._output]
        except Exception as error:  # the runtime's errors have no common class but this
            raise EmbedderError(f"The model {self.files.name} failed: {error}.") from error
        finally:
            self._requests.put(request)
        if found.shape != (*ids.shape, self.dimension):  # asked again what failed, it answers with nothing
            message = f"The model {self.files.name} failed: {ids.shape} tokens gave {found.shape}."
            raise EmbedderError(message)
        return np.asarray(found, dtype=np.float32)

    @cached_property
    def tokens_a_batch(self) -> int:
        """The most tokens to compute at once; a single text where a batch would change its bits."""
        return TOKENS_A_BATCH if self._batches_keep_bits() else 1

    def _batches_keep_bits(self) -> bool:
        """Whether texts have the same bits in a batch as alone.

        OpenVINO chooses its matrix kernels by the number of rows. Without AVX-512 they add up in different
        orders, and two thirds of the texts then differ in their last digits.
        """
        generator = np.random.default_rng(0)
        batches = [generator.integers(0, 2, (_PROBE_TEXTS, length)) for length in _PROBE_LENGTHS]
        return all(
            np.array_equal(self.hidden(batch), np.concatenate([self.hidden(row[None]) for row in batch]))
            for batch in batches
        )


def offered(precision: str) -> Precision:
    """The precision to compute in, if the processor does it.

    Args:
        precision: ``f32``, ``bf16``, ``int8``, or ``auto``: bf16 where the processor has it, else f32.

    Raises:
        MissingExtraError: OpenVINO is not installed.
        UsageError: the processor does not.

    >>> offered("f32")
    'f32'
    """
    if precision == "f32":
        return "f32"
    found = processor()
    if precision == "auto":
        return "bf16" if found.bf16 else "f32"
    able: dict[str, bool] = {"f32": True, "bf16": found.bf16, "int8": found.int8}
    for name in _ARITHMETIC:
        if name == precision and able[name]:
            return name
    does = ", ".join(name for name in able if able[name])
    message = f"This processor ({found.name}) has no instructions for {precision}; it does {does}."
    raise UsageError(message, hint="Take precision auto: the fastest that keeps the vectors.")


@cache
def processor() -> Processor:
    """What this processor can do.

    The runtime tells of bfloat16. Of 8-bit activations it does not, and leaves them out in silence, so a
    product of small matrices shows whether they make a difference.

    Raises:
        MissingExtraError: OpenVINO is not installed.
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
    """The runtime, opened once by one thread, for the lifetime of the process.

    The runtime gives the thread that opens it another signal stack, and frees that stack with its last user,
    in whatever thread: the next Ctrl-C would then crash the process.

    Raises:
        MissingExtraError: OpenVINO is not installed.
    """
    with _CORE_LOCK:
        return _opened_core()


@cache
def _opened_core() -> Any:
    try:
        with _without_telemetry():
            from openvino import Core, Tensor
    except ImportError as error:
        raise MissingExtraError("The openvino backend", "openvino") from error
    # The first array that OpenVINO returns initialises its NumPy interface. Two threads that get there
    # together deadlock: one holds the lock of that initialisation, the other the GIL.
    _ = Tensor(np.zeros(1, dtype=np.float32)).data
    core = Core()
    core.set_property({"ENABLE_MMAP": False})  # mapped files cannot be removed on every system
    return core


@contextmanager
def _without_telemetry() -> Iterator[None]:
    """Hide the package with which OpenVINO reports that it is imported; OpenVINO works without it."""
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
        "ENABLE_CPU_PINNING": False,  # two processes would be bound to the same cores
    }


def _compiled(files: ModelFiles, settings: dict[str, Any]) -> Any:
    core = _core()
    try:
        with _together(files) as graph:
            return core.compile_model(core.read_model(str(graph)), "CPU", settings)
    except Exception as error:  # the runtime's errors have no common class but this
        message = f"{files.graph} cannot be loaded as a model: {error}."
        raise ModelCorruptError(message, hint=files.way_out) from error


@contextmanager
def _together(files: ModelFiles) -> Iterator[Path]:
    """The graph in one folder with its weights: the runtime looks there only, and follows no link out."""
    apart = files.weights is not None and files.weights.parent != files.graph.parent
    if files.weights is None or not (apart or files.weights.is_symlink()):
        yield files.graph
        return
    with TemporaryDirectory(prefix="sgi-") as folder:
        weights = Path(folder) / files.weights.name
        graph = weights.with_name(f"graph-{weights.name}")
        shutil.copyfile(files.weights, weights)
        shutil.copyfile(files.graph, graph)
        yield graph


def _has_small_weights(compiled: Any) -> bool:
    """Whether some product of matrices takes its weights in 8 bits."""
    facts = [node.get_rt_info() for node in compiled.get_runtime_model().get_ops()]
    return any(
        _fact(some, "layerType") == "FullyConnected" and _fact(some, "runtimePrecision") in _EIGHT_BITS
        for some in facts
    )


def _fact(facts: Any, name: str) -> str:
    return str(facts[name].astype(str)) if name in facts else ""
