"""The base class of assertions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import TypedDict

from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import RESPONSE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from sgi.kernel.sample import Batch, Fields, Sample
    from sgi.kernel.vectors import Features


@closed
class AssertionDetails(TypedDict, total=False):
    """Why the assertion fails.

    Attributes:
        failure: why the response fails; absent if it passes.
    """

    failure: str


@dataclass(frozen=True)
class Failure:
    """Why a response fails an assertion, and further details."""

    reason: str
    details: Mapping[str, JsonValue] = field(default_factory=dict)


def assertion_spec(
    name: str, *, needs: Fields = RESPONSE, details: type[object] = AssertionDetails
) -> MetricSpec:
    """Return the metric spec of an assertion, whose values are 0 and 1."""
    guide = MetricHelp(
        Question.RULES,
        "1: the rule holds. 0: it does not; the details say why. The mean is the share of rows in which it "
        "holds.",
        "It checks only the rule that you give, not whether the answer is right.",
    )
    return MetricSpec(name, 1, needs=needs, citation="our own", details=details, guide=guide)


class Assertion(Metric["Batch"]):
    """Base of metrics that are 1 for a response that passes, and 0 for another."""

    @abstractmethod
    def failure(self, sample: Sample, /) -> Failure | None:
        """Return why the response of a sample fails; None if it passes."""

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return 1 or 0 for each row."""
        failures = [self.failure(sample) for sample in batch.samples]
        values = np.array([failure is None for failure in failures], dtype=np.float64)
        details = [{"failure": one.reason, **one.details} if one else {} for one in failures]
        return Scores.of(values, details=details)
