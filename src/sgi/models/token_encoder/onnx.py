"""Token vectors from the last layer of a model in ONNX form, computed by ONNX Runtime."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from sgi.kernel.fork_safety import renew_in_child
from sgi.kernel.tokens import TokenModel
from sgi.models.files import revision
from sgi.models.tokenizer import open_tokenizer, tokenize
from sgi.models.windows import SpecialTokens

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from sgi.models.embedder.onnx import OnnxEmbedder


class OnnxTokenNetwork:
    """Computes the last layer of an embedder's model in ONNX form.

    It does not use the pooling and the prefix of the embedder.
    """

    def __init__(self, embedder: OnnxEmbedder) -> None:
        self.embedder = embedder
        self.name = embedder.files.name
        self.limit = embedder.limit
        self.threads = embedder.threads
        self._lock = Lock()
        renew_in_child(self)

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name and layer, digests of its files, token limit, precision."""
        digest = revision(self.embedder.file_digests)
        return f"{TokenModel(self.name).label}@{digest},{self.limit}tok,fp32"

    @property
    def identity(self) -> Hashable:
        """What determines vectors and speed."""
        return self.fingerprint, self.embedder.identity

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.embedder.network().dimension

    @cached_property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens that the tokenizer adds around a text."""
        encoding = self._tokenizer.encode("a")
        return SpecialTokens.of(encoding.ids, encoding.special_tokens_mask)

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """Return the token ids of each text, not truncated; raise EmbedderError for invalid Unicode."""
        with self._lock:  # load only once if two threads come first
            tokenizer = self._tokenizer
        return tokenize(tokenizer, texts).ids

    def token_vectors(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return the last layer's output, shape (n, length, d), for token ids of shape (n, length)."""
        return self.embedder.network().token_vectors(ids)

    def renew_after_fork(self) -> None:
        """Replace the lock: a thread that holds it does not exist in the child."""
        self._lock = Lock()

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        _ = self.fingerprint  # verifies the files
        tokenizer = open_tokenizer(self.embedder.files.tokenizer, self.limit)
        tokenizer.no_truncation()
        return tokenizer
