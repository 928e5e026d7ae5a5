"""Vectors by a network that runs in this process: what its runtimes have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sgi.kernel.errors import ModelCorruptError, UsageError
from sgi.kernel.protocols import Embedded
from sgi.kernel.work_counter import current_work
from sgi.models.batching import distinct, equal_length_batches, side_by_side
from sgi.models.cores import usable_cores
from sgi.models.tokenizer import open_tokenizer, token_counts, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from sgi.models.files import ModelFiles

_ALONE_BEFORE = 16
"""Times that few batches come before the model is opened once more for all threads to share a batch: opening
takes about as long as this then saves over as many texts."""
_THREADS_A_BATCH = 4
"""With so many threads to each batch, batches one after the other are faster than side by side."""
_NORM_FLOOR = 1e-12
_FILLED_WITH = {"attention_mask": 1, "token_type_ids": 0}
"""What a graph may ask for beside the ids: nothing is padded, and there is one text."""
_TOKEN_ROWS = 3
"""The extents of rows for tokens: batch, sequence, width."""


class Network(Protocol):
    """A model that is open; threads may share it."""

    dimension: int
    """The length of a row."""

    @property
    def tokens_a_batch(self) -> int:
        """The most tokens to compute at once, so that a text has the same bits alone and in a batch."""

    def hidden(self, ids: NDArray[np.int64], /) -> NDArray[np.float32]:
        """A row for each token, shape (n, length, dimension), of ids of shape (n, length).

        Raises:
            EmbedderError: the model failed.
        """


class LocalEmbedder(ABC):
    """Unit rows from a model's files, each distinct text once.

    Batches hold texts of one length and run side by side, each on one thread. Where again and again there is
    one only, or threads are many times as many, they run one after the other, each on all threads. A text's
    vector has the same bits alone, among others, in any order and for any number of threads.

    Files are read and their sha256 checked at first use. Threads may share an embedder.

    Args:
        files: the model.
        threads: batches computed at once; None for the cores this process may use.
    """

    def __init__(self, files: ModelFiles, *, threads: int | None = None) -> None:
        self.files = files
        self.threads = threads or usable_cores()
        self._lock = Lock()
        self._networks: dict[bool, Network] = {}
        self._few = 0

    @property
    @abstractmethod
    def arithmetic(self) -> str:
        """In which precision, and by what if not by ONNX Runtime, as the fingerprint says it."""

    @abstractmethod
    def _open(self, *, alone: bool) -> Network:
        """The model, whose files were checked: for batches side by side, or for one on all threads."""

    @cached_property
    def fingerprint(self) -> str:
        """Name, sha256 of weights, digest of graph and tokenizer, pooling, limit, prefix, arithmetic."""
        weights, *others = self.verified
        prefix = f",{self.files.prefix.strip(': ')}" if self.files.prefix else ""
        rest = sha256("".join([*others, self.files.prefix]).encode()).hexdigest()
        how = f"{self.files.pooling},{self.files.limit}tok{prefix},{self.arithmetic}"
        return f"{self.files.name}@{weights[:8]}-{rest[:4]},{how}"

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Unit rows in the order given, float32, shape (n, d)."""
        return self.encode(texts).rows

    def encode(self, texts: Sequence[str], /) -> Embedded:
        """Unit rows, and which texts were cut.

        Raises:
            ModelMissingError: the files are not there.
            ModelCorruptError: they are not the published ones, or no model.
            EmbedderError: a text has a lone surrogate, or the model failed.
        """
        unique, places = distinct(texts)
        tokenizer = self._checked_tokenizer()
        prefix = self.files.prefix
        ids, truncated = tokenize(tokenizer, [prefix + text for text in unique] if prefix else unique)
        batches = equal_length_batches([len(text) for text in ids], self.network().tokens_a_batch)
        alone = self._better_alone(len(batches))
        network = self.network(alone=alone)
        rows = np.zeros((len(ids), network.dimension), dtype=np.float32)

        work = current_work()  # here: the threads that compute have contexts of their own

        def compute(batch: NDArray[np.int64]) -> None:
            rows[batch] = self._unit_rows(network.hidden(np.stack([ids[place] for place in batch])))
            work.add(len(batch))

        if alone:
            for batch in batches:
                compute(batch)
        else:
            side_by_side(batches, compute, self.threads)
        return Embedded(rows[places], truncated[places])

    @property
    def limit(self) -> int:
        """The most tokens of a text that the model reads, special ones and a prefix included."""
        return self.files.limit

    def token_counts(self, texts: Sequence[str], /) -> list[int]:
        """The tokens of each whole text, special ones and a prefix included."""
        return token_counts(self._checked_tokenizer(), [self.files.prefix + text for text in texts])

    def network(self, *, alone: bool = False) -> Network:
        """The model, opened at first use.

        Args:
            alone: for one batch at a time on all threads, in place of several side by side.

        Raises:
            ModelMissingError: the files are not there.
            ModelCorruptError: they are not the published ones, or no model.
        """
        with self._lock:  # two first users must not both load
            if alone not in self._networks:
                _ = self.verified
                self._networks[alone] = self._open(alone=alone)
            return self._networks[alone]

    def _better_alone(self, batches: int) -> bool:
        """Whether batches are to run one after the other, each on all threads."""
        if not 0 < batches <= max(1, self.threads // _THREADS_A_BATCH) or self.threads == 1:
            return False
        with self._lock:
            self._few += 1
            return self._few > _ALONE_BEFORE

    def _unit_rows(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        """One unit row of each text's token rows."""
        pooled = hidden[:, 0] if self.files.pooling == "cls" else hidden.mean(axis=1)
        norms = np.sqrt(np.einsum("ij,ij->i", pooled, pooled))
        return np.asarray(pooled / np.maximum(norms, _NORM_FLOOR)[:, None], dtype=np.float32)

    @cached_property
    def verified(self) -> tuple[str, ...]:
        """The sha256 of the files, that of the weights first."""
        return tuple(self.files.verify().values())

    def _checked_tokenizer(self) -> Tokenizer:
        with self._lock:
            _ = self.verified
            return self._tokenizer

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return open_tokenizer(self.files.tokenizer, self.files.limit)


def feeds(names: Iterable[str], ids: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """What a graph is given under each name: the ids, a mask of ones, types of zeros.

    >>> feeds(["input_ids", "attention_mask"], np.array([[101, 102]]))["attention_mask"].tolist()
    [[1, 1]]
    """
    return {name: np.full_like(ids, _FILLED_WITH[name]) if name in _FILLED_WITH else ids for name in names}


def chosen_output(files: ModelFiles, outputs: Sequence[str], wanted: str) -> int:
    """Which of a graph's outputs is wanted: the first where no name is given.

    Raises:
        UsageError: it has none of that name.
    """
    if not wanted:
        return 0
    if wanted not in outputs:
        message = f"{files.graph} gives no {wanted}."
        raise UsageError(message, hint=f"It gives: {', '.join(outputs)}.")
    return list(outputs).index(wanted)


def row_length(files: ModelFiles, inputs: Iterable[str], output: Sequence[object]) -> int:
    """The length of the rows that a graph gives for tokens.

    Args:
        files: the model.
        inputs: what its graph asks for.
        output: the extents of the output that is wanted; one that is not told is no int.

    Raises:
        ModelCorruptError: it asks for something else than tokens, or gives something else than their rows.
    """
    strange = set(inputs) - {"input_ids", *_FILLED_WITH}
    if strange:
        message = f"{files.graph} asks for {', '.join(sorted(strange))}; it embeds no texts."
        raise ModelCorruptError(message, hint=files.way_out)
    length = output[-1] if len(output) == _TOKEN_ROWS else None
    if not isinstance(length, int):
        message = f"{files.graph} gives {list(output)}, not a row of known length for each token."
        raise ModelCorruptError(message, hint=files.way_out)
    return length
