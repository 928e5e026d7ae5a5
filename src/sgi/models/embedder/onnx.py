"""Embedders run by ONNX Runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.errors import EmbedderError
from sgi.models.batching import TOKENS_PER_BATCH
from sgi.models.embedder.local import LocalEmbedder, vector_length
from sgi.models.onnx_session import graph_inputs, open_session

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.models.files import ModelFiles


class OnnxEmbedder(LocalEmbedder):
    """Computes unit vectors with a model in ONNX form, in float32.

    >>> from sgi.models.files import embedded_files
    >>> from sgi.models.known_models import MODELS
    >>> rows = OnnxEmbedder(embedded_files(MODELS["minilm"])).embed(["A cat.", "A kitten.", "Tax law."])
    >>> rows.shape, bool(rows[0] @ rows[1] > rows[0] @ rows[2])
    ((3, 384), True)
    """

    arithmetic = "fp32"

    def _open(self, *, alone: bool) -> OnnxNetwork:
        return OnnxNetwork(self.files, threads=self.threads if alone else 1)


class OnnxNetwork:
    """A model opened by ONNX Runtime; its first output contains the token vectors. It is thread-safe.

    Args:
        files: the files of the model.
        threads: number of threads for each batch.

    Raises:
        ModelCorruptError: the graph cannot be loaded, or is not a text encoder.
    """

    tokens_per_batch = TOKENS_PER_BATCH

    def __init__(self, files: ModelFiles, *, threads: int = 1) -> None:
        self.files = files
        self._session = open_session(files, threads)
        self._names = [node.name for node in self._session.get_inputs()]
        output = self._session.get_outputs()[0]
        self._output = output.name
        self.dimension = vector_length(files, self._names, output.shape)

    def token_vectors(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return token vectors, shape (n, length, dimension), for token ids of shape (n, length)."""
        try:
            (vectors,) = self._session.run([self._output], graph_inputs(self._names, ids))
        except Exception as error:  # the runtime's errors share no other class
            raise EmbedderError(f"The model {self.files.name} failed: {error}.") from error
        return np.asarray(vectors, dtype=np.float32)
