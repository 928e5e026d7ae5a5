"""Opens ONNX graphs with ONNX Runtime, and prepares their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import ModelCorruptError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sgi.models.files import ModelFiles

_EXTERNAL_WEIGHTS = "session.model_external_initializers_file_folder_path"
_CONSTANT_INPUTS = {"attention_mask": 1, "token_type_ids": 0}
"""The values of inputs other than token ids: 1 in the mask (no padding), type id 0 for a single text."""

INPUTS = frozenset({"input_ids", *_CONSTANT_INPUTS})
"""The inputs that a graph may have."""


def graph_inputs(names: Iterable[str], ids: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the value of each input of a graph: token ids, an attention mask of ones, token type ids 0.

    >>> graph_inputs(["input_ids", "attention_mask"], np.array([[101, 102]]))["attention_mask"].tolist()
    [[1, 1]]
    """
    return {
        name: np.full_like(ids, _CONSTANT_INPUTS[name]) if name in _CONSTANT_INPUTS else ids for name in names
    }


def open_session(files: ModelFiles, threads: int) -> Any:
    """Open a graph with ONNX Runtime on the CPU; raise ModelCorruptError if it cannot be loaded.

    ``threads`` is the number of threads for each operation.
    """
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # for versions that do not read ORT_DISABLE_TELEMETRY
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads use no CPU
    options.log_severity_level = 3
    if files.weights is not None:
        options.add_session_config_entry(_EXTERNAL_WEIGHTS, str(files.weights.parent))
    try:
        # The folder of external weights applies only to a graph that is read from memory.
        graph = str(files.graph) if files.weights is None else files.graph.read_bytes()
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors share no other class
        message = f"{files.graph} cannot be loaded as a model: {error}."
        raise ModelCorruptError(message, hint=files.hint) from error
