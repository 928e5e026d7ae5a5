from __future__ import annotations

from functools import partial

import anyio
import numpy as np
import pytest
import sqlalchemy as sa

from sgi.analysis.compare import compare
from sgi.analysis.gate.gate import gate
from sgi.analysis.rescore import NO_EVIDENCE, rescore
from sgi.engine.stored_runs import read_run
from sgi.engine.summary import Summary
from sgi.kernel.errors import EmbedderError, StoreError, TargetError, UnknownNameError, UsageError
from sgi.kernel.metric import Status
from sgi.kernel.protocols import Reply
from sgi.service.service import RAGEvalService
from sgi.store import schema
from sgi.store.run_queries import find_run, list_runs, run_provenance, run_usage
from sgi.store.stored_batches import count_judgements, read_judgements, stored_batches
from support.answers import write_jsonl
from support.judged_metrics import Politeness, judged_run, register_metrics
from support.runs import contents

WEIGHTED = "politeness(weights=[0.75, 0.25])"


@pytest.fixture(autouse=True)
def _judged(monkeypatch):
    register_metrics(monkeypatch)


def rows(n=6):
    """Rows of which the second has no reply, and the third no response."""
    made = [
        {"id": f"q{k}", "question": f"Who is {k}?", "response": f"Please, number {k}.", "reference": f"R {k}"}
        for k in range(n)
    ]
    made[1]["response"] = "no reply, please"
    del made[2]["response"]
    return made


@pytest.fixture
def origin(database, tmp_path):
    judged_run(database, write_jsonl(tmp_path / "a.jsonl", rows()), name="judged", embedders=("minilm",))
    return find_run(database, "judged")


def made_of(database, record, *metrics, **options):
    return anyio.run(partial(rescore, database, record, metrics or None, **options))


def values(database, run, name):
    return read_run(database, find_run(database, run)).metric(name).values


def marks(database, record):
    (said,) = read_judgements(database, record, range(record.rows), ["politeness"]).values()
    return [None if found is None else found["marks"] for found in said]


def test_other_weights_from_the_same_evidence(database, origin):
    made = made_of(database, origin, WEIGHTED, name="weighted")
    assert (made.sources, made.notes) == ({WEIGHTED: "politeness"}, ())
    found = values(database, "weighted", WEIGHTED)
    wanted = [np.nan if pair is None else 0.75 * pair[0] + 0.25 * pair[1] for pair in marks(database, origin)]
    assert np.allclose(found, wanted, equal_nan=True)
    assert not np.array_equal(found, values(database, "judged", "politeness"), equal_nan=True)
    report = made.report.summary.metrics[0]
    assert (report.metric, report.ok, report.mean) == (WEIGHTED, 4, pytest.approx(np.nanmean(wanted)))
    assert sum(report.classes.values()) == 4
    assert (made.report.failures, made.report.rejected) == (1 / 6, 0)
    then = run_provenance(database, origin)["politeness"]
    assert (then.judge, then.prompts) != ("", "")
    now = run_provenance(database, find_run(database, "weighted"))
    assert list(now) == [WEIGHTED]
    assert list(then.differences(now[WEIGHTED])) == []


def test_the_new_run_is_a_run_like_any_other(database, origin):
    made = made_of(database, origin, WEIGHTED, name="weighted")
    record = find_run(database, "last")
    assert (record.id, record.name, record.dataset) == (made.report.run, "weighted", origin.dataset)
    assert (record.metrics, record.finished, record.rejected) == ((WEIGHTED,), True, 0)
    assert record.spec == {
        "data": origin.spec["data"],
        "embedders": ["minilm"],
        "max_failures": 1.0,
        "metrics": [WEIGHTED],
        "name": "weighted",
        "rescored_from": origin.id,
    }
    assert "judge:rule:judge,t=0@" in origin.signature
    assert record.signature.partition("judge:")[2] == origin.signature.partition("judge:")[2]
    assert run_usage(database, record.id) == {}
    assert run_usage(database, origin.id)["rule:judge,t=0"].calls == 10
    assert Summary.from_dict(record.summary) == made.report.summary
    assert not gate(read_run(database, record), f"{WEIGHTED} >= 0.999").passed
    again = find_run(database, made_of(database, record, WEIGHTED, "courtesy").report.run)
    both = compare(read_run(database, record), read_run(database, again))
    assert (both.pairs, both.metrics[0].difference.difference, both.only_new_metrics) == (
        6,
        0.0,
        ("courtesy",),
    )


def test_without_names_every_judged_metric_comes_out_as_it_was_to_the_bit(database, tmp_path):
    judged_run(
        database,
        write_jsonl(tmp_path / "a.jsonl", rows(300)),
        ["squad_em", "politeness", "echo"],
        name="judged",
    )
    origin = find_run(database, "judged")
    made = made_of(database, origin)
    record = find_run(database, made.report.run)
    assert record.metrics == ("politeness", "echo")
    pairs = zip(stored_batches(database, origin), stored_batches(database, record), strict=True)
    for before, after in pairs:
        assert (before.start, before.batch.samples) == (after.start, after.batch.samples)
        for name in record.metrics:
            one, two = before.scores[name], after.scores[name]
            assert one.values.tobytes() == two.values.tobytes()
            assert (one.status.tolist(), one.reasons, one.details) == (
                two.status.tolist(),
                two.reasons,
                two.details,
            )
    again = find_run(database, made_of(database, record).report.run)
    assert (again.spec["rescored_from"], again.signature) == (record.id, record.signature)
    for run in (record, again):
        said = read_judgements(database, run, range(300), record.metrics)
        assert said == read_judgements(database, origin, range(300), record.metrics)
        assert count_judgements(database, run)["politeness"].rows == 298


def test_rows_without_evidence_keep_status_and_reason(database, origin):
    run = made_of(database, origin, WEIGHTED, "echo(best=true)").report.run
    (batch,) = stored_batches(database, find_run(database, run))
    for scores in batch.scores.values():
        assert scores.status.tolist() == ["ok", "failed", "missing", "ok", "ok", "ok"]
        assert scores.reasons[1:3] == ("The judge gave no reply.", "the sample has no response")


def test_a_value_whose_evidence_is_gone_is_failed(database, origin):
    with database.writing() as connection:
        connection.execute(sa.delete(schema.evidence).where(schema.evidence.c.position == 4))
    run = made_of(database, origin).report.run
    for column in read_run(database, find_run(database, run)).metrics.values():
        assert column.counts()[Status.FAILED] == 2
    (batch,) = stored_batches(database, find_run(database, run))
    assert batch.scores["politeness"].reasons[4] == NO_EVIDENCE


def test_vectors_are_looked_up_where_the_run_had_them(database, origin):
    found = values(database, made_of(database, origin, "echo(best=true)").report.run, "echo")
    assert np.all(found[3:] >= values(database, "judged", "echo")[3:])


def test_vectors_that_cannot_be_had_leave_no_run(database, origin, monkeypatch):
    with database.writing() as connection:
        lost = {**origin.spec, "embedders": ["torch:/no/such/model"]}
        connection.execute(sa.update(schema.runs).values(spec=lost))
    before = contents(database)
    with pytest.raises((EmbedderError, UsageError)):
        made_of(database, find_run(database, "judged"))
    assert contents(database) == before


def test_a_metric_that_asks_the_same_shares_the_evidence(database, origin):
    made = made_of(database, origin, "courtesy", name="courteous")
    assert made.sources == {"courtesy": "politeness"}
    assert np.array_equal(
        values(database, "courteous", "courtesy"), values(database, "judged", "politeness"), equal_nan=True
    )


@pytest.mark.parametrize("metric", ["politeness(depth=2)", "reference_politeness"])
def test_a_metric_that_asks_something_else_does_not(database, origin, metric):
    before = contents(database)
    with pytest.raises(UsageError) as caught:
        made_of(database, origin, metric)
    assert "the run judged" in str(caught.value)
    assert contents(database) == before


def test_what_differs_only_in_a_later_batch_leaves_no_run(database, tmp_path):
    data = [{"id": str(k), "response": f"R {k}", "reference": f"R {k}"} for k in range(300)]
    data[280]["reference"] = "another"
    judged_run(database, write_jsonl(tmp_path / "a.jsonl", data), ["politeness"])
    with pytest.raises(UsageError):
        made_of(database, find_run(database, "last"), "reference_politeness")
    assert len(list_runs(database)) == 1


def test_the_nearest_evidence_is_taken(database, tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", rows())
    judged_run(database, path, ["courtesy", WEIGHTED, "politeness(depth=2)", "politeness"], name="many")
    many = find_run(database, "many")
    made = made_of(
        database, many, "politeness", "politeness(depth=2,weights=[1,0])", "courtesy(weights=[1,0])"
    )
    assert made.sources == {
        "politeness": "politeness",
        "politeness(weights=[1, 0], depth=2)": "politeness(depth=2)",
        "courtesy(weights=[1, 0])": "courtesy",
    }


def test_what_has_no_evidence_is_named_beside_what_has(database, tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", rows())
    judged_run(database, path, ["squad_em", "echo"], name="echoes")
    judged_run(database, path, ["squad_em"], name="plain")
    echoes, plain = find_run(database, "echoes"), find_run(database, "plain")
    with pytest.raises(UsageError):
        made_of(database, echoes, "politeness")
    with pytest.raises(UsageError, match="squad_em"):
        made_of(database, echoes, "squad_em")
    with pytest.raises(UsageError):
        made_of(database, plain)
    with pytest.raises(UsageError):
        made_of(database, plain, "echo")
    with pytest.raises(UnknownNameError, match="politness"):
        made_of(database, echoes, "politness")


def test_a_metric_without_any_reply_is_left_out_and_told(database, tmp_path):
    data = [{"id": "1", "question": "Who?", "response": "no reply", "reference": "R"}]
    judged_run(database, write_jsonl(tmp_path / "a.jsonl", data), ["politeness", "reference_politeness"])
    made = made_of(database, find_run(database, "last"))
    assert made.report.summary.metrics[0].metric == "reference_politeness"
    assert made.notes == ("politeness has no judgements in this run and is left out.",)


def test_a_changed_version_and_a_changed_model_are_told(database, origin):
    with database.writing() as connection:
        made = {"models": ["minilm@old"], "judge": "x|y", "budget": 9, "prompts": "ab"}
        connection.execute(sa.update(schema.run_metrics).values(version=7, provenance=made))
    made = made_of(database, find_run(database, "judged"), WEIGHTED, "echo")
    first, second, third = made.notes
    assert first == f"{WEIGHTED} has version 1; the run was scored with version 7."
    assert "echo has version 1" in second
    assert "was scored without minilm@" in third
    assert "|judge:x|y@ab|n:6|" in find_run(database, "last").signature


def test_evidence_that_cannot_be_read_is_named(database, origin):
    with database.writing() as connection:
        connection.execute(sa.update(schema.evidence).values(body={"reasoning": "so", "marks": [1, "x"]}))
    before = contents(database)
    with pytest.raises(StoreError, match="q0"):
        made_of(database, origin, "politeness")
    assert contents(database) == before


def test_a_store_that_fails_twice_tells_both(database, origin, monkeypatch):
    with database.writing() as connection:
        connection.execute(sa.update(schema.evidence).values(body={"reasoning": "so"}))

    def fail(*_):
        raise StoreError("The disk is full.")

    monkeypatch.setattr("sgi.analysis.rescore.delete_run", fail)
    with pytest.raises(StoreError, match="cannot be read") as caught:
        made_of(database, origin, "politeness")
    assert caught.value.__notes__ == ["The disk is full."]


def test_a_metric_that_is_not_installed_any_more_is_passed_over(database, origin):
    with database.writing() as connection:
        metrics = schema.run_metrics
        connection.execute(sa.update(metrics).where(metrics.c.metric == "echo").values(metric="gone(n=1)"))
    made = made_of(database, find_run(database, "judged"))
    assert (dict(made.sources), made.notes) == ({"politeness": "politeness"}, ())


def test_a_name_that_is_taken(database, origin):
    with pytest.raises(UsageError, match="already exists"):
        made_of(database, origin, name="judged")
    assert len(list_runs(database)) == 1


class Patchy:
    """A target that fails at one question."""

    fingerprint = "python:patchy"

    async def answer(self, question):
        if "3" in question:
            raise TargetError("It is down.")
        return Reply(f"You asked: {question}", ("a passage",))


def test_the_answers_of_a_target_belong_to_the_new_run_too(database, tmp_path):
    data = [{"id": str(k), "question": f"Who is {k}?", "reference": "R"} for k in range(6)]
    judged_run(database, write_jsonl(tmp_path / "a.jsonl", data), target=Patchy(), name="asked")
    origin = find_run(database, "asked")
    record = find_run(database, made_of(database, origin).report.run)
    (before,), (after,) = (list(stored_batches(database, run)) for run in (origin, record))
    assert before.batch.samples == after.batch.samples
    assert after.batch.response[0] == "You asked: Who is 0?"
    assert after.scores["politeness"].reasons[3] == "It is down."
    with database.reading() as connection:
        seen = connection.exec_driver_sql("SELECT answer FROM evals ORDER BY qa_pair_id").scalars().all()
    assert sum(answer == "You asked: Who is 0?" for answer in seen) == 2


def test_runs_that_can_still_change_are_refused(database, origin, tmp_path):
    service = RAGEvalService(database=tmp_path / "sgi.db")
    service.save_evaluation_to_db("live", "pair", answer="a", groundedness=0.5, groundedness_reasoning="so")
    with pytest.raises(UsageError, match="row by row"):
        made_of(database, find_run(database, "live"))
    with database.writing() as connection:
        connection.execute(
            sa.update(schema.datasets).where(schema.datasets.c.hash == origin.dataset).values(rows=9)
        )
    with pytest.raises(UsageError, match=f"is not finished: 6 of 9 rows. .*--resume {origin.id}"):
        made_of(database, find_run(database, "judged"))


def test_what_nobody_computed_is_no_evidence_of_ours(database, origin):
    with database.writing() as connection:
        connection.execute(sa.update(schema.run_metrics).values(version=0))
    with pytest.raises(UsageError):
        made_of(database, find_run(database, "judged"))


def test_a_metric_itself_may_be_given(database, origin):
    made = anyio.run(partial(rescore, database, origin, [Politeness(weights=(1.0, 0.0))]))
    assert list(made.sources) == ["politeness(weights=[1.0, 0.0])"]


@pytest.fixture
def real(database, tmp_path):
    """A run of metrics that ship; its judge says of all texts what the prompts' examples say."""
    data = [
        {
            "id": f"q{k}",
            "question": "When?",
            "contexts": ["A.", "B."],
            "response": f"In {k}.",
            "reference": "In 0.",
        }
        for k in range(4)
    ]
    del data[3]["reference"]
    metrics = ["faithfulness", "answer_relevance", "ragas_score", "factual_accuracy"]
    judged_run(database, write_jsonl(tmp_path / "real.jsonl", data), metrics, name="real")
    return find_run(database, "real")


def test_metrics_that_ship_with_other_formulas(database, real):
    weights = (0.4, 0.2, 0.2, 0.2)
    asked = (
        "ragas_score(weights=[0.4,0.2,0.2,0.2])",
        "answer_relevance(scale=affine)",
        "faithfulness(empty=full)",
        "factual_accuracy(weights=[1,0,0])",
    )
    made = made_of(database, real, *asked)
    assert [*made.sources.values()] == ["ragas_score", "answer_relevance", "faithfulness", "factual_accuracy"]
    (before,), (after,) = (
        list(stored_batches(database, run)) for run in (real, find_run(database, made.report.run))
    )
    composite, relevance, faithfulness, accuracy = after.scores.values()
    for row, details in enumerate(composite.details):
        parts = zip(weights, details["parts"].values(), strict=True)
        used = [(weight, value) for weight, value in parts if value is not None]
        mean = sum(weight * value for weight, value in used) / sum(weight for weight, _ in used)
        assert composite.values[row] == pytest.approx(mean, abs=1e-12)
    assert composite.details == before.scores["ragas_score"].details
    assert len(composite.details[0]["parts"]) == len(weights)
    assert composite.details[3]["parts"]["context_recall"] is None
    cosines = np.array([details["similarities"] for details in before.scores["answer_relevance"].details])
    assert np.allclose(relevance.values, cosines.mean(axis=1) / 2 + 0.5)
    assert np.array_equal(faithfulness.values, before.scores["faithfulness"].values)
    assert accuracy.status.tolist() == ["ok", "ok", "ok", "missing"]


@pytest.mark.parametrize("metric", ["context_recall", "answer_relevance(questions=5)"])
def test_metrics_that_ship_and_would_ask_something_else(database, real, metric):
    with pytest.raises(UsageError):
        made_of(database, real, metric)
