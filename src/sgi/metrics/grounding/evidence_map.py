"""The evidence map of a response: sentences and the passages that support them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping


class FactEvidence(BaseModel, frozen=True, extra="forbid"):
    """A number, date or name of a sentence, with its verdict.

    Attributes:
        fact: its words in the response.
        start: start in the response, in characters.
        end: end in the response.
        passage: index of the row's context that decided; None for the question, or if none did.
        found: the words of the passage that state or contradict the fact, or "".
        found_start: start of these words in the passage.
        found_end: end of these words in the passage.
        how: the rule that decided; "" if the fact is absent.
    """

    fact: str
    kind: Literal["number", "date", "name"]
    start: int
    end: int
    verdict: Literal["supported", "absent", "contradicted"]
    passage: int | None
    found: str
    found_start: int | None
    found_end: int | None
    how: str


class SentenceEvidence(BaseModel, frozen=True, extra="forbid"):
    """A sentence of the response.

    Attributes:
        text: the sentence.
        start: start in the response, in characters.
        end: end in the response.
        score: the grounding score of the sentence alone, from 0 to 1; None if it claims nothing.
        contributions: contribution of each signal to its log odds; empty if it claims nothing.
        about_passages: whether it only says that something is not in the passages.
        passage: index of the row's context that supports it best.
        beside: the most similar sentence of that passage.
        similarity: the greatest cosine with a sentence of each passage that is not blank.
        unbacked: start and end, in the response, of stretches that no passage supports.
        entailment: highest probability that one of its best passages entails it; None without a model.
        contradiction: highest probability that one of them contradicts it; None if the model has none.
        entailment_windows: most windows in which the model read a passage; 0 without a model.
    """

    text: str
    start: int
    end: int
    score: float | None
    contributions: dict[str, float]
    about_passages: bool
    passage: int
    beside: str
    similarity: tuple[float, ...]
    unbacked: tuple[tuple[int, int], ...]
    checks: tuple[FactEvidence, ...]
    entailment: float | None = None
    contradiction: float | None = None
    entailment_windows: int = 0


class SignalPart(BaseModel, frozen=True, extra="forbid"):
    """Value of a signal (None if not applicable) and its contribution to the log odds."""

    value: float | None
    log_odds: float


class EvidenceMap(BaseModel, frozen=True, extra="forbid"):
    """Why a response has its grounding score.

    Attributes:
        passages: indices of the row's contexts that are not blank, in the order of the similarities.
        unused: indices of those that support no sentence.
    """

    signals: dict[str, SignalPart]
    sentences: tuple[SentenceEvidence, ...]
    passages: tuple[int, ...]
    unused: tuple[int, ...]


def evidence_in(details: Mapping[str, Any]) -> EvidenceMap | None:
    """Return the evidence map among the details of a score, or None."""
    try:
        return EvidenceMap.model_validate(
            {name: details[name] for name in EvidenceMap.model_fields if name in details}
        )
    except ValidationError:
        return None
