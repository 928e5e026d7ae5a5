"""The service with a judge: ratings and their reasonings beside the other columns, kept and looked up."""

from __future__ import annotations

import anyio
import pytest
import sqlalchemy as sa

import sgi
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import BudgetExceededError, JudgeError, RunMismatchError, UsageError
from sgi.service.service import DEFAULT_METRICS, JUDGED_METRICS, RAGEvalService
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.testing.fakes import HashEmbedder, ScriptedJudge

RATINGS = {
    "ratings.all": {
        "answer_relevance": {"reasoning": "It says who.", "rating": 3},
        "context_relevance": {"reasoning": "It is named.", "rating": 2},
        "groundedness": {"reasoning": "Half of it.", "rating": 1},
    }
}
QUESTION, REFERENCE, ANSWER = "Who wrote Emma?", "Jane Austen", "Austen did."


def evaluate(judge, save=None, database=None, **more):
    async def work():
        service_context = RAGEvalService(judge=judge, embedder=HashEmbedder(), database=database, **more)
        async with service_context as service:
            evaluation = await service.generate_and_evaluate(
                QUESTION, REFERENCE, answer=ANSWER, contexts=["Emma is by Jane Austen."]
            )
            if save is None:
                return evaluation, None
            service.save_evaluation_to_db(save, "emma", evaluation)
            return evaluation, service.get_full_by_run_and_qa(save, "emma")

    return anyio.run(work)


def test_a_judge_brings_its_ratings_in_one_request():
    judge = ScriptedJudge(RATINGS)
    found, _ = evaluate(judge)
    record = found.to_dict()
    assert record["answer_relevance"] == record["answer_relevance_rated"] == 1.0
    assert record["context_relevance"] == pytest.approx(2 / 3)
    assert record["groundedness"] == pytest.approx(1 / 3)
    assert record["llm_judged_overall"] == pytest.approx(2 / 3)
    assert record["groundedness_reasoning"] == "Half of it."
    assert record["squad_token_f1"] > 0
    assert {inquiry.prompt.name for inquiry in judge.inquiries} == {"ratings.all"}


def test_what_the_judge_said_is_kept_and_stands_in_the_view(tmp_path):
    path = tmp_path / "app.db"
    _, full = evaluate(ScriptedJudge(RATINGS), save="nightly", database=path)
    assert full["answer_relevance"] == 1.0
    assert full["groundedness_reasoning"] == "Half of it."
    with sa.create_engine(f"sqlite:///{path}").connect() as connection:
        row = connection.execute(sa.text("SELECT * FROM evals")).mappings().one()
    assert (row["answer_relevance"], row["answer_relevance_reasoning"]) == (1.0, "It says who.")
    assert row["llm_judged_overall"] == pytest.approx(2 / 3)


def test_record_and_view_agree_where_both_relevances_were_scored(tmp_path):
    path = tmp_path / "app.db"
    asked = {"answer_relevance.questions": {"questions": ["What?"], "reason": "So.", "noncommittal": False}}
    metrics = ["answer_relevance(questions=1)", "answer_relevance", "answer_relevance_rated"]
    judge = ScriptedJudge(lambda inquiry, _: script(inquiry, asked))
    _, full = evaluate(judge, save="nightly", database=path, metrics=metrics)
    with sa.create_engine(f"sqlite:///{path}").connect() as connection:
        (kept,) = connection.execute(sa.text("SELECT answer_relevance FROM evals")).one()
    assert full["answer_relevance"] == kept == full["answer_relevance_rated"] == 1.0


def script(inquiry, asked):
    if inquiry.prompt.name in RATINGS:
        return RATINGS[inquiry.prompt.name]
    (reply,) = asked.values()
    return reply | {"questions": ["What?"] * (inquiry.items or 1)}


def test_a_run_of_the_service_is_signed_with_judge_and_prompts_as_any_other(tmp_path):
    path = tmp_path / "app.db"
    evaluate(ScriptedJudge(RATINGS), save="nightly", database=path)
    with open_database(path) as database:
        record = find_run(database, "nightly")
        scored = read_run(database, record)
    row = {
        "question": QUESTION,
        "response": ANSWER,
        "contexts": ["Emma is by Jane Austen."],
        "reference": REFERENCE,
    }
    result = sgi.evaluate(
        [row], list(DEFAULT_METRICS + JUDGED_METRICS), HashEmbedder(), judge=ScriptedJudge(RATINGS)
    )
    assert record.signature == result.signature
    assert {name: found.provenance for name, found in scored.metrics.items()} == result.provenance
    assert "|judge:scripted@" in record.signature
    assert f"judge:{record.spec['judge']}|" in record.signature


def down(inquiry, schema):
    raise JudgeError("It is down.")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            {"judge": ScriptedJudge(RATINGS, fingerprint="another")},
            "judged by scripted, this evaluation by another",
        ),
        ({"judge": ScriptedJudge(down), "metrics": ["faithfulness"]}, "by other prompts"),
    ],
)
def test_a_run_has_one_judge_and_its_prompts(tmp_path, other, words):
    path = tmp_path / "app.db"
    evaluate(ScriptedJudge(RATINGS), save="nightly", database=path)
    with pytest.raises(RunMismatchError, match=f"{words}.*another test_run_id"):
        evaluate(save="nightly", database=path, **other)
    evaluate(None, save="nightly", database=path)  # a service without a judge adds nothing of another judge
    with open_database(path) as database:
        assert find_run(database, "nightly").spec["judge"].startswith("scripted@")


@pytest.mark.parametrize("error", [JudgeError("It is down."), BudgetExceededError("It has cost enough.")])
def test_a_judge_that_fails_is_a_score_without_value_and_no_exception(error):
    class Failing(ScriptedJudge):
        async def ask(self, inquiry, schema, /):
            raise error

    found, _ = evaluate(Failing(RATINGS))
    record = found.to_dict()
    assert record["groundedness"] is None
    assert record["reasons"]["groundedness"] == str(error)
    assert record["semantic_similarity"] is not None


def test_judged_metrics_without_a_judge_are_refused_when_the_service_is_made():
    with pytest.raises(UsageError):
        RAGEvalService(metrics=["faithfulness"])
