from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sgi.engine.accumulator import Accumulator
from sgi.engine.score import BatchScores
from sgi.engine.summarise import metric_summary, summarise
from sgi.kernel.metric import COUNT, Scores
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.reporting.formatting import format_interval, format_mean
from support.scored_runs import column


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
