"""Finds a model by its name: installed with the package, in a folder, or on the Hugging Face hub."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from sgi.kernel.errors import ModelMissingError, UnknownNameError, UsageError
from sgi.models.hub import download, download_if_present, models_folder
from sgi.models.known_models import ALIASES, HUB_GRAPH, HUB_TOKENIZER, MODELS, ModelRecord, known_model
from sgi.models.model_files import ModelFiles, embedded_files, graph_path, onnx_files

_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_CONFIGURATION = "config.json"
_OPTIONAL_SETTINGS = (
    "tokenizer_config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
)
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


class ModelKind(NamedTuple):
    """A kind of model, with the possible forms of a model's name.

    Attributes:
        noun: the name of the kind in messages.
        hub: whether a name can be a repository on the Hugging Face hub, ``owner/model``; otherwise it is one
            of `sgi.models.known_models`.
        hint: the possible forms of a name, for errors.
    """

    noun: str
    hub: bool
    hint: str


EMBEDDING = ModelKind(
    "model",
    hub=False,
    hint="Name a known model (`sgi study models`), a folder, torch:NAME, openai:MODEL, openai:MODEL@URL "
    "or azure:DEPLOYMENT.",
)
ENTAILMENT = ModelKind(
    "entailment model",
    hub=True,
    hint="Name a profile (`sgi study models entailment`), a folder, or a model of the hub, owner/model.",
)


@dataclass(frozen=True)
class ModelLocation:
    """Location of the files of a model.

    Attributes:
        name: the model's name in fingerprints.
        folder: the folder with its settings, if there is one.
        hub: the repository on the Hugging Face hub that contains the files; empty if they are in ``folder``.
        record: the record of a known model; None for other models.
    """

    name: str
    folder: Path | None = None
    hub: str = ""
    record: ModelRecord | None = None

    @property
    def has_graph(self) -> bool:
        """Whether the model has an ONNX graph; if the graph is on the hub, this downloads it.

        Raises a ModelMissingError if the hub is unreachable and the graph is not on this machine.
        """
        if self.folder is not None and not self.hub:
            return graph_path(self.folder) is not None
        return self.record is not None or download_if_present(self.hub, HUB_GRAPH, name=self.name)

    @property
    def torch_source(self) -> str:
        """The repository on the hub, or the folder, from which torch loads the model."""
        return self.hub or str(self.folder)

    @property
    def needs_torch(self) -> bool:
        """Whether torch runs the model: it has weights but no ONNX graph."""
        return not self.has_graph and (bool(self.hub) or _has_weights(self.folder))

    def onnx_files(self) -> ModelFiles:
        """Return the ONNX files, with limit, pooling and prefix of a known model; download them if needed.

        Raises:
            MissingExtraError: huggingface_hub is not installed.
            ModelMissingError: the graph or the tokenizer does not exist or cannot be downloaded.
        """
        record = self.record
        if record is not None and record.embedded:
            return embedded_files(record)
        folder = self.folder or Path()
        if self.hub:
            download(self.hub, HUB_GRAPH, name=self.name)
            folder = download(self.hub, HUB_TOKENIZER, name=self.name).parent
            if record is None:
                download_if_present(self.hub, f"{HUB_GRAPH}_data", name=self.name)
        files = replace(onnx_files(folder), name=self.name)
        if record is None:
            return files
        return replace(files, limit=record.limit, pooling=record.pooling, prefix=record.prefix)


def find_model(name: str | Path, kind: ModelKind = EMBEDDING) -> ModelLocation:
    """Find a model by the name of a known model, a folder, or a repository on the hub.

    A known model precedes a folder of the same name. The user's folder of models (``SGI_MODELS_DIR``)
    comes before the hub.

    Raises:
        UnknownNameError: no model has this name.
        ModelMissingError: the folder does not exist, or the settings on the hub cannot be downloaded.
        MissingExtraError: huggingface_hub is not installed.

    >>> find_model("mpnet").hub
    'sentence-transformers/all-mpnet-base-v2'
    >>> find_model("/no/such/folder", ENTAILMENT)
    Traceback (most recent call last):
    sgi.kernel.errors.ModelMissingError: The folder /no/such/folder does not exist. Name a profile
    (`sgi study models entailment`), a folder, or a model of the hub, owner/model.
    """
    record = known_model(name) if isinstance(name, str) and not kind.hub else None
    if record is not None:
        folder = None if record.embedded else _user_folder(record.name)
        return ModelLocation(record.name, folder, "" if folder else record.hub, record)
    folder = existing_folder(name)
    if folder is not None:
        return ModelLocation(folder.resolve().name, folder)
    if isinstance(name, Path) or name.startswith(("/", "~", ".")) or (os.sep in name and not kind.hub):
        raise ModelMissingError(f"The folder {Path(name)} does not exist.", hint=kind.hint)
    if not (kind.hub and _REPOSITORY.fullmatch(name)):
        from sgi.kernel.entailment_profile import entailment_profiles  # it imports pydantic, which takes long

        known = (*entailment_profiles(),) if kind.hub else (*MODELS, *ALIASES)
        near = difflib.get_close_matches(name, known, n=2, cutoff=0.6 if kind.hub else 0.5)
        raise UnknownNameError(kind.noun, name, tuple(near), hint=kind.hint)
    folder = _user_folder(name)
    return ModelLocation(name, folder) if folder else ModelLocation(name, _hub_settings(name), name)


def existing_folder(name: str | Path) -> Path | None:
    """Return the path of an existing folder; None if ``name``, which can be any text, is not one.

    >>> existing_folder("~nobody-here/x"), existing_folder("x" * 300), existing_folder("")
    (None, None, None)
    """
    folder = Path(os.path.expanduser(name))  # noqa: PTH111 - pathlib's raises if there is no such user
    try:
        return folder if str(name) and folder.is_dir() else None
    except OSError:  # for example, the name is too long
        return None


def require_threads(threads: int | None) -> None:
    """Raise a UsageError if ``threads`` is less than 1."""
    if threads is not None and threads < 1:
        raise UsageError(f"`threads` must be at least 1, not {threads}.")


def _user_folder(name: str) -> Path | None:
    """Return this model's folder in the user's folder of models; None if it has neither graph nor weights."""
    folder = existing_folder(models_folder() / name)
    return folder if folder and (graph_path(folder) or _has_weights(folder)) else None


def _has_weights(folder: Path | None) -> bool:
    return folder is not None and any(any(folder.glob(pattern)) for pattern in _WEIGHTS)


def _hub_settings(repository: str) -> Path:
    folder = download(repository, _CONFIGURATION, name=repository).parent
    for name in _OPTIONAL_SETTINGS:
        download_if_present(repository, name, name=repository)
    return folder
