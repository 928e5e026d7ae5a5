"""Embedders run by sentence-transformers, for models without an ONNX graph."""

from __future__ import annotations

import json
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import EmbedderError, UsageError, install_target, require_extra
from sgi.kernel.protocols import Embeddings
from sgi.kernel.vectors import unit_rows
from sgi.models.batching import distinct, equal_length_batches
from sgi.models.embedder.long_texts import LONG_TEXTS, Ends, LongTexts, WindowedTexts
from sgi.models.tokenizer import SpecialTokens
from sgi.models.torch_model import (
    UNTRUSTED,
    TorchModel,
    configuration_bytes,
    model_digest,
    unread_by_torch,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_TEXTS_PER_BATCH = 32
_TOKENS_PER_BATCH = 8192
"""The maximum number of tokens in a batch of windows: 32 windows of 256 tokens."""
_MIN_VERSION = 6
"""The first major version of sentence-transformers that does not run code from a local folder."""


class TorchEmbedder(TorchModel):
    """Computes unit vectors with sentence-transformers (extra ``torch``), one for each distinct text.

    The model is loaded at first use, computes in the precision of its weights, and is thread-safe. Texts are
    padded to the longest in their batch, so the last digits of a vector depend on the batch.

    Args:
        name: a folder that sentence-transformers can read, or a repository on the hub.
        long_texts: how texts that exceed the token limit are read; see `load_embedder`.
    """

    _settings = ("long_texts",)

    def __init__(self, name: str | Path, *, long_texts: LongTexts = LONG_TEXTS[0]) -> None:
        super().__init__(name)
        self.long_texts = long_texts

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name, digest of its files, token limit and precision.

        The limit is ``256tok`` if longer texts are truncated, ``256tok-windows`` if they are read in windows.
        """
        model = self._model
        limit = _limit(model)
        precision = str(next(iter(model.parameters())).dtype).removeprefix("torch.")
        tokens = "all" if limit is None else f"{limit}tok{'-windows' if self.long_texts == 'windows' else ''}"
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
        """Return the unit vectors, and which texts were truncated, read in windows or have unknown letters.

        Raises an EmbedderError if a text is not valid Unicode, or the model fails.
        """
        unique, positions = distinct(texts)
        model = self._model
        try:
            with self._lock:  # truncation is a state of the tokenizer
                ids = _ids_to_check(model, unique)
                long = _long_texts(model, ids)
                unread = _unread(model, unique, ids)
                windows = long if self.long_texts == "windows" else {}
                short = [position for position in range(len(unique)) if position not in windows]
                rows = model.encode(
                    [unique[position] for position in short] or [""],
                    batch_size=_TEXTS_PER_BATCH,
                    show_progress_bar=False,
                )
                vectors = np.zeros((len(unique), rows.shape[1]), dtype=np.float32)
                vectors[short] = rows[: len(short)]
                if windows:
                    vectors[list(windows)] = self._read_windows(model, list(windows.values()))
        except TypeError as error:
            raise EmbedderError(
                f"{self.name} cannot tokenize a text.", hint="A text must be valid Unicode."
            ) from error
        except RuntimeError as error:  # for example, out of memory
            raise EmbedderError(f"{self.name} failed: {error}.") from error
        exceeds = np.array([position in long for position in range(len(unique))], dtype=np.bool_)[positions]
        none = np.zeros_like(exceeds)
        flags = (none, exceeds) if self.long_texts == "windows" else (exceeds, none)
        return Embeddings(unit_rows(self.name, unique, vectors)[positions], *flags, unread[positions])

    def unread(self, texts: Sequence[str], /) -> NDArray[np.bool_]:
        """Return which texts have too many letters that the vocabulary lacks, without computing vectors."""
        model = self._model
        with self._lock:
            return _unread(model, texts, _ids_to_check(model, texts))

    def _read_windows(self, model: Any, texts: list[NDArray[np.int64]]) -> NDArray[np.float32]:
        """Return the unit vectors of texts that exceed the limit, from their token ids."""
        import torch

        ends = _ends(model)
        whole = WindowedTexts.of(texts, int(model.max_seq_length), ends)
        rows: list[NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * len(whole.inputs)
        for batch in equal_length_batches([len(ids) for ids in whole.inputs], _TOKENS_PER_BATCH):
            ids = torch.from_numpy(np.stack([whole.inputs[position] for position in batch])).to(model.device)
            features = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
            if _prompt(model):
                features["prompt_length"] = ends.before
            with torch.inference_mode():
                vectors = model(features)["sentence_embedding"].float().cpu().numpy()
            for position, row in zip(batch.tolist(), vectors, strict=True):
                rows[position] = row
        windows = [f"window {position}" for position in range(len(rows))]
        return whole.pool(unit_rows(self.name, windows, np.stack(rows)))

    @property
    def limit(self) -> int | None:
        """The maximum number of tokens of a text, special tokens and prompt included; None if unlimited."""
        return _limit(self._model)

    def token_counts(self, texts: Sequence[str], /) -> list[int]:
        """Return the number of tokens of each whole text, special tokens and prompt included."""
        model = self._model
        with self._lock:
            return [len(text) for text in _token_ids(model, list(texts))]

    @cached_property
    def _loaded_model(self) -> object:
        with require_extra("A torch: embedder", "torch"):
            from sentence_transformers import SentenceTransformer
        installed = version("sentence-transformers")
        if int(installed.partition(".")[0]) < _MIN_VERSION:
            message = f"sentence-transformers {installed} is not safe: it runs code in the folder of a model."
            hint = f"Install {_MIN_VERSION}.0 or later: pip install {install_target('torch')}."
            raise UsageError(message, hint=hint)
        with self._load_errors() as source:
            return SentenceTransformer(
                source,
                trust_remote_code=False,
                local_files_only=self._local_only,
                model_kwargs=dict(UNTRUSTED),
            )


def _limit(model: Any) -> int | None:
    limit = model.max_seq_length
    return int(limit) if limit and np.isfinite(limit) else None


def _prompt(model: Any) -> str:
    return model.prompts.get(model.default_prompt_name) or ""


def _ids_to_check(model: Any, texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return the token ids of each text; none if the model has neither a limit nor unknown tokens to find."""
    if not texts or (_limit(model) is None and not hasattr(model.tokenizer, "backend_tokenizer")):
        return []
    return [np.array(text, dtype=np.int64) for text in _token_ids(model, texts)]


def _long_texts(model: object, ids: list[NDArray[np.int64]]) -> dict[int, NDArray[np.int64]]:
    """Return the token ids of each text that exceeds the limit, by its position."""
    limit = _limit(model)
    return {position: text for position, text in enumerate(ids) if limit is not None and len(text) > limit}


def _unread(model: Any, texts: Sequence[str], ids: list[NDArray[np.int64]]) -> NDArray[np.bool_]:
    if not ids:
        return np.zeros(len(texts), dtype=np.bool_)
    return unread_by_torch(model.tokenizer, texts, ids, added=sum(_ends(model)))


def _token_ids(model: Any, texts: Sequence[str]) -> list[list[int]]:
    prompt = _prompt(model)
    ids: list[list[int]] = model.tokenizer(
        [prompt + text for text in texts], truncation=False, verbose=False
    )["input_ids"]
    return ids


def _ends(model: Any) -> Ends:
    letter = model.tokenizer("a", return_special_tokens_mask=True, verbose=False)
    special = SpecialTokens.of(letter["input_ids"], letter["special_tokens_mask"])
    return Ends.of(special, len(letter["input_ids"]), len(_token_ids(model, ["a"])[0]))
