"""Entailment models run by transformers and torch."""

from __future__ import annotations

from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import ModelCorruptError, UsageError, require_extra
from sgi.kernel.protocols import ENTAILMENT
from sgi.models.entailment.pairs import PairTokenizer
from sgi.models.torch_model import UNTRUSTED, TorchModel, configuration_bytes, model_digest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.models.entailment.entailment_labels import LabelMap

_TYPES = "token_type_ids"
_ANY_TYPE = 1 << 20


class TorchPairNetwork(TorchModel):
    """Classifier of text pairs run by transformers (extra ``torch``) in float32; loaded at first use.

    It never runs code from the Hugging Face hub.

    Args:
        source: a folder with weights, configuration and tokenizer, or a repository on the hub.
        labels: the meanings of the outputs.
        limit: the maximum number of tokens that the model reads at once.
        typed: whether premise and hypothesis have different token type ids.
        template: see `PairTokenizer`.
        answer_tokens: for a model that generates text, the ids of the first token that stand for the outputs;
            empty for a classifier.
    """

    _settings = ("labels", "limit", "typed", "template", "answer_tokens")
    threads = 1  # torch itself uses all cores

    def __init__(
        self,
        source: str,
        labels: LabelMap,
        limit: int,
        *,
        typed: bool = True,
        template: str = "",
        answer_tokens: tuple[int, ...] = (),
    ) -> None:
        super().__init__(source)
        self.labels = labels
        self.limit = limit
        self.typed = typed
        self.template = template
        self.answer_tokens = answer_tokens

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name, digest of its files, token limit, meanings of outputs, precision.

        Raises a UsageError if the tokenizer is code, and the errors of `TorchModel`.
        """
        model, tokenizer, pairs = self._model
        settings = [configuration_bytes(model.config), str(pairs.frame).encode()]
        if self.answer_tokens:
            settings.append(str(self.answer_tokens).encode())
        revision = model_digest(model, settings, tokenizer)
        return f"{ENTAILMENT}{self.name}@{revision},{self.limit}tok,{self.labels.code},fp32"

    @property
    def tokenizer(self) -> PairTokenizer:
        """The tokenizer, which is loaded with the model."""
        tokenizer: PairTokenizer = self._model[2]
        return tokenizer

    def logits(self, ids: NDArray[np.int64], types: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return the logits, shape (n, outputs), for token ids and token type ids, each of shape (n, length).

        Raises an EmbedderError if the model fails, for example for lack of memory.
        """
        import torch

        model = self._model[0]
        if self.answer_tokens:
            return self._answer_logits(model, ids)
        options = {}
        type_count = int(getattr(model.config, "type_vocab_size", _ANY_TYPE))
        if _TYPES in signature(model.forward).parameters and type_count > types.max(initial=0):
            options[_TYPES] = torch.from_numpy(np.ascontiguousarray(types))
        return np.asarray(self._run(model, ids, **options).logits.float().numpy())

    def _answer_logits(self, model: Any, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the logits of the answer tokens at the first position that the model generates."""
        import torch

        if max(self.answer_tokens) >= int(model.config.vocab_size):
            tokens = ", ".join(map(str, self.answer_tokens))
            message = f"{self.name} has {model.config.vocab_size} tokens; its profile names {tokens}."
            raise ModelCorruptError(message, hint="Give the ids of the model's own tokens in answer_tokens.")
        first = torch.full((len(ids), 1), int(model.config.decoder_start_token_id))
        logits = self._run(model, ids, decoder_input_ids=first).logits[:, 0, list(self.answer_tokens)]
        return np.asarray(logits.float().numpy())

    @cached_property
    def _loaded_model(self) -> tuple[Any, Any, PairTokenizer]:
        with require_extra("An entailment model run by torch", "torch"):
            from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer
        kind = AutoModelForSeq2SeqLM if self.answer_tokens else AutoModelForSequenceClassification
        with self._load_errors() as source:
            local = self._local_only
            model, report = kind.from_pretrained(
                source, dtype="float32", output_loading_info=True, local_files_only=local, **UNTRUSTED
            )
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local, trust_remote_code=False)
        if report["missing_keys"]:  # transformers initialises them at random
            message = f"{self.source!r} has no weights for {', '.join(sorted(report['missing_keys'])[:3])}."
            raise ModelCorruptError(message, hint="Name a model that was trained to classify pairs of texts.")
        return model.eval(), tokenizer, self._pair_tokenizer(tokenizer)

    def _pair_tokenizer(self, tokenizer: Any) -> PairTokenizer:
        from tokenizers import Tokenizer

        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            message = f"The tokenizer of {self.source!r} must be a tokenizer.json; it is code."
            raise UsageError(message, hint="Save it as a fast tokenizer of transformers.")
        own = Tokenizer.from_str(backend.to_str())
        return PairTokenizer(own, self.limit, typed=self.typed, template=self.template)
