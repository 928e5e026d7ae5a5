"""Token vectors by ONNX Runtime or OpenVINO: the last layer of a model in ONNX form."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from sgi.kernel.tokens import TokenModel
from sgi.models.files import revision
from sgi.models.tokenizer import open_tokenizer, tokenize
from sgi.models.windows import SpecialTokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from sgi.models.embedder.local import LocalEmbedder


class LocalTokenNetwork:
    """The last layer of a model in ONNX form, run by the runtime of an embedder.

    Pooling and prefix of the embedder are not used.
    """

    def __init__(self, embedder: LocalEmbedder) -> None:
        self.embedder = embedder
        self.name = embedder.files.name
        self.limit = embedder.limit
        self.threads = embedder.threads
        self._lock = Lock()

    @cached_property
    def fingerprint(self) -> str:
        """Name and layer, sha256 of weights, digest of graph and tokenizer, limit, arithmetic."""
        digest = revision(self.embedder.file_digests)
        return f"{TokenModel(self.name).label}@{digest},{self.limit}tok,{self.embedder.arithmetic}"

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.embedder.network().dimension

    @property
    def tokens_per_batch(self) -> int:
        """The most tokens in a batch."""
        return self.embedder.network().tokens_per_batch

    @cached_property
    def special_tokens(self) -> SpecialTokens:
        """The tokens around a text."""
        encoding = self._tokenizer.encode("a")
        return SpecialTokens.of(encoding.ids, encoding.special_tokens_mask)

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """The token ids of every whole text; EmbedderError for invalid Unicode."""
        with self._lock:  # load only once if two threads come first
            tokenizer = self._tokenizer
        return tokenize(tokenizer, texts).ids

    def token_vectors(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """The last layer's output, shape (n, length, d), for ids of shape (n, length)."""
        return self.embedder.network().token_vectors(ids)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        _ = self.fingerprint  # verifies the files
        tokenizer = open_tokenizer(self.embedder.files.tokenizer, self.limit)
        tokenizer.no_truncation()
        return tokenizer
