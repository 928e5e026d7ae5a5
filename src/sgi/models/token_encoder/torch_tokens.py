"""Token vectors from any layer of any model on the Hugging Face hub, computed by transformers and torch."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import EmbedderError, UsageError, require_extra
from sgi.kernel.tokens import TokenModel
from sgi.models.model_files import DEFAULT_LIMIT
from sgi.models.tokenizer import SpecialTokens
from sgi.models.torch_model import (
    UNTRUSTED,
    TorchModel,
    configuration_bytes,
    model_digest,
    unread_by_torch,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_UNLIMITED = 1 << 20
"""A greater token limit in the settings means that the tokenizer has no limit."""
_POOLER = "pooler."
"""The weights after the last layer, which transformers initialises at random if a model has none."""


class TorchTokenNetwork(TorchModel):
    """Computes a layer of a model with transformers (extra ``torch``) in float32; loaded at first use.

    The last digits of a vector may depend on the size of its batch.

    Args:
        source: a folder with weights, configuration and tokenizer, or a repository on the hub.
        layer: the layer whose output is used; 0 means the embeddings before the first layer, None the last.
    """

    _settings = ("layer",)
    threads = 1  # torch itself uses all cores

    def __init__(self, source: str, layer: int | None = None) -> None:
        super().__init__(source)
        self.layer = layer

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name and layer, digest of its files, token limit and precision.

        Raises a UsageError if the model does not have the layer.
        """
        model, tokenizer = self._model
        _ = self._layer  # raises if there is no such layer
        revision = model_digest(model, [configuration_bytes(model.config)], tokenizer, without=_POOLER)
        return f"{TokenModel(self.name, self.layer).label}@{revision},{self.limit}tok,fp32"

    @property
    def limit(self) -> int:
        """The maximum number of tokens that the model reads at once."""
        model, tokenizer = self._model
        limit = tokenizer.model_max_length
        if limit < _UNLIMITED:
            return int(limit)
        return int(getattr(model.config, "max_position_embeddings", None) or DEFAULT_LIMIT)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self._model[0].config.hidden_size)

    @cached_property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens that the tokenizer adds around a text."""
        encoding = self._model[1]("a", return_special_tokens_mask=True)
        return SpecialTokens.of(encoding["input_ids"], encoding["special_tokens_mask"])

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """Return the token ids of each text without outer white space; EmbedderError for invalid Unicode."""
        tokenizer = self._model[1]
        try:
            with self._lock:  # truncation is a state of the tokenizer
                encoding = tokenizer([text.strip() for text in texts], truncation=False, verbose=False)
        except TypeError as error:
            raise EmbedderError(
                f"{self.name} refused a text.", hint="A text must be valid Unicode."
            ) from error
        return [np.asarray(ids, dtype=np.int64) for ids in encoding["input_ids"]]

    def unread(self, texts: Sequence[str], ids: Sequence[NDArray[np.int64]], /) -> NDArray[np.bool_]:
        """Return the texts with these token ids of which the vocabulary has too few letters."""
        special = self.special_tokens
        with self._lock:
            return unread_by_torch(self._loaded_model[1], texts, ids, added=special.before + special.after)

    def token_vectors(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return the layer's output, shape (n, length, d), for token ids of shape (n, length).

        Raises an EmbedderError if the model fails, for example for lack of memory.
        """
        output = self._run(self._model[0], ids, output_hidden_states=True)
        return np.asarray(output.hidden_states[self._layer].float().numpy())

    @property
    def _layer(self) -> int:
        layers = int(self._model[0].config.num_hidden_layers)
        if self.layer is not None and self.layer > layers:
            raise UsageError(f"{self.name} has {layers} layers; layer {self.layer} does not exist.")
        return layers if self.layer is None else self.layer

    @cached_property
    def _loaded_model(self) -> tuple[Any, Any]:
        with require_extra("A torch: model", "torch"):
            from transformers import AutoModel, AutoTokenizer
        with self._load_errors() as source:
            local = self._local_only
            model = AutoModel.from_pretrained(source, dtype="float32", local_files_only=local, **UNTRUSTED)
            tokenizer = AutoTokenizer.from_pretrained(
                source, add_prefix_space=True, local_files_only=local, trust_remote_code=False
            )
        model = model.eval()
        encoder = getattr(model, "encoder", None)
        return (encoder if hasattr(model, "decoder") and encoder is not None else model), tokenizer
