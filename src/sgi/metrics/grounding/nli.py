"""Scores with an entailment model whether each sentence follows from one of its best passages."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sgi.metrics.grounding.model import grounding_model
from sgi.metrics.grounding.signals import TRAINED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.vectors import EntailmentTable
    from sgi.metrics.grounding.analysis import ResponseAnalysis

SIGNAL = "entailment"
"""Name of the signal that the entailment model gives."""

MOST_PASSAGES = 3
"""Maximum number of passages that a sentence is compared with."""

_MOST_ODDS = 3.0  # log odds of an entailment model are clipped to this
_SPREAD = 1.5
_DIGITS = 4

Pair = tuple[str, str]


def entailment_pairs_of(analysis: ResponseAnalysis) -> list[tuple[Pair, ...]]:
    """Return the (passage, sentence) pairs to score for each sentence; empty if the sentence claims nothing.

    At most `MOST_PASSAGES` pairs per sentence, with distinct passages in the order of `TokenSupport.nearest`.

    >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
    >>> passages = ["It is tall.", "A red tower.", "Red.", "The tower is tall and red."]
    >>> analysis = ResponseAnalysis.of("The tall tower is red.", passages)
    >>> [premise for premise, _ in entailment_pairs_of(analysis)[0]]
    ['The tower is tall and red.', 'A red tower.', 'It is tall.']
    """
    pairs: list[tuple[Pair, ...]] = []
    for number, sentence in enumerate(analysis.sentences):
        nearest = analysis.support.nearest(number) if analysis.claims[sentence.words].any() else ()
        best = dict.fromkeys(analysis.passages[place] for place in nearest)
        statement = analysis.response[sentence.start : sentence.end]
        pairs.append(tuple((passage, statement) for passage in islice(best, MOST_PASSAGES)))
    return pairs


class SentenceEntailment(NamedTuple):
    """Entailment scores of a sentence with its best passages.

    Attributes:
        entailment: highest probability that one of the passages entails the sentence, in [0, 1].
        contradiction: highest probability that one contradicts it; None if the model gives none.
        windows: largest number of windows into which a passage was split for the model.
    """

    entailment: float
    contradiction: float | None
    windows: int


@dataclass(frozen=True, eq=False)
class ResponseEntailment:
    r"""Entailment scores of the sentences of a response, as a contribution to the log odds of support.

    A sentence s with the entailment :math:`e_s`, the highest over its passages, adds

    .. math:: \bar w \cdot \frac{\operatorname{clip}(\operatorname{logit} e_s, -3, 3)}{1.5}

    and the response uses its lowest :math:`e_s`. The weight :math:`\bar w` is the mean of the committed
    weights: a prior that was never trained, equal for every model.

    Attributes:
        sentences: scores of each sentence in order; None if it claims nothing.

    Source: the maximum over passages and the minimum over sentences are those of Laban et al. (2022),
    "SummaC", zero-shot; the weight is our own.
    """

    sentences: tuple[SentenceEntailment | None, ...]

    @classmethod
    def of(cls, analysis: ResponseAnalysis, table: EntailmentTable) -> Self:
        """Look up the scores of the response's (passage, sentence) pairs in a table."""
        return cls(tuple(_best(pairs, table) if pairs else None for pairs in entailment_pairs_of(analysis)))

    @property
    def least(self) -> float:
        """The lowest entailment of all sentences; NaN if no sentence claims anything."""
        entailments = [sentence.entailment for sentence in self.sentences if sentence is not None]
        return min(entailments, default=float("nan"))

    @property
    def log_odds(self) -> NDArray[np.float64]:
        """The contribution to the log odds of the response, then of each sentence that claims something."""
        entailments = [sentence.entailment for sentence in self.sentences if sentence is not None]
        return _log_odds([self.least, *entailments])

    def add_to(self, evidence_map: dict[str, Any]) -> None:
        """Add the signal to an `EvidenceMap`, as JSON, and entailment and contradiction to each sentence."""
        value, part = self.least, float(self.log_odds[0])
        evidence_map["signals"][SIGNAL] = {
            "value": None if np.isnan(value) else round(value, 6),
            "log_odds": round(part, _DIGITS),
        }
        for sentence, entailment in zip(evidence_map["sentences"], self.sentences, strict=True):
            if entailment is not None:
                sentence.update(_rounded_scores(entailment))


def _best(pairs: Sequence[Pair], table: EntailmentTable) -> SentenceEntailment:
    scores = table.pairs(pairs)
    against = scores.contradiction[~np.isnan(scores.contradiction)]
    return SentenceEntailment(
        float(scores.entailment.max()),
        float(against.max()) if against.size else None,
        int(scores.windows.max()),
    )


def _log_odds(entailment: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(entailment, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logit = np.log(values) - np.log1p(-values)
    weight = grounding_model().logistic.weights[: len(TRAINED)].mean()
    part = weight * np.clip(logit, -_MOST_ODDS, _MOST_ODDS) / _SPREAD
    return np.where(np.isnan(values), 0.0, part)


def _rounded_scores(sentence: SentenceEntailment) -> dict[str, float | int | None]:
    against = sentence.contradiction
    return {
        "entailment": round(sentence.entailment, _DIGITS),
        "contradiction": None if against is None else round(against, _DIGITS),
        "entailment_windows": sentence.windows,
    }
