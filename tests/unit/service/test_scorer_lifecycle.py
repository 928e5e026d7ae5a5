"""Threads, files and models of a scorer: opened, warmed and closed."""

import asyncio
import gc
import threading
from pathlib import Path

import pytest

from sgi.kernel.errors import EmbedderError, UsageError
from sgi.kernel.registry import metric
from sgi.service import dispatcher as module
from sgi.service.scorer import Scorer
from sgi.testing.fakes import HashEmbedder
from support.scorers import SECONDS, row, wait_until

SIMILARITY, F1 = metric("semantic_similarity"), metric("content_f1")
DESCRIPTORS = Path("/proc/self/fd")


def scorer_threads():
    return [thread for thread in threading.enumerate() if thread.name == "sgi.Scorer"]


def test_a_scorer_that_is_not_closed_ends_with_its_last_reference():
    scorer = Scorer(SIMILARITY, HashEmbedder())
    scorer.score(row(1))
    (thread,) = scorer_threads()
    del scorer
    gc.collect()
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_a_closed_scorer_leaves_no_thread():
    before = threading.active_count()
    with Scorer(SIMILARITY, HashEmbedder()) as scorer:
        scorer.score(row(1))
    wait_until(lambda: threading.active_count() <= before)
    assert scorer_threads() == []


def test_a_scorer_that_cannot_open_leaves_no_thread():
    with (
        pytest.raises(UsageError, match="hash"),
        Scorer(SIMILARITY, [HashEmbedder(), HashEmbedder()]),
    ):
        pass
    wait_until(lambda: scorer_threads() == [])


def test_a_model_that_fails_gives_a_reason():
    class Down(HashEmbedder):
        def embed(self, texts, /):
            raise EmbedderError("The service is down.")

    with Scorer([SIMILARITY, F1], Down()) as scorer:
        scorer.warm()
        wait_until(lambda: scorer.trouble == "The service is down.")
        scores = scorer.score(row(1))
    assert (scores["semantic_similarity"].status, scores["semantic_similarity"].reason) == (
        "failed",
        "The service is down.",
    )
    assert scores["content_f1"].status == "ok"


def test_warming_is_repeated_until_it_succeeds(monkeypatch):
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)
    failures = [EmbedderError("Not yet."), EmbedderError("Not yet.")]

    class Slow(HashEmbedder):
        def embed(self, texts, /):
            if failures:
                raise failures.pop()
            return super().embed(texts)

    model = Slow()
    with Scorer(SIMILARITY, model) as scorer:
        assert scorer.trouble == "The models are being opened."
        scorer.warm()
        wait_until(lambda: not scorer.trouble)
    assert model.texts_seen == ["warm"]


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="there is no /proc here")
def test_many_calls_open_no_more_files_and_threads():
    def score_all(scorer):
        for number in range(100):
            scorer.score(row(number))
        scorer.score_many([row(number) for number in range(300)])
        asyncio.run(scorer.ascore(row(0)))
        return len(list(DESCRIPTORS.iterdir())), threading.active_count()

    with Scorer([SIMILARITY, F1], HashEmbedder()) as scorer:
        assert score_all(scorer) == score_all(scorer)
        assert scorer._opened._calls == set()


@pytest.mark.slow
@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="there is no /proc here")
def test_scorers_that_were_closed_leave_no_files_open():
    def use():
        with Scorer(SIMILARITY, HashEmbedder()) as scorer:
            scorer.score(row(1))
        gc.collect()
        return len(list(DESCRIPTORS.iterdir()))

    use()
    assert use() == use()
