"""The evidence map of a response: which passages support or contradict each of its sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping


class FactEvidence(BaseModel, frozen=True, extra="forbid"):
    """A fact of a sentence, with its verdict.

    Attributes:
        fact: the text of the fact in the response.
        start: start in the response, in characters.
        end: end in the response.
        kind: ``number``, ``date``, ``name``, ``identifier`` (a code), or ``polarity`` (the whole sentence).
        verdict: ``supported``, ``absent`` or ``contradicted``.
        passage: index of the context that supports or contradicts the fact; None if no context does.
        found: the words of the passage that state or contradict the fact, or "".
        found_start: start of these words in the passage.
        found_end: end of these words in the passage.
        how: the rule that gave the verdict; "" if the fact is absent.
    """

    fact: str
    kind: Literal["number", "date", "name", "identifier", "polarity"]
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
        text: the sentence, with its citation markers.
        start: start in the response, in characters.
        end: end in the response.
        claim: what was scored in place of the text: the question as a statement, if the response is "yes"
            or "no"; otherwise "".
        score: the support score of the sentence alone, from 0 to 1; None if it claims nothing.
        verdict: ``supported``, ``partly`` supported, ``unsupported``, or ``contradicted`` if a passage
            contradicts one of its facts; None if it claims nothing.
        contributions: contribution of each signal to its log odds; empty if it claims nothing.
        about_passages: whether it only says that something is not in the passages.
        passage: index of the context that supports it best.
        beside: the sentence of that passage that is closest to it by words.
        checks: the numbers, dates and names of the sentence, with their verdicts.
        unbacked: start and end, in the response, of each part that no passage supports.
        entailment: highest probability that one of its best passages entails it; None if no model
            read the sentence.
        contradiction: highest probability that one of them contradicts it; None if the model gives none.
        entailment_windows: largest number of windows into which a passage was split for the model; 0 without
            a model.
        entailment_pairs: number of premises that the model read with the sentence; 0 if it did not read it.
    """

    text: str
    claim: str = ""
    start: int
    end: int
    score: float | None
    verdict: Literal["supported", "partly", "unsupported", "contradicted"] | None = None
    contributions: dict[str, float]
    about_passages: bool
    passage: int
    beside: str
    unbacked: tuple[tuple[int, int], ...]
    checks: tuple[FactEvidence, ...]
    entailment: float | None = None
    contradiction: float | None = None
    entailment_windows: int = 0
    entailment_pairs: int = 0


class SignalPart(BaseModel, frozen=True, extra="forbid"):
    """A signal of the response.

    Attributes:
        value: the value; None if the signal does not apply.
        log_odds: its contribution to the log odds of the score.
    """

    value: float | None
    log_odds: float


Finding = Literal["contradicted", "fact missing", "no finding"]
"""The most serious finding of the checks of a response; `EvidenceMap.finding` says what each means."""


class EvidenceMap(BaseModel, frozen=True, extra="forbid"):
    """Explanation of a response's support score: its signals, and the evidence for each sentence.

    Attributes:
        finding: ``contradicted`` if a passage contradicts a fact of the response, otherwise ``fact
            missing`` if no passage has one of its numbers, dates or names, otherwise ``no finding``. None in
            maps of earlier versions.
        signals: the signals of the whole response, by name.
        sentences: the evidence for each sentence, in order.
        passages: indices of the contexts that are not blank.
        unused: indices of the contexts that support no sentence.
        language: the code of the language by whose rules the row was read.
    """

    finding: Finding | None = None
    signals: dict[str, SignalPart]
    sentences: tuple[SentenceEvidence, ...]
    passages: tuple[int, ...]
    unused: tuple[int, ...]
    language: str = "en"


def evidence_in(details: Mapping[str, object]) -> EvidenceMap | None:
    """Return the evidence map from the details of a score, or None if the details hold none."""
    try:
        return EvidenceMap.model_validate(
            {name: details[name] for name in EvidenceMap.model_fields if name in details}
        )
    except ValidationError:
        return None
