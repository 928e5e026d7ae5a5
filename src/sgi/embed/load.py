"""From a name to an embedder."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.embed.models import DEFAULT_MODEL, MODELS
from sgi.kernel.errors import ModelMissing, UnknownName, UsageError

if TYPE_CHECKING:
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
    cache: Cache | None = None,
    threads: int | None = None,
) -> Embedder:
    """An embedder by name; nothing is loaded or fetched for the embedded model until it is used.

    Args:
        name: a known model; a folder; ``torch:`` with a hub name or a folder; ``openai:MODEL``,
            ``openai:MODEL@http://host:port/v1``; ``azure:DEPLOYMENT``. A known model goes before a folder
            of the same name.
        backend: ``onnx``, ``torch`` (extra ``torch``), or ``auto``: ONNX where there is a graph.
        cache: keeps vectors, if given.
        threads: batches computed at once; None for the cores this process may use.

    Raises:
        UnknownName: no such model, or no such backend.
        UsageError: a setting the name needs is missing.
        ModelMissing: the files are neither here nor to be had.
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
    if isinstance(name, str) and name in MODELS:
        return _torch(MODELS[name].hub) if backend == "torch" else _known(name, threads)
    folder = Path(name)
    if str(name).startswith("~/"):
        folder = folder.expanduser()
    if name and folder.is_dir():
        return _folder(folder, backend, threads)
    if isinstance(name, Path) or os.sep in name:
        raise ModelMissing(f"There is no folder {folder}.", hint=_HOW_TO_NAME)
    near = tuple(difflib.get_close_matches(name, MODELS, n=2, cutoff=0.5))
    raise UnknownName("model", name, near, hint=_HOW_TO_NAME)


def _known(name: str, threads: int | None) -> Embedder:
    from sgi.embed.files import embedded_files, hub_files
    from sgi.embed.onnx import OnnxEmbedder

    record = MODELS[name]
    return OnnxEmbedder(embedded_files(record) if record.embedded else hub_files(record), threads=threads)


def _folder(folder: Path, backend: str, threads: int | None) -> Embedder:
    from sgi.embed.files import folder_files, graphs
    from sgi.embed.onnx import OnnxEmbedder

    has_graph = any(path.exists() for path in graphs(folder))
    if backend == "torch" or (backend == "auto" and not has_graph and (folder / "config.json").exists()):
        return _torch(str(folder))
    return OnnxEmbedder(folder_files(folder), threads=threads)


def _torch(name: str) -> Embedder:
    from sgi.embed.torch import TorchEmbedder

    return TorchEmbedder(name)
