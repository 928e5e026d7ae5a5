"""From a name to an entailment model."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.models.cores import usable_cores
from sgi.models.entailment.files import EntailmentFiles, entailment_files
from sgi.models.entailment.labels import LabelMap
from sgi.models.entailment.windows import WindowedEntailment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sgi.kernel.protocols import EntailmentModel
    from sgi.models.entailment.windows import PairNetwork

BACKENDS = ("auto", "onnx", "torch")
"""What runs an entailment model."""

_WITH_LABELS = re.compile(r"(?P<name>.+)\(labels=(?P<labels>[^()]*)\)")
_TORCH = "torch:"


def load_entailment_model(
    name: str | Path,
    *,
    backend: str = "auto",
    threads: int | None = None,
    labels: Sequence[str] | None = None,
) -> EntailmentModel:
    """An entailment model by name: any classifier of pairs in two or three classes, or with a single logit.

    Its settings are read at once, and fetched if need be; weights are loaded when they are used.

    Args:
        name: a folder laid out as on the hub: ``config.json``, ``tokenizer.json``, and ``onnx/model.onnx``
            (or ``model.onnx``) or weights for torch; a name on the hub, ``owner/model``, looked for first
            among the user's models (``SGI_MODELS_DIR``); ``torch:`` and either. ``(labels=…)`` after it is as
            the argument.
        backend: ``onnx``, ``torch`` (extra ``torch``), or ``auto``: ONNX Runtime where there is a graph, else
            torch.
        threads: batches computed at once; None for the cores this process may use. Torch keeps its own.
        labels: what the outputs mean, in their order, where the configuration does not tell.

    Raises:
        UnknownNameError: no such backend, or no name of a model.
        UsageError: the configuration does not tell which output means entailment; or the model cannot be run
            from its files alone.
        ModelMissingError: the files are neither here nor to be had.
        ModelCorruptError: its settings cannot be read.
        MissingExtraError: an optional dependency is not installed.

    >>> load_entailment_model("minilm")
    Traceback (most recent call last):
    sgi.kernel.errors.UnknownNameError: Unknown entailment model 'minilm'. Name a folder, torch:FOLDER, or
    a model of the hub, owner/model.
    """
    if backend not in BACKENDS:
        near = tuple(difflib.get_close_matches(backend, BACKENDS))
        raise UnknownNameError("backend", backend, near, hint=f"There are: {', '.join(BACKENDS)}.")
    if threads is not None and threads < 1:
        raise UsageError(f"threads is {threads}; at least 1 is wanted.")
    asked, labels = _without_labels(name, labels)
    if isinstance(asked, str) and asked.startswith(_TORCH):
        asked, backend = asked.removeprefix(_TORCH), "torch"
    files = entailment_files(asked)
    files.require_known_form()
    meaning = LabelMap.read(files.configuration, files.name, labels)
    return WindowedEntailment(_network(files, meaning, backend, threads))


def _without_labels(
    name: str | Path, labels: Sequence[str] | None
) -> tuple[str | Path, Sequence[str] | None]:
    """A name and the labels that stand behind it, if any."""
    told = _WITH_LABELS.fullmatch(name) if isinstance(name, str) else None
    if told is None:
        return name, labels
    if labels is not None:
        raise UsageError(f"{name} names labels, and so does labels=.", hint="Name them once.")
    return told["name"], tuple(label.strip() for label in told["labels"].split(","))


def _network(files: EntailmentFiles, labels: LabelMap, backend: str, threads: int | None) -> PairNetwork:
    by_torch = backend == "auto" and not files.has_graph and files.may_have_weights
    if backend != "torch" and not by_torch:
        from sgi.models.entailment.onnx import OnnxPairs

        return OnnxPairs(files.onnx(), labels, typed=files.typed, threads=threads or usable_cores())
    files.require_torch_form()
    from sgi.models.entailment.torch import TorchPairs

    return TorchPairs(files.torch_source, labels, files.limit, typed=files.typed)
