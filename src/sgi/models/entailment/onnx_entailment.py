"""Entailment models run by ONNX Runtime."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from sgi.kernel.errors import ModelCorruptError
from sgi.kernel.fork_safety import keep_forever, renew_in_child
from sgi.kernel.protocols import ENTAILMENT
from sgi.models.entailment.pairs import PairTokenizer
from sgi.models.model_files import revision
from sgi.models.onnx_session import OnnxSession
from sgi.models.tokenizer import native_errors, open_tokenizer_file

if TYPE_CHECKING:
    from collections.abc import Hashable

    import numpy as np
    from numpy.typing import NDArray

    from sgi.models.entailment.entailment_labels import LabelMap
    from sgi.models.model_files import ModelFiles

_LOGITS = "logits"


class OnnxPairNetwork:
    """Classifier of text pairs in ONNX form; it is opened at first use and is thread-safe.

    Each batch runs on one thread, so the number of threads does not change the result.

    Args:
        files: graph, tokenizer and token limit.
        labels: the meanings of the outputs.
        typed: whether premise and hypothesis have different token type ids.
        threads: the number of batches computed in parallel.
        template: see `PairTokenizer`.
    """

    def __init__(
        self, files: ModelFiles, labels: LabelMap, *, typed: bool, threads: int, template: str = ""
    ) -> None:
        self.files = files
        self.name = files.name
        self.labels = labels
        self.typed = typed
        self.threads = threads
        self.template = template
        self._lock = Lock()
        renew_in_child(self)

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name, digests of its files, token limit, meanings of outputs, precision."""
        own = ("" if self.typed else "untyped") + self.template
        digest = revision([*self.files.verify().values()], own)
        return f"{ENTAILMENT}{self.name}@{digest},{self.files.limit}tok,{self.labels.code},fp32"

    @property
    def identity(self) -> Hashable:
        """What determines results and speed."""
        return self.fingerprint, *self.files.verify().values(), self.threads

    @property
    def tokenizer(self) -> PairTokenizer:
        """The tokenizer, opened at first use; it raises ModelCorruptError if it cannot join two texts."""
        with self._lock:  # load only once if two threads come first
            return self._tokenizer

    def logits(self, ids: NDArray[np.int64], types: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return the logits, shape (n, outputs), for token ids and token type ids, each of shape (n, length).

        Raises:
            ModelCorruptError: the graph cannot be loaded, or is not a classifier of pairs.
            EmbedderError: the model fails.
        """
        with self._lock:
            session = self._session
        return session.run(_LOGITS if _LOGITS in session.outputs else next(iter(session.outputs)), ids, types)

    def renew_after_fork(self) -> None:
        """Open the model again: the threads of the runtime exist only in the parent."""
        self._lock = Lock()
        keep_forever(self.__dict__.pop("_session", None))

    @cached_property
    def _tokenizer(self) -> PairTokenizer:
        limit = self.files.limit
        tokenizer = open_tokenizer_file(self.files.tokenizer)
        with native_errors(ModelCorruptError, f"{self.files.tokenizer} is not a tokenizer"):
            return PairTokenizer(tokenizer, limit, typed=self.typed, template=self.template)

    @cached_property
    def _session(self) -> OnnxSession:
        return OnnxSession(self.files, 1)
