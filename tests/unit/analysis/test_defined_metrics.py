"""Runs with defined metrics are compared, resumed and rescored by what the definitions stand for."""

import json

import pytest

import sgi
from sgi.engine.stored_options import stored_definitions
from sgi.kernel.errors import NotComparableError, StoreError, UsageError
from support.judge_server import JudgeServer, ServerReply

ROWS = [
    {
        "id": str(n),
        "even": n % 2,
        "question": f"Q{n}?",
        "response": f"In {n}.",
        "reference": f"In {n} or later.",
    }
    for n in range(12)
]


def tables(weight):
    return {"quality": {"metric": "weighted_mean", "of": ["rouge_l", "squad_em"], "weights": [weight, 1]}}


@pytest.fixture
def runs(tmp_path):
    data, db = tmp_path / "rows.jsonl", tmp_path / "runs.db"
    data.write_text("\n".join(map(json.dumps, ROWS)))

    def run(weight, *more):
        return sgi.run(data, ["quality", *more], define=tables(weight), db=db)

    return run, db


def test_a_changed_definition_is_a_difference_in_words(runs):
    run, db = runs
    base, new = run(1, "squad_em"), run(2, "squad_em")
    with pytest.raises(NotComparableError) as raised:
        sgi.compare(base, new, db=db)
    assert 'quality = weighted_mean(of=["rouge_l", "squad_em"], weights=[1.0, 1.0]) → ' in str(raised.value)
    assert 'quality = weighted_mean(of=["rouge_l", "squad_em"], weights=[2.0, 1.0])' in str(raised.value)
    with pytest.raises(UsageError, match="weighted_mean"):
        sgi.compare(run(1), run(2), db=db)


def test_a_changed_criterion_of_a_rubric_is_a_difference(runs, tmp_path):
    _, db = runs
    data = tmp_path / "rows.jsonl"

    def rated(criteria):
        table = {"metric": "rubric", "criteria": criteria, "scale": [[0, "no"], [1, "yes"]]}
        with JudgeServer(replies=ServerReply('{"reason": "R.", "rating": 1}')) as server:
            settings = {"judge": f"openai:m@{server.url}", "cache": False}
            return sgi.run(data, ["polite", "squad_em"], define={"polite": table}, db=db, **settings)

    with pytest.raises(NotComparableError) as raised:
        sgi.compare(rated("Is it polite?"), rated("Is it kind?"), db=db)
    assert 'polite = rubric(criteria="Is it polite?"' in str(raised.value)
    assert 'polite = rubric(criteria="Is it kind?"' in str(raised.value)


def test_equal_definitions_are_compared(runs):
    run, db = runs
    (compared,) = sgi.compare(run(1), run(1), db=db).metrics
    assert compared.metric.startswith("quality(definition=")


def test_a_judged_definition_is_rescored(runs, tmp_path):
    _, db = runs
    table = {"metric": "weighted_mean", "of": ["faithfulness", "rouge_l"], "weights": [1, 1]}
    data = tmp_path / "judged.jsonl"
    data.write_text("\n".join(json.dumps({**row, "contexts": ["It was 3."]}) for row in ROWS))
    with JudgeServer() as server:
        settings = {"judge": f"openai:m@{server.url}", "max_failures": 1.0, "cache": False}
        stored = sgi.run(data, ["strict"], define={"strict": table}, db=db, **settings)
    again = sgi.api.rescore(stored, db=db)
    assert again.record.metrics == stored.record.metrics
    assert again.record.spec["define"] == {"strict": table}
    changed = sgi.api.read_metrics({"strict": table | {"weights": [1, 0]}})["strict"]
    other = sgi.api.rescore(stored, [changed], db=db)
    assert other.record.metrics == (changed.canonical,)
    assert other.record.spec["define"] == {"strict": table | {"weights": [1, 0]}}


def test_a_defined_metric_is_calibrated_by_its_name(runs):
    run, db = runs
    with pytest.raises(UsageError, match="even"):
        sgi.api.calibrate(run(1), "quality", label="even", db=db)


def test_damaged_definitions_of_a_stored_run_are_refused(runs):
    run, _ = runs
    record = run(1).record
    assert stored_definitions(record).tables == tables(1)
    for bad in ("/etc/passwd", {"quality": {"metric": "nope"}}, {"__class__": {"metric": "rouge_l"}}):
        record.spec["define"] = bad
        with pytest.raises(StoreError, match=f"The settings of the run {record.label} are damaged"):
            stored_definitions(record)
