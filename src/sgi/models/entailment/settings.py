"""What the settings of an entailment model say: classes, token limit, inputs, and whether we can run it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import ModelMissingError, UsageError
from sgi.models.files import DEFAULT_LIMIT, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONFIGURATION = "config.json"
_UNLIMITED = 1 << 20
"""Tokenizers without a limit state a huge number."""
_MIN_LIMIT = 2
_POSITIONS_AFTER_PADDING = frozenset(
    {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "roberta-prelayernorm"}
    | {"xlm-roberta", "xlm-roberta-xl", "xmod"}
)
"""Models that number positions from the padding token's id on: their first positions are never used."""
_EXPORT = "Export it to ONNX with a head that gives logits for a pair of texts, and name that folder."


@dataclass(frozen=True)
class EntailmentSettings:
    """The settings of an entailment model in a folder; ``name`` is for messages."""

    name: str
    folder: Path

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """``config.json``, with the activation that sentence-transformers sets.

        Raises:
            ModelMissingError: there is no such file.
            ModelCorruptError: the file cannot be read.
        """
        path = self.folder / _CONFIGURATION
        if not path.exists():
            message = f"{self.folder} has no {_CONFIGURATION}, which says what a classifier's outputs mean."
            raise ModelMissingError(
                message, hint="Name the folder of an entailment model, with the layout of the hub."
            )
        more = self._settings("config_sentence_transformers.json")
        return {**{key: more[key] for key in ("activation_fn",) if key in more}, **read_settings(path)}

    @property
    def limit(self) -> int:
        """The most tokens that the model reads at once: the lowest limit in the settings, or 512."""
        return min(self._limits, default=DEFAULT_LIMIT)

    @property
    def _limits(self) -> Iterator[int]:
        configuration = self.configuration
        positions = configuration.get("max_position_embeddings")
        if isinstance(positions, int) and configuration.get("model_type") in _POSITIONS_AFTER_PADDING:
            padding = configuration.get("pad_token_id", 1)
            positions -= (padding if isinstance(padding, int) else 1) + 1
        for limit in (
            self._settings("sentence_bert_config.json").get("max_seq_length"),
            self._settings("tokenizer_config.json").get("model_max_length"),
            positions,
        ):
            if isinstance(limit, int) and _MIN_LIMIT < limit < _UNLIMITED:
                yield limit

    @property
    def has_token_types(self) -> bool:
        """Whether token types separate premise and hypothesis: not if the tokenizer's inputs lack them."""
        inputs = self._settings("tokenizer_config.json").get("model_input_names")
        return "token_type_ids" in inputs if isinstance(inputs, list) else True

    def require_plain_pairs(self) -> None:
        """Raise a UsageError if the model puts the pair into a prompt of its own code."""
        if str(self.configuration.get("model_type", "")).casefold().startswith("hhemv2"):
            message = f"{self.name} reads a pair inside a prompt that is part of its own code."
            hint = "Use a cross-encoder that reads plain pairs: an NLI model, MiniCheck, HHEM 1.0."
            raise UsageError(message, hint=hint)

    def require_torch_classifier(self) -> None:
        """Raise a UsageError unless torch can run the model, a classifier, without code from the hub."""
        if self.configuration.get("auto_map"):
            message = f"{self.name} requires code of its own from the hub, and such code is not run here."
            raise UsageError(message, hint=_EXPORT)
        architectures = self.configuration.get("architectures")
        kinds = [str(kind) for kind in architectures] if isinstance(architectures, list) else []
        if kinds and not any(kind.endswith("ForSequenceClassification") for kind in kinds):
            message = f"{self.name} is a {', '.join(kinds)}, which does not classify pairs of texts."
            raise UsageError(message, hint=f"Name a model for sequence classification. {_EXPORT}")

    def _settings(self, file: str) -> dict[str, Any]:
        return read_settings(self.folder / file)
