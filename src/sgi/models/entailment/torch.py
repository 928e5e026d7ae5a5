"""Pairs of texts classified by transformers and torch."""

from __future__ import annotations

from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import EmbedderError, MissingExtraError, ModelCorruptError, UsageError
from sgi.kernel.protocols import ENTAILMENT
from sgi.models.entailment.pairs import PairTokenizer
from sgi.models.torch_model import (
    UNTRUSTED,
    TorchModel,
    configuration_bytes,
    digest,
    tokenizer_bytes,
    weights_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sgi.models.entailment.labels import LabelMap

_TYPES = "token_type_ids"
_MANY = 1 << 20


class TorchPairs(TorchModel):
    """A sequence classifier by transformers (extra ``torch``), float32; loaded at first use.

    Code from the hub is never run.

    Args:
        source: a folder with weights, configuration and tokenizer, or a model's name on the hub.
        labels: what its outputs mean.
        limit: the most tokens it reads at once.
        typed: whether types tell premise from hypothesis.

    >>> from sgi.models.entailment.labels import LabelMap
    >>> TorchPairs("owner/model", LabelMap(3, 2, 0), 512).name
    'torch:owner/model'
    """

    threads = 1  # torch itself keeps the cores busy

    def __init__(self, source: str, labels: LabelMap, limit: int, *, typed: bool = True) -> None:
        super().__init__(source)
        self.labels = labels
        self.limit = limit
        self.typed = typed

    @cached_property
    def fingerprint(self) -> str:
        """Name, sha256 over weights, configuration and tokenizer, limit, meaning of outputs, precision.

        Raises:
            MissingExtraError: the extra ``torch`` is not installed.
            ModelMissingError: the model is neither here nor to be had.
            ModelCorruptError: its files are no model.
            UsageError: its tokenizer cannot be run as data alone.
        """
        made_of = digest(_parts(*self._opened))
        return f"{ENTAILMENT}{self.name}@{made_of},{self.limit}tok,{self.labels.code},fp32"

    @property
    def tokenizer(self) -> PairTokenizer:
        """Loaded with the model."""
        made: PairTokenizer = self._opened[2]
        return made

    def logits(self, ids: NDArray[np.int64], types: NDArray[np.int64], /) -> NDArray[np.float32]:
        """The outputs, shape (n, outputs), for tokens and their types of shape (n, length).

        Raises:
            EmbedderError: the model failed: out of memory, for one.
        """
        import torch

        model = self._opened[0]
        asked = torch.from_numpy(np.ascontiguousarray(ids))
        more = {}
        if _TYPES in signature(model.forward).parameters and self._types(model) > types.max(initial=0):
            more[_TYPES] = torch.from_numpy(np.ascontiguousarray(types))
        try:
            with torch.inference_mode():
                made = model(input_ids=asked, attention_mask=torch.ones_like(asked), **more)
        except (RuntimeError, IndexError) as error:
            raise EmbedderError(f"{self.name} failed: {error}.") from error
        return np.asarray(made.logits.float().numpy())

    @cached_property
    def _loaded(self) -> tuple[Any, Any, PairTokenizer]:
        """The model, its tokenizer, and that as a maker of pairs."""
        try:
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError:
            raise MissingExtraError("An entailment model run by torch", "torch") from None
        with self._loading() as place:
            local = self._local_only
            model, told = AutoModelForSequenceClassification.from_pretrained(
                place, dtype="float32", output_loading_info=True, local_files_only=local, **UNTRUSTED
            )
            tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=local, trust_remote_code=False)
        if told["missing_keys"]:  # transformers would make them up
            message = f"{self.source!r} has no weights for {', '.join(sorted(told['missing_keys'])[:3])}."
            raise ModelCorruptError(message, hint="Name a model that was trained to classify pairs of texts.")
        return model.eval(), tokenizer, self._pairs(tokenizer)

    @staticmethod
    def _types(model: Any) -> int:
        """How many types of tokens the model tells apart; those that do not say take what is given."""
        return int(getattr(model.config, "type_vocab_size", _MANY))

    def _pairs(self, tokenizer: Any) -> PairTokenizer:
        """Of a copy, apart from what transformers does with its own."""
        from tokenizers import Tokenizer

        inner = getattr(tokenizer, "backend_tokenizer", None)
        if inner is None:
            message = f"The tokenizer of {self.source!r} is code, not a tokenizer.json."
            raise UsageError(message, hint="Save it as a fast tokenizer of transformers, in that format.")
        return PairTokenizer(Tokenizer.from_str(inner.to_str()), self.limit, typed=self.typed)


def _parts(model: Any, tokenizer: Any, pairs: PairTokenizer) -> Iterator[bytes]:
    """Everything that can change a probability: modules, configuration, tokenizer, weights."""
    yield repr(model).encode()
    yield configuration_bytes(model.config)
    yield str(pairs.frame).encode()
    yield tokenizer_bytes(tokenizer)
    yield from weights_bytes(model.state_dict().items())
