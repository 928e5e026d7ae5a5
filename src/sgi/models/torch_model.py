"""The common part of models run by torch: source, safe loading, and the data for fingerprints."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

import numpy as np

from sgi.kernel.errors import EmbedderError, ModelCorruptError, ModelMissingError
from sgi.kernel.fork_safety import renew_in_child
from sgi.models.hub import is_local_only
from sgi.models.tokenizer import reads_without, unread_texts

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

UNTRUSTED: dict[str, Any] = {
    "trust_remote_code": False,
    "use_safetensors": True,
    "weights_only": True,
    "attn_implementation": None,
    "use_kernels": False,
}
"""Arguments of `from_pretrained` that refuse code, pickled weights and kernels from a model. Without them the
model's own settings decide, and transformers asks on standard input whether to run its code."""

_IGNORED_SETTINGS = ("_name_or_path", "transformers_version")
"""Settings that do not affect vectors: the path of the model, and the version that saved it."""


class TorchModel(ABC):
    """A model in a folder or on the Hugging Face hub, loaded at first use; it is thread-safe.

    ``source`` is a folder with weights, configuration and tokenizer, or a repository on the hub. The first
    use raises a MissingExtraError if the extra ``torch`` is not installed, a ModelMissingError if the model
    is not on this machine and cannot be downloaded, and a ModelCorruptError if the files are not a model.
    """

    _settings: ClassVar[tuple[str, ...]] = ()
    """The names of the attributes that determine results."""

    def __init__(self, source: str | Path) -> None:
        self.source = str(source)
        self._lock = Lock()
        renew_in_child(self)

    def renew_after_fork(self) -> None:
        """Replace the lock: a thread that holds it does not exist in the child."""
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name in fingerprints: ``torch:`` and the repository, or the last part of the folder's path."""
        folder = self._folder
        return f"torch:{quote(self.source if folder is None else folder.resolve().name, safe='/')}"

    @property
    def identity(self) -> Hashable:
        """A key of all that affects results: the class, its settings, and the state of the folder's files."""
        settings = {key: str(value) for key, value in vars(self).items() if key in self._settings}
        return type(self).__name__, self.source, *sorted(settings.items()), _folder_state(self._folder)

    @property
    def _folder(self) -> Path | None:
        folder = Path(self.source).expanduser()
        return folder if folder.is_dir() else None

    @property
    def _local_only(self) -> bool:
        return self._folder is not None or is_local_only()

    @property
    def _model(self) -> Any:
        with self._lock:  # load only once if two threads come first
            return self._loaded_model

    @property
    @abstractmethod
    def _loaded_model(self) -> object:
        """The loaded model, which a subclass loads once and caches."""

    def _run(self, network: Any, ids: NDArray[np.int64], **options: Any) -> Any:
        """Return the output of a network for token ids of shape (n, length) without padding."""
        import torch

        inputs = torch.from_numpy(np.ascontiguousarray(ids))
        try:
            with torch.inference_mode():
                return network(inputs, attention_mask=torch.ones_like(inputs), **options)
        except (RuntimeError, IndexError) as error:
            raise EmbedderError(f"{self.name} failed: {error}.") from error

    @contextmanager
    def _load_errors(self) -> Iterator[str]:
        """Context manager that yields the source of the model, and converts loading errors in its block."""
        try:
            yield str(self._folder or self.source)
        except OSError as error:
            first = str(error).partition("\n")[0]
            message = f"The model {self.source!r} cannot be opened: {first}"
            raise ModelMissingError(
                message, hint="Name a model on the hub, or a folder with its weights in model.safetensors."
            ) from error
        except Exception as error:  # the errors of weights, settings and tokenizers share no other class
            message = f"The files of {self.source!r} are not a model: {type(error).__name__}: {error}."
            raise ModelCorruptError(message, hint="Download them again.") from error


def _folder_state(folder: Path | None) -> tuple[Hashable, ...]:
    """Return path, size and time of change of each file; nothing for a model on the hub."""
    if folder is None:
        return ()
    files = sorted(path for path in folder.resolve().rglob("*") if path.is_file())
    return tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files)


def unread_by_torch(
    tokenizer: Any, texts: Sequence[str], ids: Sequence[NDArray[np.int64]], *, added: int
) -> NDArray[np.bool_]:
    """Return which texts have too many letters that the vocabulary lacks.

    A tokenizer without offsets finds no such text. ``ids`` are the token ids of each text, ``added`` is the
    number of tokens of an empty text.
    """
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        return np.zeros(len(texts), dtype=np.bool_)
    unknown = tokenizer.unk_token_id
    return unread_texts(texts, ids, unknown=unknown, reads=partial(reads_without, fast, unknown), added=added)


def model_digest(model: Any, settings: Sequence[bytes], tokenizer: Any, *, without: str | None = None) -> str:
    """Return a digest of all parts of a model that affect results: modules, settings, tokenizer and weights.

    Weights whose names start with ``without`` are excluded.
    """
    weights = model.state_dict().items()
    if without is not None:
        weights = ((name, tensor) for name, tensor in weights if not name.startswith(without))
    head = [repr(model).encode(), *settings, tokenizer_bytes(tokenizer)]
    return digest(chain(head, weights_bytes(weights)))


def digest(parts: Iterable[bytes]) -> str:
    """Return the first 12 hexadecimal digits of the sha256 of the parts, each preceded by its length."""
    state = sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()[:12]


def configuration_bytes(configuration: Any) -> bytes:
    """Return the settings of a transformers configuration that affect vectors, as JSON."""
    settings = {key: value for key, value in configuration.to_dict().items() if key not in _IGNORED_SETTINGS}
    return json.dumps(settings, sort_keys=True, default=str).encode()


def tokenizer_bytes(tokenizer: Any) -> bytes:
    """Return a tokenizer as JSON, without truncation and padding, which change when it is used."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(backend, "to_str"):
        data = json.loads(backend.to_str())
        state = {key: value for key, value in data.items() if key not in ("padding", "truncation")}
    else:
        state = dict(backend.get_vocab())
    return json.dumps(state, sort_keys=True).encode()


def weights_bytes(weights: Iterable[tuple[str, Any]]) -> Iterator[bytes]:
    """Yield for each tensor its name, data type and shape, then its values."""
    for name, tensor in weights:
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield tensor.detach().cpu().float().numpy().tobytes()
