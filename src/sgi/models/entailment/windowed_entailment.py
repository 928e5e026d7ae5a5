"""Entailment models, run by ONNX Runtime or torch: entailment of a hypothesis by a premise of any length."""

from __future__ import annotations

from functools import cached_property
from inspect import signature
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.errors import (
    EmbedderError,
    ModelCorruptError,
    NonFiniteVectorError,
    UsageError,
    require_extra,
)
from sgi.kernel.fork_safety import keep_forever, renew_in_child
from sgi.kernel.protocols import ENTAILMENT, EntailmentScores
from sgi.kernel.short_text import shorten
from sgi.models.batching import distinct, equal_length_batches, run_batches
from sgi.models.entailment.pairs import PairTokenizer
from sgi.models.model_files import revision
from sgi.models.onnx_session import OnnxSession
from sgi.models.tokenizer import native_errors, open_tokenizer_file
from sgi.models.torch_model import UNTRUSTED, TorchModel, configuration_bytes, model_digest

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from sgi.models.entailment.entailment_labels import LabelMap
    from sgi.models.entailment.pairs import Window
    from sgi.models.model_files import ModelFiles

Pair = tuple[str, str]


class WindowedEntailment:
    r"""Entailment model for premises of any length; it truncates nothing.

    A premise that exceeds the token limit is split into windows, parts that overlap by half; each is read
    together with the whole hypothesis. With entailment :math:`e_w` and contradiction :math:`c_w` in window
    :math:`w`

    .. math:: E = \max_w e_w \qquad
              C = \begin{cases} \max_w c_w & \text{if } \max_w c_w \ge E \\
                                c_{\arg\max_w e_w} & \text{else} \end{cases}

    One window that entails the hypothesis is enough; a contradiction in another window counts only if it is
    stronger. With one window the probabilities are not changed.

    Each distinct text is tokenized once, and each distinct pair is computed once. Every window is a batch of
    its own, so the result for a pair does not depend on other pairs. Windows mostly have over a hundred
    tokens and many lengths; larger batches were not faster.

    Source: the maximum over windows as in Laban et al. (2022), "SummaC", zero-shot; the rule for
    contradiction is our own.
    """

    def __init__(self, network: OnnxPairNetwork | TorchPairNetwork, code: str = "") -> None:
        self.network = network
        self.code = code

    @property
    def fingerprint(self) -> str:
        """The model's identity: name, digest of its files, token limit, meanings of outputs, precision.

        The code of the model's profile follows, if it has one: it decides how a probability is used.
        """
        return ",".join(filter(None, (self.network.fingerprint, self.code)))

    @property
    def identity(self) -> Hashable:
        """A key of everything that affects results and speed."""
        return self.network.identity, self.code

    def readable(self, hypotheses: Sequence[str], /) -> NDArray[np.bool_]:
        """Return which hypotheses leave at least a quarter of the token limit for a premise, shape (n,)."""
        unique, positions = distinct(hypotheses)
        tokenizer = self.network.tokenizer
        readable = [tokenizer.readable(ids) for ids in tokenizer.token_ids(unique)]
        return np.array(readable, dtype=np.bool_)[positions]

    def entail(self, pairs: Sequence[Pair], /) -> EntailmentScores:
        """Return entailment, contradiction and number of windows of each (premise, hypothesis) pair.

        The model also gets empty premises.

        Raises:
            NonFiniteVectorError: an output is not finite; the error's ``texts`` are the affected hypotheses.
            EmbedderError: a hypothesis leaves too few tokens for its premise; a text is not valid Unicode;
                the model cannot be opened or fails.
        """
        index = {pair: position for position, pair in enumerate(dict.fromkeys(pairs))}
        unique = list(index)
        windows, owners = self._windows(unique)
        follows, against = self._probabilities(unique, windows, owners)
        counts = np.bincount(owners, minlength=len(unique))
        order = np.array([index[pair] for pair in pairs], dtype=np.int64)
        entailment, contradiction = _pool_windows(counts, follows, against)
        return EntailmentScores(entailment[order], contradiction[order], counts[order].astype(np.int64))

    def _windows(self, pairs: Sequence[Pair]) -> tuple[list[Window], NDArray[np.int64]]:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        tokenizer = self.network.tokenizer
        ids = dict(zip(texts, tokenizer.token_ids(texts), strict=True))
        windows = [tokenizer.windows(ids[premise], ids[hypothesis]) for premise, hypothesis in pairs]
        long = [pair[1] for pair, of_pair in zip(pairs, windows, strict=True) if of_pair is None]
        if long:
            room = tokenizer.limit - tokenizer.frame.size
            message = (
                f"{self.network.name} reads {room} tokens at once, and a hypothesis of {len(ids[long[0]])} "
                f"leaves too few for its premise: {shorten(long[0])!r}."
            )
            raise EmbedderError(message, hint="Split it into sentences, or use a model with a larger limit.")
        owners = [position for position, of_pair in enumerate(windows) for _ in of_pair or ()]
        return [window for of_pair in windows for window in of_pair or ()], np.asarray(owners, dtype=np.int64)

    def _probabilities(
        self, pairs: Sequence[Pair], windows: Sequence[Window], owners: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        network, labels = self.network, self.network.labels
        logits = np.zeros((len(windows), labels.outputs), dtype=np.float32)

        def compute(batch: NDArray[np.int64]) -> None:
            members = [windows[position] for position in batch]
            ids, types = (np.stack(rows) for rows in zip(*members, strict=True))
            output = network.logits(ids, types)
            if output.shape != (len(batch), labels.outputs):
                expected = [len(batch), labels.outputs]
                message = f"{network.name} must return shape {expected}; it returned {list(output.shape)}."
                raise ModelCorruptError(
                    message, hint="Its configuration must name as many labels as it has outputs."
                )
            logits[batch] = output

        batches = equal_length_batches([len(window.ids) for window in windows], budget=1)
        run_batches(batches, compute, network.threads)
        bad = np.flatnonzero(~np.isfinite(logits).all(axis=1))
        if bad.size:
            affected = [pairs[position] for position in np.unique(owners[bad]).tolist()]
            message = (
                f"{network.name} returned a non-finite value for {len(affected)} of {len(pairs)} pairs,"
                f" the first: premise {shorten(affected[0][0])!r}, hypothesis {shorten(affected[0][1])!r}."
            )
            raise NonFiniteVectorError(message, texts=tuple(dict.fromkeys(text for _, text in affected)))
        return labels.probabilities(logits)


def _pool_windows(
    counts: NDArray[np.int64], follows: NDArray[np.float64], against: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Combine the values of windows (ordered by pair) into entailment and contradiction of each pair."""
    if not counts.size:
        return follows, against
    starts = np.cumsum(counts) - counts
    best = np.maximum.reduceat(follows, starts)
    worst = np.maximum.reduceat(against, starts)
    maxima = np.flatnonzero(follows == np.repeat(best, counts))
    first_maximum = maxima[np.searchsorted(maxima, starts)]
    return best, np.where(worst >= best, worst, against[first_maximum])


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
        """A key of everything that affects results and speed."""
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


_TYPES = "token_type_ids"
_ANY_TYPE = 1 << 20


class TorchPairNetwork(TorchModel):
    """Classifier of text pairs run by transformers (extra ``torch``) in float32; loaded at first use.

    It never runs code from the Hugging Face hub.

    Args:
        source: a folder with weights, configuration and tokenizer, or a repository on the hub.
        labels: the meanings of the outputs.
        limit: the maximum number of tokens that the model reads at once.
        typed: whether premise and hypothesis have different token type ids.
        template: see `PairTokenizer`.
        answer_tokens: for a model that generates text, the ids of the first token that stand for the outputs;
            empty for a classifier.
    """

    _settings = ("labels", "limit", "typed", "template", "answer_tokens")
    threads = 1  # torch itself uses all cores

    def __init__(
        self,
        source: str,
        labels: LabelMap,
        limit: int,
        *,
        typed: bool = True,
        template: str = "",
        answer_tokens: tuple[int, ...] = (),
    ) -> None:
        super().__init__(source)
        self.labels = labels
        self.limit = limit
        self.typed = typed
        self.template = template
        self.answer_tokens = answer_tokens

    @cached_property
    def fingerprint(self) -> str:
        """The model's identity: name, digest of its files, token limit, meanings of outputs, precision.

        Raises a UsageError if the tokenizer is code, and the errors of `TorchModel`.
        """
        model, tokenizer, pairs = self._model
        settings = [configuration_bytes(model.config), str(pairs.frame).encode()]
        if self.answer_tokens:
            settings.append(str(self.answer_tokens).encode())
        revision = model_digest(model, settings, tokenizer)
        return f"{ENTAILMENT}{self.name}@{revision},{self.limit}tok,{self.labels.code},fp32"

    @property
    def tokenizer(self) -> PairTokenizer:
        """The tokenizer, which is loaded with the model."""
        tokenizer: PairTokenizer = self._model[2]
        return tokenizer

    def logits(self, ids: NDArray[np.int64], types: NDArray[np.int64], /) -> NDArray[np.float32]:
        """Return the logits, shape (n, outputs), for token ids and token type ids, each of shape (n, length).

        Raises an EmbedderError if the model fails, for example for lack of memory.
        """
        import torch

        model = self._model[0]
        if self.answer_tokens:
            return self._answer_logits(model, ids)
        options = {}
        type_count = int(getattr(model.config, "type_vocab_size", _ANY_TYPE))
        if _TYPES in signature(model.forward).parameters and type_count > types.max(initial=0):
            options[_TYPES] = torch.from_numpy(np.ascontiguousarray(types))
        return np.asarray(self._run(model, ids, **options).logits.float().numpy())

    def _answer_logits(self, model: Any, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the logits of the answer tokens at the first position that the model generates."""
        import torch

        if max(self.answer_tokens) >= int(model.config.vocab_size):
            tokens = ", ".join(map(str, self.answer_tokens))
            message = f"{self.name} has {model.config.vocab_size} tokens; its profile names {tokens}."
            raise ModelCorruptError(message, hint="Give the ids of the model's own tokens in answer_tokens.")
        first = torch.full((len(ids), 1), int(model.config.decoder_start_token_id))
        logits = self._run(model, ids, decoder_input_ids=first).logits[:, 0, list(self.answer_tokens)]
        return np.asarray(logits.float().numpy())

    @cached_property
    def _loaded_model(self) -> tuple[object, object, PairTokenizer]:
        with require_extra("An entailment model run by torch", "torch"):
            from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer
        kind = AutoModelForSeq2SeqLM if self.answer_tokens else AutoModelForSequenceClassification
        with self._load_errors() as source:
            local = self._local_only
            model, report = kind.from_pretrained(
                source, dtype="float32", output_loading_info=True, local_files_only=local, **UNTRUSTED
            )
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local, trust_remote_code=False)
        if report["missing_keys"]:  # transformers initialises them at random
            message = f"{self.source!r} has no weights for {', '.join(sorted(report['missing_keys'])[:3])}."
            raise ModelCorruptError(message, hint="Name a model that was trained to classify pairs of texts.")
        return model.eval(), tokenizer, self._pair_tokenizer(tokenizer)

    def _pair_tokenizer(self, tokenizer: object) -> PairTokenizer:
        from tokenizers import Tokenizer

        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            message = f"The tokenizer of {self.source!r} must be a tokenizer.json; it is code."
            raise UsageError(message, hint="Save it as a fast tokenizer of transformers.")
        own = Tokenizer.from_str(backend.to_str())
        return PairTokenizer(own, self.limit, typed=self.typed, template=self.template)
