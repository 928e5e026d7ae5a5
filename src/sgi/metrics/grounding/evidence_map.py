"""The evidence map of a response: sentences and the passages that support them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FROZEN = ConfigDict(frozen=True, extra="forbid")


class FactEvidence(BaseModel):
    """A number, date or name of a sentence, and what the passages have of it.

    Attributes:
        fact: as the response has it.
        kind: what it is.
        start: where it begins in the response, in characters.
        end: where it ends.
        verdict: whether a passage bears it out.
        passage: which of the row's contexts decided, from 0; None if none did, or the question.
        found: the passage's words that state it or another in its place; empty where none do.
        found_start: where they begin in the passage.
        found_end: where they end.
        how: the rule that decided; empty for what is absent.
    """

    model_config = _FROZEN

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


class SentenceEvidence(BaseModel):
    """A sentence of the response.

    Attributes:
        text: the sentence.
        start: where it begins in the response, in characters.
        end: where it ends.
        score: the grounding score of the sentence alone, from 0 to 1; None where it claims nothing.
        contributions: what each signal adds to its log odds, by name; empty where it claims nothing.
        about_passages: it says that something does not stand in the passages.
        passage: which of the row's contexts backs it best, from 0.
        beside: that passage's nearest sentence.
        similarity: the greatest cosine with a sentence of each passage that is not blank.
        unbacked: start and end, in the response, of stretches that no passage backs.
        checks: its facts.
        entailment: how far an entailment model says that one of its best passages entails it, the most; None
            where none was asked.
        contradiction: how far it says that one of them contradicts it, the most; None where none was asked,
            or where it does not tell.
        entailment_windows: in how many overlapping windows it read the passage that took most; 1 where none
            was too long to be read at once, 0 where none was asked.
    """

    model_config = _FROZEN

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


class SignalPart(BaseModel):
    """Value of a signal (None if not applicable) and its part of the log odds; above 0 means support."""

    model_config = _FROZEN

    value: float | None
    log_odds: float


class EvidenceMap(BaseModel):
    """Why a response has its grounding score.

    Attributes:
        signals: by name.
        sentences: in order.
        passages: which of the row's contexts are not blank, from 0, in the order of the similarities.
        unused: those that no sentence rests on.

    >>> EvidenceMap(signals={}, sentences=(), passages=(0, 2), unused=(2,)).unused
    (2,)
    """

    model_config = _FROZEN

    signals: dict[str, SignalPart]
    sentences: tuple[SentenceEvidence, ...]
    passages: tuple[int, ...]
    unused: tuple[int, ...]


def evidence_in(details: Mapping[str, Any]) -> EvidenceMap | None:
    """The evidence map among a score's details; None where there is none.

    >>> evidence_in({"score": 0.5}) is None
    True
    """
    try:
        return EvidenceMap.model_validate(
            {name: details[name] for name in EvidenceMap.model_fields if name in details}
        )
    except ValidationError:
        return None
