from __future__ import annotations

import asyncio
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgi.engine.stored_runs import read_run
from sgi.engine.summary import Summary
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.metric import Status
from sgi.service.embedding_models import OwnModel
from sgi.service.service import DEFAULT_METRICS, RAGEvalService
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.testing import HashEmbedder
from support.service_clients import (
    IDS,
    PARIS,
    PRIVATE,
    Client,
    RejectedKeyError,
    evaluate,
    save_and_read,
    similarity,
)


def test_saving_is_done_when_the_call_returns_and_awaiting_it_is_an_error(service):
    async def mistaken():
        await service.save_evaluation_to_db("nightly", "q1", answer="a")

    assert service.get_by_test_run_id("nightly") == []
    with pytest.raises(TypeError, match="await"):
        asyncio.run(mistaken())
    assert len(service.get_by_test_run_id("nightly")) == 1


def test_what_was_evaluated_is_what_is_looked_up(service):
    made = evaluate(RAGEvalService(lambda _: (PARIS[1], ["Paris is in France."]), embedder=HashEmbedder()))
    found = service.save_evaluation_to_db("nightly", "q1", made)
    (short,) = service.get_by_test_run_id("nightly")
    assert {**made.to_dict(), **dict(zip(IDS, (found, "nightly", "q1"), strict=True))} == {
        **short,
        "reasons": {},
    }
    full = service.get_full_by_run_and_qa("nightly", "q1")
    assert {name: full[name] for name in short} == short
    assert (full["question"], full["reference"]) == ("Capital of France?", PARIS[0])
    assert (full["contexts"], full["reasons"]) == (["Paris is in France."], {})
    assert full["details"]["semantic_similarity"]["models"].keys() == {"hash"}
    assert service.get_full_by_run_and_qa("nightly", "q2") is None


def test_a_failed_answer_is_kept_with_its_reason(service):
    made = evaluate(RAGEvalService(lambda _: 3, embedder=HashEmbedder()))
    full = save_and_read(service, made)
    assert full["answer"] is None
    assert full["reasons"]["answer"] == full["reasons"]["bleu"] == made.reason


def test_plain_values_are_kept_as_the_published_insert_has_them(service):
    full = save_and_read(
        service,
        bleu=0.25,
        semantic_similarity=None,
        groundedness=float("nan"),
        groundedness_reasoning="two of three claims",
        answer_relevance_reasoning="to the point",
        context_relevance_reasoning=None,
        answer="Paris",
        question="Capital?",
        reference="Paris",
        contexts=["p"],
    )
    assert (full["bleu"], full["semantic_similarity"], full["groundedness"]) == (0.25, None, None)
    assert full["groundedness_reasoning"] == "two of three claims"
    assert full["answer_relevance_reasoning"] == "to the point"
    assert full["context_relevance_reasoning"] is None
    assert (full["answer"], full["question"], full["contexts"]) == ("Paris", "Capital?", ["p"])
    assert full["reasons"] == {
        "semantic_similarity": "no value was given",
        "groundedness": "the value is nan",
        "answer_relevance": "no value was given",
    }


def test_values_beside_an_evaluation_go_before_it(service):
    made = evaluate(RAGEvalService(embedder=HashEmbedder()), answer=PARIS[1])
    full = save_and_read(service, made, bleu=0.125, bleu_reasoning="by hand", answer="Lyon", reference="Nice")
    assert (full["bleu"], full["bleu_reasoning"], full["rouge_l"] > 0) == (0.125, "by hand", True)
    assert (full["answer"], full["reference"], full["question"]) == ("Lyon", "Nice", "Capital of France?")


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"bleeu": 0.5}, UnknownNameError, "Did you mean 'bleu'"),
        ({"bleu": "0.5"}, UsageError, "`bleu` must be a number or None, not str"),
        ({"bleu": True}, UsageError, "`bleu` must be a number or None, not bool"),
        ({"groundedness_reasoning": 3}, UsageError, "groundedness_reasoning` must be a text"),
        ({"answer": 3}, UsageError, "`answer` must be a text"),
    ],
)
def test_values_that_are_none_leave_nothing(service, values, error, words):
    with pytest.raises(error, match=words):
        save_and_read(service, **values)
    assert service.get_by_test_run_id("nightly") == []


def test_ids_are_texts(service):
    for ids, name in (((1, "q"), "test_run_id"), (("r", 1), "qa_pair_id")):
        with pytest.raises(UsageError, match=f"`{name}` must be a text, not int"):
            service.save_evaluation_to_db(*ids, answer="a")
        with pytest.raises(UsageError, match=f"`{name}` must be a text, not int"):
            service.get_full_by_run_and_qa(*ids)
    for asked in (service.get_by_test_run_id, service.finish_run):
        with pytest.raises(UsageError, match="test_run_id"):
            asked(1)


class Away(HashEmbedder):
    """A model that gives no vectors for some texts."""

    def embed(self, texts):
        if any("away" in text for text in texts):
            raise RejectedKeyError
        return super().embed(texts)


@pytest.mark.parametrize("answers", [("Lyon", "away", "Nice"), ("away", "Lyon"), ("away", "away again")])
def test_a_model_that_fails_for_a_while_leaves_the_run_as_it_is(service, monkeypatch, answers):
    open_model = RAGEvalService._open_model
    models = {"small": OwnModel(Away(name="small"))}
    monkeypatch.setattr(
        RAGEvalService, "_open_model", lambda self, name: models.get(name) or open_model(self, name)
    )
    both = ["semantic_similarity", 'semantic_similarity(models=["hash", "small"])']
    service_with_both = RAGEvalService(embedder=HashEmbedder(), metrics=both)
    for answer in answers:
        made = evaluate(service_with_both, answer=answer)
        assert made.embedders == (HashEmbedder().fingerprint, models["small"].fingerprint)
        assert made.left_out.keys() == ({"small"} if "away" in answer else set())
        assert made.scores[both[1]].status is Status.OK
        service.save_evaluation_to_db("nightly", answer, made)
    summary = service.finish_run("nightly")
    assert summary.left_out == {"small": sum("away" in answer for answer in answers)}
    assert (summary.rows, PRIVATE in str(summary)) == (len(answers), False)


def test_a_model_that_could_not_be_opened_at_first_is_taken_later(service, database_url, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    made = [evaluate(RAGEvalService(embedder=model), answer="Lyon") for model in (tmp_path, HashEmbedder())]
    for n, one in enumerate(made + made[:1]):
        service.save_evaluation_to_db("nightly", str(n), one)
    summary = service.finish_run("nightly")
    assert sum(summary.left_out.values()) == 2
    fingerprint = HashEmbedder().fingerprint
    assert f"emb:{fingerprint}|" in summary.signature
    with open_database(database_url) as database:
        scored = read_run(database, find_run(database, "nightly"))
    assert scored.metrics["semantic_similarity"].provenance.models == (fingerprint,)


def test_a_finished_run_has_means_over_its_rows(service, database_url):
    for n, value in enumerate((0.25, 0.75, None)):
        service.save_evaluation_to_db("nightly", str(n), question="Who?", bleu=value)
    summary = service.finish_run("nightly")
    assert (summary.rows, summary.questions, summary.metrics[0].mean, summary.metrics[0].ok) == (3, 1, 0.5, 2)
    with open_database(database_url) as database:
        record = find_run(database, "nightly")
    assert record.finished
    assert Summary.from_dict(record.summary) == summary
    with pytest.raises(UnknownNameError):
        service.finish_run("weekly")


def test_closed_it_opens_anew(service, tmp_path):
    service.save_evaluation_to_db("nightly", "q1", answer="a")
    asyncio.run(service.aclose())
    service.close()
    assert len(service.get_by_test_run_id("nightly")) == 1
    cached = RAGEvalService(cache=tmp_path / "v.db")
    first = similarity(cached, *PARIS)
    assert (tmp_path / "v.db").exists()
    assert similarity(cached, *PARIS) == first


def test_cancelling_an_evaluation_leaves_the_service_usable():
    class Slow(Client):
        async def embed_texts(self, texts):
            if not self.requests:
                self.requests.append(texts)
                await asyncio.sleep(60)
            return self.result

    async def work():
        service = RAGEvalService(embedder=Slow())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(service.calculate_semantic_similarity("a", "b"), 0.2)
        return await service.calculate_semantic_similarity("a", "b")

    assert asyncio.run(work()) == pytest.approx(0.96, abs=1e-6)


HOSTILE = st.text(st.characters(codec=None), max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(question=HOSTILE, reference=HOSTILE, answer=HOSTILE, run=st.sampled_from(["a", "b"]))
def test_any_text_is_evaluated_and_kept(service, caplog, question, reference, answer, run):
    caplog.set_level(logging.CRITICAL, "sgi.service")

    async def work():
        return await service.generate_and_evaluate(question, reference, answer=answer)

    made = asyncio.run(work())
    assert made == asyncio.run(work())
    for score in made.scores.values():
        assert (score.value is None) == (score.status is not Status.OK) == bool(score.reason)
    service.save_evaluation_to_db(run, question, made)
    full = service.get_full_by_run_and_qa(run, question)
    assert (full["question"], full["reference"], full["answer"]) == (question, reference, answer)
    assert {name: full[name] for name in DEFAULT_METRICS} == {n: s.value for n, s in made.scores.items()}
