"""The trained weights of the classifier of refusals."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, Field, model_validator

from sgi.text.refusal_clauses import DENIALS, AnalysedResponse, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

FILE = "refusal_weights.json"
_REPEATED = 2


class Signals(NamedTuple):
    """What the clauses of a response say about a refusal, if at least one of them does not answer.

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
    """Load the model that is part of the package."""
    return RefusalModel.model_validate_json((files("sgi") / "data" / FILE).read_bytes())


def _log_words(counts: Iterable[int]) -> float:
    return float(np.log1p(sum(counts)))
