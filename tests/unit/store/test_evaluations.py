from __future__ import annotations

import numpy as np
import pytest

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.store.evaluations import MetricScore, read_evaluation, sample_evaluation
from sgi.store.growing_runs import EvaluationRow, save_evaluation
from sgi.store.run_queries import find_run
from sgi.store.samples import StoredAnswer
from sgi.store.writer import Setup, create_run
from support.runs import HOSTILE, add_run

SAMPLES = (
    Sample(id="pair 1", question="Who?", contexts=("A.", HOSTILE), response="own", reference="R"),
    Sample(id=HOSTILE, question="Whom?"),
)
SCORES = {
    "bleu": Scores(
        np.array([0.5, np.nan]), np.array(["ok", "failed"], dtype="<U9"), ("", HOSTILE), ({"n": 1}, {})
    ),
    "rouge_l": Scores.of(np.array([0.25, 0.75])),
}
SAID = {"claims": [HOSTILE], "verdicts": [{"index": 1, "reason": HOSTILE, "verdict": 0}], HOSTILE: None}


@pytest.fixture
def record(database):
    """A run of four rows, two of which are scored; the target answered the first and not the second."""
    metrics = [metric(name) for name in SCORES]
    run = create_run(database, Setup("hash", "rows.jsonl", 4, {}, "spec", "sgi:1", {}, metrics))
    run.put_answers({0: StoredAnswer("told", ("found",)), 1: StoredAnswer(None, reason="timeout " + HOSTILE)})
    said = {"bleu": [SAID, None]}
    run.put(0, SAMPLES, SCORES, judgements=said)
    other = create_run(database, Setup("hash", "rows.jsonl", 4, {}, "spec", "sgi:1", {}, metrics))
    more = tuple(Sample(id=f"pair {n}", response="r") for n in (3, 4))
    other.put(2, more, SCORES)
    return find_run(database, run.run)


def test_all_that_is_kept_of_a_sample(database, record):
    found = sample_evaluation(database, record, "pair 1")
    assert (found.sample.response, found.sample.contexts, found.sample.reference) == ("told", ("found",), "R")
    assert (found.id, found.reason) == (f"{record.id}:0", "")
    assert found.scores == {
        "bleu": MetricScore(0.5, details={"n": 1}, evidence=SAID),
        "rouge_l": MetricScore(0.25),
    }
    assert list(found.scores) == ["bleu", "rouge_l"]


def test_a_sample_with_any_id_that_the_target_did_not_answer(database, record):
    found = sample_evaluation(database, record, HOSTILE)
    assert (found.sample.id, found.reason) == (HOSTILE, "timeout " + HOSTILE)
    assert "response" not in found.sample.model_fields_set
    assert found.scores["bleu"] == MetricScore(None, Status.FAILED, HOSTILE)


def test_an_unknown_sample_names_those_that_come_near(database, record):
    with pytest.raises(UnknownNameError) as caught:
        sample_evaluation(database, record, "pair1")
    assert (caught.value.name, caught.value.suggestions[0]) == ("pair1", "pair 1")
    for odd in ("nothing like it", "", "%", "' OR 1=1 --", "\0"):
        with pytest.raises(UnknownNameError) as caught:
            sample_evaluation(database, record, odd)
        assert "'pair 1'" in caught.value.hint


def test_a_sample_that_is_not_scored_yet_says_so(database, record):
    with pytest.raises(UsageError, match="'pair 3'") as caught:
        sample_evaluation(database, record, "pair 3")
    assert record.id in caught.value.hint
    metrics = [metric(name) for name in SCORES]
    empty = create_run(database, Setup("other", "rows.jsonl", 4, {}, "spec", "sgi:1", {}, metrics))
    with pytest.raises(UsageError, match=empty.run):
        sample_evaluation(database, find_run(database, empty.run), "pair 1")


def test_a_run_called_like_another_runs_id_changes_nothing(database):
    add_run(database, "r1", samples=[Sample(id="q1", response="first")])
    add_run(database, "r2", samples=[Sample(id="q2", response="second")])
    assert sample_evaluation(database, find_run(database, "r2"), "q2").sample.response == "second"
    with pytest.raises(UnknownNameError):
        sample_evaluation(database, find_run(database, "r2"), "q1")


def test_evidence_that_an_application_saves_comes_back_with_its_reasoning(database):
    score = MetricScore(0.5, evidence={"rating": 2, "reasoning": "well said"})
    assert (score.reasoning, MetricScore(0.5, reasoning="so").evidence) == ("well said", {"reasoning": "so"})
    assert MetricScore(0.5, evidence={"reasoning": [1]}).reasoning is None
    row = EvaluationRow(Sample(id="1"), None, {"groundedness": score})
    save_evaluation(database, "live", row, versions={})
    assert read_evaluation(database, "live", "1").scores == {"groundedness": score}
