"""Vectors by ONNX Runtime."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.embed.batching import equal_length_batches
from sgi.embed.cores import usable_cores
from sgi.embed.tokenize import open_tokenizer, tokenize
from sgi.kernel.errors import EmbedderError, ModelCorrupt
from sgi.kernel.ports import Embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from sgi.embed.files import ModelFiles

_TOKENS_A_BATCH = 512
"""Few enough for the widest layer's activations to stay near the core; more brought no speed."""
_NORM_FLOOR = 1e-12
_FILLED_WITH = {"attention_mask": 1, "token_type_ids": 0}
"""What a graph may ask for beside the ids: nothing is padded, and there is one text."""
_EXTERNAL_WEIGHTS = "session.model_external_initializers_file_folder_path"


class OnnxEmbedder:
    """Unit rows from a model in ONNX form, float32 throughout.

    Batches hold texts of one length and run side by side, each on one thread. So a text's vector has the
    same bits alone, among others, in any order and for any number of threads.

    Files are read and their sha256 checked at first use. Threads may share an embedder.

    Args:
        files: the model.
        threads: batches computed at once; None for the cores this process may use.

    >>> from sgi.embed.files import embedded_files
    >>> from sgi.embed.models import MODELS
    >>> rows = OnnxEmbedder(embedded_files(MODELS["minilm"])).embed(["A cat.", "A kitten.", "Tax law."])
    >>> rows.shape, bool(rows[0] @ rows[1] > rows[0] @ rows[2])
    ((3, 384), True)
    """

    def __init__(self, files: ModelFiles, *, threads: int | None = None) -> None:
        self.files = files
        self.threads = threads or usable_cores()
        self._lock = Lock()

    @cached_property
    def fingerprint(self) -> str:
        """Name, sha256 of weights, digest of graph and tokenizer, pooling, limit, prefix, precision."""
        weights, *others = self._verified
        prefix = f",{self.files.prefix.strip(': ')}" if self.files.prefix else ""
        rest = sha256("".join([*others, self.files.prefix]).encode()).hexdigest()
        how = f"{self.files.pooling},{self.files.limit}tok{prefix},fp32"
        return f"{self.files.name}@{weights[:8]}-{rest[:4]},{how}"

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows in the order given, float32, shape (n, d)."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embedded:
        """Unit rows, and which texts were cut.

        Raises:
            ModelMissing: the files are not there.
            ModelCorrupt: they are not the published ones, or no model.
            EmbedderError: a text has a lone surrogate, or the model failed.
        """
        session, tokenizer = self._opened
        prefix = self.files.prefix
        ids, truncated = tokenize(tokenizer, [prefix + text for text in texts] if prefix else texts)
        rows = np.zeros((len(ids), _dimension(session)), dtype=np.float32)

        def compute(batch: NDArray[np.int64]) -> None:
            rows[batch] = self._rows(session, np.stack([ids[place] for place in batch]))

        batches = equal_length_batches([len(text) for text in ids], _TOKENS_A_BATCH)
        with ThreadPoolExecutor(max(1, min(self.threads, len(batches)))) as pool:
            for _ in pool.map(compute, batches):
                pass  # asking for each result raises what went wrong in it
        return Embedded(rows, truncated)

    def _rows(self, session: Any, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The unit rows of a batch; ``ids`` of shape (n, length)."""
        feeds = {
            node.name: np.full_like(ids, _FILLED_WITH[node.name]) if node.name in _FILLED_WITH else ids
            for node in session.get_inputs()
        }
        try:
            (hidden,) = session.run([session.get_outputs()[0].name], feeds)
        except Exception as error:  # the runtime's errors have no common class but this
            raise EmbedderError(f"The model {self.files.name} failed: {error}.") from error
        pooled = hidden[:, 0] if self.files.pooling == "cls" else hidden.mean(axis=1)
        norms = np.sqrt(np.einsum("ij,ij->i", pooled, pooled))
        return np.asarray(pooled / np.maximum(norms, _NORM_FLOOR)[:, None], dtype=np.float32)

    @cached_property
    def _verified(self) -> tuple[str, ...]:
        """The sha256 of the files, that of the weights first."""
        return tuple(self.files.verify().values())

    @property
    def _opened(self) -> tuple[Any, Tokenizer]:
        with self._lock:  # two first users must not both load
            return self._session, self._tokenizer

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return open_tokenizer(self.files.tokenizer, self.files.limit)

    @cached_property
    def _session(self) -> Any:
        """The model, after its files were checked."""
        import onnxruntime

        _ = self._verified
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # batches run side by side instead
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        if self.files.weights is not None:
            options.add_session_config_entry(_EXTERNAL_WEIGHTS, str(self.files.weights.parent))
            graph: bytes | str = self.files.graph.read_bytes()  # from memory, so that the folder above holds
        else:
            graph = str(self.files.graph)
        try:
            session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime's errors have no common class but this
            message = f"{self.files.graph} cannot be loaded as a model: {error}."
            raise ModelCorrupt(message, hint=self.files.way_out) from error
        strange = {node.name for node in session.get_inputs()} - {"input_ids", *_FILLED_WITH}
        if strange:
            message = f"{self.files.graph} asks for {', '.join(sorted(strange))}; it embeds no texts."
            raise ModelCorrupt(message, hint=self.files.way_out)
        return session


def _dimension(session: Any) -> int:
    """The length of a row, which the graph tells as the last extent of its first output."""
    return int(session.get_outputs()[0].shape[-1])
