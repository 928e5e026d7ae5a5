"""Opens an entailment model by name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.kernel.entailment_profile import TORCH, EntailmentProfile, find_profile
from sgi.kernel.errors import ModelMissingError, UsageError
from sgi.models.batching import usable_cores
from sgi.models.entailment.entailment_labels import LabelMap
from sgi.models.entailment.entailment_settings import EntailmentSettings
from sgi.models.entailment.windowed_entailment import WindowedEntailment
from sgi.models.hub import models_folder
from sgi.models.model_location import (
    ENTAILMENT,
    ModelLocation,
    existing_folder,
    find_model,
    require_threads,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    (`sgi models entailment`), a folder, or a model of the hub, owner/model.
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
        settings.require_torch_model(generates=bool(profile.answer_tokens))
        from sgi.models.entailment.torch_entailment import TorchPairNetwork

        torch_network = TorchPairNetwork(
            location.torch_source,
            label_map,
            profile.limit or settings.limit,
            typed=typed,
            template=profile.template,
            answer_tokens=profile.answer_tokens,
        )
        return WindowedEntailment(torch_network, code)
    from sgi.models.entailment.onnx_entailment import OnnxPairNetwork

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


def _label_map(
    settings: EntailmentSettings, profile: EntailmentProfile, labels: Sequence[str] | None
) -> LabelMap:
    """Read the meanings of the outputs; those of a profile must not contradict the configuration."""
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
        hint = "It is another model than that of the profile. Name its folder instead, or add (labels=…)."
        raise UsageError(message, hint=hint)
    return label_map


def _split_labels(name: str | Path, labels: Sequence[str] | None) -> tuple[str | Path, Sequence[str] | None]:
    match = _WITH_LABELS.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        return name, labels
    if labels is not None:
        raise UsageError(
            f"The name {name} contains labels, and the argument `labels` is set too.",
            hint="Give the labels in one of both places.",
        )
    return match["name"], tuple(label.strip() for label in match["labels"].split(","))
