"""From a name to an embedder."""

from __future__ import annotations

import difflib
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sgi.kernel.errors import (
    MissingExtraError,
    ModelCorruptError,
    ModelMissingError,
    UnknownNameError,
    UsageError,
)
from sgi.models.known_models import ALIASES, DEFAULT_MODEL, MODELS, known_model

if TYPE_CHECKING:
    from sgi.kernel.protocols import Cache, Embedder
    from sgi.models.files import ModelFiles
    from sgi.models.known_models import ModelRecord

BACKENDS = ("auto", "onnx", "openvino", "torch")
"""What runs a known model or a folder."""

PRECISIONS = ("auto", "f32", "bf16", "int8")
"""In which arithmetic."""

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
        backend: ``onnx``, ``openvino`` (extra ``openvino``), ``torch`` (extra ``torch``), or ``auto``: ONNX
            Runtime where there is a graph. Names with a colon say themselves what runs them.
        precision: ``f32``; with OpenVINO also ``bf16``, and ``int8`` for models with 8-bit weights; ``auto``
            takes bf16 where backend and processor have it, else f32 (torch: what the weights are in).
        cache: keeps vectors, if given.
        threads: batches computed at once; None for the cores this process may use.

    Raises:
        UnknownNameError: no such model, backend or precision.
        UsageError: a setting the name needs is missing; or the backend does not do the precision.
        ModelMissingError: the files are neither here nor to be had.
        ModelCorruptError: a folder's settings do not fit the model.
        MissingExtraError: an optional dependency is not installed.

    >>> load_embedder("minilm").fingerprint.partition("-")[0]
    'minilm@8199be6f'
    """
    require_backend(backend, precision)
    if threads is not None and threads < 1:
        raise UsageError(f"threads is {threads}; at least 1 is wanted.")
    embedder = _open(name, _Run(backend, precision, threads))
    if cache is None:
        return embedder
    from sgi.models.cached_embedder import CachedEmbedder

    return CachedEmbedder(embedder, cache)


class _Run(NamedTuple):
    """How a model's files are run."""

    backend: str
    precision: str
    threads: int | None

    def embedder(self, files: ModelFiles) -> Embedder:
        """What runs a graph."""
        if self.backend == "openvino":
            from sgi.models.embedder.openvino import OpenvinoEmbedder

            return OpenvinoEmbedder(files, precision=self.precision, threads=self.threads)
        from sgi.models.embedder.onnx import OnnxEmbedder

        return OnnxEmbedder(files, threads=self.threads)

    def torch(self, name: str) -> Embedder:
        """What runs a folder of weights, or a model of the hub."""
        from sgi.models.embedder.torch import TorchEmbedder

        return TorchEmbedder(name, precision=self.precision)


def require_backend(backend: str, precision: str) -> None:
    """Raise unless there is such a backend, installed, and it does the precision.

    Raises:
        UnknownNameError: no such backend, or no such precision.
        UsageError: the backend, or this processor, does not do the precision.
        MissingExtraError: the backend is not installed.

    >>> require_backend("onnx", "f32")
    """
    for kind, name, known in (("backend", backend, BACKENDS), ("precision", precision, PRECISIONS)):
        if name not in known:
            near = tuple(difflib.get_close_matches(name, known))
            raise UnknownNameError(kind, name, near, hint=f"There are: {', '.join(known)}.")
    if backend == "openvino" and find_spec("openvino") is None:
        raise MissingExtraError("The openvino backend", "openvino")
    if backend == "openvino":
        from sgi.models.embedder.openvino import offered

        offered(precision)
    elif precision not in {"auto", "f32"}:
        runtime = {"auto": "the default backend"}.get(backend, f"the backend {backend}")
        message = f"No {precision} with {runtime}: it computes in float32."
        raise UsageError(message, hint="The openvino backend has also bf16 and int8: --backend openvino.")


def _open(name: str | Path, run: _Run) -> Embedder:
    if isinstance(name, str) and name.startswith(("openai:", "azure:")):
        from sgi.models.embedder.remote import open_remote

        return open_remote(name)
    if isinstance(name, str) and name.startswith("torch:"):
        return run._replace(precision="auto").torch(name.removeprefix("torch:"))
    record = known_model(name) if isinstance(name, str) else None
    if record is not None:
        return _known(record, run)
    folder = Path(name)
    if str(name).startswith("~/"):
        folder = folder.expanduser()
    if name and folder.is_dir():
        return _folder(folder, run)
    if isinstance(name, Path) or os.sep in name:
        raise ModelMissingError(f"There is no folder {folder}.", hint=_HOW_TO_NAME)
    near = tuple(difflib.get_close_matches(name, (*MODELS, *ALIASES), n=2, cutoff=0.5))
    raise UnknownNameError("model", name, near, hint=_HOW_TO_NAME)


def _known(record: ModelRecord, run: _Run) -> Embedder:
    """A known model: the embedded one, or one of the user's, or one from the hub."""
    from sgi.models.files import default_prompt, embedded_files, hub_files, kept_files, kept_folder

    if record.embedded and run.backend != "torch":
        return run.embedder(embedded_files(record))
    folder = None if record.embedded else kept_folder(record)
    if folder is None:
        return run.torch(record.hub) if run.backend == "torch" else run.embedder(hub_files(record))
    if not _wants_torch(folder, run.backend):
        return run.embedder(kept_files(record, folder))
    if record.prefix != default_prompt(folder):
        raise ModelCorruptError(
            f"{record.name} wants {record.prefix!r} before every text, and nothing in {folder} says so.",
            hint=f"Name it in config_sentence_transformers.json there: {_prompt_settings(record)}.",
        )
    return run.torch(str(folder))


def _prompt_settings(record: ModelRecord) -> str:
    """The settings that make the torch backend put the model's prefix before every text."""
    return json.dumps({"prompts": {"all": record.prefix}, "default_prompt_name": "all"})


def _folder(folder: Path, run: _Run) -> Embedder:
    from sgi.models.files import folder_files

    return run.torch(str(folder)) if _wants_torch(folder, run.backend) else run.embedder(folder_files(folder))


def _wants_torch(folder: Path, backend: str) -> bool:
    """Whether torch runs what is in a folder: asked to, or because there is no graph for ONNX Runtime."""
    from sgi.models.files import has_graph, has_weights

    return backend == "torch" or (backend == "auto" and not has_graph(folder) and has_weights(folder))
