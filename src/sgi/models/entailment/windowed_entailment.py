"""Entailment of a hypothesis by a premise of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.errors import EmbedderError, ModelCorruptError, NonFiniteVectorError
from sgi.kernel.protocols import EntailmentScores
from sgi.kernel.short_text import shorten
from sgi.models.batching import distinct, equal_length_batches, run_batches

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from sgi.models.entailment.onnx_entailment import OnnxPairNetwork
    from sgi.models.entailment.pairs import Window
    from sgi.models.entailment.torch_entailment import TorchPairNetwork

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
    stronger. With one window the probabilities are those of the model.

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
        """What determines results and speed."""
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
