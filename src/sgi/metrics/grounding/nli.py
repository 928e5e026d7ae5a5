"""Scores with an entailment model whether each sentence follows from one of its best passages."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sgi.kernel.entailment_profile import MAX_LOG_ODDS, EntailmentProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.vectors import EntailmentTable
    from sgi.metrics.grounding.analysis import ResponseAnalysis

SIGNAL = "entailment"
"""Name of the signal that the entailment model gives."""

_DEFAULT = EntailmentProfile(model="any")
_DIGITS = 4

Pair = tuple[str, str]


def entailment_pairs_of(
    analysis: ResponseAnalysis, passages: int = _DEFAULT.passages
) -> list[tuple[Pair, ...]]:
    """Return the (passage, sentence) pairs to score for each sentence; empty if the sentence claims nothing.

    At most ``passages`` pairs per sentence, with distinct passages in the order of `TokenSupport.nearest`.

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
        pairs.append(tuple((passage, statement) for passage in islice(best, passages)))
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

    .. math:: w \cdot \operatorname{clip}(\operatorname{logit}(e_s) / T + b, -6, 6)

    and the response uses its lowest :math:`e_s`. Weight w, temperature T and offset b are those of the
    model's profile (`sgi.kernel.entailment_profile`); without a profile they are 0.5, 1 and 0.

    Attributes:
        sentences: scores of each sentence in order; None if it claims nothing.
        profile: the profile of the model.

    Source: the maximum over passages and the minimum over sentences are those of Laban et al. (2022),
    "SummaC", zero-shot. The weight 0.5 is that of an independent audit of this detector.
    """

    sentences: tuple[SentenceEntailment | None, ...]
    profile: EntailmentProfile = _DEFAULT

    @classmethod
    def of(
        cls, analysis: ResponseAnalysis, table: EntailmentTable, profile: EntailmentProfile = _DEFAULT
    ) -> Self:
        """Look up the scores of the response's (passage, sentence) pairs in a table."""
        pairs = entailment_pairs_of(analysis, profile.passages)
        return cls(tuple(_best(own, table) if own else None for own in pairs), profile)

    @property
    def least(self) -> float:
        """The lowest entailment of all sentences; NaN if no sentence claims anything."""
        entailments = [sentence.entailment for sentence in self.sentences if sentence is not None]
        return min(entailments, default=float("nan"))

    @property
    def log_odds(self) -> NDArray[np.float64]:
        """The contribution to the log odds of the response, then of each sentence that claims something."""
        entailments = [sentence.entailment for sentence in self.sentences if sentence is not None]
        return _log_odds([self.least, *entailments], self.profile)

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


def _log_odds(entailment: Sequence[float], profile: EntailmentProfile) -> NDArray[np.float64]:
    values = np.asarray(entailment, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logit = np.log(values) - np.log1p(-values)
    calibrated = logit / (profile.temperature or 1.0) + (profile.offset or 0.0)
    part = profile.weight * np.clip(calibrated, -MAX_LOG_ODDS, MAX_LOG_ODDS)
    return np.where(np.isnan(values), 0.0, part)


def _rounded_scores(sentence: SentenceEntailment) -> dict[str, float | int | None]:
    against = sentence.contradiction
    return {
        "entailment": round(sentence.entailment, _DIGITS),
        "contradiction": None if against is None else round(against, _DIGITS),
        "entailment_windows": sentence.windows,
    }
