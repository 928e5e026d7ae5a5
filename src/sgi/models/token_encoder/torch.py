"""Token vectors by transformers and torch: any model of the hub, any layer."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import EmbedderError, MissingExtraError, UsageError
from sgi.kernel.tokens import TokenModel
from sgi.models.batching import TOKENS_A_BATCH
from sgi.models.token_encoder.load import Marks
from sgi.models.torch_model import (
    UNTRUSTED,
    TorchModel,
    configuration_bytes,
    digest,
    tokenizer_bytes,
    weights_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_LIMIT_UNTOLD = 512
_NO_LIMIT = 1 << 20
"""Tokenizers that know no limit tell a number beyond all bounds."""
_NOT_OF_TOKENS = "pooler."
"""What comes after the last layer; where a model has none, transformers makes it up anew each time."""


class TorchTokens(TorchModel):
    """A model by transformers (extra ``torch``), float32; loaded at first use.

    Batches of another size may change the last digits of a vector: so much torch's arithmetic leaves open.

    Args:
        source: a folder with weights, configuration and tokenizer, or a model's name on the hub.
        layer: whose output is taken, 0 for the embeddings; None for the last.

    >>> TorchTokens("microsoft/deberta-xlarge-mnli", 40).name
    'torch:microsoft/deberta-xlarge-mnli'
    """

    threads = 1  # torch itself keeps the cores busy
    tokens_a_batch = TOKENS_A_BATCH

    def __init__(self, source: str, layer: int | None = None) -> None:
        super().__init__(source)
        self.layer = layer

    @cached_property
    def fingerprint(self) -> str:
        """Name, sha256 over weights, configuration and tokenizer, layer, limit and precision.

        Raises:
            MissingExtraError: the extra ``torch`` is not installed.
            ModelMissingError: the model is neither here nor to be had.
            ModelCorruptError: its files are no model.
            UsageError: it has fewer layers.
        """
        model, tokenizer = self._opened
        _ = self._layer  # there is such a layer
        made_of = digest(_parts(model, tokenizer))
        return f"{TokenModel(self.name, self.layer).label}@{made_of},{self.limit}tok,fp32"

    @property
    def limit(self) -> int:
        """The most tokens it reads at once."""
        model, tokenizer = self._opened
        told = tokenizer.model_max_length
        if told < _NO_LIMIT:
            return int(told)
        return int(getattr(model.config, "max_position_embeddings", None) or _LIMIT_UNTOLD)

    @property
    def dimension(self) -> int:
        """The length of a row."""
        return int(self._opened[0].config.hidden_size)

    @cached_property
    def marks(self) -> Marks:
        """What the tokenizer puts around a text."""
        made = self._opened[1]("a", return_special_tokens_mask=True)
        return Marks.of(made["input_ids"], made["special_tokens_mask"])

    def tokenized(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """The ids of every text, white space at its ends aside, none cut.

        Raises:
            EmbedderError: a text is no valid Unicode.
        """
        tokenizer = self._opened[1]
        try:
            with self._lock:  # the tokenizer's truncation is a state it keeps
                made = tokenizer([text.strip() for text in texts], truncation=False, verbose=False)
        except TypeError as error:
            raise EmbedderError(f"{self.name} refused a text.", hint="Text must be valid Unicode.") from error
        return [np.asarray(ids, dtype=np.int64) for ids in made["input_ids"]]

    def hidden(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """The layer's output, shape (n, length, d), for ids of shape (n, length).

        Raises:
            EmbedderError: the model failed: out of memory, for one.
        """
        import torch

        model = self._opened[0]
        asked = torch.from_numpy(np.ascontiguousarray(ids))
        try:
            with torch.inference_mode():
                made = model(asked, attention_mask=torch.ones_like(asked), output_hidden_states=True)
        except (RuntimeError, IndexError) as error:
            raise EmbedderError(f"{self.name} failed: {error}.") from error
        return np.asarray(made.hidden_states[self._layer].float().numpy())

    @property
    def _layer(self) -> int:
        layers = int(self._opened[0].config.num_hidden_layers)
        if self.layer is not None and self.layer > layers:
            raise UsageError(f"{self.name} has {layers} layers, so no layer {self.layer}.")
        return layers if self.layer is None else self.layer

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The model, its decoder aside, and its tokenizer."""
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise MissingExtraError("A torch: model", "torch") from None
        with self._loading() as place:
            local = self._local_only
            model = AutoModel.from_pretrained(place, dtype="float32", local_files_only=local, **UNTRUSTED)
            tokenizer = AutoTokenizer.from_pretrained(
                place, add_prefix_space=True, local_files_only=local, trust_remote_code=False
            )
        model = model.eval()
        encoder = getattr(model, "encoder", None)
        return (encoder if hasattr(model, "decoder") and encoder is not None else model), tokenizer


def _parts(model: Any, tokenizer: Any) -> Iterator[bytes]:
    """Everything that can change a vector: modules, configuration, tokenizer, weights."""
    yield repr(model).encode()
    yield configuration_bytes(model.config)
    yield tokenizer_bytes(tokenizer)
    state = model.state_dict().items()
    yield from weights_bytes((name, tensor) for name, tensor in state if not name.startswith(_NOT_OF_TOKENS))
