"""Batches of a scorer that many callers share: joining, limits, isolation, cancellation, closing."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from sgi.engine.evaluate import evaluate
from sgi.kernel.errors import EmbedderError, ScorerBusyError, ScorerClosedError, UsageError
from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.registry import metric
from sgi.kernel.sample import RESPONSE, Sample
from sgi.service import dispatcher as module
from sgi.service.scorer import Scorer
from sgi.testing.fakes import HashEmbedder
from support.scorers import SECONDS, PausedEmbedder, row, wait_until

SIMILARITY, F1, SGI = metric("semantic_similarity"), metric("content_f1"), metric("sgi")


@pytest.fixture
def model():
    model = PausedEmbedder()
    yield model
    model.resume.set()


@pytest.fixture
def threads():
    with ThreadPoolExecutor(64) as pool:
        yield pool


def start_first_batch(scorer, model, threads):
    """Let one row be computed, so that later rows wait."""
    first = threads.submit(scorer.score, row("first"))
    assert model.started.wait(SECONDS)
    return first


def test_tasks_of_several_event_loops_and_threads_share_batches(model, threads):
    async def score_all(scorer, numbers):
        return await asyncio.gather(*(scorer.ascore(row(n)) for n in numbers))

    with Scorer([SIMILARITY, F1], model) as scorer:
        start_first_batch(scorer, model, threads)
        loops = [
            threads.submit(asyncio.run, score_all(scorer, range(start, start + 10))) for start in (0, 10, 20)
        ]
        wait_until(lambda: scorer.waiting == 30)
        model.resume.set()
        scored = [scores for loop in loops for scores in loop.result()]
        assert dict(scorer.batch_sizes) == {1: 1, 30: 1}
    expected = evaluate([row(n) for n in range(30)], [SIMILARITY, F1], HashEmbedder(16), cache=False)
    for name in ("semantic_similarity", "content_f1"):
        assert [scores[name].value for scores in scored] == [
            value if ok else None
            for value, ok in zip(expected[name].values.tolist(), expected[name].ok, strict=True)
        ]


def test_a_single_caller_does_not_wait_for_others():
    with Scorer(SIMILARITY, HashEmbedder()) as scorer:
        for number in range(3):
            scorer.score(row(number))
        assert dict(scorer.batch_sizes) == {1: 3}


def test_a_batch_has_at_most_256_rows_and_callers_are_served_in_order(model, threads):
    done = []

    def score(name, rows):
        scorer.score_many([row(f"{name}{n}") for n in range(rows)])
        done.append(name)

    with Scorer(SIMILARITY, model) as scorer:
        first = start_first_batch(scorer, model, threads)
        calls = []
        for count, (name, rows) in enumerate({"a": 100, "b": 200, "c": 56, "d": 1}.items(), 1):
            calls.append(threads.submit(score, name, rows))
            wait_until(lambda count=count: len(scorer._opened._queue) == count)
        model.resume.set()
        for call in (first, *calls):
            call.result()
        assert sorted(scorer.batch_sizes.elements()) == [1, 1, 100, 256]
    assert sorted(done) == ["a", "b", "c", "d"]


def test_many_rows_are_scored_in_order_and_exceed_the_limit_of_waiting_rows():
    rows = [row(n) for n in range(700)]
    with Scorer(SIMILARITY, HashEmbedder(16), max_waiting=1) as scorer:
        scored = scorer.score_many(rows)
        assert dict(scorer.batch_sizes) == {256: 2, 188: 1}
        assert scorer.score_many([]) == []
    expected = evaluate(rows, SIMILARITY, HashEmbedder(16), cache=False)["semantic_similarity"]
    assert [scores["semantic_similarity"].value for scores in scored] == expected.values.tolist()


def test_callers_with_other_metrics_are_scored_with_their_own(model, threads):
    async def score(metrics):
        return [*(await scorer.score_batch([Sample(**row(1))], metrics)).scores]

    choices = [[F1], [SIMILARITY], [F1, SIMILARITY], [F1]]
    with Scorer(SIMILARITY, model) as scorer:
        start_first_batch(scorer, model, threads)
        calls = [threads.submit(asyncio.run, score(metrics)) for metrics in choices]
        wait_until(lambda: scorer.waiting == 4)
        model.resume.set()
        assert [call.result() for call in calls] == [
            [metric.canonical for metric in metrics] for metrics in choices
        ]
        assert dict(scorer.batch_sizes) == {1: 3, 2: 1}


def test_a_cancelled_task_removes_its_rows_and_no_others(model, threads):
    async def cancel_two(scorer):
        computing = asyncio.create_task(scorer.ascore(row("c")))
        await asyncio.to_thread(model.started.wait, SECONDS)
        removed, stays = (asyncio.create_task(scorer.ascore(row(n))) for n in "ab")
        await asyncio.to_thread(wait_until, lambda: scorer.waiting == 2)
        computing.cancel()
        removed.cancel()
        await asyncio.to_thread(wait_until, lambda: scorer.waiting == 1)
        model.resume.set()
        return (await stays)["semantic_similarity"].status, removed.cancelled(), computing.cancelled()

    with Scorer(SIMILARITY, model) as scorer:
        assert asyncio.run(cancel_two(scorer)) == ("ok", True, True)
    assert "answer a" not in model.texts_seen
    assert "answer b" in model.texts_seen


def test_an_interrupted_thread_removes_its_rows(model, threads, monkeypatch):
    class Interrupted(module.Future):
        def result(self, timeout=None):
            raise KeyboardInterrupt

    with Scorer(SIMILARITY, model) as scorer:
        start_first_batch(scorer, model, threads)
        monkeypatch.setattr(module, "Future", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            scorer.score_many([row(n) for n in range(3)])
        wait_until(lambda: all(job.scores.cancelled() for job in scorer._opened._queue))
        model.resume.set()
    assert "answer 0" not in model.texts_seen


@dataclass(frozen=True)
class Fragile(Metric):
    """A metric with a defect that some rows trigger."""

    spec: ClassVar = MetricSpec("fragile", 1, needs=RESPONSE, low=0.0, high=1.0)

    def score(self, batch: Any, vectors: Any, /) -> Scores:
        if "defect" in batch.response:
            raise ZeroDivisionError("a defect")
        return Scores.of(np.ones(len(batch)))


def test_an_exception_is_raised_only_in_the_calls_with_its_rows(model, threads):
    with Scorer([Fragile(), SIMILARITY], model) as scorer:
        start_first_batch(scorer, model, threads)
        failing = [threads.submit(scorer.score, row(n, response="defect")) for n in range(2)]
        sound = [threads.submit(scorer.score, row(n)) for n in range(2)]
        wait_until(lambda: scorer.waiting == 4)
        model.resume.set()
        errors = [call.exception() for call in failing]
        assert [call.result()["fragile"].value for call in sound] == [1.0, 1.0]
        assert scorer.score(row("after"))["fragile"].value == 1.0
    assert [type(error) for error in errors] == [ZeroDivisionError] * 2
    assert errors[0] is not errors[1]
    assert "in metric fragile" in errors[0].__notes__[0]


class FaultyEmbedder(PausedEmbedder):
    """An embedder that fails as a whole on some texts, without saying which, or on all texts."""

    def __init__(self, bad=""):
        super().__init__()
        self.bad, self.requests = bad, []

    def embed(self, texts, /):
        vectors = super().embed(texts)
        self.requests.append(texts)
        if any(self.bad in text for text in texts):
            raise EmbedderError("The model failed.")
        return vectors


@pytest.mark.parametrize("bad", [{5}, {0, 7}, {2, 3, 4}])
def test_a_text_on_which_the_embedder_fails_fails_only_its_caller(threads, bad):
    model = FaultyEmbedder("defect")
    rows = [row(n, response=f"{'defect' if n in bad else 'answer'} {n}") for n in range(8)]
    with Scorer(SIMILARITY, model) as scorer:
        start_first_batch(scorer, model, threads)
        calls = [threads.submit(scorer.score, each) for each in rows]
        wait_until(lambda: scorer.waiting == len(rows))
        model.resume.set()
        scores = [call.result()["semantic_similarity"] for call in calls]
        alone = [scorer.score(each)["semantic_similarity"] for each in rows]
    assert scores == alone
    assert {n for n, score in enumerate(scores) if score.reason == "The model failed."} == bad


def test_a_model_that_fails_on_all_texts_is_not_called_for_each_caller(threads):
    model = FaultyEmbedder()
    with Scorer(SIMILARITY, model) as scorer:
        start_first_batch(scorer, model, threads)
        calls = [threads.submit(scorer.score, row(n)) for n in range(8)]
        wait_until(lambda: scorer.waiting == len(calls))
        model.resume.set()
        assert {call.result()["semantic_similarity"].reason for call in calls} == {"The model failed."}
    assert model.requests[2:] == [["warm"]]  # after the first row, and the other rows together


def test_an_exception_ends_a_call_with_many_rows():
    rows = [row(n, response="defect" if n == 300 else "fine") for n in range(600)]
    with Scorer(Fragile()) as scorer, pytest.raises(ZeroDivisionError):
        scorer.score_many(rows)


def test_rows_beyond_the_limit_are_refused(model, threads):
    with Scorer(SIMILARITY, model, max_waiting=2) as scorer:
        start_first_batch(scorer, model, threads)
        waiting = [threads.submit(scorer.score, row(n)) for n in range(2)]
        wait_until(lambda: scorer.waiting == 2)
        with pytest.raises(ScorerBusyError, match="2 rows are waiting"):
            scorer.score(row(3))
        model.resume.set()
        assert [call.result()["semantic_similarity"].status for call in waiting] == ["ok", "ok"]
        assert scorer.score(row(3))["semantic_similarity"].status == "ok"


def test_closing_finishes_the_current_batch_and_rejects_waiting_rows(model, threads):
    scorer = Scorer(SIMILARITY, model)
    first = start_first_batch(scorer, model, threads)
    waiting = threads.submit(scorer.score, row(1))
    many = threads.submit(scorer.score_many, [row(n) for n in range(2, 5)])
    wait_until(lambda: scorer.waiting == 1 and len(scorer._opened._queue) == 2)
    closing = threads.submit(scorer.close)
    wait_until(lambda: scorer.trouble == "The scorer is closed.")
    with pytest.raises(ScorerClosedError):
        scorer.score(row(5))
    model.resume.set()
    closing.result()
    assert first.result()["semantic_similarity"].status == "ok"
    assert isinstance(waiting.exception(), ScorerClosedError)
    assert isinstance(many.exception(), ScorerClosedError)
    scorer.close()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("faithfulness", "'faithfulness' needs a judge"),
        ('semantic_similarity(models=("other",))', "a model that is not loaded: other"),
    ],
)
def test_metrics_whose_models_are_not_open_are_refused(name, message):
    with Scorer(SIMILARITY, HashEmbedder()) as scorer, pytest.raises(UsageError, match=message):
        asyncio.run(scorer.score_batch([Sample(**row(1))], [metric(name)]))


@pytest.mark.parametrize("rows", [0, 257])
def test_a_batch_has_1_to_256_rows(rows):
    with Scorer(F1) as scorer, pytest.raises(UsageError, match="1 to 256"):
        asyncio.run(scorer.score_batch([Sample(**row(n)) for n in range(rows)]))


def test_the_future_of_warming_is_done_when_the_models_are_ready(model):
    with Scorer(SIMILARITY, model) as scorer:
        ready = scorer.warm()
        assert model.started.wait(SECONDS)
        assert not ready.done()
        model.resume.set()
        ready.result(SECONDS)
        assert scorer.trouble == ""


def test_closing_ends_the_warming_of_models_that_fail():
    model = FaultyEmbedder()
    model.resume.set()
    with Scorer(SIMILARITY, model) as scorer:
        ready = scorer.warm()
        wait_until(lambda: scorer.trouble == "The model failed.")
    assert isinstance(ready.exception(SECONDS), ScorerClosedError)
