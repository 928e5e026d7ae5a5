from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sgi.engine.cascade import CascadeSummary, Misses
from sgi.engine.summary import Summary
from sgi.reporting.views.headline import Headline, headline_notes
from sgi.stats.intervals import Interval
from support.cascades import row, run_cascade, unsupported_rows

TOLD = CascadeSummary(
    alpha=0.05,
    threshold=0.8712,
    detector="grounding",
    judged=("faithfulness", "ragas_score"),
    rows=1000,
    cleared=412,
    without_value=12,
    calls_per_row=2.0,
    calls_saved=824,
    unsupported=210,
    candidates=212,
    labelled=400,
    misses=Misses(230, 9, Interval(0.019, 0.07, 0.95, "wilson")),
)


@pytest.mark.parametrize("summary", [TOLD, replace(TOLD, misses=None), replace(TOLD, threshold=None)])
def test_it_is_kept_as_json_and_read_again(summary):
    assert CascadeSummary.from_dict(json.loads(json.dumps(summary.to_dict()))) == summary


def test_what_was_cleared_what_it_saves_and_what_it_promises():
    cleared, numbers, saved, promise, measured = TOLD.notes()
    assert "grounding above 0.8712 cleared 412 of 1,000 rows (41.2%)" in cleared
    assert cleared.endswith("the judge scored the other 588, 12 of them without grounding.")
    assert "of faithfulness, ragas_score cover only the rows that the judge scored" in numbers
    assert saved == "Judge calls saved: about 824, estimated from 2 calls for each judged row."
    assert "at most 0.05 of the unsupported answers" in promise
    assert "like the 210 labelled answers" in promise
    assert measured.endswith("9 of 230 unsupported rows were cleared, 3.9% [1.9%, 7.0%].")


def test_few_labels_are_told_and_promise_nothing():
    (line,) = replace(TOLD, threshold=None, unsupported=7, candidates=7).notes()
    assert "scored every row" in line
    assert "needs at least 19 labelled unsupported rows" in line
    assert line.endswith("there are 7.")


def test_labelled_rows_without_a_score_are_told():
    result, _ = run_cascade([*unsupported_rows([None] * 40), row("s", 0.9)])
    (line,) = result.summary().cascade.notes()
    assert line.endswith("there are 40, 0 of them with a score of grounding.")


def test_labels_that_were_learnt_from_measure_nothing():
    result, _ = run_cascade([*unsupported_rows([0.5] * 9), row("s", 0.9, label=True), row("n", None)])
    summary = result.summary().cascade
    assert summary.misses is None
    assert (summary.rows, summary.cleared, summary.without_value, summary.labelled) == (11, 1, 1, 10)
    assert (summary.calls_per_row, summary.calls_saved) == (1.0, 1)
    assert not any(line.startswith("Measured") for line in summary.notes())


def test_where_all_is_cleared_nobody_knows_what_a_row_takes(tmp_path):
    path = tmp_path / "checked.jsonl"
    rows = unsupported_rows([0.5] * 9)
    path.write_text("".join(sample.model_dump_json(exclude_unset=True) + "\n" for sample in rows))
    result, judge = run_cascade([row("s", 0.9)], f"alpha=0.1,labelled={path}")
    summary = result.summary().cascade
    assert (judge.usage.calls, summary.calls_per_row, summary.calls_saved) == (0, None, None)
    assert not any(line.startswith("Judge calls saved") for line in summary.notes())


def test_a_summary_has_it_only_where_there_was_one():
    rows = unsupported_rows([0.5] * 9)
    with_it, without = run_cascade(rows)[0].summary(), run_cascade(rows, None)[0].summary()
    for summary in (with_it, without):
        assert Summary.from_dict(json.loads(json.dumps(summary.to_dict()))) == summary
    assert "cascade" not in without.to_dict()
    assert "Cascade: " in str(with_it)
    assert "Cascade: " not in str(without)


def test_the_notes_of_a_report_begin_with_it():
    made = Headline((), (), 0, 0, 0, 0, {}, {}, "", TOLD)
    assert list(headline_notes(made)) == list(TOLD.notes())
