"""Reads the settings of an entailment model: classes, token limit, inputs, and whether SGI can run it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import ModelMissingError, UsageError
from sgi.models.model_files import DEFAULT_LIMIT, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONFIGURATION = "config.json"
_UNLIMITED = 1 << 20
"""A greater token limit in the settings means that the tokenizer has no limit."""
_MIN_LIMIT = 2
_POSITIONS_AFTER_PADDING = frozenset(
    {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "roberta-prelayernorm"}
    | {"xlm-roberta", "xlm-roberta-xl", "xmod"}
)
"""Model types that number positions from the padding token's id on; the first positions are unused."""
_EXPORT = "Export it to ONNX as a classifier with logits for a pair of texts, and name that folder."


@dataclass(frozen=True)
class EntailmentSettings:
    """Settings of an entailment model, read from its folder; ``name`` is the model's name in messages."""

    name: str
    folder: Path

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """The content of ``config.json``, with the activation function from sentence-transformers' settings.

        Raises:
            ModelMissingError: the file does not exist.
            ModelCorruptError: the file cannot be read.
        """
        path = self.folder / _CONFIGURATION
        if not path.exists():
            message = f"{self.folder} must contain {_CONFIGURATION} with the meanings of the outputs."
            raise ModelMissingError(
                message, hint="Name a folder of an entailment model with the layout of the Hugging Face hub."
            )
        more = self._settings("config_sentence_transformers.json")
        return {**{key: more[key] for key in ("activation_fn",) if key in more}, **read_settings(path)}

    @property
    def limit(self) -> int:
        """The maximum number of tokens that the model reads at once: the lowest in the settings, or 512."""
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
        """Whether the model takes token type ids, which mark premise and hypothesis."""
        inputs = self._settings("tokenizer_config.json").get("model_input_names")
        return "token_type_ids" in inputs if isinstance(inputs, list) else True

    def require_plain_pairs(self) -> None:
        """Raise a UsageError if the model's own code puts the pair into a prompt."""
        if str(self.configuration.get("model_type", "")).casefold().startswith("hhemv2"):
            message = f"{self.name} cannot be used: its own code puts the pair into a prompt."
            hint = "Name the profile hhem-2.1-open, or use a cross-encoder that reads plain pairs."
            raise UsageError(message, hint=hint)

    def require_torch_model(self, *, generates: bool = False) -> None:
        """Raise a UsageError unless torch runs the model without code from the hub.

        The model must be a classifier, or generate text if ``generates``.
        """
        if self.configuration.get("auto_map"):
            message = (
                f"{self.name} requires its own code from the Hugging Face hub; SGI does not run such code."
            )
            raise UsageError(message, hint=_EXPORT)
        architectures = self.configuration.get("architectures")
        kinds = [str(kind) for kind in architectures] if isinstance(architectures, list) else []
        end = "ForConditionalGeneration" if generates else "ForSequenceClassification"
        if kinds and not any(kind.endswith(end) for kind in kinds):
            message = f"{self.name} is a {', '.join(kinds)}, which does not classify pairs of texts."
            raise UsageError(message, hint=f"Name a model for sequence classification. {_EXPORT}")

    def _settings(self, file: str) -> dict[str, Any]:
        return read_settings(self.folder / file)
