"""Every registered metric keeps its promises; and every promise, broken on purpose, is noticed."""

import math
import sys
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

from sgi.kernel import registry
from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.registry import metric
from sgi.kernel.sample import QUESTION, RESPONSE, Sample
from sgi.testing import check_metric
from support.example_metrics import example_metrics

VARIANTS = [
    'sgi(passages="mean")',
    'sgi(passages="joined", sentences=false)',
    'sgi_bounded(passages="mean")',
    'theta_rc(passages="joined")',
    'theta_qc(passages="mean")',
    "grounding(history=true)",
    'grounding(nli="a/model")',
    'semantic_similarity(scale="angular")',
    'semantic_similarity(scale="euclidean")',
    'semantic_similarity(scale="manhattan")',
]


@pytest.mark.parametrize("text", [*example_metrics().values(), *VARIANTS])
def test_every_metric_keeps_its_promises(text):
    check_metric(metric(text))


SPEC = MetricSpec("words_of_a_test", 1, needs=RESPONSE, low=0.0, high=math.inf)


@dataclass(frozen=True)
class Sound(Metric):
    """The cosine of response and question, shifted; a custom metric that nothing is wrong with."""

    spec: ClassVar[MetricSpec] = replace(SPEC, needs=QUESTION | RESPONSE, high=2.0)

    def texts(self, batch, /):
        return [*batch.question, *batch.response]

    def score(self, batch, features, /):
        vectors = features.vectors
        cosines = np.vecdot(vectors.rows(batch.question), vectors.rows(batch.response), dtype=np.float64)
        return Scores.of(np.clip(1 + cosines, 0, 2), details=[{"model": vectors.model}] * len(batch))


def test_a_sound_custom_metric_passes():
    check_metric(Sound())


def lengths(batch):
    return np.array([len(text) for text in batch.response], dtype=np.float64)


@dataclass(frozen=True)
class Lengths(Metric):
    spec: ClassVar[MetricSpec] = SPEC

    def score(self, batch, features, /):
        return Scores.of(lengths(batch))


def test_a_sound_metric_without_vectors_passes():
    check_metric(Lengths())


@dataclass
class NotFrozen(Lengths.__base__):
    spec: ClassVar[MetricSpec] = SPEC

    def score(self, batch, features, /):
        return Scores.of(lengths(batch))


class NoDataclass(Lengths):
    pass


@dataclass(frozen=True)
class NotHashable(Lengths):
    names: list = field(default_factory=list)


@dataclass(frozen=True)
class NoExample(Metric):
    word: str
    spec: ClassVar[MetricSpec] = replace(SPEC, name="no_example")

    def score(self, batch, features, /):
        return Scores.of(lengths(batch))


@dataclass(frozen=True)
class NeedlessExample(Lengths):
    spec: ClassVar[MetricSpec] = replace(SPEC, name="needless_example")
    example: ClassVar[str] = "needless_example"


@dataclass(frozen=True)
class BadName(Lengths):
    spec: ClassVar[MetricSpec] = replace(SPEC, name="Bad Name")


@dataclass(frozen=True)
class TakenName(Lengths):
    spec: ClassVar[MetricSpec] = replace(SPEC, name="sgi")


@dataclass(frozen=True)
class NoVersion(Lengths):
    spec: ClassVar[MetricSpec] = replace(SPEC, version=0)


@dataclass(frozen=True)
class NeedsWords(Lengths):
    spec: ClassVar[MetricSpec] = replace(SPEC, needs={"response"})


@dataclass(frozen=True)
class EmptyRange(Lengths):
    spec: ClassVar[MetricSpec] = replace(SPEC, low=1.0, high=1.0)


@dataclass(frozen=True)
class NanRange(Lengths):
    spec: ClassVar[MetricSpec] = replace(SPEC, low=math.nan)


@dataclass(frozen=True)
class NoSpec(Lengths):
    spec: ClassVar[dict] = {"name": "words"}


@dataclass(frozen=True)
class OutOfRange(Lengths):
    spec: ClassVar[MetricSpec] = replace(SPEC, high=5.0)


@dataclass(frozen=True)
class CountingWithoutHigh(Lengths):
    spec: ClassVar[MetricSpec] = MetricSpec("links_of_a_test", 1, needs=RESPONSE, low=0.0)

    def score(self, batch, features, /):
        return Scores.of(np.array([text.count("https://") for text in batch.response]))


@dataclass(frozen=True)
class BelowRange(Lengths):
    spec: ClassVar[MetricSpec] = replace(SPEC, low=1.0)


@dataclass(frozen=True)
class NeverOk(Lengths):
    def score(self, batch, features, /):
        return Scores.of(lengths(batch), undefined={"never": np.ones(len(batch), dtype=bool)})


@dataclass(frozen=True)
class OwnStatus(Lengths):
    def score(self, batch, features, /):
        found = Scores.of(lengths(batch), undefined={"empty": lengths(batch) == 0})
        return replace(found, status=np.where(found.ok, "ok", "unlucky"))


@dataclass(frozen=True)
class Forgetful(Sound):
    def texts(self, batch, /):
        return batch.question


@dataclass(frozen=True)
class Greedy(Sound):
    def texts(self, batch, /):
        return [*batch.question, *batch.response, *batch.contexts.values]


@dataclass(frozen=True)
class TextsOfBytes(Sound):
    def texts(self, batch, /):
        return [text.encode() for text in batch.question]


@dataclass(frozen=True)
class Overwriting(Sound):
    def score(self, batch, features, /):
        features.vectors.matrix[:] = 0
        return Scores.of(np.zeros(len(batch)))


@dataclass(frozen=True)
class Standardising(Lengths):
    """Depends on the batch: the commonest mistake."""

    def score(self, batch, features, /):
        return Scores.of(lengths(batch) / max(1.0, lengths(batch).max(initial=0)))


@dataclass(frozen=True)
class Positional(Lengths):
    def score(self, batch, features, /):
        return Scores.of(np.arange(len(batch), dtype=float))


@dataclass(frozen=True)
class Sorting(Lengths):
    def score(self, batch, features, /):
        return Scores.of(np.sort(lengths(batch)))


@dataclass(frozen=True)
class PositionInDetails(Lengths):
    def score(self, batch, features, /):
        return Scores.of(lengths(batch), details=[{"place": place} for place in range(len(batch))])


COUNTS = iter(range(10**9))


@dataclass(frozen=True)
class Restless(Lengths):
    def score(self, batch, features, /):
        return Scores.of(lengths(batch) + next(COUNTS))


@dataclass(frozen=True)
class NotForNothing(Lengths):
    def score(self, batch, features, /):
        return Scores.of(lengths(batch) if len(batch) else np.zeros(1))


@dataclass(frozen=True)
class TooFew(Lengths):
    def score(self, batch, features, /):
        return Scores.of(lengths(batch)[1:])


@dataclass(frozen=True)
class NoScores(Lengths):
    def score(self, batch, features, /):
        return lengths(batch)


@dataclass(frozen=True)
class NumpyDetails(Lengths):
    def score(self, batch, features, /):
        return Scores.of(lengths(batch), details=[{"length": value} for value in np.arange(len(batch))])


@dataclass(frozen=True)
class NanDetails(Lengths):
    def score(self, batch, features, /):
        return Scores.of(lengths(batch), details=[{"length": math.nan}] * len(batch))


@dataclass(frozen=True)
class Meddling(Lengths):
    def score(self, batch, features, /):
        for sample in batch.samples:
            sample.metadata["seen"] = sample.metadata.get("seen", 0) + 1
        return Scores.of(lengths(batch))


BROKEN = [
    (NotFrozen, "frozen"),
    (NoDataclass, "is a dataclass"),
    (NotHashable, "hashable"),
    (BadName, "name is of a-z"),
    (TakenName, "'sgi' is taken"),
    (NoVersion, "version counts from 1"),
    (NeedsWords, "frozenset of Field"),
    (EmptyRange, "low is below high"),
    (NanRange, "low is below high"),
    (NoSpec, "spec is a MetricSpec"),
    (OutOfRange, r"values are in \[0, 5\]"),
    (CountingWithoutHigh, r"values are in \[0, 1\], not at \[2.0\]; set low and high of the MetricSpec"),
    (BelowRange, r"values are in \[1, inf\]"),
    (NeverOk, "at least one sample gets a value"),
    (OwnStatus, "a status is one of"),
    (Forgetful, "texts names every text that score looks up"),
    (Greedy, "texts gives only what score looks up"),
    (TextsOfBytes, "texts gives texts"),
    (Standardising, "splitting a batch"),
    (Positional, "permuting samples"),
    (Sorting, "permuting samples"),
    (PositionInDetails, "permuting samples"),
    (Restless, "scoring twice"),
    (NotForNothing, "0 rows have 0 scores"),
    (TooFew, "scores, not 20"),
    (NoScores, "score gives Scores"),
    (NumpyDetails, "details are JSON"),
    (NanDetails, "details are JSON"),
    (Meddling, "score changes no sample"),
]


@pytest.mark.parametrize(("kind", "words"), BROKEN)
def test_a_broken_promise_is_told(kind, words):
    with pytest.raises(AssertionError, match=f"^Broken promise: .*({words})"):
        check_metric(kind())


@pytest.mark.parametrize("one", [NoExample("word"), NeedlessExample()])
def test_a_registered_metric_has_an_example_if_it_has_required_parameters(one, monkeypatch):
    monkeypatch.setattr(registry, "metric_names", lambda: {one.spec.name: f"{__name__}:{type(one).__name__}"})
    monkeypatch.setattr("sgi.testing.contracts.metric_names", registry.metric_names)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[type(one).__module__])
    with pytest.raises(AssertionError, match="has an example if it has required parameters"):
        check_metric(one)


def test_vectors_cannot_be_overwritten():
    with pytest.raises(ValueError, match="read-only"):
        check_metric(Overwriting())


def test_what_is_no_metric_is_told():
    with pytest.raises(AssertionError, match="a metric is a"):
        check_metric(object())


def test_samples_without_the_needed_fields_are_told():
    with pytest.raises(AssertionError, match="at least two samples have the fields"):
        check_metric(Lengths(), [Sample(id="1", question="q"), Sample(id="2", response="r")])


def test_rows_that_lack_a_field_never_reach_the_metric():
    rows = [Sample(id=str(n), response="r" * n) if n % 2 else Sample(id=str(n)) for n in range(1, 8)]
    check_metric(Complete(), rows)


@dataclass(frozen=True)
class Complete(Lengths):
    def score(self, batch, features, /):
        assert batch.present(self.spec.needs).all()
        return Scores.of(lengths(batch))
