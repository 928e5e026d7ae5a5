"""Embedders run by ONNX Runtime."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.errors import ModelCorruptError
from sgi.kernel.fork_safety import keep_forever, renew_in_child
from sgi.kernel.protocols import Embeddings
from sgi.models.batching import (
    TOKENS_PER_BATCH,
    current_work,
    distinct,
    equal_length_batches,
    run_batches,
    usable_cores,
)
from sgi.models.embedder.long_texts import LONG_TEXTS, Ends, LongTexts, WindowedTexts
from sgi.models.model_files import revision
from sgi.models.onnx_session import OnnxSession
from sgi.models.tokenizer import open_tokenizer, tokenize, unread_texts

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from sgi.models.model_files import ModelFiles
    from sgi.models.tokenizer import TextTokenizer, Tokens

_SMALL_CALLS = 16
"""After this many calls with few batches, the model is opened again so that each batch uses all threads. The
time to open it equals about the time that it saves in as many calls."""
_MIN_THREADS_PER_BATCH = 4
"""From this number of threads for each batch on, sequential batches are faster than parallel ones."""
_MIN_NORM = 1e-12
_TOKEN_VECTORS = 3
"""The number of dimensions of an array of token vectors: batch, token, component."""


class OnnxEmbedder:
    """Computes unit vectors with a model in ONNX form, in float32; each distinct text is computed once.

    All texts of a batch have the same number of tokens. Batches run in parallel on one thread each; if most
    calls have only few batches, they run one after the other on all threads. A text's vector has the same
    bits alone, with others, in any order and for any number of threads.

    Files are verified at first use. An embedder is thread-safe.

    Args:
        files: the files of the model.
        threads: number of batches computed in parallel; None means all cores that this process may use.
        long_texts: how texts that exceed the token limit are read; see `load_embedder`.

    >>> from sgi.models.model_files import embedded_files
    >>> from sgi.models.known_models import MODELS
    >>> rows = OnnxEmbedder(embedded_files(MODELS["minilm"])).embed(["A cat.", "A kitten.", "Tax law."])
    >>> rows.shape, bool(rows[0] @ rows[1] > rows[0] @ rows[2])
    ((3, 384), True)
    """

    def __init__(
        self, files: ModelFiles, *, threads: int | None = None, long_texts: LongTexts = LONG_TEXTS[0]
    ) -> None:
        self.files = files
        self.limit = files.limit
        self.long_texts = long_texts
        self.threads = threads or usable_cores()
        self._lock = Lock()
        self._networks: dict[bool, OnnxNetwork] = {}
        self._small_calls = 0
        renew_in_child(self)

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name, digests of its files, pooling, tokens, prefix and precision.

        The tokens are the limit, as ``256tok`` if longer texts are truncated or ``256tok-windows`` if not.
        """
        prefix = f",{self.files.prefix.strip(': ')}" if self.files.prefix else ""
        tokens = f"{self.files.limit}tok{'-windows' if self._reads_windows else ''}"
        how = f"{self.files.pooling},{tokens}{prefix},fp32"
        return f"{self.files.name}@{revision(self.file_digests, self.files.prefix)},{how}"

    @property
    def identity(self) -> Hashable:
        """A key of all that affects vectors and speed; embedders with the same key can share a model."""
        return type(self).__name__, self.fingerprint, self.file_digests, self.threads

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return the unit vectors of the texts, in their order, float32, shape (n, d)."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embeddings:
        """Return the unit vectors, and which texts were truncated, read in windows or have unknown letters.

        Raises:
            ModelMissingError: the files do not exist.
            ModelCorruptError: the files differ from the published ones, or are not a model.
            EmbedderError: a text has a lone surrogate (invalid Unicode), or the model fails.
        """
        unique, positions = distinct(texts)
        ids, truncated = self._token_ids(unique)
        whole = WindowedTexts.of(ids, self.limit, self._ends)
        batches = equal_length_batches([len(window) for window in whole.inputs], TOKENS_PER_BATCH)
        alone = self._runs_alone(len(batches))
        network = self.network(alone=alone)
        rows = np.zeros((len(whole.inputs), network.dimension), dtype=np.float32)

        work = current_work()  # read here: the worker threads have contexts of their own
        finished = whole.finished

        def compute(batch: NDArray[np.int64]) -> None:
            rows[batch] = self._unit_rows(
                network.token_vectors(np.stack([whole.inputs[position] for position in batch]))
            )
            work.add(int(finished[batch].sum()))

        run_batches(batches, compute, 1 if alone else self.threads)
        flags = (truncated, whole.windowed, self._unread(unique, ids))
        return Embeddings(whole.pool(rows)[positions], *(flag[positions] for flag in flags))

    def unread(self, texts: Sequence[str], /) -> NDArray[np.bool_]:
        """Return which texts have too many letters that the vocabulary lacks, without computing vectors."""
        return self._unread(texts, self._token_ids(texts).ids)

    def token_counts(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each whole text, special tokens and prefix included."""
        ids = tokenize(self.tokenizer, [self.files.prefix + text for text in texts]).ids
        return [len(own) for own in ids]

    def network(self, *, alone: bool = False) -> OnnxNetwork:
        """Return the model, for parallel batches, or if ``alone`` for single batches on all threads.

        The first call with each value of ``alone`` verifies and opens it.
        """
        with self._lock:  # load only once if two threads come first
            if alone not in self._networks:
                _ = self.file_digests
                self._networks[alone] = OnnxNetwork(self.files, threads=self.threads if alone else 1)
            return self._networks[alone]

    def renew_after_fork(self) -> None:
        """Open the model again: the threads of the runtime exist only in the parent."""
        keep_forever(self._networks)
        self._networks, self._lock = {}, Lock()

    def _token_ids(self, texts: Sequence[str]) -> Tokens:
        prefix = self.files.prefix
        given = [prefix + text for text in texts] if prefix else texts
        return tokenize(self.tokenizer, given, None if self._reads_windows else self.limit)

    def _unread(self, texts: Sequence[str], ids: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
        tokenizer = self.tokenizer
        return unread_texts(
            texts, ids, unknown=tokenizer.unknown, reads=tokenizer.reads, added=sum(self._ends)
        )

    def _runs_alone(self, batches: int) -> bool:
        if not 0 < batches <= max(1, self.threads // _MIN_THREADS_PER_BATCH) or self.threads == 1:
            return False
        with self._lock:
            self._small_calls += 1
            return self._small_calls > _SMALL_CALLS

    def _unit_rows(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        pooled = hidden[:, 0] if self.files.pooling == "cls" else hidden.mean(axis=1)
        norms = np.sqrt(np.einsum("ij,ij->i", pooled, pooled))
        return np.asarray(pooled / np.maximum(norms, _MIN_NORM)[:, None], dtype=np.float32)

    @cached_property
    def file_digests(self) -> tuple[str, ...]:
        """The sha256 of the verified files, the weights first."""
        return tuple(self.files.verify().values())

    @property
    def tokenizer(self) -> TextTokenizer:
        """The tokenizer, which the first call verifies and opens."""
        with self._lock:
            _ = self.file_digests
            return self._tokenizer

    @cached_property
    def _tokenizer(self) -> TextTokenizer:
        return open_tokenizer(self.files.tokenizer)

    @property
    def _reads_windows(self) -> bool:
        return self.long_texts == "windows"

    @cached_property
    def _ends(self) -> Ends:
        letter, prefixed = self._tokenizer.token_ids(["a", f"{self.files.prefix}a"])
        return Ends.of(self._tokenizer.special_tokens, len(letter), len(prefixed))


class OnnxNetwork:
    """A model opened by ONNX Runtime; its first output contains the token vectors. It is thread-safe.

    Args:
        files: the files of the model.
        threads: number of threads for each batch.

    Raises:
        ModelCorruptError: the graph cannot be loaded, or is not a text encoder.
    """

    def __init__(self, files: ModelFiles, *, threads: int = 1) -> None:
        self._session = OnnxSession(files, threads)
        self._output, shape = next(iter(self._session.outputs.items()))
        if len(shape) != _TOKEN_VECTORS or not isinstance(shape[-1], int):
            message = f"{files.graph} must return a vector for each token; its shape is {list(shape)}."
            raise ModelCorruptError(message, hint=files.hint)
        self.dimension: int = shape[-1]

    def token_vectors(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return token vectors, shape (n, length, dimension), for token ids of shape (n, length)."""
        return self._session.run(self._output, ids)
