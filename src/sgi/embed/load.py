"""From a name to an embedder."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.embed.models import ALIASES, DEFAULT_MODEL, MODELS, known_model
from sgi.kernel.errors import ModelCorrupt, ModelMissing, UnknownName, UsageError

if TYPE_CHECKING:
    from sgi.embed.models import ModelRecord
    from sgi.kernel.ports import Cache, Embedder

_BACKENDS = ("auto", "onnx", "torch")
_HOW_TO_NAME = (
    "Name a known model (`sgi models`), a folder, torch:NAME, openai:MODEL, openai:MODEL@URL "
    "or azure:DEPLOYMENT."
)


def load_embedder(
    name: str | Path = DEFAULT_MODEL,
    *,
    backend: str = "auto",
    precision: str = "auto",
    cache: Cache | None = None,
    threads: int | None = None,
) -> Embedder:
    """An embedder by name; nothing is loaded or fetched for the embedded model until it is used.

    Args:
        name: a known model, which is looked for among the user's models (``SGI_MODELS_DIR``) and then on
            the hub; a folder; ``torch:`` with a hub name or a folder; ``openai:MODEL``,
            ``openai:MODEL@http://host:port/v1``; ``azure:DEPLOYMENT``. A known model goes before a folder
            of the same name.
        backend: ``onnx``, ``torch`` (extra ``torch``), or ``auto``: ONNX where there is a graph.
        cache: keeps vectors, if given.
        threads: batches computed at once; None for the cores this process may use.

    Raises:
        UnknownName: no such model, or no such backend.
        UsageError: a setting the name needs is missing.
        ModelMissing: the files are neither here nor to be had.
        ModelCorrupt: a folder's settings do not fit the model.
        MissingExtra: an optional dependency is not installed.

    >>> load_embedder("minilm").fingerprint.partition("-")[0]
    'minilm@8199be6f'
    """
    if backend not in _BACKENDS:
        raise UnknownName("backend", backend, tuple(difflib.get_close_matches(backend, _BACKENDS)))
    if threads is not None and threads < 1:
        raise UsageError(f"threads is {threads}; at least 1 is wanted.")
    embedder = _open(name, backend, threads)
    if cache is None:
        return embedder
    from sgi.embed.cached import CachedEmbedder

    return CachedEmbedder(embedder, cache)


def _open(name: str | Path, backend: str, threads: int | None) -> Embedder:
    if isinstance(name, str) and name.startswith(("openai:", "azure:")):
        from sgi.embed.remote import open_remote

        return open_remote(name)
    if isinstance(name, str) and name.startswith("torch:"):
        return _torch(name.removeprefix("torch:"))
    record = known_model(name) if isinstance(name, str) else None
    if record is not None:
        return _known(record, backend, threads)
    folder = Path(name)
    if str(name).startswith("~/"):
        folder = folder.expanduser()
    if name and folder.is_dir():
        return _folder(folder, backend, threads)
    if isinstance(name, Path) or os.sep in name:
        raise ModelMissing(f"There is no folder {folder}.", hint=_HOW_TO_NAME)
    near = tuple(difflib.get_close_matches(name, (*MODELS, *ALIASES), n=2, cutoff=0.5))
    raise UnknownName("model", name, near, hint=_HOW_TO_NAME)


def _known(record: ModelRecord, backend: str, threads: int | None) -> Embedder:
    """A known model: the embedded one, or one of the user's, or one from the hub."""
    from sgi.embed.files import default_prompt, embedded_files, hub_files, kept_files, kept_folder
    from sgi.embed.onnx import OnnxEmbedder

    if record.embedded and backend != "torch":
        return OnnxEmbedder(embedded_files(record), threads=threads)
    folder = None if record.embedded else kept_folder(record)
    if folder is None:
        return _torch(record.hub) if backend == "torch" else OnnxEmbedder(hub_files(record), threads=threads)
    if not _wants_torch(folder, backend):
        return OnnxEmbedder(kept_files(record, folder), threads=threads)
    if record.prefix != default_prompt(folder):
        raise ModelCorrupt(
            f"{record.name} wants {record.prefix!r} before every text, and nothing in {folder} says so.",
            hint=f"Name it in config_sentence_transformers.json there: {_prompt_settings(record)}.",
        )
    return _torch(str(folder))


def _prompt_settings(record: ModelRecord) -> str:
    """The settings that make the torch backend put the model's prefix before every text."""
    return json.dumps({"prompts": {"all": record.prefix}, "default_prompt_name": "all"})


def _folder(folder: Path, backend: str, threads: int | None) -> Embedder:
    from sgi.embed.files import folder_files
    from sgi.embed.onnx import OnnxEmbedder

    if _wants_torch(folder, backend):
        return _torch(str(folder))
    return OnnxEmbedder(folder_files(folder), threads=threads)


def _wants_torch(folder: Path, backend: str) -> bool:
    """Whether torch runs what is in a folder: asked to, or because there is no graph for ONNX Runtime."""
    from sgi.embed.files import has_graph, has_weights

    return backend == "torch" or (backend == "auto" and not has_graph(folder) and has_weights(folder))


def _torch(name: str) -> Embedder:
    from sgi.embed.torch import TorchEmbedder

    return TorchEmbedder(name)
