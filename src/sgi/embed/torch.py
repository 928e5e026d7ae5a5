"""Vectors by sentence-transformers, for models that have no ONNX graph."""

from __future__ import annotations

import json
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from sgi.embed.batching import distinct
from sgi.kernel.errors import EmbedderError, MissingExtra, ModelCorrupt, ModelMissing
from sgi.kernel.ports import Embedded
from sgi.kernel.vectors import unit_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_TEXTS_A_BATCH = 32
_CHANGES_NO_VECTOR = ("_name_or_path", "transformers_version")
"""What a model's configuration says of where and with what it was stored."""


class TorchEmbedder:
    """Unit rows as sentence-transformers computes them (extra ``torch``), each distinct text once.

    The model is loaded at first use. Threads may share an embedder. Texts are padded to the longest of
    their batch, so a text's vector may differ in its last digits from one batch to another.

    Args:
        name: a folder that sentence-transformers can read, or a model's name on the Hugging Face hub.
        device: where to compute, such as ``cpu`` or ``cuda``; None for the fastest there is.
        precision: ``f32``, or ``auto``: that in which the weights are kept.

    >>> TorchEmbedder("sentence-transformers/all-mpnet-base-v2").name
    'torch:sentence-transformers/all-mpnet-base-v2'
    """

    def __init__(self, name: str | Path, *, device: str | None = None, precision: str = "auto") -> None:
        self.source = str(name)
        self.device = device
        self.precision = precision
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The hub's name, or the folder's own, wherever it lies."""
        folder = Path(self.source).expanduser()
        return f"torch:{quote(folder.resolve().name if folder.is_dir() else self.source, safe='/')}"

    @cached_property
    def fingerprint(self) -> str:
        """Name, sha256 over weights, configuration and tokenizer, token limit and precision.

        Raises:
            MissingExtra: the extra ``torch`` is not installed.
            ModelMissing: the model is neither here nor to be had.
            ModelCorrupt: its files are no model.
        """
        model = self._opened
        state = sha256()
        for part in _parts(model):
            state.update(len(part).to_bytes(8, "little"))
            state.update(part)
        limit = _limit(model)
        precision = str(next(iter(model.parameters())).dtype).removeprefix("torch.")
        read = "all" if limit is None else f"{limit}tok"
        return f"{self.name}@{state.hexdigest()[:12]},{read},{precision}"

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows in the order given, float32, shape (n, d)."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embedded:
        """Unit rows, and which texts were cut at the model's token limit.

        Raises:
            MissingExtra: the extra ``torch`` is not installed.
            ModelMissing: the model is neither here nor to be had.
            ModelCorrupt: its files are no model.
            EmbedderError: a text is no valid Unicode, or the model failed.
        """
        unique, places = distinct(texts)
        model = self._opened
        try:
            with self._lock:  # the tokenizer's truncation is a state it keeps
                truncated = _truncated(model, unique)
                rows = model.encode(unique or [""], batch_size=_TEXTS_A_BATCH, show_progress_bar=False)
        except TypeError as error:
            raise EmbedderError(f"{self.name} refused a text.", hint="Text must be valid Unicode.") from error
        except RuntimeError as error:  # out of memory, for one
            raise EmbedderError(f"{self.name} failed: {error}.") from error
        found = np.asarray(rows, dtype=np.float32)[: len(unique)]
        return Embedded(unit_rows(self.name, unique, found)[places], truncated[places])

    @property
    def _opened(self) -> Any:
        with self._lock:  # two first users must not both load
            return self._model

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise MissingExtra("A torch: embedder", "torch") from None
        folder = Path(self.source).expanduser()
        try:
            model = SentenceTransformer(str(folder) if folder.is_dir() else self.source, device=self.device)
            return model.float() if self.precision == "f32" else model
        except OSError as error:
            first = str(error).partition("\n")[0]
            message = f"The model {self.source!r} cannot be opened: {first}"
            raise ModelMissing(
                message, hint="Name a folder, or a model of the hub that is to be had."
            ) from error
        except Exception as error:  # readers of weights, settings and tokenizers share no class but this
            message = f"The files of {self.source!r} are no model: {type(error).__name__}: {error}."
            raise ModelCorrupt(message, hint="Fetch them again.") from error


def _limit(model: Any) -> int | None:
    """The most tokens the model reads; None where it reads all."""
    limit = model.max_seq_length
    return int(limit) if limit and np.isfinite(limit) else None


def _truncated(model: Any, texts: list[str]) -> NDArray[np.bool_]:
    """Which texts, with the prompt the model puts before them, have more tokens than it reads."""
    limit = _limit(model)
    if limit is None or not texts:
        return np.zeros(len(texts), dtype=np.bool_)
    prompt = model.prompts.get(model.default_prompt_name) or ""
    ids = model.tokenizer([prompt + text for text in texts], truncation=False, verbose=False)["input_ids"]
    return np.array([len(text) > limit for text in ids], dtype=np.bool_)


def _parts(model: Any) -> Iterator[bytes]:
    """Everything that can change a vector: modules, prompts, configuration, tokenizer, weights."""
    yield repr(model).encode()
    yield json.dumps([model.prompts, model.default_prompt_name], sort_keys=True).encode()
    network = getattr(model[0], "auto_model", None)
    if network is not None:
        settings = network.config.to_dict()
        kept = {key: value for key, value in settings.items() if key not in _CHANGES_NO_VECTOR}
        yield json.dumps(kept, sort_keys=True, default=str).encode()
    yield json.dumps(_tokenizer(model.tokenizer), sort_keys=True).encode()
    for name, weights in model.state_dict().items():
        yield f"{name} {weights.dtype} {tuple(weights.shape)}".encode()
        yield weights.detach().cpu().float().numpy().tobytes()


def _tokenizer(tokenizer: Any) -> dict[str, Any]:
    """The tokenizer as data, without the state that each use changes."""
    whole = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(whole, "to_str"):
        return dict(whole.get_vocab())
    data = json.loads(whole.to_str())
    return {key: value for key, value in data.items() if key not in ("padding", "truncation")}
