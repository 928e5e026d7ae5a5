"""The trained weights of the signals, and the logistic regression that uses them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, Field, model_validator

from sgi.metrics.grounding.signals import Signals

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = "grounding_weights.json"

SentenceVerdict = Literal["supported", "partly", "unsupported", "contradicted"]


class Weight(BaseModel, frozen=True, extra="forbid"):
    """The weight of a signal, which adds ``weight · (value - centre) / spread`` to the log odds."""

    signal: str
    weight: Annotated[float, Field(ge=0)]
    centre: float
    spread: Annotated[float, Field(gt=0)]


class SentenceLimits(BaseModel, frozen=True, extra="forbid"):
    """Scores below which a sentence is called unsupported, or partly supported.

    They were chosen on labelled sentences, so that few supported sentences are below: see
        ``docs/grounding.md``.
    """

    unsupported: Annotated[float, Field(gt=0, lt=1)]
    partly: Annotated[float, Field(gt=0, lt=1)]

    def verdict(self, score: float, *, is_contradicted: bool) -> SentenceVerdict:
        """Return the verdict on a sentence with this score.

        >>> SentenceLimits(unsupported=0.1, partly=0.4).verdict(0.2, is_contradicted=False)
        'partly'
        """
        if is_contradicted:
            return "contradicted"
        if score < self.unsupported:
            return "unsupported"
        return "partly" if score < self.partly else "supported"


class GroundingModel(BaseModel, frozen=True, extra="forbid"):
    """The logistic model that turns signals (numbers that measure support) into the score.

    Attributes:
        intercept: log odds if every signal is at its centre.
        sentence_limits: limits of the verdicts on sentences.
        trained_on: number of rows of each labelled set.
        recipe: the script that trained the model.
    """

    weights: tuple[Weight, ...]
    intercept: float
    sentence_limits: SentenceLimits
    trained_on: dict[str, int]
    recipe: str

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if tuple(part.signal for part in self.weights) != Signals._fields:
            raise ValueError(f"the weights must be those of {', '.join(Signals._fields)}, in this order")
        return self

    @classmethod
    def of(
        cls, fitted: MonotoneLogistic, limits: SentenceLimits, trained_on: dict[str, int], recipe: str
    ) -> GroundingModel:
        """Build the model from a fit to tables of `Signals`."""
        columns = [fitted.weights.tolist(), fitted.centres.tolist(), fitted.spreads.tolist()]
        weights = [
            Weight(signal=name, weight=weight, centre=centre, spread=spread)
            for name, weight, centre, spread in zip(Signals._fields, *columns, strict=True)
        ]
        return cls(
            weights=tuple(weights),
            intercept=fitted.intercept,
            sentence_limits=limits,
            trained_on=trained_on,
            recipe=recipe,
        )

    @cached_property
    def logistic(self) -> MonotoneLogistic:
        """The model with its weights as arrays."""
        numbers = np.array([(part.weight, part.centre, part.spread) for part in self.weights])
        return MonotoneLogistic(numbers[:, 0], numbers[:, 1], numbers[:, 2], self.intercept)


@lru_cache(maxsize=1)
def grounding_model() -> GroundingModel:
    """Load the fitted grounding model, which is part of the package."""
    return GroundingModel.model_validate_json((files("sgi") / "data" / FILE).read_bytes())


def sigmoid(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map log odds to [0, 1] by 1 / (1 + exp(−x)), without overflow."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-log_odds)))


@dataclass(frozen=True, eq=False)
class MonotoneLogistic:
    r"""Log odds that a row is true, as a weighted sum of standardised signals (columns of evidence).

    .. math:: \mathrm{logit}\, P = b + \sum_k w_k (x_k - m_k) / s_k, \quad w_k \ge 0

    Attributes:
        weights: w, shape (k,), at least 0.
        centres: m, the signals' medians, shape (k,).
        spreads: s, the signals' standard deviations within a data set, shape (k,).
        intercept: b, for data with as many true rows as false ones.

    >>> model = MonotoneLogistic(np.array([2.0, 1.0]), np.zeros(2), np.ones(2), intercept=-1.0)
    >>> model.log_odds(np.array([[0.5, 3.0], [1.0, np.nan]])).tolist()
    [3.0, 1.0]
    """

    weights: NDArray[np.float64]
    centres: NDArray[np.float64]
    spreads: NDArray[np.float64]
    intercept: float

    def contributions(self, signals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each signal adds to the log odds, shape (n, k); 0 where a row has no value of it."""
        return self.weights * standardise(signals, self.centres, self.spreads)

    def log_odds(self, signals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log odds of each row, shape (n,)."""
        return np.asarray(self.contributions(signals).sum(axis=1) + self.intercept)


def standardise(
    signals: NDArray[np.float64], centres: NDArray[np.float64], spreads: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (signals − centres) / spreads, with 0 for NaN."""
    return np.where(np.isnan(signals), 0.0, (signals - centres) / spreads)
