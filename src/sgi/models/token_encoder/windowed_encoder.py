"""Token encoders for texts of any length, run by ONNX Runtime or by transformers and torch."""

from __future__ import annotations

from functools import cached_property
from itertools import compress, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.kernel.errors import EmbedderError, UsageError, require_extra
from sgi.kernel.tokens import TokenModel, TokenTable
from sgi.models.batching import TOKENS_PER_BATCH, distinct, equal_length_batches, run_batches
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.models.embedder.torch_embedder import TorchEmbedder
from sgi.models.model_files import DEFAULT_LIMIT, revision
from sgi.models.tokenizer import SpecialTokens, tokenize, unread_texts, window_starts
from sgi.models.torch_model import (
    UNTRUSTED,
    TorchModel,
    configuration_bytes,
    model_digest,
    unread_by_torch,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.protocols import Embedder

_MIN_NORM = 1e-12


def token_encoder(embedder: Embedder, model: TokenModel) -> WindowedTokenEncoder:
    """Return the encoder that uses the model of an embedder; weights are loaded at first use.

    With torch the layer can be any, with a model in ONNX form only the last.

    Raises a UsageError if the model returns no token vectors, or none of that layer.
    """
    if isinstance(embedder, TorchEmbedder):
        return WindowedTokenEncoder(TorchTokenNetwork(embedder.source, model.layer))
    if not isinstance(embedder, OnnxEmbedder):
        message = f"{model.name} does not return token vectors, only one vector for each text."
        raise UsageError(message, hint="Name a known model (`sgi study models`), a folder, or torch:NAME.")
    if model.layer is not None:
        message = f"{model.name}, in ONNX form, returns only its last layer, not layer {model.layer}."
        raise UsageError(
            message, hint="Torch returns every layer: name the model torch:NAME or torch:FOLDER."
        )
    return WindowedTokenEncoder(OnnxTokenNetwork(embedder))


class WindowedTokenEncoder:
    """Token encoder for texts of any length.

    A text that exceeds the model's token limit is split into windows: parts as long as the limit that overlap
    by half. A token in several windows gets its vector from the window in which it is farthest from an end.
    All windows of a batch have the same length, so nothing is padded and no text affects another.

    Source: windows as in Devlin et al. (2018), `run_squad`, "max context".

    >>> from sgi.kernel.tokens import TokenModel
    >>> from sgi.models.embedder.load_embedder import load_embedder
    >>> encoder = token_encoder(load_embedder("minilm"), TokenModel("minilm"))
    >>> tokens = encoder.encode_tokens(["A cat.", "A kitten."]).of("A cat.")
    >>> tokens.ids.tolist(), tokens.rows.shape
    ([101, 1037, 4937, 1012, 102], (5, 384))
    """

    def __init__(self, network: OnnxTokenNetwork | TorchTokenNetwork) -> None:
        self.network = network

    @property
    def fingerprint(self) -> str:
        """The model's identity: name and layer, digest of its files, token limit, precision."""
        return self.network.fingerprint

    @property
    def identity(self) -> Hashable:
        """A key of everything that affects results and speed."""
        return self.network.identity

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.network.dimension

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """Return the token ids of every text, including special tokens.

        Raises an EmbedderError if a text is not valid Unicode, or the model cannot be opened.
        """
        return self.network.token_ids(texts) if texts else []

    def encode_tokens(self, texts: Sequence[str], /) -> TokenTable:
        """Return the tokens of each distinct text with their unit vectors.

        Raises an EmbedderError if a text is not valid Unicode, or the model cannot be opened or fails.
        """
        unique, _ = distinct(texts)
        tokens = self.token_ids(unique)
        windows, counts = self._windows(tokens)
        rows = np.zeros((sum(map(len, tokens)), self.dimension), dtype=np.float32)

        def compute(batch: NDArray[np.int64]) -> None:
            members = [windows[position] for position in batch]
            hidden = self.network.token_vectors(np.stack([window.ids for window in members]))
            with np.errstate(invalid="ignore", over="ignore"):  # TokenTable.build reports non-finite rows
                norms = np.sqrt(np.einsum("ijk,ijk->ij", hidden, hidden))
                unit = hidden / np.maximum(norms, _MIN_NORM)[:, :, None]
            for window, vectors in zip(members, unit, strict=True):
                end = window.offset + window.stop - window.start
                rows[window.offset : end] = vectors[window.start : window.stop]

        batches = equal_length_batches([len(window.ids) for window in windows], TOKENS_PER_BATCH)
        run_batches(batches, compute, self.network.threads)
        special = self.network.special_tokens.ids if unique else ()
        unread = compress(unique, self.network.unread(unique, tokens)) if unique else ()
        return TokenTable.build(
            self.network.name, unique, tokens, rows, special=special, windows=counts, unread=unread
        )

    def _windows(self, tokens: Sequence[NDArray[np.int64]]) -> tuple[list[_Window], list[int]]:
        windows: list[_Window] = []
        counts, offset = [], 0
        for ids in tokens:
            of_text = self._windows_of_text(ids, offset)
            windows += of_text
            counts.append(len(of_text))
            offset += len(ids)
        return windows, counts

    def _windows_of_text(self, ids: NDArray[np.int64], offset: int) -> list[_Window]:
        network = self.network
        if len(ids) <= network.limit:
            return [_Window(ids, 0, len(ids), offset)]
        before, after, _ = network.special_tokens
        end = len(ids) - after
        width = max(1, network.limit - before - after)
        starts = window_starts(end - before, width)
        seams = [0, *_seams(starts, width), end - before]
        windows = []
        for number, start in enumerate(starts):
            own = ids[before + start : before + start + width]
            # The first and the last window also provide the vectors of the special tokens.
            first = seams[number] + (before if number else 0)
            last = seams[number + 1] + before + (after if number + 1 == len(starts) else 0)
            whole = np.concatenate([ids[:before], own, ids[end:]])
            windows.append(_Window(whole, first - start, last - start, offset + first))
        return windows


class _Window(NamedTuple):
    """A part of a text with special tokens around it.

    Its token vectors ``start:stop`` are stored in the result from row ``offset`` on.
    """

    ids: NDArray[np.int64]
    start: int
    stop: int
    offset: int


def _seams(starts: Sequence[int], width: int) -> list[int]:
    """Return for each window, except the first, the position of the first token whose vector it provides.

    A token's vector comes from the window in which the token is farther from the nearer end; in a tie, from
    the earlier window. Source: Devlin et al. (2018), `run_squad`, "max context".

    >>> _seams([0, 2, 4], 4)
    [3, 5]
    """
    return [(start + width - 1 + after) // 2 + 1 for start, after in pairwise(starts)]


class OnnxTokenNetwork:
    """Computes the last layer of an embedder's model in ONNX form.

    It does not use the pooling and the prefix of the embedder.
    """

    def __init__(self, embedder: OnnxEmbedder) -> None:
        self.embedder = embedder
        self.name = embedder.files.name
        self.limit = embedder.limit
        self.threads = embedder.threads

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name and layer, digests of its files, token limit, precision."""
        digest = revision(self.embedder.file_digests)
        return f"{TokenModel(self.name).label}@{digest},{self.limit}tok,fp32"

    @property
    def identity(self) -> Hashable:
        """A key of everything that affects vectors and speed."""
        return self.fingerprint, self.embedder.identity

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.embedder.network().dimension

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens that the tokenizer adds around a text."""
        return self.embedder.tokenizer.special_tokens

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """Return the token ids of each text, not truncated; raise EmbedderError for invalid Unicode."""
        return tokenize(self.embedder.tokenizer, texts).ids

    def unread(self, texts: Sequence[str], ids: Sequence[NDArray[np.int64]], /) -> NDArray[np.bool_]:
        """Return which texts, given as token ids, have too many letters that the vocabulary lacks."""
        tokenizer = self.embedder.tokenizer
        special = tokenizer.special_tokens
        return unread_texts(
            texts,
            ids,
            unknown=tokenizer.unknown,
            reads=tokenizer.reads,
            added=special.before + special.after,
        )

    def token_vectors(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return the last layer's output, shape (n, length, d), for token ids of shape (n, length)."""
        return self.embedder.network().token_vectors(ids)


_UNLIMITED = 1 << 20
"""A greater token limit in the settings means that the tokenizer has no limit."""
_POOLER = "pooler."
"""The weights after the last layer, which transformers initialises at random if a model has none."""


class TorchTokenNetwork(TorchModel):
    """Computes a layer of a model with transformers (extra ``torch``) in float32; loaded at first use.

    The last digits of a vector may depend on the size of its batch.

    Args:
        source: a folder with weights, configuration and tokenizer, or a repository on the hub.
        layer: the layer whose output is used; 0 means the embeddings before the first layer, None the last.
    """

    _settings = ("layer",)
    threads = 1  # torch itself uses all cores

    def __init__(self, source: str, layer: int | None = None) -> None:
        super().__init__(source)
        self.layer = layer

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name and layer, digest of its files, token limit and precision.

        Raises a UsageError if the model does not have the layer.
        """
        model, tokenizer = self._model
        _ = self._layer  # raises if there is no such layer
        revision = model_digest(model, [configuration_bytes(model.config)], tokenizer, without=_POOLER)
        return f"{TokenModel(self.name, self.layer).label}@{revision},{self.limit}tok,fp32"

    @property
    def limit(self) -> int:
        """The maximum number of tokens that the model reads at once."""
        model, tokenizer = self._model
        limit = tokenizer.model_max_length
        if limit < _UNLIMITED:
            return int(limit)
        return int(getattr(model.config, "max_position_embeddings", None) or DEFAULT_LIMIT)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self._model[0].config.hidden_size)

    @cached_property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens that the tokenizer adds around a text."""
        encoding = self._model[1]("a", return_special_tokens_mask=True)
        return SpecialTokens.of(encoding["input_ids"], encoding["special_tokens_mask"])

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """Return the token ids of each text without outer white space; EmbedderError for invalid Unicode."""
        tokenizer = self._model[1]
        try:
            with self._lock:  # truncation is a state of the tokenizer
                encoding = tokenizer([text.strip() for text in texts], truncation=False, verbose=False)
        except TypeError as error:
            raise EmbedderError(
                f"{self.name} cannot tokenize a text.", hint="A text must be valid Unicode."
            ) from error
        return [np.asarray(ids, dtype=np.int64) for ids in encoding["input_ids"]]

    def unread(self, texts: Sequence[str], ids: Sequence[NDArray[np.int64]], /) -> NDArray[np.bool_]:
        """Return which texts, given as token ids, have too many letters that the vocabulary lacks."""
        special = self.special_tokens
        with self._lock:
            return unread_by_torch(self._loaded_model[1], texts, ids, added=special.before + special.after)

    def token_vectors(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return the layer's output, shape (n, length, d), for token ids of shape (n, length).

        Raises an EmbedderError if the model fails, for example for lack of memory.
        """
        output = self._run(self._model[0], ids, output_hidden_states=True)
        return np.asarray(output.hidden_states[self._layer].float().numpy())

    @property
    def _layer(self) -> int:
        layers = int(self._model[0].config.num_hidden_layers)
        if self.layer is not None and self.layer > layers:
            raise UsageError(f"{self.name} has {layers} layers; layer {self.layer} does not exist.")
        return layers if self.layer is None else self.layer

    @cached_property
    def _loaded_model(self) -> tuple[object, object]:
        with require_extra("A torch: model", "torch"):
            from transformers import AutoModel, AutoTokenizer
        with self._load_errors() as source:
            local = self._local_only
            model = AutoModel.from_pretrained(source, dtype="float32", local_files_only=local, **UNTRUSTED)
            tokenizer = AutoTokenizer.from_pretrained(
                source, add_prefix_space=True, local_files_only=local, trust_remote_code=False
            )
        model = model.eval()
        encoder = getattr(model, "encoder", None)
        return (encoder if hasattr(model, "decoder") and encoder is not None else model), tokenizer
