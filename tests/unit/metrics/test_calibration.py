from dataclasses import replace

import numpy as np
import pytest

from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.metrics.calibrated_metric import (
    SPEC,
    CalibratedJudgedMetric,
    CalibratedMetric,
    Calibration,
    ReferenceScores,
    calibrate_metric,
    map_inputs,
)
from sgi.metrics.grounding.detector import Grounding
from sgi.reporting.views.evidence_view import score_maps
from sgi.stats.conformal import FLAGS_NOTHING, LengthThresholds
from sgi.stats.logistic_map import LogisticMap, fit_logistic
from sgi.stats.probability_maps import IsotonicMap
from sgi.testing import check_metric
from support.grounded import evidence_map, evidence_maps_of, grounding_scores, row

REFERENCE = ReferenceScores((0.35, 0.9), (3, 9), 0, 0.35, 0.9)
FITTED = Calibration(
    "3f2a",
    higher_is_better=True,
    probabilities=LogisticMap(4.0, 0.0, 0.5, 1.0, (0.0, 0.0, 0.0), 2.0),
    reference=REFERENCE,
    thresholds=LengthThresholds((10.0,), (0.4, 0.6), (50, 50)),
)
NAMES = [
    *("sgi", "grounding", "content_f1", "semantic_similarity", "faithfulness", "answer_relevance"),
    "ragas_score",
]
READ = Grounding(nli="owner/model")


def batch(*lengths):
    return Batch.of([Sample(id=str(row), response="x" * length) for row, length in enumerate(lengths)])


@pytest.mark.parametrize("name", NAMES)
def test_every_promise_of_a_metric_is_kept(name):
    check_metric(calibrate_metric(metric(name), FITTED))


@pytest.mark.parametrize("name", NAMES)
def test_it_wants_what_the_metric_within_wants(name):
    inner = metric(name)
    wrapper = calibrate_metric(inner, FITTED)
    assert isinstance(wrapper, CalibratedJudgedMetric if hasattr(inner, "ask") else CalibratedMetric)
    assert wrapper.spec == replace(SPEC, needs=inner.spec.needs, citation=inner.spec.citation)
    for needs in ("vector_needs", "token_needs", "entailment_needs"):
        assert (getattr(wrapper, needs) is None) == (getattr(inner, needs) is None)
    assert wrapper.embedder_names(("a", "b")) == inner.embedder_names(("a", "b"))
    assert (wrapper.spec.low, wrapper.spec.high, wrapper.spec.category) == (0.0, 1.0, "verdict")


def test_the_pairs_are_those_of_the_metric_within():
    wrapper = calibrate_metric(READ, FITTED)
    rows = Batch.of([Sample(id="1", contexts=("It is red.",), response="It is red and tall.")])
    assert isinstance(wrapper, CalibratedMetric)
    assert wrapper.entailment_model == "owner/model"
    assert [*wrapper.pairs(wrapper.prepare(rows))] == [("It is red.", "It is red and tall.")]


def test_the_name_tells_metric_and_calibration():
    wrapper = calibrate_metric(metric('sgi(passages="mean")'), FITTED)
    assert wrapper.canonical == r'calibrated(metric="sgi(passages=\"mean\")", calibration="3f2a")'
    other = calibrate_metric(metric("sgi"), replace(FITTED, digest="77aa"))
    assert len({wrapper, other, calibrate_metric(metric("sgi"), FITTED)}) == 3
    assert calibrate_metric(metric("sgi"), FITTED) == calibrate_metric(metric("sgi"), FITTED)


def test_probability_threshold_and_verdict_go_by_the_length_of_the_answer():
    scores = FITTED.apply(Scores.of(np.array([0.5, 0.5, 0.4, 0.3])), batch(9, 10, 9, 0))
    assert scores.values == pytest.approx([0.5, 0.5, 1 / (1 + np.exp(0.4)), 1 / (1 + np.exp(0.8))])
    verdicts = [(one["score"], one["threshold"], one["verdict"]) for one in scores.details]
    assert verdicts == [
        (0.5, 0.4, "passed"),
        (0.5, 0.6, "flagged"),
        (0.4, 0.4, "passed"),
        (0.3, 0.4, "flagged"),
    ]
    assert [one["extrapolated"] for one in scores.details] == [False, False, False, True]


def test_each_probability_has_its_interval():
    fitted = replace(FITTED, probabilities=fit_logistic(np.arange(40.0), np.arange(40) % 3 > 0))
    scores = fitted.apply(Scores.of(np.array([3.0, 30.0])), batch(5, 5))
    low, high = fitted.probabilities.interval([3.0, 30.0])
    assert [one["probability_low"] for one in scores.details] == low.tolist()
    assert [one["probability_high"] for one in scores.details] == high.tolist()
    assert (low < scores.values).all()
    assert (scores.values < high).all()


def test_without_thresholds_there_is_no_verdict():
    (detail,) = replace(FITTED, thresholds=None).apply(Scores.of(np.array([0.5])), batch(5)).details
    assert {"threshold", "verdict"}.isdisjoint(detail)


def test_a_map_of_log_odds_reads_log_odds_in_the_direction_of_the_metric():
    fitted = replace(
        FITTED, log_odds=True, probabilities=LogisticMap(1.0, 0.0, 0.0, 1.0, (0.0, 0.0, 0.0), 2.0)
    )
    values = np.array([0.0, 0.2, 0.5, 1.0])
    assert fitted.apply(Scores.of(values), batch(1, 1, 1, 1)).values == pytest.approx(values, abs=1e-5)
    lower = map_inputs(values, higher_is_better=False, log_odds=True)
    assert (lower == -map_inputs(values, higher_is_better=True, log_odds=True)).all()
    assert np.isfinite(lower).all()


def test_where_lower_is_better_high_values_are_flagged():
    fitted = Calibration(
        "1",
        higher_is_better=False,
        probabilities=IsotonicMap((-1.0, 0.0), (0.1, 0.9)),
        reference=REFERENCE,
        thresholds=LengthThresholds((), (-0.7,), (50,)),
    )
    scores = fitted.apply(Scores.of(np.array([0.0, 0.7, 0.8])), batch(5, 5, 5))
    assert scores.values == pytest.approx([0.9, 0.34, 0.26])
    assert [detail["threshold"] for detail in scores.details] == [0.7, 0.7, 0.7]
    assert [detail["score"] for detail in scores.details] == [0.0, 0.7, 0.8]
    assert [detail["verdict"] for detail in scores.details] == ["passed", "passed", "flagged"]


@pytest.mark.parametrize("higher", [True, False])
def test_where_nothing_can_be_promised_nothing_is_flagged(higher):
    strata = LengthThresholds((), (FLAGS_NOTHING,), (3,))
    fitted = replace(FITTED, higher_is_better=higher, thresholds=strata)
    scores = fitted.apply(Scores.of(np.array([-1e9, 1e9])), batch(5, 5))
    assert [detail["threshold"] for detail in scores.details] == [None, None]
    assert [detail["verdict"] for detail in scores.details] == ["passed", "passed"]


def test_a_row_without_a_value_keeps_its_status_and_reason():
    inner = Scores.assemble(
        4,
        [
            (np.array([1]), Scores.of(np.array([0.9]))),
            (np.array([0]), Scores.without_value(Status.FAILED, ["the judge gave up"])),
            (np.array([2]), Scores.without_value(Status.UNDEFINED, ["the response is blank"])),
            (np.array([3]), Scores.without_value(Status.MISSING, ["no contexts"])),
        ],
    )
    scores = FITTED.apply(inner, batch(1, 1, 1, 1))
    assert scores.status.tolist() == inner.status.tolist()
    assert scores.reasons == inner.reasons
    assert np.isnan(scores.values[[0, 2, 3]]).all()
    assert [bool(detail) for detail in scores.details] == [False, True, False, False]


def test_what_the_metric_within_was_made_of_is_kept():
    found = [{"passage": 1, "score": "its own", "verdict": "its own"}, {}, {"passage": 2}]
    inner = Scores.of(
        np.array([0.5, 0.3, np.nan]), undefined={"blank": np.array([False, False, True])}, details=found
    )
    scores = FITTED.apply(inner, batch(9, 9, 9))
    assert scores.details[0]["passage"] == 1
    assert [one.get("verdict") for one in scores.details] == ["passed", "flagged", None]
    assert scores.details[2] == {"passage": 2}
    assert found[0]["verdict"] == "its own"


def test_a_calibrated_detector_has_its_evidence_map():
    sample = row("The tower is 312 m tall.", "The tower is 330 m tall.")
    inner = grounding_scores([sample])
    scores = FITTED.apply(inner, Batch.of([sample]))
    assert (
        evidence_map({name: scores.details[0][name] for name in inner.details[0]})
        == evidence_maps_of(inner)[0]
    )
    shown = score_maps({"inner": inner.details[0], "calibrated": scores.details[0]}, sample.contexts)
    assert shown["calibrated"].view == shown["inner"].view is not None
    own = ["score", "probability_low", "probability_high", "extrapolated", "threshold", "verdict"]
    assert [*shown["calibrated"].further] == own
