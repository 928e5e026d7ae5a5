"""Each distinct pair is asked about once; what a model cannot say fails the rows that want it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import ClassVar

import anyio
import numpy as np
import pytest

from sgi.engine.compute_features import MAX_CHARACTERS, MAX_PAIRS, entail
from sgi.engine.open_resources import given_options, open_models
from sgi.engine.resources import Resources, require_resources
from sgi.engine.run_options import RunOptions
from sgi.engine.score import evaluate_batch
from sgi.kernel.errors import EmbedderError, ModelMissingError, NonFiniteVectorError, UsageError
from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.protocols import EntailmentScores
from sgi.kernel.sample import CONTEXTS, RESPONSE, Batch, Sample
from sgi.testing import HashEmbedder, HashEntailment
from support.entailment_models import counting_model

PAIRS = [("a long premise", "b"), ("a", "b"), ("a", "c"), ("a", "b")]


@dataclass(frozen=True)
class Follows(Metric):
    """The least entailment of the response from its contexts, and vectors of it if it embeds."""

    spec: ClassVar[MetricSpec] = MetricSpec("follows", 1, needs=CONTEXTS | RESPONSE, low=0.0, high=1.0)
    model: str = "m"
    plus: float = 0.0

    @property
    def entailment_model(self):
        return self.model

    def pairs(self, batch, /):
        return [(text, row.response) for row in batch.samples for text in row.contexts]

    def score(self, batch, features, /):
        table = features.entailments
        found = [table.pairs(list(self.pairs(batch.take([row])))) for row in range(len(batch))]
        return Scores.of(np.array([scores.entailment.min() for scores in found]))


@dataclass(frozen=True)
class Embedding(Follows):
    spec: ClassVar[MetricSpec] = MetricSpec("embedding", 1, needs=CONTEXTS | RESPONSE, low=0.0, high=1.0)

    def texts(self, batch, /):
        return [*batch.response]


@dataclass(eq=False)
class Failing(HashEntailment):
    """Spoils what it says of some hypotheses, says that others are too long, or gives up."""

    nan: tuple[str, ...] = ()
    long: tuple[str, ...] = ()
    reports_texts: bool = True
    error: str = ""
    threads: set[int] = field(default_factory=set)

    def readable(self, hypotheses, /):
        return np.array([text not in self.long for text in hypotheses])

    def entail(self, pairs, /):
        self.threads.add(threading.get_ident())
        if self.error:
            raise EmbedderError(self.error)
        bad = [text for _, text in pairs if text in self.nan]
        if bad and self.reports_texts:
            raise NonFiniteVectorError("no number", texts=tuple(bad))
        made = super().entail(pairs)
        spoilt = np.where([text in self.nan for _, text in pairs], np.nan, made.entailment)
        return made._replace(entailment=spoilt)


def asked(model, pairs):
    return anyio.run(entail, "m", model, pairs)


def rows(*responses, contexts=("a", "b")):
    return [Sample(id=str(place), contexts=contexts, response=text) for place, text in enumerate(responses)]


def score(samples, metrics, model, **embedders):
    resources = Resources(embedders, entailment_models={"m": model})
    return anyio.run(evaluate_batch, Batch.of(samples), metrics, resources)


def test_each_distinct_pair_is_asked_about_once_the_longest_first():
    model = HashEntailment()
    made = asked(model, PAIRS)
    assert model.pairs_seen == [PAIRS[0], PAIRS[1], PAIRS[2]]
    expected = HashEntailment().entail(PAIRS)
    assert made.table.pairs(PAIRS).entailment.tolist() == expected.entailment.tolist()
    assert made.table.pairs(PAIRS).contradiction.tolist() == expected.contradiction.tolist()
    assert (made.unusable, made.failure) == ({}, "")


def test_many_pairs_are_asked_about_in_parts_and_lose_nothing():
    pairs = [(f"premise {number}", "it") for number in range(3 * MAX_PAIRS + 1)]
    calls = []

    class Counting(HashEntailment):
        def entail(self, pairs, /):
            calls.append(len(pairs))
            return super().entail(pairs)

    made = asked(Counting(), pairs)
    assert calls == [MAX_PAIRS, MAX_PAIRS, MAX_PAIRS, 1]
    expected = HashEntailment().entail(pairs)
    assert made.table.pairs(pairs).entailment.tolist() == expected.entailment.tolist()


def test_long_passages_are_asked_about_in_short_calls():
    lengths = [MAX_CHARACTERS + 7, MAX_CHARACTERS - 2, 9, *[MAX_CHARACTERS // 2] * 5]
    pairs = [(chr(65 + place) * length, "it") for place, length in enumerate(lengths)]
    calls = []

    class Weighing(HashEntailment):
        def entail(self, pairs, /):
            calls.append([len(premise) for premise, _ in pairs])
            return super().entail(pairs)

    made = asked(Weighing(), pairs)
    half = MAX_CHARACTERS // 2
    assert calls == [lengths[:1], lengths[1:2], [half], [half], [half], [half], [half, 9]]
    expected = HashEntailment().entail(pairs)
    assert made.table.pairs(pairs).entailment.tolist() == expected.entailment.tolist()


def test_no_pairs_ask_nothing():
    made = asked(Failing(error="never asked"), [])
    assert (len(made.table.index), made.failure) == (0, "")


def test_the_model_works_beside_the_event_loop():
    model = Failing()
    asked(model, PAIRS)
    assert threading.get_ident() not in model.threads


@pytest.mark.parametrize("reports_texts", [True, False])
def test_what_is_no_probability_is_left_out_and_named(reports_texts):
    model = Failing(nan=("c",), reports_texts=reports_texts)
    made = asked(model, PAIRS)
    assert list(made.table.index) == [PAIRS[0], PAIRS[1]]
    assert made.unusable == {"c": "m gave no usable probability for one of its sentences"}


def test_where_nothing_is_usable_the_model_is_left_in_peace():
    made = asked(Failing(nan=("b", "c")), PAIRS)
    assert (len(made.table.index), set(made.unusable), made.failure) == (0, {"b", "c"}, "")


def test_a_hypothesis_too_long_is_not_asked_about():
    model = Failing(long=("b",))
    made = asked(model, PAIRS)
    assert model.pairs_seen == [("a", "c")]
    assert made.unusable == {"b": "one of its sentences is too long for m to read beside a passage"}


@pytest.mark.parametrize("column", ["entailment", "contradiction", "windows"])
def test_a_model_that_gives_another_number_of_probabilities_fails(column):
    class Short(HashEntailment):
        def entail(self, pairs, /):
            made = super().entail(pairs)
            return made._replace(**{column: getattr(made, column)[:-1]})

    assert "for 3 pairs" in asked(Short(), PAIRS).failure


def test_an_error_that_names_strangers_ends_it():
    class Confused(HashEntailment):
        def entail(self, pairs, /):
            raise NonFiniteVectorError("something else", texts=("nobody's",))

    assert asked(Confused(), PAIRS).failure == "something else"


def test_metrics_share_what_a_model_said():
    model = HashEntailment()
    made = score(rows("x", "y", "x"), (Follows(), Embedding()), model, hash=HashEmbedder())
    assert sorted(model.pairs_seen) == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    values = made.scores[Follows().canonical].values
    expected = HashEntailment().entail([("a", "x"), ("b", "x")]).entailment.min()
    assert values[0] == values[2] == expected
    assert made.failures == {}


def test_only_the_rows_concerned_fail():
    found = score(rows("x", "y", "z"), (Follows(),), Failing(nan=("y",), long=("z",))).scores["follows"]
    assert found.status.tolist() == ["ok", "failed", "failed"]
    assert found.reasons[1:] == (
        "m gave no usable probability for one of its sentences",
        "one of its sentences is too long for m to read beside a passage",
    )


def test_a_model_that_gives_up_fails_every_row_of_its_metrics_alone():
    @dataclass(frozen=True)
    class Length(Metric):
        spec: ClassVar[MetricSpec] = MetricSpec("length_here", 1, needs=RESPONSE, low=0.0, high=9.0)

        def score(self, batch, features, /):
            return Scores.of(np.array([float(len(text)) for text in batch.response]))

    made = score(rows("x", "y"), (Follows(), Length()), Failing(error="out of memory"))
    assert made.scores["follows"].reasons == ("out of memory",) * 2
    assert made.scores["length_here"].values.tolist() == [1.0, 1.0]
    assert made.failures == {"m": "out of memory"}


def test_a_failing_embedder_is_told_first():
    class Broken(HashEmbedder):
        def embed(self, texts, /):
            raise EmbedderError("no vectors")

    found = score(rows("x"), (Embedding(),), Failing(error="no pairs"), hash=Broken()).scores["embedding"]
    assert found.reasons == ("no vectors",)


def test_rows_without_the_fields_ask_nothing():
    model = HashEntailment()
    found = score([*rows("x"), Sample(id="none", response="y")], (Follows(),), model).scores["follows"]
    assert found.status.tolist() == ["ok", "missing"]
    assert {hypothesis for _, hypothesis in model.pairs_seen} == {"x"}


def test_a_model_that_is_not_open_is_a_users_error():
    with pytest.raises(UsageError):
        require_resources([Follows()], Resources())
    with pytest.raises(UsageError, match="sgi run"):
        anyio.run(evaluate_batch, Batch.of(rows("x")), [Follows()], Resources())


def test_tools_hold_the_models_that_metrics_name_and_their_fingerprints(tmp_path):
    folder = str(counting_model(tmp_path / "a-model"))
    metrics = (Follows(folder), Embedding(folder))
    with open_models(
        metrics, given_options({"cache": False}, HashEmbedder(), source="the test")
    ) as resources:
        assert list(resources.entailment_models) == [folder]
        (of_vectors, of_pairs) = resources.fingerprints
        assert of_vectors.startswith("hash@")
        assert of_pairs.startswith("entailment:a-model@")
        assert of_pairs in resources.signature(metrics, n=1)
        assert of_pairs not in resources.signature((), n=1)
    with open_models((Follows(folder),), RunOptions(cache=False)) as resources:
        assert resources.fingerprints == (of_pairs,)
    other = str(counting_model(tmp_path / "other" / "a-model", steep=2.0))
    with open_models((Follows(other),), RunOptions(cache=False)) as resources:
        assert resources.fingerprints != (of_pairs,)


def test_a_model_that_is_not_there_is_told_before_any_work(tmp_path):
    with (
        pytest.raises(ModelMissingError),
        open_models((Follows(str(tmp_path / "none")),), RunOptions(cache=False)),
    ):
        pass


def test_windows_are_handed_on():
    class Windowing(HashEntailment):
        def entail(self, pairs, /):
            made = super().entail(pairs)
            return EntailmentScores(made.entailment, made.contradiction, np.array([len(p) for p, _ in pairs]))

    made = asked(Windowing(), PAIRS)
    assert made.table.pairs(PAIRS).windows.tolist() == [len(premise) for premise, _ in PAIRS]
