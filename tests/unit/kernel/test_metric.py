from dataclasses import FrozenInstanceError, dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from sgi.kernel.metric import Metric, MetricSpec, Scores, Status
from sgi.kernel.sample import RESPONSE


@dataclass(frozen=True)
class Example(Metric):
    beta: float = 1.0
    word: str | None = None
    names: tuple[str, ...] = ()
    flags: tuple[bool, ...] = field(default_factory=lambda: (True,))
    spec: ClassVar[MetricSpec] = MetricSpec("example", 1, needs=RESPONSE, low=0.0, high=1.0)

    def score(self, batch, features, /):
        return Scores.of(np.zeros(len(batch)))


@dataclass(frozen=True)
class Embedding(Example):
    def texts(self, batch, /):
        return batch.response


@pytest.mark.parametrize(
    ("one", "canonical"),
    [
        (Example(), "example"),
        (Example(beta=1), "example"),
        (Example(beta=1.2), "example(beta=1.2)"),
        (Example(word="é\n"), 'example(word="é\\n")'),
        (Example(names=("a", "b"), flags=(False,)), 'example(names=["a", "b"], flags=[false])'),
    ],
)
def test_canonical_names_what_differs_from_the_defaults(one, canonical):
    assert one.canonical == canonical


def test_only_metrics_with_texts_embed():
    assert Example().vector_needs is None
    assert Embedding().vector_needs == Embedding()


def test_a_metric_wants_the_first_configured_model():
    assert Example().embedder_names(("a", "b")) == ("a",)
    assert Example().embedder_names(()) == ()


def test_a_metric_is_a_frozen_value():
    assert hash(Example(beta=2.0)) == hash(Example(beta=2.0))
    with pytest.raises(FrozenInstanceError):
        Example().beta = 2.0


def test_scores_keep_the_first_reason_that_holds():
    values = np.array([1.0, 2.0, 3.0, np.nan])
    first, second = np.array([False, True, True, False]), np.array([False, False, True, True])
    scores = Scores.of(values, undefined={"first": first, "second": second})
    assert scores.reasons == ("", "first", "first", "second")
    assert scores.status.tolist() == ["ok", "undefined", "undefined", "undefined"]
    assert scores.ok.tolist() == [True, False, False, False]
    np.testing.assert_array_equal(scores.values, [1.0, np.nan, np.nan, np.nan])
    assert values.tolist()[:3] == [1.0, 2.0, 3.0]  # the caller's array is left alone


def test_an_empty_column_of_scores():
    scores = Scores.of(np.zeros(0), undefined={"never": np.zeros(0, dtype=bool)}, details=[])
    assert (len(scores), scores.reasons, scores.details) == (0, (), ())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_never_ok(bad):
    with pytest.raises(ValueError, match="finite if and only if"):
        Scores.of(np.array([0.0, bad]))


@pytest.mark.parametrize(
    ("values", "status", "reasons", "details"),
    [
        ([1.0], ["undefined"], ["why"], [{}]),
        ([np.nan], ["ok"], [""], [{}]),
        ([1.0], ["ok"], ["why"], [{}]),
        ([np.nan], ["failed"], [""], [{}]),
        ([1.0], ["ok", "ok"], [""], [{}]),
        ([1.0], ["ok"], [], [{}]),
        ([1.0], ["ok"], [""], []),
    ],
)
def test_scores_that_contradict_themselves_are_refused(values, status, reasons, details):
    with pytest.raises(ValueError, match=r"if and only if|must have the same length"):
        Scores(np.array(values), np.array(status), tuple(reasons), tuple(details))


def test_without_value():
    scores = Scores.without_value(Status.MISSING, ["no question", "no response"])
    assert scores.status.tolist() == ["missing", "missing"]
    assert scores.reasons == ("no question", "no response")
    assert np.isnan(scores.values).all()


def test_assemble_puts_every_part_in_its_place():
    parts = [
        (np.array([2, 0]), Scores.of(np.array([3.0, 1.0]), details=[{"n": 3}, {"n": 1}])),
        (np.array([1]), Scores.without_value(Status.FAILED, ["gave up"])),
        (np.array([], dtype=np.int64), Scores.of(np.zeros(0))),
    ]
    scores = Scores.assemble(3, parts)
    np.testing.assert_array_equal(scores.values, [1.0, np.nan, 3.0])
    assert scores.status.tolist() == ["ok", "failed", "ok"]
    assert scores.reasons == ("", "gave up", "")
    assert scores.details == ({"n": 1}, {}, {"n": 3})


def test_assemble_refuses_a_row_that_no_part_covers():
    with pytest.raises(ValueError, match="each of 2 rows once; they contain 1 rows"):
        Scores.assemble(2, [(np.array([0]), Scores.of(np.array([1.0])))])


def test_assemble_refuses_a_row_covered_twice():
    part = (np.array([0]), Scores.of(np.array([1.0])))
    with pytest.raises(ValueError, match="once; they contain 2 rows"):
        Scores.assemble(1, [part, part])
