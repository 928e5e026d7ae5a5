"""Opens an entailment model by name, with the settings of its model: classes, token limit and inputs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.kernel.entailment_profile import EntailmentProfile, find_profile
from sgi.kernel.errors import ModelMissingError, UsageError
from sgi.kernel.short_text import TORCH
from sgi.models.batching import usable_cores
from sgi.models.entailment.entailment_labels import LabelMap
from sgi.models.entailment.windowed_entailment import (
    OnnxPairNetwork,
    TorchPairNetwork,
    WindowedEntailment,
)
from sgi.models.hub import models_folder
from sgi.models.model_files import DEFAULT_LIMIT, read_settings
from sgi.models.model_location import (
    ENTAILMENT,
    ModelLocation,
    existing_folder,
    find_model,
    require_threads,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_WITH_LABELS = re.compile(r"(?P<name>.+)\(labels=(?P<labels>[^()]*)\)")
_OUTPUT_KEYS = frozenset({"id2label", "label2id", "num_labels"})


def load_entailment_model(
    name: str | Path,
    *,
    threads: int | None = None,
    labels: Sequence[str] | None = None,
) -> WindowedEntailment:
    """Open a classifier of text pairs with two or three classes, or with a single logit.

    This call reads the settings, and downloads them if needed; weights are loaded at first use.

    Args:
        name: a profile (`sgi.kernel.entailment_profile`), by its name, alias or file ``….toml``; a folder
            with the layout of the Hugging Face hub (``config.json``, ``tokenizer.json``, and
            ``onnx/model.onnx``, ``model.onnx`` or weights for torch); a model on the hub, ``owner/model``,
            which is looked for in the user's folder of models (``SGI_MODELS_DIR``) first; or ``torch:``
            before one of these. ONNX Runtime runs a model that has an ONNX graph; torch (extra ``torch``)
            runs the others, and all after ``torch:``. ``(labels=…)`` after the name has the effect of the
            argument ``labels``.
        threads: number of batches computed in parallel; None means all cores that this process may use.
            Torch ignores it.
        labels: the meanings of the outputs, in their order, if the configuration does not contain them.

    Raises:
        UnknownNameError: ``name`` is not the name of a model.
        UsageError: it is unknown which output means entailment, or the model requires code from the hub.
        ModelMissingError: the files are not on this machine and cannot be downloaded.
        ModelCorruptError: the settings cannot be read.
        MissingExtraError: an optional dependency is not installed.

    >>> load_entailment_model("minilm")
    Traceback (most recent call last):
    sgi.kernel.errors.UnknownNameError: Unknown entailment model 'minilm'. Name a profile
    (`sgi study models entailment`), a folder, or a model of the hub, owner/model.
    """
    require_threads(threads)
    name, labels = _split_labels(name, labels)
    by_torch = isinstance(name, str) and name.startswith(TORCH)
    name = str(name).removeprefix(TORCH) if by_torch else name
    profile = find_profile(name) if isinstance(name, str) else None
    location = _locate(name, profile)
    settings = EntailmentSettings(location.name, location.folder or Path())
    if profile is None:
        settings.require_plain_pairs()
        profile, code = EntailmentProfile(model=location.name), ""
    else:
        code = profile.code
    label_map = _label_map(settings, profile, labels)
    typed = settings.has_token_types and not profile.template  # a template joins both texts to one
    if by_torch or profile.answer_tokens or location.needs_torch:
        return WindowedEntailment(_torch_network(location, settings, profile, label_map, typed=typed), code)
    files = replace(location.onnx_files(), limit=profile.limit or settings.limit)
    threads = threads or usable_cores()
    network = OnnxPairNetwork(files, label_map, typed=typed, threads=threads, template=profile.template)
    return WindowedEntailment(network, code)


def _locate(name: str | Path, profile: EntailmentProfile | None) -> ModelLocation:
    """Find the model's files; an error names what the profile needs."""
    if profile is None:
        return find_model(name, ENTAILMENT)
    if profile.runs == "own files":
        folder = existing_folder(profile.model) or existing_folder(models_folder() / profile.model)
        if folder is None:
            message = f"The model {profile.name} must be in your folder of models: {profile.needs}"
            raise ModelMissingError(message, hint=f"Put its files at {models_folder() / profile.model}.")
        return ModelLocation(profile.name, folder)
    return find_model(profile.model, ENTAILMENT)


def _torch_network(
    location: ModelLocation,
    settings: EntailmentSettings,
    profile: EntailmentProfile,
    labels: LabelMap,
    *,
    typed: bool,
) -> TorchPairNetwork:
    settings.require_torch_model(generates=bool(profile.answer_tokens))
    return TorchPairNetwork(
        location.torch_source,
        labels,
        profile.limit or settings.limit,
        typed=typed,
        template=profile.template,
        answer_tokens=profile.answer_tokens,
    )


def _label_map(
    settings: EntailmentSettings, profile: EntailmentProfile, labels: Sequence[str] | None
) -> LabelMap:
    """Read the meanings of the outputs; the labels of a profile must not contradict the configuration."""
    configuration = dict(settings.configuration)
    if profile.activation:
        configuration["activation_fn"] = profile.activation.title()
        configuration.pop("sentence_transformers", None)
    if labels is not None or not profile.labels:
        return LabelMap.read(configuration, settings.name, labels)
    if profile.answer_tokens:  # the configuration of a model that generates text names no outputs
        configuration = {key: value for key, value in configuration.items() if key not in _OUTPUT_KEYS}
    label_map = LabelMap.read(configuration, settings.name, profile.labels)
    own = LabelMap.meanings(configuration, settings.name)
    expected = LabelMap.meanings({"id2label": dict(enumerate(profile.labels))}, settings.name)
    if len(own) == len(expected) and all(own) and own != expected:
        message = (
            f"The config.json of {settings.name} names its outputs {', '.join(map(str, own))}; the profile "
            f"{profile.name} names them {', '.join(profile.labels)}."
        )
        hint = "The profile describes another model. Name its folder instead, or add (labels=…)."
        raise UsageError(message, hint=hint)
    return label_map


def _split_labels(name: str | Path, labels: Sequence[str] | None) -> tuple[str | Path, Sequence[str] | None]:
    match = _WITH_LABELS.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        return name, labels
    if labels is not None:
        raise UsageError(
            f"The name {name} contains labels, and the argument `labels` is set too.",
            hint="Give the labels either in the name or in `labels`.",
        )
    return match["name"], tuple(label.strip() for label in match["labels"].split(","))


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
    def configuration(self) -> dict[str, object]:
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
            message = f"{self.name} cannot be used: its own code adds a prompt to the two texts."
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

    def _settings(self, file: str) -> dict[str, object]:
        return read_settings(self.folder / file)
