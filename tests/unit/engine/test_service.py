from __future__ import annotations

import asyncio
import logging
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgi.engine.embedding_model import EmbeddingModels, OwnModel
from sgi.engine.service import DEFAULT_METRICS, RAGEvalService
from sgi.engine.summary import Summary
from sgi.kernel.errors import EmbedderError, RunMismatch, UnknownName, UsageError
from sgi.kernel.metric import Status
from sgi.store.database import open_database
from sgi.store.evals_record import METRICS
from sgi.store.queries import find_run
from sgi.testing import HashEmbedder

PARIS = ("Paris is the capital of France.", "The capital of France is Paris.")
PRIVATE = "sk-0123456789"
IDS = ("id", "test_run_id", "qa_pair_id")


class Client:
    """An application's embedding client, with what it returns or raises on demand."""

    def __init__(self, result=None):
        self.result = [[3.0, 4.0], [4.0, 3.0]] if result is None else result
        self.asked = []

    def embed_texts(self, texts):
        self.asked.append(texts)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class AsyncClient(Client):
    async def embed_texts(self, texts):
        await asyncio.sleep(0)
        return Client.embed_texts(self, texts)


class Refused(Exception):  # noqa: N818 - named as clients name theirs
    status_code = 401

    def __str__(self):
        return f"Incorrect API key provided: {PRIVATE}"


def evaluate(service, question="Capital of France?", reference=PARIS[0], **options):
    async def work():
        async with service:
            return await service.generate_and_evaluate(question, reference, **options)

    return asyncio.run(work())


def similarity(service, *texts, **options):
    async def work():
        async with service:
            return await service.calculate_semantic_similarity(*texts, **options)

    return asyncio.run(work())


def kept(service, *arguments, **values):
    """What a database holds after one save."""
    service.save_evaluation_to_db("nightly", "q1", *arguments, **values)
    return service.get_full_by_run_and_qa("nightly", "q1")


@pytest.fixture
def service(database_url):
    made = RAGEvalService(database=database_url, embedder=HashEmbedder())
    yield made
    made.close()


def test_importing_and_making_it_loads_nothing_heavy():
    code = "import sys, sgi.engine.service as s; s.RAGEvalService('a:b'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"sqlalchemy", "sqlite3", "onnxruntime", "openai", "httpx2", "tokenizers", "sacrebleu", "pandas"}
    assert heavy.isdisjoint(done.stdout.split())


def test_every_metric_of_an_answer_in_one_call_of_the_embedder():
    client = AsyncClient()
    made = evaluate(
        RAGEvalService(lambda question: {"answer": PARIS[1], "contexts": [question]}, embedder=client)
    )
    assert (made.answer, made.contexts, made.reason) == (PARIS[1], ("Capital of France?",), "")
    assert tuple(made.scores) == DEFAULT_METRICS
    assert made.scores["semantic_similarity"].value == pytest.approx(0.96, abs=1e-6)
    assert made.scores["squad_token_f1"].value == 1.0
    assert [sorted(texts) for texts in client.asked] == [sorted(PARIS)]
    assert made.embedders == ("AsyncClient@own",)
    assert made.seconds > 0


def test_the_record_has_the_published_columns():
    record = evaluate(RAGEvalService(embedder=Client()), answer=PARIS[1]).to_dict()
    said = {f"{name}_reasoning" for name in ("answer_relevance", "context_relevance", "groundedness")}
    assert set(record) == {*METRICS, "answer", *said, "reasons"}
    assert (record["answer"], record["groundedness"], record["reasons"]) == (PARIS[1], None, {})
    assert record["content_f1"] == 1.0


def test_a_given_answer_is_judged_and_nobody_asked():
    asked = []
    made = evaluate(RAGEvalService(asked.append, embedder=Client()), answer="Lyon", contexts="Lyon is large.")
    assert (made.answer, made.contexts, made.seconds, asked) == ("Lyon", ("Lyon is large.",), 0.0, [])


def test_without_target_and_answer_there_is_nothing_to_do():
    with pytest.raises(UsageError, match="no target to ask"):
        evaluate(RAGEvalService())


def test_a_target_that_fails_fails_every_metric_with_its_reason(caplog):
    def broken(question):
        raise KeyError("index")

    client = Client()
    made = evaluate(RAGEvalService(broken, embedder=client))
    assert made.answer is None
    assert {score.status for score in made.scores.values()} == {Status.FAILED}
    assert {score.reason for score in made.scores.values()} == {made.reason}
    assert "broken raised KeyError: 'index'" in made.reason
    assert made.to_dict()["reasons"]["answer"] == made.reason
    assert client.asked == []
    assert [(log.name, log.levelname) for log in caplog.records] == [("sgi.service", "ERROR")]


def test_without_a_reference_what_compares_with_one_is_missing():
    made = evaluate(RAGEvalService(embedder=Client()), reference=None, answer="Lyon")
    assert {score.status for score in made.scores.values()} == {Status.MISSING}


FAULTS = {
    "raises": (Refused(), "Client raised Refused (401)."),
    "ragged": ([[1.0, 2.0], [1.0]], "Client returned vectors of different dimensions: 2 and 1."),
    "zero": ([[0.0, 0.0], [1.0, 0.0]], "Client returned a vector of 2 dimensions without direction"),
    "nan": ([[float("nan"), 1.0], [1.0, 0.0]], "Client returned a vector of 2 dimensions without direction"),
    "infinite": ([[float("inf"), 1.0], [1.0, 0.0]], "without direction"),
    "empty": ([[], []], "Client returned a vector of 0 dimensions without direction"),
    "too few": ([[1.0, 0.0]], "Client returned no vectors of numbers, one for each of 2 texts."),
    "texts": ([["1", "2"], ["3", "4"]], "Client returned no vectors of numbers"),
    "nested": ([[[1.0]], [[1.0]]], "Client returned no vectors of numbers"),
    "nothing": (3, "Client returned no vectors of numbers"),
}


@pytest.mark.parametrize(("result", "words"), FAULTS.values(), ids=FAULTS)
def test_an_embedding_failure_costs_that_score_alone(result, words, caplog):
    made = evaluate(RAGEvalService(embedder=Client(result)), answer=PARIS[1])
    failed = made.scores["semantic_similarity"]
    assert (failed.value, failed.status) == (None, Status.FAILED)
    assert words in failed.reason
    assert (made.embedders, made.left_out) == (("Client@own",), {"Client": failed.reason})
    others = [score for name, score in made.scores.items() if name != "semantic_similarity"]
    assert all(score.status is Status.OK for score in others)
    assert words in caplog.text
    assert PRIVATE not in caplog.text + failed.reason


@pytest.mark.parametrize(("result", "words"), FAULTS.values(), ids=FAULTS)
def test_asked_for_alone_an_embedding_failure_is_raised(result, words):
    with pytest.raises(EmbedderError) as caught:
        similarity(RAGEvalService(), *PARIS, Client(result))
    assert words in str(caught.value)
    assert PRIVATE not in str(caught.value)
    assert isinstance(caught.value, ValueError) is (not isinstance(result, Exception))


def test_a_model_of_ours_that_returns_nothing_usable_is_a_value_error_too():
    class Zero(HashEmbedder):
        def embed(self, texts):
            return super().embed(texts) * 0

    with pytest.raises(ValueError, match="without direction"):
        similarity(RAGEvalService(embedder=Zero()), *PARIS)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_both_texts_go_into_one_call(kind):
    client = kind()
    found = similarity(RAGEvalService(), reference_answer="a", generated_answer="b", embedding_model=client)
    assert found == pytest.approx(0.96, abs=1e-6)
    assert client.asked == [["a", "b"]]


def test_opposite_vectors_count_as_0_and_equal_ones_as_1():
    assert similarity(RAGEvalService(), "a", "b", Client([[1.0, 0.0], [-1.0, 0.0]])) == 0.0
    assert similarity(RAGEvalService(embedder=HashEmbedder()), "a", "a") == 1.0
    huge = Client([[3e300, 4e300], [4e300, 3e300]])
    assert similarity(RAGEvalService(), "a", "b", huge) == pytest.approx(0.96, abs=1e-6)


@pytest.mark.parametrize("texts", [("", "b"), ("a", " \n"), ("", "")])
def test_a_blank_text_is_0_with_a_warning_and_nothing_is_embedded(texts, caplog):
    client = Client()
    assert similarity(RAGEvalService(), *texts, client) == 0.0
    made = evaluate(RAGEvalService(embedder=client), reference=texts[0], answer=texts[1])
    assert made.scores["semantic_similarity"].value == 0.0
    assert client.asked == []
    assert [log.levelname for log in caplog.records] == ["WARNING", "WARNING"]
    assert "is blank" in caplog.text


def test_the_real_model_finds_the_paris_sentences_alike_both_ways():
    alone = similarity(RAGEvalService(), *PARIS)
    assert alone == pytest.approx(0.9894, abs=5e-4)
    made = evaluate(RAGEvalService(embedder="minilm"), answer=PARIS[1])
    assert made.scores["semantic_similarity"].value == alone
    assert similarity(RAGEvalService(), PARIS[0], "The stock market fell sharply on Tuesday.") < 0.2


def test_a_metric_may_name_a_further_model():
    metrics = ["semantic_similarity", 'semantic_similarity(models=["minilm"])']
    made = evaluate(RAGEvalService(embedder=HashEmbedder(), metrics=metrics), answer=PARIS[1])
    assert made.scores[metrics[1]].value == pytest.approx(0.9894, abs=5e-4)
    assert len(made.embedders) == 2


def test_a_model_whose_files_are_not_there_is_a_failure_an_unknown_one_a_mistake(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    made = evaluate(RAGEvalService(embedder=tmp_path), answer="Lyon")
    assert made.scores["semantic_similarity"].status is Status.FAILED
    with pytest.raises(UnknownName, match="Unknown model"):
        evaluate(RAGEvalService(embedder="minilmm"), answer="Lyon")


def test_what_the_model_cut_is_told_and_kept(service):
    made = evaluate(RAGEvalService(embedder="minilm"), answer="Paris " * 400)
    assert made.truncated == ("response",)
    service.save_evaluation_to_db("nightly", "q1", made)
    assert service.finish_run("nightly").truncated == {"response": 1}


@pytest.mark.parametrize(
    "wrong", [{"question": 3}, {"reference": b"x"}, {"answer": 1}, {"contexts": ["a", 2]}]
)
def test_arguments_of_the_wrong_type_are_named(wrong):
    given_ = {"question": "Who?", "reference": "a", "answer": "b"} | wrong
    with pytest.raises(UsageError, match=f"{next(iter(wrong))} is a text, not"):
        evaluate(RAGEvalService(embedder=Client()), **given_)


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
    full = kept(service, made)
    assert full["answer"] is None
    assert full["reasons"]["answer"] == full["reasons"]["bleu"] == made.reason


def test_plain_values_are_kept_as_the_published_insert_has_them(service):
    full = kept(
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
        "groundedness": "the value given is nan, which is no score",
        "answer_relevance": "no value was given",
    }


def test_values_beside_an_evaluation_go_before_it(service):
    made = evaluate(RAGEvalService(embedder=HashEmbedder()), answer=PARIS[1])
    full = kept(service, made, bleu=0.125, bleu_reasoning="by hand", answer="Lyon", reference="Nice")
    assert (full["bleu"], full["bleu_reasoning"], full["rouge_l"] > 0) == (0.125, "by hand", True)
    assert (full["answer"], full["reference"], full["question"]) == ("Lyon", "Nice", "Capital of France?")


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"bleeu": 0.5}, UnknownName, "Did you mean 'bleu'"),
        ({"bleu": "0.5"}, UsageError, "bleu is a number or None, not str"),
        ({"bleu": True}, UsageError, "bleu is a number or None, not bool"),
        ({"groundedness_reasoning": 3}, UsageError, "groundedness_reasoning is a text"),
        ({"answer": 3}, UsageError, "answer is a text"),
    ],
)
def test_values_that_are_none_leave_nothing(service, values, error, words):
    with pytest.raises(error, match=words):
        kept(service, **values)
    assert service.get_by_test_run_id("nightly") == []


def test_ids_are_texts(service):
    for ids, name in (((1, "q"), "test_run_id"), (("r", 1), "qa_pair_id")):
        with pytest.raises(UsageError, match=f"{name} is a text, not int"):
            service.save_evaluation_to_db(*ids, answer="a")
        with pytest.raises(UsageError, match=f"{name} is a text, not int"):
            service.get_full_by_run_and_qa(*ids)
    for asked in (service.get_by_test_run_id, service.finish_run):
        with pytest.raises(UsageError, match="test_run_id is a text, not int"):
            asked(1)


def test_one_run_has_one_embedding_model(service):
    for name in ("small", "large"):
        other = RAGEvalService(embedder=HashEmbedder(name=name))
        made = evaluate(other, answer="Lyon")
        if name == "small":
            service.save_evaluation_to_db("nightly", "q1", made)
            continue
        with pytest.raises(RunMismatch, match="was made with small@1"):
            service.save_evaluation_to_db("nightly", "q2", made)


class Away(HashEmbedder):
    """A model that gives no vectors for some texts."""

    def embed(self, texts):
        if any("away" in text for text in texts):
            raise Refused
        return super().embed(texts)


@pytest.mark.parametrize("answers", [("Lyon", "away", "Nice"), ("away", "Lyon"), ("away", "away again")])
def test_a_model_that_fails_for_a_while_leaves_the_run_as_it_is(service, monkeypatch, answers):
    named = EmbeddingModels.open
    models = {"small": OwnModel(Away(name="small"))}
    monkeypatch.setattr(EmbeddingModels, "open", lambda self, name: models.get(name) or named(self, name))
    both = ["semantic_similarity", 'semantic_similarity(models=["hash", "small"])']
    asked = RAGEvalService(embedder=HashEmbedder(), metrics=both)
    for answer in answers:
        made = evaluate(asked, answer=answer)
        assert made.embedders == (HashEmbedder().fingerprint, models["small"].fingerprint)
        assert made.left_out.keys() == ({"small"} if "away" in answer else set())
        assert made.scores[both[1]].status is Status.OK
        service.save_evaluation_to_db("nightly", answer, made)
    summary = service.finish_run("nightly")
    assert summary.left_out == {"small": sum("away" in answer for answer in answers)}
    assert (summary.rows, PRIVATE in str(summary)) == (len(answers), False)


def test_a_model_that_could_not_be_opened_at_first_is_taken_later(service, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    made = [evaluate(RAGEvalService(embedder=model), answer="Lyon") for model in (tmp_path, HashEmbedder())]
    for n, one in enumerate(made + made[:1]):
        service.save_evaluation_to_db("nightly", str(n), one)
    summary = service.finish_run("nightly")
    assert sum(summary.left_out.values()) == 2
    assert f"emb:{HashEmbedder().fingerprint}|" in summary.signature


@pytest.mark.parametrize("first", [None, float("nan")])
def test_no_value_at_first_leaves_room_for_a_computed_one(service, first):
    service.save_evaluation_to_db("nightly", "q1", bleu=first)
    service.save_evaluation_to_db(
        "nightly", "q2", evaluate(RAGEvalService(embedder=HashEmbedder()), answer="Lyon")
    )
    service.save_evaluation_to_db("nightly", "q3", bleu=first)
    with pytest.raises(RunMismatch, match="this one was given"):
        service.save_evaluation_to_db("nightly", "q4", bleu=0.5)
    summary = service.finish_run("nightly")
    assert (summary.metrics[0].metric, summary.metrics[0].ok, summary.metrics[0].is_share) == (
        "bleu",
        1,
        True,
    )


def test_a_finished_run_has_means_over_its_rows(service, database_url):
    for n, value in enumerate((0.25, 0.75, None)):
        service.save_evaluation_to_db("nightly", str(n), question="Who?", bleu=value)
    summary = service.finish_run("nightly")
    assert (summary.rows, summary.questions, summary.metrics[0].mean, summary.metrics[0].ok) == (3, 1, 0.5, 2)
    with open_database(database_url) as database:
        record = find_run(database, "nightly")
    assert record.finished
    assert Summary.from_dict(record.summary) == summary
    with pytest.raises(UnknownName):
        service.finish_run("weekly")


def test_tasks_evaluate_and_save_at_once(service):
    async def one(n):
        made = await service.generate_and_evaluate(f"Who? {n}", "Austen", answer=f"Jane Austen {n}")
        await asyncio.to_thread(service.save_evaluation_to_db, "nightly", str(n), made)

    async def work():
        await asyncio.gather(*(one(n) for n in range(30)))

    asyncio.run(work())
    records = service.get_by_test_run_id("nightly")
    assert sorted(record["qa_pair_id"] for record in records) == sorted(map(str, range(30)))
    assert len({record["id"] for record in records}) == 30


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
            if not self.asked:
                self.asked.append(texts)
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
