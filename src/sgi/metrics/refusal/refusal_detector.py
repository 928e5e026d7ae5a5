"""The metric ``refusal``: whether a response refuses or says that it cannot answer, without a judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from pydantic import BaseModel, Field, model_validator
from typing_extensions import TypedDict

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import RESPONSE
from sgi.text.language import LANGUAGE_NAMES, other_language
from sgi.text.refusal_clauses import DENIALS, AnalysedResponse, Role, analyse_response, refusal_patterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features


Kind = Literal["no_answer", "not_in_passages", "policy", "partial", "answer"]
"""What a response does; the first three are refusals."""


@closed
class RefusalDetails(TypedDict, total=False):
    """Why a response is a refusal or not.

    Attributes:
        kind: ``no_answer``: it says that it does not know or cannot answer; ``not_in_passages``: it says that
            the passages do not have the answer; ``policy``: it declines the request; ``partial``: it answers,
            and says that it does not know a part or is not sure; ``answer``: it answers.
        probability: the probability of a refusal, in [0, 1].
        phrase: the first clause that does not answer; absent if no clause matches a pattern.
        start: the offset of the phrase in the response.
        end: the offset of its end.
        language: the language of the patterns that match: en, de, fr, es, it or pt.
    """

    kind: Kind
    probability: float
    phrase: str
    start: int
    end: int
    language: str


@closed
class JudgedRefusalDetails(RefusalDetails, JudgedDetails, total=False):
    """Why a response is a refusal or not."""


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
        5,
        needs=RESPONSE,
        higher_is_better=False,
        citation="our own; trained on labelled responses",
        guide=MetricHelp(
            Question.REFUSED,
            "1: the response refuses or says that it cannot answer. 0: it answers. The mean is the share of "
            "refusals.",
            "It reads seven languages; a response in another language has no value. It does not know "
            "whether a refusal is right: `needless_refusal` and `answered_unanswerable` do.",
        ),
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
    name = "" if analysed.denials else other_language(text, LANGUAGES)
    return name and f"the response is probably in {name}; refusal reads {_COVERED}"


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


FILE = "refusal_weights.json"
_REPEATED = 2


class Signals(NamedTuple):
    """Signals of a refusal in the clauses of a response, if at least one clause does not answer.

    Attributes:
        repeats: 1 if at least two clauses do not answer.
        hedges: 1 if all of these clauses only say that the speaker is not sure.
        opens: 1 if the first clause that is not filler does not answer.
        closes: 1 if the last clause that is not filler does not answer.
        concludes: 1 if such a clause says "therefore".
        limited: 1 if a conjunction such as "but" introduces a statement beside such a clause.
        content: log(1 + n) of the n words of statements that do not name the passages.
        source: log(1 + n) of the n words of statements that name the passages.
    """

    repeats: float
    hedges: float
    opens: float
    closes: float
    concludes: float
    limited: float
    content: float
    source: float

    @classmethod
    def of(cls, response: AnalysedResponse) -> Self:
        """Compute the signals of a response."""
        parts = [clause for clause in response.clauses if clause.role is not Role.FILLER]
        denials = response.denials
        statements = [clause for clause in parts if clause.role not in DENIALS]
        ends = (parts[0].role, parts[-1].role) if denials else ("", "")
        return cls(
            repeats=float(len(denials) >= _REPEATED),
            hedges=float(bool(denials) and all(clause.role is Role.HEDGE for clause in denials)),
            opens=float(ends[0] in DENIALS),
            closes=float(ends[1] in DENIALS),
            concludes=float(any(clause.concluding for clause in denials)),
            limited=float(bool(denials) and any(clause.contrast for clause in statements)),
            content=_log_words(clause.words for clause in statements if clause.role is Role.CONTENT),
            source=_log_words(clause.words for clause in statements if clause.role is Role.SOURCE),
        )


class RefusalModel(BaseModel, frozen=True, extra="forbid"):
    """A logistic model of the responses with a clause that matches a pattern.

    Attributes:
        weights: log odds of each signal, by the name of the signal.
        intercept: log odds if all signals are 0.
        unmatched: probability of a refusal if no pattern matches.
        trained_on: number of rows with a match, and without one.
        recipe: the script that trained the model.
    """

    weights: dict[str, float]
    intercept: float
    unmatched: Annotated[float, Field(ge=0, lt=0.5)]
    trained_on: dict[str, int]
    recipe: str

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if tuple(self.weights) != Signals._fields:
            raise ValueError(f"the weights must be those of {', '.join(Signals._fields)}, in this order")
        return self

    def probabilities(self, analysed: Sequence[AnalysedResponse]) -> NDArray[np.float64]:
        """Return the probability of a refusal for each of n responses, shape (n,)."""
        if not analysed:
            return np.zeros(0)
        signals = np.array([Signals.of(each) for each in analysed], dtype=np.float64)
        matched = np.array([bool(each.denials) for each in analysed], dtype=np.bool_)
        odds = self.intercept + (signals * np.array([*self.weights.values()])).sum(axis=1)
        return np.where(matched, 1 / (1 + np.exp(-odds)), self.unmatched)


@lru_cache(maxsize=1)
def refusal_model() -> RefusalModel:
    """Load the fitted refusal model, which is part of the package."""
    return RefusalModel.model_validate_json((files("sgi") / "data" / FILE).read_bytes())


def _log_words(counts: Iterable[int]) -> float:
    return float(np.log1p(sum(counts)))
