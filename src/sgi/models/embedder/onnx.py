"""Vectors by ONNX Runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import EmbedderError, ModelCorruptError
from sgi.models.batching import TOKENS_A_BATCH
from sgi.models.embedder.local import LocalEmbedder, chosen_output, feeds, row_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.models.files import ModelFiles

_EXTERNAL_WEIGHTS = "session.model_external_initializers_file_folder_path"


class OnnxEmbedder(LocalEmbedder):
    """Unit rows from a model in ONNX form, float32 throughout.

    Args:
        files: the model.
        threads: batches computed at once; None for the cores this process may use.

    >>> from sgi.models.files import embedded_files
    >>> from sgi.models.known_models import MODELS
    >>> rows = OnnxEmbedder(embedded_files(MODELS["minilm"])).embed(["A cat.", "A kitten.", "Tax law."])
    >>> rows.shape, bool(rows[0] @ rows[1] > rows[0] @ rows[2])
    ((3, 384), True)
    """

    @property
    def arithmetic(self) -> str:
        """Always float32."""
        return "fp32"

    def _open(self, *, alone: bool) -> OnnxNetwork:
        return OnnxNetwork(self.files, threads=self.threads if alone else 1)


class OnnxNetwork:
    """A model in ONNX Runtime; threads may share it.

    Args:
        files: the model.
        threads: that share one batch.
        output: which of the graph's outputs holds the rows; the first where none is named.

    Raises:
        ModelCorruptError: the graph cannot be loaded, or is no encoder of texts.
        UsageError: it has no such output.

    >>> from sgi.models.files import embedded_files
    >>> from sgi.models.known_models import MODELS
    >>> OnnxNetwork(embedded_files(MODELS["minilm"])).hidden(np.array([[101, 4937, 102]])).shape
    (1, 3, 384)
    """

    tokens_a_batch = TOKENS_A_BATCH

    def __init__(self, files: ModelFiles, *, threads: int = 1, output: str = "") -> None:
        self.files = files
        self._session = open_session(files, threads)
        self._names = [node.name for node in self._session.get_inputs()]
        outputs = self._session.get_outputs()
        wanted = outputs[chosen_output(files, [node.name for node in outputs], output)]
        self._output = wanted.name
        self.dimension = row_length(files, self._names, wanted.shape)

    def hidden(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """A row for each token, shape (n, length, dimension), of ids of shape (n, length).

        Raises:
            EmbedderError: the model failed.
        """
        try:
            (found,) = self._session.run([self._output], feeds(self._names, ids))
        except Exception as error:  # the runtime's errors have no common class but this
            raise EmbedderError(f"The model {self.files.name} failed: {error}.") from error
        return np.asarray(found, dtype=np.float32)


def open_session(files: ModelFiles, threads: int) -> Any:
    """A graph opened by ONNX Runtime on the processor, so many threads to an operation.

    Raises:
        ModelCorruptError: it cannot be loaded.
    """
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # for versions that do not read ORT_DISABLE_TELEMETRY
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # threads that wait take no time
    options.log_severity_level = 3
    if files.weights is not None:
        options.add_session_config_entry(_EXTERNAL_WEIGHTS, str(files.weights.parent))
    try:
        # from memory where weights lie apart, so that the folder above holds
        graph = str(files.graph) if files.weights is None else files.graph.read_bytes()
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors have no common class but this
        message = f"{files.graph} cannot be loaded as a model: {error}."
        raise ModelCorruptError(message, hint=files.way_out) from error
