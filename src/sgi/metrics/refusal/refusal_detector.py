"""The metric ``refusal``: whether a response refuses or says that it cannot answer, without a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

import numpy as np

from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.sample import RESPONSE
from sgi.metrics.refusal.refusal_details import Kind, RefusalDetails
from sgi.metrics.refusal.refusal_model import refusal_model
from sgi.text.language import LANGUAGE_NAMES, other_language
from sgi.text.refusal_clauses import AnalysedResponse, Role, analyse_response, refusal_patterns

if TYPE_CHECKING:
    from pydantic import JsonValue

    from sgi.kernel.features import Features
    from sgi.kernel.sample import Batch

BLANK = "the response is blank"
LANGUAGES = tuple(refusal_patterns())
_COVERED = ", ".join(LANGUAGE_NAMES[code] for code in LANGUAGES)
_THRESHOLD = 0.5


@dataclass(frozen=True)
class Refusal(Metric["Batch"]):
    """1 if the response refuses or says that it cannot answer, 0 if it answers; the mean is their share.

    Patterns in English, German, French, Spanish, Italian, Portuguese and Dutch find the clauses that do not
    answer, and a logistic model weighs them against the rest of the response. A probability of at least 0.5
    is a refusal. A response without such a clause is an answer. An answer with a caveat ("The date is not
    given, but it was built in Rome") is not a refusal; neither is a quotation of one. A blank response is
    undefined, and so is a response in another language.

    Errors by language: see the documentation: "Refusals".

    References: our own; the weights are trained on labelled responses.

    >>> import sgi
    >>> result = sgi.evaluate([{"response": "I'm sorry, but the passages do not give the price."}], "refusal")
    >>> result["refusal"].row(0).value, result["refusal"].details[0]["kind"]
    (1.0, 'not_in_passages')
    """

    spec: ClassVar = MetricSpec(
        "refusal",
        4,
        needs=RESPONSE,
        higher_is_better=False,
        citation="our own; trained on labelled responses",
        category="kind",
        classes=get_args(Kind),
        details=RefusalDetails,
    )

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return 1 or 0 for each response."""
        analysed = [analyse_response(text) for text in batch.response]
        probabilities = refusal_model().probabilities(analysed)
        reasons = [*map(_reason, batch.response, analysed)]
        details = map(_details, batch.response, analysed, probabilities.tolist())
        return Scores.of(
            (probabilities >= _THRESHOLD).astype(np.float64),
            undefined={reason: np.array([one == reason for one in reasons]) for reason in {*reasons} - {""}},
            details=[{} if reason else each for reason, each in zip(reasons, details, strict=True)],
        )


def _reason(text: str, analysed: AnalysedResponse) -> str:
    """Return why a response has no value, or ""."""
    if not text.strip():
        return BLANK
    code = "" if analysed.denials else other_language(text, LANGUAGES)
    name = LANGUAGE_NAMES.get(code, "another language")
    return code and f"the response is probably in {name}; refusal reads {_COVERED}"


def _details(text: str, analysed: AnalysedResponse, probability: float) -> dict[str, JsonValue]:
    details: dict[str, JsonValue] = {
        "kind": _kind(analysed, refuses=probability >= _THRESHOLD),
        "probability": probability,
    }
    if denials := analysed.denials:
        start, end = denials[0].start, denials[0].end
        details |= {"phrase": text[start:end], "start": start, "end": end, "language": analysed.language}
    return details


def _kind(analysed: AnalysedResponse, *, refuses: bool) -> Kind:
    roles = {clause.role for clause in analysed.denials}
    if not refuses:
        return "partial" if roles else "answer"
    if Role.POLICY in roles:
        return "policy"
    return "not_in_passages" if Role.SILENT in roles else "no_answer"
