"""Opens an entailment model by name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.kernel.errors import UsageError
from sgi.models.cores import usable_cores
from sgi.models.entailment.labels import LabelMap
from sgi.models.entailment.settings import EntailmentSettings
from sgi.models.entailment.windowed_entailment import WindowedEntailment
from sgi.models.model_location import ENTAILMENT, find_model, require_choice, require_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.protocols import EntailmentModel

BACKENDS = ("auto", "onnx", "torch")
"""The backends that can run an entailment model."""

_WITH_LABELS = re.compile(r"(?P<name>.+)\(labels=(?P<labels>[^()]*)\)")
_TORCH = "torch:"


def load_entailment_model(
    name: str | Path,
    *,
    backend: str = "auto",
    threads: int | None = None,
    labels: Sequence[str] | None = None,
) -> EntailmentModel:
    """Open a classifier of text pairs with two or three classes, or with a single logit.

    This call reads the settings, and downloads them if needed; weights are loaded at first use.

    Args:
        name: a folder with the layout of the Hugging Face hub (``config.json``, ``tokenizer.json``, and
            ``onnx/model.onnx``, ``model.onnx`` or weights for torch); a model on the hub, ``owner/model``,
            which is looked for in the user's folder of models (``SGI_MODELS_DIR``) first; or ``torch:``
            before one of these. ``(labels=…)`` after the name has the same effect as the argument ``labels``.
        backend: ``onnx``, ``torch`` (extra ``torch``), or ``auto``: ONNX Runtime if the model has an ONNX
            graph, otherwise torch.
        threads: number of batches computed in parallel; None means all cores that this process may use.
            Torch ignores it.
        labels: the meanings of the outputs, in their order, if the configuration does not contain them.

    Raises:
        UnknownNameError: the backend does not exist, or ``name`` is not the name of a model.
        UsageError: it is unknown which output means entailment, or the model requires code from the hub.
        ModelMissingError: the files are not on this machine and cannot be downloaded.
        ModelCorruptError: the settings cannot be read.
        MissingExtraError: an optional dependency is not installed.

    >>> load_entailment_model("minilm")
    Traceback (most recent call last):
    sgi.kernel.errors.UnknownNameError: Unknown entailment model 'minilm'. Name a folder, torch:FOLDER, or
    a model of the hub, owner/model.
    """
    require_choice("backend", backend, BACKENDS)
    require_threads(threads)
    name, labels = _split_labels(name, labels)
    if isinstance(name, str) and name.startswith(_TORCH):
        name, backend = name.removeprefix(_TORCH), "torch"
    location = find_model(name, ENTAILMENT)
    settings = EntailmentSettings(location.name, location.folder or Path())
    settings.require_plain_pairs()
    label_map = LabelMap.read(settings.configuration, settings.name, labels)
    typed = settings.has_token_types
    if location.needs_torch(backend):
        settings.require_torch_classifier()
        from sgi.models.entailment.torch import TorchPairNetwork

        source = location.torch_source
        return WindowedEntailment(TorchPairNetwork(source, label_map, settings.limit, typed=typed))
    from sgi.models.entailment.onnx import OnnxPairNetwork

    files = replace(location.onnx_files(), limit=settings.limit)
    threads = threads or usable_cores()
    return WindowedEntailment(OnnxPairNetwork(files, label_map, typed=typed, threads=threads))


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
