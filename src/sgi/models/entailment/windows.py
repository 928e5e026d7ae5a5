"""Whether a premise entails a hypothesis, by a classifier that reads both together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from sgi.kernel.errors import EmbedderError, ModelCorruptError, NonFiniteVectorError
from sgi.kernel.protocols import EntailmentScores
from sgi.models.batching import distinct, equal_length_batches, side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sgi.models.entailment.labels import LabelMap
    from sgi.models.entailment.pairs import PairTokenizer, Window

_SHOWN = 60

Pair = tuple[str, str]


class PairNetwork(Protocol):
    """A classifier of pairs, as `WindowedEntailment` wants it; threads may share it."""

    threads: int
    """Batches computed at once."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def fingerprint(self) -> str:
        """Everything that can change a probability."""

    @property
    def labels(self) -> LabelMap:
        """What its outputs mean."""

    @property
    def tokenizer(self) -> PairTokenizer:
        """Makes tokens of texts, and windows of tokens."""

    def logits(self, ids: NDArray[np.int64], types: NDArray[np.int64], /) -> NDArray[np.float32]:
        """The outputs, shape (n, outputs), for tokens and their types of shape (n, length)."""


class WindowedEntailment:
    r"""Entailment of pairs whose premise may be of any length; nothing is cut.

    A premise that does not fit beside its hypothesis is read in windows that overlap by half, each beside the
    whole hypothesis. With entailment :math:`e_w` and contradiction :math:`c_w` in window :math:`w`

    .. math:: E = \max_w e_w \qquad
              C = \begin{cases} \max_w c_w & \text{if } \max_w c_w \ge E \\
                                c_{\arg\max_w e_w} & \text{else} \end{cases}

    A hypothesis needs one place only that it follows from; and that another part of the premise seems to
    contradict it counts only where that is the stronger claim. Of one window both are what the model says.

    Each distinct text is tokenized once, each distinct pair computed once. Every window is run
    alone, longest first, so many at once as the network has threads: nothing is padded and no pair sees
    another, whatever the graph does: a pair has the same bits alone, among others and in any order.
    Windows are mostly of over a hundred tokens and of many lengths, where batches brought no speed.

    Args:
        network: the classifier.

    Source: the best of windows as in Laban et al. (2022), "SummaC", zero-shot; the rule for contradiction is
    our own.
    """

    def __init__(self, network: PairNetwork) -> None:
        self.network = network

    @property
    def fingerprint(self) -> str:
        """That of the network, its labels and its limit."""
        return self.network.fingerprint

    def readable(self, hypotheses: Sequence[str], /) -> NDArray[np.bool_]:
        """Which hypotheses leave at least a quarter of the model's window to a premise, shape (n,).

        Raises:
            EmbedderError: a text has no UTF-8 form, or the model is not to be had.
        """
        unique, places = distinct(hypotheses)
        tokenizer = self.network.tokenizer
        return np.array([tokenizer.readable(ids) for ids in tokenizer.own(unique)], dtype=np.bool_)[places]

    def entail(self, pairs: Sequence[Pair], /) -> EntailmentScores:
        """Entailment, contradiction and windows of each (premise, hypothesis).

        An empty premise is read as it is: the model says what follows from nothing.

        Raises:
            NonFiniteVectorError: an output is no finite number; its ``texts`` are the hypotheses concerned.
            EmbedderError: a hypothesis is too long to be read beside its premise; a text has no UTF-8 form;
                the model is not to be had, or failed.
        """
        places = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
        unique = list(places)
        windows, owners = self._windows(unique)
        follows, against = self._probabilities(unique, windows, owners)
        counted = np.bincount(owners, minlength=len(unique))
        order = np.array([places[pair] for pair in pairs], dtype=np.int64)
        entailment, contradiction = _over(counted, follows, against)
        return EntailmentScores(entailment[order], contradiction[order], counted[order].astype(np.int64))

    def _windows(self, pairs: Sequence[Pair]) -> tuple[list[Window], NDArray[np.int64]]:
        """All windows of all pairs, and to which pair each belongs."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        tokenizer = self.network.tokenizer
        own = dict(zip(texts, tokenizer.own(texts), strict=True))
        found = [tokenizer.windows(own[premise], own[hypothesis]) for premise, hypothesis in pairs]
        long = [pair[1] for pair, some in zip(pairs, found, strict=True) if some is None]
        if long:
            room = tokenizer.limit - tokenizer.frame.marks
            message = (
                f"{self.network.name} reads {room} tokens at once, and a hypothesis of {len(own[long[0]])} "
                f"leaves too little of them for its premise: {_short(long[0])!r}."
            )
            raise EmbedderError(
                message, hint="Split it into sentences, or take a model that reads more at once."
            )
        owners = [place for place, some in enumerate(found) for _ in some or ()]
        return [window for some in found for window in some or ()], np.asarray(owners, dtype=np.int64)

    def _probabilities(
        self, pairs: Sequence[Pair], windows: Sequence[Window], owners: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Entailment and contradiction in each window."""
        network, labels = self.network, self.network.labels
        logits = np.zeros((len(windows), labels.outputs), dtype=np.float32)

        def compute(batch: NDArray[np.int64]) -> None:
            some = [windows[place] for place in batch]
            ids, types = (np.stack(rows) for rows in zip(*some, strict=True))
            made = network.logits(ids, types)
            if made.shape != (len(batch), labels.outputs):
                wanted = [len(batch), labels.outputs]
                message = f"{network.name} gives numbers of shape {list(made.shape)}, not {wanted}."
                raise ModelCorruptError(
                    message, hint="Its configuration must name as many labels as it has outputs."
                )
            logits[batch] = made

        batches = equal_length_batches([len(window.ids) for window in windows], budget=1)
        side_by_side(batches, compute, network.threads)
        bad = np.flatnonzero(~np.isfinite(logits).all(axis=1))
        if bad.size:
            raise _not_finite(
                network.name, [pairs[place] for place in np.unique(owners[bad]).tolist()], len(pairs)
            )
        return labels.probabilities(logits)


def _over(
    counted: NDArray[np.int64], follows: NDArray[np.float64], against: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Entailment and contradiction of pairs, of those in their windows, which stand pair after pair."""
    if not counted.size:
        return follows, against
    starts = np.cumsum(counted) - counted
    best = np.maximum.reduceat(follows, starts)
    worst = np.maximum.reduceat(against, starts)
    leads = np.flatnonzero(follows == np.repeat(best, counted))
    lead = leads[np.searchsorted(leads, starts)]  # of windows that entail alike, the first
    return best, np.where(worst >= best, worst, against[lead])


def _not_finite(name: str, pairs: Sequence[Pair], of: int) -> NonFiniteVectorError:
    premise, hypothesis = pairs[0]
    message = (
        f"{name} returned no finite number for {len(pairs)} of {of} pairs, the first: premise "
        f"{_short(premise)!r}, hypothesis {_short(hypothesis)!r}."
    )
    return NonFiniteVectorError(message, texts=_hypotheses(pairs))


def _hypotheses(pairs: Iterable[Pair]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(hypothesis for _, hypothesis in pairs))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
