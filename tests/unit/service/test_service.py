import subprocess
import sys

import pytest

from sgi.engine.open_resources import load_embedder
from sgi.kernel.errors import EmbedderError, UnknownNameError, UsageError
from sgi.kernel.metric import Status
from sgi.service.service import DEFAULT_METRICS, RAGEvalService
from sgi.store.evals_table import METRICS
from sgi.testing import HashEmbedder
from support.embedding_server import DIMENSION, EmbeddingServer, Fault, remote
from support.service_clients import (
    PARIS,
    PRIVATE,
    AsyncClient,
    Client,
    RejectedKeyError,
    evaluate,
    similarity,
)


def test_importing_and_making_it_loads_nothing_heavy():
    code = "import sys, sgi.service.service as s; s.RAGEvalService('a:b'); print(*sys.modules)"
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
    assert [sorted(texts) for texts in client.requests] == [sorted(PARIS)]
    assert made.embedders == ("AsyncClient@own",)
    assert made.seconds > 0


def test_the_record_has_the_published_columns():
    record = evaluate(RAGEvalService(embedder=Client()), answer=PARIS[1]).to_dict()
    said = {f"{name}_reasoning" for name in ("answer_relevance", "context_relevance", "groundedness")}
    assert set(record) == {*METRICS, "answer", *said, "reasons"}
    assert (record["answer"], record["groundedness"], record["reasons"]) == (PARIS[1], None, {})
    assert record["content_f1"] == 1.0


def test_a_given_answer_is_judged_and_nobody_asked():
    questions = []
    made = evaluate(
        RAGEvalService(questions.append, embedder=Client()), answer="Lyon", contexts="Lyon is large."
    )
    assert (made.answer, made.contexts, made.seconds, questions) == ("Lyon", ("Lyon is large.",), 0.0, [])


def test_without_target_and_answer_there_is_nothing_to_do():
    with pytest.raises(UsageError):
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
    assert client.requests == []
    assert [(log.name, log.levelname) for log in caplog.records] == [("sgi.service", "ERROR")]


def test_without_a_reference_what_compares_with_one_is_missing():
    made = evaluate(RAGEvalService(embedder=Client()), reference=None, answer="Lyon")
    assert {score.status for score in made.scores.values()} == {Status.MISSING}


FAULTS = {
    "raises": (RejectedKeyError(), "Client raised RejectedKeyError (401)."),
    "ragged": ([[1.0, 2.0], [1.0]], "Client returned vectors of different dimensions: 2 and 1."),
    "zero": ([[0.0, 0.0], [1.0, 0.0]], "Client returned a vector of 2 dimensions without direction"),
    "too few": ([[1.0, 0.0]], "Client did not return one vector of numbers for each of 2 texts."),
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


def test_a_remote_service_of_two_dimensions_is_a_value_error_with_both():
    def shorten(payload):
        payload["data"][1]["embedding"] = [1.0, 2.0]
        return payload

    with EmbeddingServer([Fault(change=shorten)]) as server:
        service = RAGEvalService(embedder=remote(server), cache=False)
        with pytest.raises(ValueError, match=f"dimensions: {DIMENSION} and 2"):
            similarity(service, *PARIS)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_both_texts_go_into_one_call(kind):
    client = kind()
    found = similarity(RAGEvalService(), reference_answer="a", generated_answer="b", embedding_model=client)
    assert found == pytest.approx(0.96, abs=1e-6)
    assert client.requests == [["a", "b"]]


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
    assert client.requests == []
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
    with pytest.raises(UnknownNameError, match="Unknown model"):
        evaluate(RAGEvalService(embedder="minilmm"), answer="Lyon")


def test_what_the_model_cut_is_told_and_kept(service):
    embedder = load_embedder("minilm", long_texts="truncate")
    made = evaluate(RAGEvalService(embedder=embedder), answer="Paris " * 400)
    assert made.truncated == ("response",)
    service.save_evaluation_to_db("nightly", "q1", made)
    assert service.finish_run("nightly").truncated == {"response": 1}


@pytest.mark.parametrize(
    "wrong", [{"question": 3}, {"reference": b"x"}, {"answer": 1}, {"contexts": ["a", 2]}]
)
def test_arguments_of_the_wrong_type_are_named(wrong):
    given_ = {"question": "Who?", "reference": "a", "answer": "b"} | wrong
    with pytest.raises(UsageError, match=f"`{next(iter(wrong))}` must be a text, not"):
        evaluate(RAGEvalService(embedder=Client()), **given_)
