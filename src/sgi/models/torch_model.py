"""What models run by torch have in common: where they come from, how they open, what they are made of."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sgi.kernel.errors import ModelCorruptError, ModelMissingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

UNTRUSTED: dict[str, Any] = {
    "trust_remote_code": False,
    "use_safetensors": True,
    "weights_only": True,
    "attn_implementation": None,
    "use_kernels": False,
}
"""For `from_pretrained`: a model brings no code and no pickled weights, and names no kernels. Without these,
settings in its own files decide, and transformers asks on standard input whether to run its code."""

_CHANGES_NO_VECTOR = ("_name_or_path", "transformers_version")
"""What a model's configuration says of where and with what it was stored."""


class TorchModel(ABC):
    """A model in a folder or on the Hugging Face hub, loaded at first use, once for all threads.

    Args:
        source: a folder with weights, configuration and tokenizer, or a model's name on the hub.
    """

    def __init__(self, source: str | Path) -> None:
        self.source = str(source)
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The hub's name, or the folder's own, wherever it lies."""
        folder = self._folder
        return f"torch:{quote(self.source if folder is None else folder.resolve().name, safe='/')}"

    @property
    def _folder(self) -> Path | None:
        folder = Path(self.source).expanduser()
        return folder if folder.is_dir() else None

    @property
    def _local_only(self) -> bool:
        """Whether no hub is asked: for a folder, neither its own files nor others that they name."""
        return self._folder is not None

    @property
    def _opened(self) -> Any:
        with self._lock:  # two first users must not both load
            return self._loaded

    @property
    @abstractmethod
    def _loaded(self) -> Any:
        """The model; a subclass keeps what it loaded."""

    @contextmanager
    def _loading(self) -> Iterator[str]:
        """What to load from, while errors are told as those of this model."""
        try:
            yield str(self._folder or self.source)
        except OSError as error:
            first = str(error).partition("\n")[0]
            message = f"The model {self.source!r} cannot be opened: {first}"
            raise ModelMissingError(
                message, hint="Name a model of the hub, or a folder with its weights in model.safetensors."
            ) from error
        except Exception as error:  # readers of weights, settings and tokenizers share no class but this
            message = f"The files of {self.source!r} are no model: {type(error).__name__}: {error}."
            raise ModelCorruptError(message, hint="Fetch them again.") from error


def digest(parts: Iterable[bytes]) -> str:
    """The sha256 of parts, one told from the next, in twelve digits.

    >>> digest([b"ab", b"c"]) == digest([b"a", b"bc"])
    False
    """
    state = sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()[:12]


def configuration_bytes(configuration: Any) -> bytes:
    """A configuration of transformers, but for what changes no vector."""
    kept = {key: value for key, value in configuration.to_dict().items() if key not in _CHANGES_NO_VECTOR}
    return json.dumps(kept, sort_keys=True, default=str).encode()


def tokenizer_bytes(tokenizer: Any) -> bytes:
    """A tokenizer, without the state that each use changes."""
    whole = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(whole, "to_str"):
        data = json.loads(whole.to_str())
        kept = {key: value for key, value in data.items() if key not in ("padding", "truncation")}
    else:
        kept = dict(whole.get_vocab())
    return json.dumps(kept, sort_keys=True).encode()


def weights_bytes(weights: Iterable[tuple[str, Any]]) -> Iterator[bytes]:
    """Each tensor's name, type and shape, and its values.

    Args:
        weights: names and tensors, as a state holds them.
    """
    for name, tensor in weights:
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield tensor.detach().cpu().float().numpy().tobytes()
