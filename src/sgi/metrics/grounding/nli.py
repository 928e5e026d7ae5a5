"""Scores with an entailment model whether each sentence follows from the passages that match it best."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sgi.kernel.entailment_profile import MAX_LOG_ODDS, EntailmentProfile
from sgi.metrics.grounding.grounding_model import grounding_model, sigmoid
from sgi.metrics.grounding.signals import sentence_signals
from sgi.metrics.grounding.signals import table as signal_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.kernel.vectors import EntailmentTable
    from sgi.metrics.grounding.analysis import ResponseAnalysis

SIGNAL = "entailment"
"""Name of the signal that the entailment model gives."""

_DEFAULT = EntailmentProfile(model="any")
_DIGITS = 4
_BAND = re.compile(r"[0-9](\.[0-9]{1,15})?:[0-9](\.[0-9]{1,15})?")

Pair = tuple[str, str]


class Band(NamedTuple):
    """The uncertain scores: a sentence is read by the entailment model only if its first score is among them.

    >>> Band.parse("0.2:0.9").contains(0.5), Band.parse("").contains(0.999)
    (True, True)
    """

    low: float = 0.0
    high: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``LOW:HIGH``; an empty text is the band of all scores.

        Raises:
            ValueError: the text is not two numbers from 0 to 1 in ascending order.
        """
        if not text:
            return cls()
        numbers = [*map(float, text.split(":"))] if _BAND.fullmatch(text) else []
        if len(numbers) != len(cls._fields) or not 0 <= numbers[0] < numbers[1] <= 1:
            raise ValueError(f"a band is LOW:HIGH with 0 <= LOW < HIGH <= 1, such as 0.2:0.9, not {text!r}")
        return cls(*numbers)

    def contains(self, score: float) -> bool:
        """Return whether a score is in the band, its ends included."""
        return self.low <= score <= self.high


def first_scores(analysis: ResponseAnalysis) -> list[float | None]:
    """Return the score of each sentence from its words alone, in [0, 1]; None if it claims nothing.

    It is the score of `grounding` without the model. It depends on no other row.
    """
    each = sentence_signals(analysis)
    rows = [signals for signals in each if signals is not None]
    scores = (
        iter(sigmoid(grounding_model().logistic.log_odds(signal_table(rows))).tolist()) if rows else iter(())
    )
    return [None if signals is None else next(scores) for signals in each]


_ALL = Band()


def entailment_pairs_of(
    analysis: ResponseAnalysis, profile: EntailmentProfile = _DEFAULT, band: Band = _ALL
) -> list[tuple[Pair, ...] | None]:
    """Return the (premise, sentence) pairs to score for each sentence; None if the sentence claims nothing.

    The premises are the best passages, distinct and in the order of `TokenSupport.nearest`, or the
    `best_sentences`, as the profile says. A sentence whose `first_scores` are outside the band has no pairs.

    >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
    >>> passages = ["It is tall.", "A red tower.", "Red.", "The tower is tall and red."]
    >>> analysis = ResponseAnalysis.of("The tall tower is red.", passages)
    >>> [premise for premise, _ in entailment_pairs_of(analysis)[0]]
    ['The tower is tall and red.', 'A red tower.', 'It is tall.']
    """
    pairs: list[tuple[Pair, ...] | None] = []
    first = None if band == _ALL else first_scores(analysis)
    for number, sentence in enumerate(analysis.sentences):
        if not analysis.claims_in(number):
            pairs.append(None)
            continue
        score = None if first is None else first[number]
        if score is not None and not band.contains(score):
            pairs.append(())
            continue
        statement = analysis.response[sentence.start : sentence.end]
        pairs.append(tuple((premise, statement) for premise in _premises(analysis, number, profile)))
    return pairs


def best_sentences(analysis: ResponseAnalysis, number: int) -> str:
    """Join the sentences of passages in the windows that match a sentence, in their order; may be empty.

    The windows come from `TokenSupport.places`: at most three, each with words that the others lack.

    >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
    >>> passages = ["The tower is old. " + "It rains in Rome. " * 40, "Ada painted it in May."]
    >>> best_sentences(ResponseAnalysis.of("Ada painted the old tower in May.", passages), 0)[-40:]
    'It rains in Rome. Ada painted it in May.'
    """
    support = analysis.support
    return " ".join(support.sentences[at].text for at in np.flatnonzero(support.inside[number]))


def _premises(analysis: ResponseAnalysis, number: int, profile: EntailmentProfile) -> list[str]:
    best = dict.fromkeys(analysis.passages[place] for place in analysis.support.nearest(number))
    if profile.premise == "sentences":
        return [best_sentences(analysis, number) or next(iter(best))]
    return [*islice(best, profile.passages)]


class SentenceEntailment(NamedTuple):
    """Entailment scores of a sentence with its best passages.

    Attributes:
        entailment: highest probability that one of the passages entails the sentence, in [0, 1]; NaN if the
            model did not read it, because its first score is not uncertain.
        contradiction: highest probability that one contradicts it; None if the model gives none.
        windows: largest number of windows into which a passage was split for the model.
        pairs: number of premises that the model read with the sentence.
    """

    entailment: float
    contradiction: float | None
    windows: int
    pairs: int = 1


_NOT_READ = SentenceEntailment(float("nan"), None, 0, 0)


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
    "SummaC", zero-shot. The weight 0.5 comes from an independent audit of this detector.
    """

    sentences: tuple[SentenceEntailment | None, ...]
    profile: EntailmentProfile = _DEFAULT

    @classmethod
    def of(
        cls,
        analysis: ResponseAnalysis,
        table: EntailmentTable,
        profile: EntailmentProfile = _DEFAULT,
        band: Band = _ALL,
    ) -> Self:
        """Look up the scores of the response's (premise, sentence) pairs in a table."""
        pairs = entailment_pairs_of(analysis, profile, band)
        return cls(tuple(None if own is None else _best(own, table) for own in pairs), profile)

    @property
    def least(self) -> float:
        """The lowest entailment of the sentences that were read; NaN if there are none."""
        entailments = [sentence.entailment for sentence in self.sentences if sentence and sentence.pairs]
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
    if not pairs:
        return _NOT_READ
    scores = table.pairs(pairs)
    against = scores.contradiction[~np.isnan(scores.contradiction)]
    return SentenceEntailment(
        float(scores.entailment.max()),
        float(against.max()) if against.size else None,
        int(scores.windows.max()),
        len(pairs),
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
        "entailment": round(sentence.entailment, _DIGITS) if sentence.pairs else None,
        "contradiction": None if against is None else round(against, _DIGITS),
        "entailment_windows": sentence.windows,
        "entailment_pairs": sentence.pairs,
    }
