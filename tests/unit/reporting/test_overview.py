from __future__ import annotations

import pytest

from sgi.analysis.changes import MetricChange
from sgi.engine.review import ReviewCounts
from sgi.kernel.metric import Status
from sgi.reporting.formatting import importance, main_metric
from sgi.reporting.overview import overview, overview_sentence
from sgi.reporting.views.run_view import Earlier
from sgi.stats.intervals import Interval
from support.views import summary


def interval(low, high):
    return Interval(low, high, 0.95, "t")


def grounding(flagged, rows):
    counts = ReviewCounts(flagged, 0, 0.2, {"number absent": flagged})
    return summary("grounding", rows, review=counts, is_share=False)


def without_values(metric):
    counts = {Status.OK: 0, Status.UNDEFINED: 0, Status.MISSING: 120, Status.FAILED: 0}
    return summary(metric, mean=None, interval=None, counts=counts, no_interval="no row has a value")


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        ([], "No row has a value."),
        (
            [summary("needless_refusal"), summary("hit_rate@3", mean=0.875), summary("rouge_l")],
            (
                "Retrieval found a relevant passage for 88 % of the questions; "
                "50 % of the answerable questions were refused."
            ),
        ),
        ([without_values("rouge_l"), summary("bleu")], "The mean of bleu is 50.00 % for 120 rows."),
    ],
)
def test_the_sentence_says_what_the_most_important_metrics_found(metrics, sentence):
    assert overview_sentence(metrics) == sentence


def test_blank_responses_are_named():
    assert overview([summary("rouge_l")], None, 3).sentence.endswith("; 3 responses are blank.")


def test_the_answers_to_check_come_first():
    calibrated = summary("calibrated", classes={"passed": 90, "flagged": 30})
    first, second = overview_sentence([calibrated, grounding(30, 120)]).split("; ")
    assert first.startswith("30 of 120 answers to check")
    assert second == "75 % of 120 answers pass the calibrated threshold."


def test_a_metric_with_findings_is_the_main_one():
    assert main_metric([summary("faithfulness"), grounding(1, 9)]).metric == "grounding"
    assert main_metric([summary("rouge_l"), summary("faithfulness")]).metric == "faithfulness"
    assert main_metric([without_values("faithfulness")]) is None


def test_a_sentence_has_at_most_three_parts():
    names = ["faithfulness", "hit_rate", "recall", "needless_refusal"]
    assert overview_sentence([summary(name) for name in names]).count(";") == 2


def test_the_cards_are_quality_retrieval_coverage_and_cost_whatever_the_order_of_the_metrics():
    half = {Status.OK: 60, Status.UNDEFINED: 60, Status.MISSING: 0, Status.FAILED: 0}
    metrics = [
        summary("latency", mean=812.0, interval=interval(700, 900), is_share=False, unit="ms"),
        summary("recall@5", mean=0.9, interval=interval(0.85, 0.95), counts=half),
        summary("sgi"),
        grounding(0, 120),
    ]
    quality, retrieval, coverage, cost = overview(metrics, None).cards
    assert (quality.title, quality.metric, quality.value) == ("Quality", "grounding", "0.5000")
    assert "not a probability" in quality.caution
    assert (retrieval.metric, retrieval.value, retrieval.interval) == (
        "recall@5",
        "90.00 %",
        "[85.00, 95.00]",
    )
    assert (coverage.value, coverage.interval) == ("50.00 %", "60 of 120 rows have recall@5")
    assert (cost.metric, cost.value, cost.interval) == ("latency", "812 ms", "[700 ms, 900 ms]")
    assert {card.change for card in (quality, retrieval, coverage, cost)} == {None}


def test_a_metric_without_a_value_has_no_card_while_another_has_one():
    cards = overview([without_values("grounding"), summary("sgi")], None).cards
    assert [card.metric for card in cards] == ["sgi", ""]
    assert cards[1].value == "0.00 %"


def test_card_and_sentence_show_the_same_of_several_metrics_with_one_name():
    view = overview([summary("recall@3", mean=0.7), summary("recall@5", mean=0.9)], None)
    assert view.cards[0].metric == "recall@3"
    assert view.sentence == "Retrieval found 70 % of the relevant passages."


def test_a_run_of_unknown_metrics_shows_its_first_one():
    assert [card.metric for card in overview([summary("mine"), summary("yours")], None).cards] == ["mine", ""]
    assert overview([], None).cards == ()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (MetricChange(-0.06, "worse"), "worse: -6.00 pp"),
        (MetricChange(0.0125), "+1.25 pp"),
        (MetricChange(obstacle="other judge"), "not comparable: other judge"),
    ],
)
def test_a_card_has_the_change_since_the_earlier_run(change, text):
    earlier = Earlier("r0", "monday", {"mine": change})
    card = overview([summary("mine")], earlier).cards[0]
    assert (card.change.run, card.change.label, card.change.text) == ("r0", "monday", text)


@pytest.mark.parametrize("changes", [None, {}, {"mine": MetricChange()}])
def test_without_the_metric_in_an_earlier_run_there_is_no_change(changes):
    earlier = None if changes is None else Earlier("r0", "monday", changes)
    assert overview([summary("mine")], earlier).cards[0].change is None
    changed = Earlier("r0", "monday", {"mine": MetricChange(0.1)})
    assert overview([without_values("mine")], changed).cards[0].change is None


def test_metrics_of_quality_come_before_others():
    names = ["latency", "rouge_l", "grounding(history=true)", "sgi", "faithfulness"]
    assert sorted(names, key=importance) == [
        "faithfulness",
        "grounding(history=true)",
        "rouge_l",
        "sgi",
        "latency",
    ]
