"""Opens ONNX graphs with ONNX Runtime, and runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.errors import EmbedderError, ModelCorruptError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.models.model_files import ModelFiles

_EXTERNAL_WEIGHTS = "session.model_external_initializers_file_folder_path"
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
"""The inputs that a graph may have."""


class OnnxSession:
    """A graph opened by ONNX Runtime on the CPU; it is thread-safe.

    Args:
        files: the files of the model.
        threads: number of threads for each operation.

    Attributes:
        outputs: the shape of each output by its name; an unknown dimension is not an int.

    Raises:
        ModelCorruptError: the graph cannot be loaded, or requires other inputs than a text encoder.
    """

    def __init__(self, files: ModelFiles, threads: int) -> None:
        import onnxruntime

        onnxruntime.disable_telemetry_events()  # for versions that do not read ORT_DISABLE_TELEMETRY
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads use no CPU
        options.log_severity_level = 4  # a log has names of the graph unescaped; the errors say the same
        if files.weights is not None:
            options.add_session_config_entry(_EXTERNAL_WEIGHTS, str(files.weights.parent))
        try:
            # The folder of external weights applies only to a graph that is read from memory.
            graph = str(files.graph) if files.weights is None else files.graph.read_bytes()
            session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime's errors share no other class
            message = f"{files.graph} cannot be loaded as a model: {error}."
            raise ModelCorruptError(message, hint=files.hint) from error
        self.outputs = {node.name: tuple(node.shape) for node in session.get_outputs()}
        self._name = files.name
        self._session = session
        self._inputs = [node.name for node in session.get_inputs()]
        unknown = sorted(set(self._inputs) - _INPUTS)
        if unknown:
            message = f"{files.graph} is not a text encoder: it requires the inputs {', '.join(unknown)}."
            hint = "Name an encoder or a classifier. Export a model that generates text with output logits."
            raise ModelCorruptError(message, hint=hint)

    def run(
        self, output: str, ids: NDArray[np.int64], types: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return an output for token ids and token type ids (0 if None), shape (n, length), without padding.

        Raises an EmbedderError if the model fails.
        """
        values = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids) if types is None else types,
        }
        try:
            (result,) = self._session.run([output], {name: values[name] for name in self._inputs})
        except Exception as error:  # the runtime's errors share no other class
            raise EmbedderError(f"The model {self._name} failed: {error}.") from error
        return np.asarray(result, dtype=np.float32)
