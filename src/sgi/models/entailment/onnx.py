"""Pairs of texts classified by ONNX Runtime."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import EmbedderError, ModelCorruptError
from sgi.kernel.protocols import ENTAILMENT
from sgi.models.embedder.local import feeds
from sgi.models.embedder.onnx import open_session
from sgi.models.entailment.pairs import PairTokenizer
from sgi.models.tokenizer import open_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sgi.models.entailment.labels import LabelMap
    from sgi.models.files import ModelFiles

_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_LOGITS = "logits"


class OnnxPairs:
    """A classifier of pairs in ONNX form, opened at first use, once for all threads.

    Each batch runs on one thread, so that their number changes no bit.

    Args:
        files: graph, tokenizer and limit.
        labels: what its outputs mean.
        typed: whether types tell premise from hypothesis.
        threads: batches computed at once.
    """

    def __init__(self, files: ModelFiles, labels: LabelMap, *, typed: bool, threads: int) -> None:
        self.files = files
        self.labels = labels
        self.typed = typed
        self.threads = threads
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The model's."""
        return self.files.name

    @cached_property
    def fingerprint(self) -> str:
        """Name, sha256 of weights, digest of graph and tokenizer, limit, meaning of outputs, arithmetic.

        Raises:
            ModelMissingError: the files are not there.
        """
        weights, *others = self.files.verify().values()
        rest = sha256("".join([*others, "" if self.typed else "untyped"]).encode()).hexdigest()
        revision = f"{weights[:8]}-{rest[:4]}"
        return f"{ENTAILMENT}{self.name}@{revision},{self.files.limit}tok,{self.labels.code},fp32"

    @property
    def tokenizer(self) -> PairTokenizer:
        """Opened at first use.

        Raises:
            ModelCorruptError: it is no tokenizer of pairs.
        """
        with self._lock:  # two first users must not both load
            return self._tokenizer

    def logits(self, ids: NDArray[np.int64], types: NDArray[np.int64], /) -> NDArray[np.float32]:
        """The outputs, shape (n, outputs), for tokens and their types of shape (n, length).

        Raises:
            ModelCorruptError: the graph cannot be loaded, or classifies no pairs.
            EmbedderError: the model failed.
        """
        with self._lock:
            session, names, output = self._opened
        given = feeds(names, ids)
        if "token_type_ids" in given:
            given["token_type_ids"] = types
        try:
            (found,) = session.run([output], given)
        except Exception as error:  # the runtime's errors have no common class but this
            raise EmbedderError(f"The model {self.name} failed: {error}.") from error
        return np.asarray(found, dtype=np.float32)

    @cached_property
    def _tokenizer(self) -> PairTokenizer:
        limit = self.files.limit
        return PairTokenizer(open_tokenizer(self.files.tokenizer, limit), limit, typed=self.typed)

    @cached_property
    def _opened(self) -> tuple[Any, list[str], str]:
        """The session, what it asks for, and the output that holds logits."""
        session = open_session(self.files, 1)
        names = [node.name for node in session.get_inputs()]
        strange = sorted(set(names) - _INPUTS)
        if strange:
            message = f"{self.files.graph} asks for {', '.join(strange)}; it classifies no pairs of texts."
            hint = "Name a sequence classifier; of a model that generates text, export one that gives logits."
            raise ModelCorruptError(message, hint=hint)
        outputs = [node.name for node in session.get_outputs()]
        return session, names, _LOGITS if _LOGITS in outputs else outputs[0]
