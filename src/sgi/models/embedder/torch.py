"""Embedders run by sentence-transformers, for models without an ONNX graph."""

from __future__ import annotations

import json
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import EmbedderError, UsageError, require_extra
from sgi.kernel.install_hint import install_target
from sgi.kernel.protocols import Embeddings
from sgi.kernel.vectors import unit_rows
from sgi.models.batching import distinct
from sgi.models.torch_model import UNTRUSTED, TorchModel, configuration_bytes, model_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_TEXTS_PER_BATCH = 32
_MIN_VERSION = 6
"""The first major version of sentence-transformers that does not run code from a local folder."""


class TorchEmbedder(TorchModel):
    """Computes unit vectors with sentence-transformers (extra ``torch``), one for each distinct text.

    The model is loaded at first use and is thread-safe. Texts are padded to the longest in their batch, so
    the last digits of a vector depend on the batch.

    Args:
        name: a folder that sentence-transformers can read, or a repository on the hub.
        device: the device, such as ``cpu`` or ``cuda``; None means the fastest available.
        precision: ``f32``, or ``auto``: the precision of the weights.
    """

    _settings = ("device", "precision")

    def __init__(self, name: str | Path, *, device: str | None = None, precision: str = "auto") -> None:
        super().__init__(name)
        self.device = device
        self.precision = precision

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name, digest of its files, token limit and precision."""
        model = self._model
        limit = _limit(model)
        precision = str(next(iter(model.parameters())).dtype).removeprefix("torch.")
        tokens = "all" if limit is None else f"{limit}tok"
        settings = [json.dumps([model.prompts, model.default_prompt_name], sort_keys=True).encode()]
        network = getattr(model[0], "auto_model", None)
        if network is not None:
            settings.append(configuration_bytes(network.config))
        revision = model_digest(model, settings, model.tokenizer)
        return f"{self.name}@{revision},{tokens},{precision}"

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return the unit vectors of the texts, in their order, float32, shape (n, d)."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embeddings:
        """Return the unit vectors of the texts, and which texts were truncated.

        Raises an EmbedderError if a text is not valid Unicode, or the model fails.
        """
        unique, positions = distinct(texts)
        model = self._model
        try:
            with self._lock:  # truncation is a state of the tokenizer
                truncated = _truncated_texts(model, unique)
                rows = model.encode(unique or [""], batch_size=_TEXTS_PER_BATCH, show_progress_bar=False)
        except TypeError as error:
            raise EmbedderError(
                f"{self.name} refused a text.", hint="A text must be valid Unicode."
            ) from error
        except RuntimeError as error:  # for example, out of memory
            raise EmbedderError(f"{self.name} failed: {error}.") from error
        vectors = np.asarray(rows, dtype=np.float32)[: len(unique)]
        return Embeddings(unit_rows(self.name, unique, vectors)[positions], truncated[positions])

    @property
    def limit(self) -> int | None:
        """The maximum number of tokens of a text, special tokens and prompt included; None if unlimited."""
        return _limit(self._model)

    def token_counts(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each whole text, special tokens and prompt included."""
        model = self._model
        with self._lock:
            return _token_counts(model, list(texts))

    @cached_property
    def _loaded_model(self) -> Any:
        with require_extra("A torch: embedder", "torch"):
            from sentence_transformers import SentenceTransformer
        installed = version("sentence-transformers")
        if int(installed.partition(".")[0]) < _MIN_VERSION:
            message = f"sentence-transformers {installed} is not safe: it runs code in the folder of a model."
            hint = f"Install {_MIN_VERSION}.0 or later: pip install {install_target('torch')}."
            raise UsageError(message, hint=hint)
        with self._load_errors() as source:
            model = SentenceTransformer(
                source,
                device=self.device,
                trust_remote_code=False,
                local_files_only=self._local_only,
                model_kwargs=dict(UNTRUSTED),
            )
            return model.float() if self.precision == "f32" else model


def _limit(model: Any) -> int | None:
    limit = model.max_seq_length
    return int(limit) if limit and np.isfinite(limit) else None


def _truncated_texts(model: Any, texts: list[str]) -> NDArray[np.bool_]:
    limit = _limit(model)
    if limit is None or not texts:
        return np.zeros(len(texts), dtype=np.bool_)
    return np.array([count > limit for count in _token_counts(model, texts)], dtype=np.bool_)


def _token_counts(model: Any, texts: list[str]) -> list[int]:
    prompt = model.prompts.get(model.default_prompt_name) or ""
    ids = model.tokenizer([prompt + text for text in texts], truncation=False, verbose=False)["input_ids"]
    return [len(text) for text in ids]
