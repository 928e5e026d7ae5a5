from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.compare import compare
from sgi.analysis.gate.gate import gate
from sgi.engine.accumulator import Accumulator, ClusterAccumulator, clustering_of
from sgi.engine.run_recorder import REASON_NOT_KEPT, scores_without_texts, summary_without_texts
from sgi.engine.score import BatchScores
from sgi.engine.summarise import column_summary, metric_summary, ratio_interval, summarise
from sgi.kernel.clusters import Clustering, DominantCluster
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.metric import COUNT, RATIO, Scores, Status
from sgi.kernel.metric_column import MetricColumn
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.reporting.formatting import format_interval, format_mean
from sgi.stats.intervals import Interval, NoInterval, bounded_ratio
from support.scored_runs import column, run


def summary_of(values, *, labels=None, name="squad_em", questions=None):
    values = np.array(values, dtype=float)
    samples = [
        Sample(
            id=str(i),
            question="" if questions is None else questions[i],
            response="x" * (i + 1),
            label=None if labels is None else labels[i],
        )
        for i in range(len(values))
    ]
    accumulator = Accumulator()
    scores = Scores.of(values, undefined={"no value": np.isnan(values)})
    accumulator.add(Batch.of(samples), BatchScores({name: scores}))
    return summarise(accumulator, [metric(name)], "signature")


def test_the_mean_is_over_the_rows_with_a_value():
    made = summary_of([0.0, 1.0, np.nan, 1.0]).metrics[0]
    assert made.mean == pytest.approx(2 / 3)
    assert (made.ok, made.rows, made.coverage) == (3, 4, 0.75)
    assert made.deviation == pytest.approx(np.std([0, 1, 1], ddof=1))


def test_no_value_at_all_has_neither_mean_nor_interval():
    made = summary_of([np.nan, np.nan]).metrics[0]
    assert (made.mean, made.interval, made.deviation, made.ranking) == (None, None, None, None)
    assert "–" in str(summary_of([np.nan]))


def test_repeated_questions_widen_the_interval():
    values = np.repeat(np.random.default_rng(0).random(size=20), 10)
    alone = summary_of(values).metrics[0].interval
    together = summary_of(values, questions=[f"q{i // 10}" for i in range(200)])
    assert together.questions == 20
    wide = together.metrics[0].interval
    assert wide.high - wide.low > 2 * (alone.high - alone.low)


def test_the_ranking_follows_the_direction_of_the_metric():
    labels = [True, True, False, False]
    assert summary_of([4, 3, 2, 1], labels=labels, name="sgi").metrics[0].ranking.auroc == 1.0
    assert summary_of([4, 3, 2, 1], labels=labels, name="theta_rc").metrics[0].ranking.auroc == 0.0


def test_baselines_stand_beside_rankings_and_only_there():
    labelled = summary_of([1, 2, 3, 4], labels=[True, True, False, False])
    assert [(base.name, base.direction) for base in labelled.baselines] == [("length", "shorter")]
    assert labelled.baselines[0].ranking.auroc == 1.0
    assert (labelled.labelled, labelled.positives) == (4, 2)
    assert "length alone (shorter = label 1)" in str(labelled)
    assert summary_of([1, 2]).baselines == ()


def test_the_summary_is_json_and_ends_with_its_signature():
    made = summary_of([1.0, np.nan, 0.0], labels=[True, False, None])
    plain = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert plain["metrics"][0]["counts"] == {"ok": 2, "undefined": 1, "missing": 0, "failed": 0}
    assert str(made).splitlines()[-1] == "signature"


def test_a_count_of_which_every_row_failed_has_no_value():
    counted = replace(column("correct_answers_count", [np.nan] * 6), unit=COUNT)
    made = metric_summary(counted, np.arange(6))
    assert (made.total, made.mean, made.to_dict()["total"]) == (None, None, None)
    assert (format_mean(made), format_interval(made)) == ("–", "–")
    kept = metric_summary(replace(column("correct_answers_count", [0.0, np.nan]), unit=COUNT), np.arange(2))
    assert format_mean(kept) == "0"


def test_the_dominant_question_of_a_summary_is_a_placeholder_and_its_note_shows_no_text():
    made = replace(
        summarise(Accumulator(), [], ""), clustering=Clustering(dominant=DominantCluster("Who?", 9, 2))
    )
    kept = summary_without_texts(made)
    assert "Who?" not in str(kept.to_dict())
    assert "'(text not kept)'" in kept.notes()[0]


def test_scores_keep_numbers_classes_and_reasons_that_quote_nothing():
    scores = Scores(
        np.array([0.5, np.nan, np.nan]),
        np.array([Status.OK, Status.UNDEFINED, Status.FAILED]).astype("<U9"),
        ("", "the response is blank", "the judge said 'Paris'"),
        ({"band": "high", "why": "Paris", "parts": [1, "Paris", {"at": 2, "text": "Paris"}]}, {}, {}),
    )
    kept = scores_without_texts(scores, "band")
    assert kept.details[0] == {"band": "high", "parts": [1, {"at": 2}]}
    assert kept.reasons == ("", "the response is blank", REASON_NOT_KEPT)


def sgi_column(values, *, version=3, unit=RATIO):
    made = np.array(values, dtype=np.float64)
    return MetricColumn("sgi", made, np.zeros(len(made), np.int8), 0.0, None, version=version, unit=unit)


def with_copies(seed=0, value=314.0):
    """56 answers nearer their question than their passage, and 4 that copy their passage."""
    return np.r_[np.random.default_rng(seed).uniform(0.8, 0.95, 56), np.full(4, value)]


# Scores of version 1 had no cap: a copy had θ(r,q)/1e-8.
@pytest.mark.parametrize("column", [
    sgi_column(with_copies()),
    sgi_column(with_copies(value=1e8), version=1, unit=""),
    sgi_column(with_copies(value=1e8), version=0, unit=""),
])  # fmt: skip
def test_a_few_copies_do_not_lift_the_mean_of_all_answers_above_one(column):
    made = column_summary(column, np.arange(60))
    assert made.is_ratio
    assert made.interval.low < 0.95
    assert made.mean < 1.02
    assert made.deviation < 1.0
    report = gate(run(column), "sgi>1")
    assert not report.passed
    (check,) = report.checks
    assert (check.value, check.bound) == (made.mean, made.interval.low)


def test_a_run_that_is_nearer_its_passages_still_passes():
    values = np.random.default_rng(1).uniform(1.2, 1.6, 60)
    made = column_summary(sgi_column(values), np.arange(60))
    assert made.mean == pytest.approx(values.mean(), rel=0.02)
    assert gate(run(sgi_column(values)), "sgi>1").passed


def test_a_ratio_and_its_inverse_have_inverse_means():
    values = with_copies()
    one, other = (column_summary(sgi_column(given), np.arange(60)) for given in (values, 1 / values))
    assert one.mean * other.mean == pytest.approx(1.0)


def test_no_values_have_no_mean():
    made = column_summary(sgi_column([np.nan, np.nan]), np.arange(2))
    assert (made.mean, made.interval, made.is_ratio) == (None, None, True)


def test_an_interval_without_a_finite_upper_end_is_none():
    assert isinstance(ratio_interval(Interval(0.5, 1.0, 0.95, "bootstrap")), NoInterval)
    made = column_summary(sgi_column([1e300] * 60, version=1), np.arange(60))
    assert np.isfinite(made.mean)


def test_a_difference_agrees_with_that_on_the_bounded_scale():
    rng = np.random.default_rng(2)
    before, after = rng.uniform(0.7, 1.2, 60), rng.uniform(0.9, 1.4, 60)
    (found,) = compare(run(sgi_column(before)), run(sgi_column(after), name="new")).metrics
    bounded = [
        replace(sgi_column(bounded_ratio(values)), metric="share", high=1.0, unit="")
        for values in (before, after)
    ]
    (same,) = compare(run(bounded[0]), run(bounded[1], name="new")).metrics
    made, plain = found.difference, same.difference
    assert (found.verdict, made.p) == (same.verdict, plain.p)
    assert made.difference == pytest.approx(made.second - made.first)
    slope = made.difference / plain.difference
    assert made.interval.low == pytest.approx(slope * plain.interval.low)
    assert found.is_ratio
    assert not same.is_ratio


def test_copies_do_not_hide_that_a_run_got_worse():
    before, after = with_copies(0), with_copies(0)
    before[:56] += 0.3
    after[-4:] *= 0.9
    (found,) = compare(run(sgi_column(before)), run(sgi_column(after), name="new")).metrics
    assert found.verdict == "worse"
    assert found.changed[0].difference == pytest.approx(-0.3)


def rows(questions, contexts=None):
    return [
        Sample(id=str(n), question=text, contexts=(contexts[n] if contexts else f"passage {n}",))
        for n, text in enumerate(questions)
    ]


def test_clusters_are_numbered_by_their_first_rows():
    clusters = ClusterAccumulator()
    for sample in rows(["b", "a", "b"]):
        clusters.add(sample)
    assert clusters.numbers.tolist() == [0, 1, 0]


@pytest.mark.parametrize("order", [1, -1])
def test_a_dominant_question_is_noticed_wherever_it_is(order):
    questions = ([f"q{n}" for n in range(40)] + ["Summarize."] * 14 + ["Who?"] * 12)[::order]
    found = clustering_of(rows(questions), "question", "rows").dominant
    assert (found.text, found.rows, found.contexts) == ("Summarize.", 14, 14)


def test_a_dominant_cluster_of_another_rule_has_no_question():
    samples = rows([f"q{n}" for n in range(10)], ["same"] * 4 + list("abcdef"))
    found = clustering_of(samples, "contexts", "rows").dominant
    assert (found.text, found.rows, found.contexts) == ("", 4, 0)


def test_too_few_clusters_for_an_interval_are_noted_only_for_different_passages():
    assert clustering_of(rows(["Who?"] * 9, ["the passage"] * 9), "question", "rows").dominant is None
    assert clustering_of(rows(["Summarize."] * 9), "contexts", "rows").dominant is None
    assert clustering_of(rows(["Summarize."] * 9), "question", "rows").dominant.contexts == 9


def test_rows_without_the_column_are_counted():
    samples = [Sample(id=str(n), metadata={"doc": n} if n else {}) for n in range(3)]
    assert clustering_of(samples, "doc", "rows").without_value == 1
    with pytest.raises(UnknownNameError, match="doc"):
        clustering_of(samples, "docs", "rows")
