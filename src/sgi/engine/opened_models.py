"""The models that this process has opened; all callers share them."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from sgi.kernel.fork_safety import renew_in_child
from sgi.models.model_files import DIGESTS

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    from sgi.engine.run_options import RunOptions
    from sgi.kernel.protocols import Embedder, EntailmentModel, TokenEncoder
    from sgi.kernel.tokens import TokenModel

M = TypeVar("M")

MAX_MODELS = 8
"""The maximum number of models that stay open while nothing uses them; the least recently used is closed."""


class OpenedModels:
    """Shares opened models with the same identity (digests of files, and settings).

    A model that is opened again is the same object, so its weights are loaded once, also if several threads
    open it at the same time. A file that changed has another digest, so its model is opened again.
    """

    def __init__(self, most: int = MAX_MODELS) -> None:
        self.most = most
        self._models: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()
        renew_in_child(self)

    def share(self, model: M) -> M:
        """Return the opened model with the same identity, or this one; a model without identity unchanged."""
        identity = getattr(model, "identity", None)
        if identity is None:
            return model
        with self._lock:
            shared: M = self._models.setdefault(identity, model)
            self._models.move_to_end(identity)
            if len(self._models) > self.most:
                self._models.popitem(last=False)
            return shared

    def close(self) -> None:
        """Forget all models; each is closed when its last user is done."""
        with self._lock:
            self._models.clear()

    def renew_after_fork(self) -> None:
        """Replace the lock: a thread that holds it does not exist in the child."""
        self._lock = Lock()


_OPENED = OpenedModels()


def shared_embedder(name: str | Path, options: RunOptions) -> Embedder:
    """Return the opened embedder of this name."""
    from sgi.models.embedder.load_embedder import load_embedder

    return _OPENED.share(load_embedder(name, long_texts=options.long_texts, threads=options.threads))


def shared_token_encoder(model: TokenModel, options: RunOptions) -> TokenEncoder:
    """Return the opened token encoder; it shares the weights of the embedder with the same name."""
    from sgi.models.token_encoder.windowed_encoder import token_encoder

    embedder = shared_embedder(model.name, options)
    return _OPENED.share(token_encoder(embedder, model))


def shared_entailment_model(name: str, options: RunOptions) -> EntailmentModel:
    """Return the opened entailment model of this name."""
    from sgi.models.entailment.load_entailment import load_entailment_model

    return _OPENED.share(load_entailment_model(name, threads=options.threads))


def close_models() -> None:
    """Close the models that this process keeps open, to free their memory.

    `evaluate`, `check`, `run`, `load_embedder`, `Scorer` and `RAGEvalService` keep up to eight models open,
    so that the next call does not open them again. A model in use is closed when its last user is done.
    """
    _OPENED.close()
    DIGESTS.forget()
