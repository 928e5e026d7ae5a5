"""Token vectors from the last layer of a model in ONNX form, computed by ONNX Runtime."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sgi.kernel.tokens import TokenModel
from sgi.models.model_files import revision
from sgi.models.tokenizer import tokenize, unread_texts

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from sgi.models.embedder.onnx_embedder import OnnxEmbedder
    from sgi.models.tokenizer import SpecialTokens


class OnnxTokenNetwork:
    """Computes the last layer of an embedder's model in ONNX form.

    It does not use the pooling and the prefix of the embedder.
    """

    def __init__(self, embedder: OnnxEmbedder) -> None:
        self.embedder = embedder
        self.name = embedder.files.name
        self.limit = embedder.limit
        self.threads = embedder.threads

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

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens that the tokenizer adds around a text."""
        return self.embedder.tokenizer.special_tokens

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """Return the token ids of each text, not truncated; raise EmbedderError for invalid Unicode."""
        return tokenize(self.embedder.tokenizer, texts).ids

    def unread(self, texts: Sequence[str], ids: Sequence[NDArray[np.int64]], /) -> NDArray[np.bool_]:
        """Return the texts with these token ids of which the vocabulary has too few letters."""
        tokenizer = self.embedder.tokenizer
        special = tokenizer.special_tokens
        return unread_texts(
            texts,
            ids,
            unknown=tokenizer.unknown,
            reads=tokenizer.reads,
            added=special.before + special.after,
        )

    def token_vectors(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return the last layer's output, shape (n, length, d), for token ids of shape (n, length)."""
        return self.embedder.network().token_vectors(ids)
