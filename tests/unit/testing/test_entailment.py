"""A metric that asks an entailment model keeps its promises; each, broken on purpose, is noticed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.testing import check_metric


@dataclass(frozen=True)
class Follows(Metric):
    """The greatest entailment of the response from a passage."""

    spec: ClassVar[MetricSpec] = MetricSpec("follows_here", 1, needs=CONTEXTS | RESPONSE, low=0.0, high=1.0)

    @property
    def entailment_model(self):
        return "any/model"

    def pairs(self, batch, /):
        return [(passage, row.response) for row in batch.samples for passage in row.contexts]

    def score(self, batch, features, /):
        table = features.entailments
        rows = [[(passage, row.response) for passage in row.contexts] for row in batch.samples]
        return Scores.of(np.array([table.pairs(pairs).entailment.max(initial=0.0) for pairs in rows]))


@dataclass(frozen=True)
class Forgetful(Follows):
    def pairs(self, batch, /):
        return [pair for pair in super().pairs(batch) if "1889" not in pair[1]]


@dataclass(frozen=True)
class Greedy(Follows):
    def pairs(self, batch, /):
        return [*super().pairs(batch), *(("in vain", row.response) for row in batch.samples)]


@dataclass(frozen=True)
class PairsOfBytes(Follows):
    def pairs(self, batch, /):
        return [(premise.encode(), hypothesis) for premise, hypothesis in super().pairs(batch)]


@dataclass(frozen=True)
class NamesNoModel(Follows):
    @property
    def entailment_model(self):
        return None


@dataclass(frozen=True)
class OfTheBatch(Follows):
    """Looks at what the model said of other rows."""

    def score(self, batch, features, /):
        scores = super().score(batch, features)
        return Scores.of(scores.values / scores.values.max(initial=0.5))


def test_a_sound_metric_passes():
    check_metric(Follows())


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Forgetful, "names every text that score looks up"),
        (Greedy, "gives only what score looks up"),
        (PairsOfBytes, "pairs gives pairs of texts"),
        (NamesNoModel, "names an entailment_model"),
        (OfTheBatch, "splitting a batch"),
    ],
)
def test_a_broken_promise_is_told(kind, words):
    with pytest.raises(AssertionError, match=f"^Broken promise: .*({words})"):
        check_metric(kind())
