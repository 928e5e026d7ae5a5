"""A metric that reads contexts and needs no model, and rows with supported and unsupported answers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from sgi.kernel import registry
from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.sample import CONTEXTS, RESPONSE, Batch
from sgi.kernel.vectors import Features
from sgi.text.overlap import token_precision

_WORDS = ("amber", "basalt", "cobalt", "diorite", "emerald", "flint", "gneiss", "halite", "iolite", "jasper")


@dataclass(frozen=True)
class Support(Metric):
    """The share of the response's words that the contexts contain; undefined for a blank response."""

    spec: ClassVar = MetricSpec("support", 1, needs=RESPONSE | CONTEXTS, low=0.0, high=1.0)

    def score(self, batch: Batch, features: Features, /) -> Scores:
        del features
        shares = [
            token_precision(response, batch.contexts[row]) for row, response in enumerate(batch.response)
        ]
        blank = np.array([not response.strip() for response in batch.response])
        return Scores.of(np.array(shares), undefined={"the response is blank": blank})


def register_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the metric ``support`` for the rest of the test."""
    monkeypatch.setitem(registry.BUILT_IN, "support", f"{__name__}:Support")
    registry.metric_names.cache_clear()


def rows(questions: int = 40) -> list[dict[str, Any]]:
    """Two answers per question, the first from its passage; every fifth question has swapped labels."""
    data = []
    for k in range(questions):
        first, second, third, fourth = (_WORDS[(k + step) % 10] for step in (0, 1, 5, 6))
        known, strange = f"{first} {100 + k} is {second}", f"{third} {200 + k} is {fourth}"
        for answer, label in ((known, 1), (strange, 0)):
            data.append(
                {
                    "id": f"q{k}-{label}",
                    "question": f"What is {first} number {k}?",
                    "contexts": [f"Of stones: {known}.", f"{second} is heavy."],
                    "response": answer if k % 4 else answer.upper(),
                    "label": label if k % 5 else 1 - label,
                    "metadata": {"model": ("small", "large", None)[k % 3], "turn": k, "tags": ["a"]},
                }
            )
    return data
