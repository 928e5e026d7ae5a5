"""A unit vector for every token of a text, in its context."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from sgi.kernel.errors import UsageError
from sgi.kernel.tokens import TokenModel, TokenTable
from sgi.models.batching import distinct, equal_length_batches, side_by_side
from sgi.models.embedder.load import load_embedder
from sgi.models.embedder.local import LocalEmbedder
from sgi.models.embedder.torch import TorchEmbedder
from sgi.models.tokenizer import open_tokenizer, tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from sgi.kernel.protocols import TokenEncoder

_NORM_FLOOR = 1e-12


def load_token_encoder(
    wanted: TokenModel, *, backend: str = "auto", precision: str = "auto", threads: int | None = None
) -> TokenEncoder:
    """An encoder of tokens; nothing is loaded until it is used.

    Args:
        wanted: the model, named as an embedding model is, and the layer. Torch gives any layer, a model in
            ONNX form its last alone.
        backend: what runs a known model or a folder, as for `sgi.models.embedder.load.load_embedder`.
        precision: in which arithmetic, likewise.
        threads: batches computed at once; None for the cores this process may use.

    Raises:
        UnknownNameError: no such model, or no such backend.
        UsageError: the model gives no token vectors, or not of that layer.
        ModelMissingError: the files are neither here nor to be had.
        MissingExtraError: an optional dependency is not installed.

    >>> load_token_encoder(TokenModel("minilm"), backend="onnx").fingerprint.partition("-")[0]
    'tokens:minilm[last]@8199be6f'
    """
    found = load_embedder(wanted.name, backend=backend, precision=precision, threads=threads)
    if isinstance(found, TorchEmbedder):
        from sgi.models.token_encoder.torch import TorchTokens

        return WindowedTokenEncoder(TorchTokens(found.source, wanted.layer))
    if not isinstance(found, LocalEmbedder):
        message = f"{wanted.name} gives one vector a text, and none of its tokens."
        raise UsageError(message, hint="Name a known model (`sgi models`), a folder, or torch:NAME.")
    if wanted.layer is not None:
        message = f"{wanted.name}, in ONNX form, gives its last layer alone, not layer {wanted.layer}."
        raise UsageError(message, hint="Torch gives every layer: torch:NAME, or torch:FOLDER.")
    return WindowedTokenEncoder(LocalTokens(found))


class Marks(NamedTuple):
    """What a model puts around a text: [CLS] before and [SEP] after it, for one."""

    before: int
    """How many tokens before."""
    after: int
    """How many tokens after."""
    ids: tuple[int, ...]
    """What they are."""

    @classmethod
    def of(cls, ids: Sequence[int], special: Sequence[int]) -> Marks:
        """The marks around a text that has at least one token of its own.

        Args:
            ids: the tokens of a text.
            special: 1 for a mark, else 0.

        >>> Marks.of([101, 7, 102], [1, 0, 1])
        Marks(before=1, after=1, ids=(101, 102))
        """
        own = [place for place, mark in enumerate(special) if not mark]
        known = tuple(dict.fromkeys(token for token, mark in zip(ids, special, strict=True) if mark))
        return cls(own[0], len(ids) - 1 - own[-1], known)


class TokenNetwork(Protocol):
    """A model as the encoder wants it; threads may share it."""

    threads: int
    """Batches computed at once."""

    @property
    def tokens_a_batch(self) -> int:
        """The most tokens to compute at once."""

    @property
    def fingerprint(self) -> str:
        """Everything that can change a vector."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def limit(self) -> int:
        """The most tokens it reads at once, marks included."""

    @property
    def dimension(self) -> int:
        """The length of a row."""

    @property
    def marks(self) -> Marks:
        """What it puts around a text."""

    def tokenized(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """The ids of every text, none cut, with its marks."""

    def hidden(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """The layer's output, shape (n, length, d), for ids of shape (n, length)."""


class WindowedTokenEncoder:
    """Token vectors of texts of any length; a long one is read in windows that overlap by half.

    Of a token that stands in several windows the vector counts that was made where the nearer end of the
    window is farthest. Every window is as long as the model reads. Batches hold windows of one length, so
    that nothing is padded and no text sees another.

    Args:
        network: the model.

    Source: windows as in Devlin et al. (2018), `run_squad`, "max context".

    >>> found = load_token_encoder(TokenModel("minilm")).encode_tokens(["A cat.", "A kitten."]).of("A cat.")
    >>> found.ids.tolist(), found.rows.shape
    ([101, 1037, 4937, 1012, 102], (5, 384))
    """

    def __init__(self, network: TokenNetwork) -> None:
        self.network = network

    @property
    def fingerprint(self) -> str:
        """That of the model, its layer and its limit."""
        return self.network.fingerprint

    @property
    def dimension(self) -> int:
        """The length of a row."""
        return self.network.dimension

    def token_ids(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """The ids of every text with the marks around it.

        Raises:
            EmbedderError: a text has no UTF-8 form, or the model is not to be had.
        """
        return self.network.tokenized(texts) if texts else []

    def encode_tokens(self, texts: Sequence[str], /) -> TokenTable:
        """The tokens of these texts, repeats once, with their unit rows.

        Raises:
            EmbedderError: a text has no UTF-8 form, the model is not to be had, or failed.
        """
        unique, _ = distinct(texts)
        tokens = self.token_ids(unique)
        windows, counted = self._windows(tokens)
        rows = np.zeros((sum(map(len, tokens)), self.dimension), dtype=np.float32)

        def compute(batch: NDArray[np.int64]) -> None:
            some = [windows[place] for place in batch]
            hidden = self.network.hidden(np.stack([window.ids for window in some]))
            with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is told of below
                norms = np.sqrt(np.einsum("ijk,ijk->ij", hidden, hidden))
                unit = hidden / np.maximum(norms, _NORM_FLOOR)[:, :, None]
            for window, found in zip(some, unit, strict=True):
                rows[window.put : window.put + window.stop - window.start] = found[window.start : window.stop]

        batches = equal_length_batches([len(window.ids) for window in windows], self.network.tokens_a_batch)
        side_by_side(batches, compute, self.network.threads)
        special = self.network.marks.ids if unique else ()
        return TokenTable.checked(self.network.name, unique, tokens, rows, special=special, windows=counted)

    def _windows(self, tokens: Sequence[NDArray[np.int64]]) -> tuple[list[_Window], list[int]]:
        """All windows of all texts, and how many each text has."""
        found: list[_Window] = []
        counted, put = [], 0
        for ids in tokens:
            some = self._of_text(ids, put)
            found += some
            counted.append(len(some))
            put += len(ids)
        return found, counted

    def _of_text(self, ids: NDArray[np.int64], put: int) -> list[_Window]:
        network = self.network
        if len(ids) <= network.limit:
            return [_Window(ids, 0, len(ids), put)]
        before, after, _ = network.marks
        end = len(ids) - after
        width = max(1, network.limit - before - after)
        starts = window_starts(end - before, width)
        seams = [0, *window_seams(starts, width), end - before]
        windows = []
        for number, start in enumerate(starts):
            own = ids[before + start : before + start + width]
            first = seams[number] + (
                before if number else 0
            )  # the first window gives the marks before the text
            last = seams[number + 1] + before + (after if number + 1 == len(starts) else 0)
            inside = np.concatenate([ids[:before], own, ids[end:]])
            windows.append(_Window(inside, first - start, last - start, put + first))
        return windows


class LocalTokens:
    """A model in ONNX form, by whatever runtime an embedder has opened it; its last layer.

    Args:
        embedder: has the files and the runtime; its pooling and its prefix change nothing here.
    """

    def __init__(self, embedder: LocalEmbedder) -> None:
        self.embedder = embedder
        self.threads = embedder.threads
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The model's."""
        return self.embedder.files.name

    @property
    def limit(self) -> int:
        """The most tokens it reads at once, marks included."""
        return self.embedder.files.limit

    @cached_property
    def fingerprint(self) -> str:
        """Name and layer, sha256 of weights, digest of graph and tokenizer, limit, arithmetic."""
        weights, *others = self.embedder.verified
        rest = sha256("".join(others).encode()).hexdigest()
        revision = f"{weights[:8]}-{rest[:4]}"
        return f"{TokenModel(self.name).label}@{revision},{self.limit}tok,{self.embedder.arithmetic}"

    @property
    def dimension(self) -> int:
        """The length of a row."""
        return self.embedder.network().dimension

    @property
    def tokens_a_batch(self) -> int:
        """The most tokens to compute at once."""
        return self.embedder.network().tokens_a_batch

    @cached_property
    def marks(self) -> Marks:
        """What the tokenizer puts around a text."""
        made = self._tokenizer.encode("a")
        return Marks.of(made.ids, made.special_tokens_mask)

    def tokenized(self, texts: Sequence[str], /) -> list[NDArray[np.int64]]:
        """The ids of every text, none cut.

        Raises:
            ModelCorruptError: the files are not the published ones.
            EmbedderError: a text has no UTF-8 form, or is none.
        """
        with self._lock:  # two first users must not both load
            tokenizer = self._tokenizer
        return tokenize(tokenizer, texts).ids

    def hidden(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """The last layer's output, shape (n, length, d), for ids of shape (n, length)."""
        return self.embedder.network().hidden(ids)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        _ = self.fingerprint  # the files were checked
        tokenizer = open_tokenizer(self.embedder.files.tokenizer, self.limit)
        tokenizer.no_truncation()
        return tokenizer


class _Window(NamedTuple):
    """A stretch of a text with marks around it.

    Its tokens from ``start`` to ``stop`` give the vectors from place ``put`` on.
    """

    ids: NDArray[np.int64]
    start: int
    stop: int
    put: int


def window_starts(length: int, width: int) -> list[int]:
    """Where windows begin that cover a text: each overlaps the next by half at least, the last ends with it.

    Args:
        length: tokens of the text, more than ``width``.
        width: tokens of a window.

    Source: our own.

    >>> window_starts(11, 4)
    [0, 2, 4, 6, 7]
    """
    step = max(1, width // 2)
    return [*range(0, length - width, step), length - width]


def window_seams(starts: Sequence[int], width: int) -> list[int]:
    """The first token that each window but the first gives: from there on it knows more of what is around.

    A token is given by the window whose nearer end is farther from it; of two alike, by the earlier one.

    Source: Devlin et al. (2018), `run_squad`, "max context".

    >>> window_seams([0, 2, 4], 4)
    [3, 5]
    """
    return [(start + width - 1 + after) // 2 + 1 for start, after in pairwise(starts)]
