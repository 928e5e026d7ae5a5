"""Vectors by sentence-transformers, for models that have no ONNX graph."""

from __future__ import annotations

import json
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import EmbedderError, MissingExtraError, UsageError
from sgi.kernel.install_hint import install_target
from sgi.kernel.protocols import Embedded
from sgi.kernel.vectors import unit_rows
from sgi.models.batching import distinct
from sgi.models.torch_model import (
    UNTRUSTED,
    TorchModel,
    configuration_bytes,
    digest,
    tokenizer_bytes,
    weights_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_TEXTS_A_BATCH = 32
_TRUSTS_NO_FOLDER = 6
"""The first major version of sentence-transformers that runs no code from a local folder."""


class TorchEmbedder(TorchModel):
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
        super().__init__(name)
        self.device = device
        self.precision = precision

    @cached_property
    def fingerprint(self) -> str:
        """Name, sha256 over weights, configuration and tokenizer, token limit and precision.

        Raises:
            MissingExtraError: the extra ``torch`` is not installed.
            ModelMissingError: the model is neither here nor to be had.
            ModelCorruptError: its files are no model.
        """
        model = self._opened
        limit = _limit(model)
        precision = str(next(iter(model.parameters())).dtype).removeprefix("torch.")
        read = "all" if limit is None else f"{limit}tok"
        return f"{self.name}@{digest(_parts(model))},{read},{precision}"

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows in the order given, float32, shape (n, d)."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embedded:
        """Unit rows, and which texts were cut at the model's token limit.

        Raises:
            MissingExtraError: the extra ``torch`` is not installed.
            ModelMissingError: the model is neither here nor to be had.
            ModelCorruptError: its files are no model.
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
    def limit(self) -> int | None:
        """The most tokens of a text that the model reads, special ones and a prompt included."""
        return _limit(self._opened)

    def token_counts(self, texts: Sequence[str], /) -> list[int]:
        """The tokens of each whole text, special ones and a prompt included."""
        model = self._opened
        with self._lock:
            return _token_counts(model, list(texts))

    @cached_property
    def _loaded(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise MissingExtraError("A torch: embedder", "torch") from None
        installed = version("sentence-transformers")
        if int(installed.partition(".")[0]) < _TRUSTS_NO_FOLDER:
            message = f"sentence-transformers {installed} runs code that it finds in a model's folder."
            raise UsageError(
                message,
                hint=f"Install {_TRUSTS_NO_FOLDER}.0 or later: pip install {install_target('torch')}.",
            )
        with self._loading() as place:
            model = SentenceTransformer(
                place,
                device=self.device,
                trust_remote_code=False,
                local_files_only=self._local_only,
                model_kwargs=dict(UNTRUSTED),
            )
            return model.float() if self.precision == "f32" else model


def _limit(model: Any) -> int | None:
    """The most tokens the model reads; None where it reads all."""
    limit = model.max_seq_length
    return int(limit) if limit and np.isfinite(limit) else None


def _truncated(model: Any, texts: list[str]) -> NDArray[np.bool_]:
    """Which texts, with the prompt the model puts before them, have more tokens than it reads."""
    limit = _limit(model)
    if limit is None or not texts:
        return np.zeros(len(texts), dtype=np.bool_)
    return np.array([count > limit for count in _token_counts(model, texts)], dtype=np.bool_)


def _token_counts(model: Any, texts: list[str]) -> list[int]:
    """The tokens of each text, with the prompt that the model puts before it."""
    prompt = model.prompts.get(model.default_prompt_name) or ""
    ids = model.tokenizer([prompt + text for text in texts], truncation=False, verbose=False)["input_ids"]
    return [len(text) for text in ids]


def _parts(model: Any) -> Iterator[bytes]:
    """Everything that can change a vector: modules, prompts, configuration, tokenizer, weights."""
    yield repr(model).encode()
    yield json.dumps([model.prompts, model.default_prompt_name], sort_keys=True).encode()
    network = getattr(model[0], "auto_model", None)
    if network is not None:
        yield configuration_bytes(network.config)
    yield tokenizer_bytes(model.tokenizer)
    yield from weights_bytes(model.state_dict().items())
