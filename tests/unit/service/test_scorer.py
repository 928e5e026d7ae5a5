from __future__ import annotations

import asyncio
from dataclasses import dataclass
from threading import Event
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import numpy as np
import pytest

from sgi.engine.evaluate import aevaluate
from sgi.kernel.errors import EmbedderError, UnknownNameError, UsageError
from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.registry import metric
from sgi.kernel.sample import RESPONSE, Sample
from sgi.service import scorer as module
from sgi.service.scorer import (
    MAX_TEXTS,
    ScorerBusyError,
    ScorerClosedError,
    allowed_metrics,
    open_scorer,
)
from sgi.testing.fakes import HashEmbedder

SIMILARITY, F1, SGI = metric("semantic_similarity"), metric("content_f1"), metric("sgi")


class Held(HashEmbedder):
    """An embedder that waits, after its warm-up, until it is let go."""

    def __init__(self):
        super().__init__(dimension=16)
        self.begun, self.go = Event(), Event()

    def embed(self, texts, /):
        if list(texts) != ["warm"]:
            self.begun.set()
            assert self.go.wait(10)
        return super().embed(texts)


def row(number, **fields):
    given = {"response": f"answer {number}", "reference": f"truth {number}"} | fields
    return Sample(id=str(number), **given)


def run(work, *args):
    async def bounded():
        with anyio.fail_after(20):
            return await work(*args)

    return anyio.run(bounded)


async def until(true):
    while not true():  # noqa: ASYNC110 - what is waited for has no event
        await anyio.sleep(0.002)


async def held_first_batch(scorer, model, tasks):
    """One row is being computed, so that whatever comes now has to wait."""
    await until(lambda: not scorer.trouble)
    model.calls = 0
    first = tasks.create_task(scorer.score([row("first")], [SIMILARITY]))
    await until(model.begun.is_set)
    return first


def test_scores_are_those_of_evaluate_in_the_order_of_the_rows():
    rows = [
        row(number, question="Which?", contexts=(f"passage {number}. And more.",)) for number in range(40)
    ]
    wanted = [SGI, F1]

    async def work():
        async with open_scorer([HashEmbedder()]) as scorer:
            made = await scorer.score(rows, wanted)
            return made, scorer.signature(wanted, len(rows)), dict(scorer.batch_sizes)

    made, signature, sizes = run(work)
    expected = run(lambda: aevaluate(rows, wanted, HashEmbedder(), cache=False))
    assert [*made] == ["sgi", "content_f1"]
    for name, scores in made.items():
        assert scores.values.tobytes() == expected[name].values.tobytes()
        assert scores.details == expected[name].details
    assert signature == expected.signature
    assert sizes == {40: 1}


def test_callers_that_come_while_a_batch_is_computed_are_the_next_batch():
    model = Held()

    async def work():
        async with open_scorer([model]) as scorer, asyncio.TaskGroup() as tasks:
            await held_first_batch(scorer, model, tasks)
            others = [tasks.create_task(scorer.score([row(n)], [SIMILARITY])) for n in range(20)]
            await until(lambda: scorer.waiting == 20)
            model.go.set()
            return [(await task)["semantic_similarity"].values[0] for task in others], dict(
                scorer.batch_sizes
            )

    values, sizes = run(work)
    assert sizes == {1: 1, 20: 1}
    assert model.calls == 2
    alone = run(lambda: aevaluate([row(n) for n in range(20)], [SIMILARITY], HashEmbedder(16), cache=False))
    assert values == alone["semantic_similarity"].values.tolist()


def test_nobody_waits_for_others_to_come():
    model = HashEmbedder()

    async def work():
        async with open_scorer([model]) as scorer:
            for number in range(3):
                await scorer.score([row(number)], [SIMILARITY])
            return dict(scorer.batch_sizes)

    assert run(work) == {1: 3}


def test_a_batch_holds_at_most_256_rows_and_callers_keep_their_turns():
    model = Held()

    async def work():
        async with open_scorer([model]) as scorer, asyncio.TaskGroup() as tasks:
            await held_first_batch(scorer, model, tasks)
            ends = []

            async def caller(name, rows):
                await scorer.score([row(f"{name}{n}") for n in range(rows)], [F1])
                ends.append(name)

            for name, rows in {"a": 100, "b": 200, "c": 56, "d": 1}.items():
                tasks.create_task(caller(name, rows))
                await until(lambda name=name: scorer._queue and scorer._queue[-1].samples[0].id == f"{name}0")
            model.go.set()
            await until(lambda: len(ends) == 4)
            return ends, sorted(scorer.batch_sizes.elements())

    assert run(work) == (["a", "b", "c", "d"], [1, 1, 100, 256])


def test_callers_with_other_metrics_are_scored_in_one_turn_each_with_their_own():
    model = Held()

    async def work():
        async with open_scorer([model]) as scorer, asyncio.TaskGroup() as tasks:
            await held_first_batch(scorer, model, tasks)
            wanted = [[F1], [SIMILARITY], [F1, SIMILARITY], [F1]]
            others = [tasks.create_task(scorer.score([row(n)], some)) for n, some in enumerate(wanted)]
            await until(lambda: scorer.waiting == 4)
            model.go.set()
            return [[*(await task)] for task in others], dict(scorer.batch_sizes)

    names, sizes = run(work)
    assert names == [
        ["content_f1"],
        ["semantic_similarity"],
        ["content_f1", "semantic_similarity"],
        ["content_f1"],
    ]
    assert sizes == {1: 3, 2: 1}


def test_a_caller_that_goes_away_takes_its_rows_along_and_disturbs_nobody():
    model = Held()

    async def work():
        async with open_scorer([model]) as scorer, asyncio.TaskGroup() as tasks:
            first = await held_first_batch(scorer, model, tasks)
            gone, stays = (tasks.create_task(scorer.score([row(n)], [SIMILARITY])) for n in "ab")
            await until(lambda: scorer.waiting == 2)
            first.cancel()  # its row is being computed
            gone.cancel()
            await until(lambda: scorer.waiting == 1)
            model.go.set()
            made = await stays
            return gone.cancelled(), made["semantic_similarity"].ok.tolist(), model.texts_seen

    gone, ok, texts = run(work)
    assert (gone, ok) == (True, [True])
    assert "answer a" not in texts
    assert "answer b" in texts


@dataclass(frozen=True)
class Fragile(Metric):
    """A metric with a bug that some rows meet."""

    spec: ClassVar = MetricSpec("fragile", 1, needs=RESPONSE, low=0.0, high=1.0)

    def score(self, batch: Any, vectors: Any, /) -> Scores:
        if "bug" in batch.response:
            raise ZeroDivisionError("a bug")
        return Scores.of(np.ones(len(batch)))


def test_a_bug_is_raised_to_those_whose_rows_meet_it_and_to_nobody_else():
    model = Held()

    async def work():
        async with open_scorer([model]) as scorer, asyncio.TaskGroup() as tasks:
            await held_first_batch(scorer, model, tasks)
            bugged = [
                tasks.create_task(told(scorer.score([row(n, response="bug")], [Fragile()]))) for n in range(2)
            ]
            sound = [tasks.create_task(told(scorer.score([row(n)], [Fragile()]))) for n in range(2)]
            await until(lambda: scorer.waiting == 4)
            model.go.set()
            found = [await task for task in (*bugged, *sound)]
            found.append(await told(scorer.score([row("after")], [Fragile()])))
            return found

    first, second, *rest = run(work)
    assert isinstance(first, ZeroDivisionError)
    assert isinstance(second, ZeroDivisionError)
    assert first is not second
    assert "in metric fragile" in first.__notes__[0]
    assert [made["fragile"].values.tolist() for made in rest] == [[1.0]] * 3


async def told(work):
    try:
        return await work
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the test looks at
        return error


def test_a_model_without_vectors_fails_rows_with_a_reason():
    class Down(HashEmbedder):
        def embed(self, texts, /):
            raise EmbedderError("The service is down.")

    async def work():
        async with open_scorer([Down()]) as scorer:
            await until(lambda: "down" in scorer.trouble)
            return await scorer.score([row(1)], [SIMILARITY, F1]), scorer.trouble

    made, trouble = run(work)
    assert made["semantic_similarity"].status.tolist() == ["failed"]
    assert made["semantic_similarity"].reasons == ("The service is down.",)
    assert made["content_f1"].ok.all()
    assert trouble == "The service is down."


def test_the_models_are_warmed_and_until_then_there_is_trouble(monkeypatch):
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.01)

    class Slow(HashEmbedder):
        fails = 2

        def embed(self, texts, /):
            if self.fails:
                self.fails -= 1
                raise EmbedderError("Not yet.")
            return super().embed(texts)

    model, troubles = Slow(), set()

    async def work():
        async with open_scorer([model]) as scorer:
            while scorer.trouble:
                troubles.add(scorer.trouble)
                await anyio.lowlevel.checkpoint()

    run(work)
    assert troubles == {"The models are being opened.", "Not yet."}
    assert model.texts_seen == ["warm"]


def test_rows_beyond_the_bound_are_refused_and_those_within_are_served():
    model = Held()

    async def work():
        async with open_scorer([model], most_waiting=3) as scorer, asyncio.TaskGroup() as tasks:
            await held_first_batch(scorer, model, tasks)
            served = tasks.create_task(scorer.score([row(1), row(2)], [F1]))
            await until(lambda: scorer.waiting == 2)
            with pytest.raises(ScorerBusyError, match="2 rows are waiting"):
                await scorer.score([row(3), row(4)], [F1])
            model.go.set()
            made = await served
            again = await scorer.score([row(3), row(4)], [F1])
            return len(made["content_f1"]), len(again["content_f1"])

    assert run(work) == (2, 2)


def test_closing_finishes_the_batch_in_hand_and_refuses_what_waits_and_what_comes():
    model = Held()

    async def work():
        async with asyncio.TaskGroup() as tasks:
            async with open_scorer([model]) as scorer:
                first = await held_first_batch(scorer, model, tasks)
                waits = tasks.create_task(told(scorer.score([row(1)], [F1])))
                await until(lambda: scorer.waiting == 1)
                scorer.close()
                with pytest.raises(ScorerClosedError):
                    await scorer.score([row(2)], [F1])
                model.go.set()
            with pytest.raises(ScorerClosedError):
                await scorer.score([row(3)], [F1])
            return await first, await waits, scorer.trouble, scorer.waiting

    made, refused, trouble, waiting = run(work)
    assert made["semantic_similarity"].ok.all()
    assert isinstance(refused, ScorerClosedError)
    assert (trouble, waiting) == ("The scorer is closed.", 0)


def test_an_error_of_the_user_leaves_the_context_as_it_is():
    async def work():
        async with open_scorer([HashEmbedder()]):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(work)


def test_when_it_is_cancelled_whoever_waits_is_told():
    model = Held()

    async def work():
        async def serve(ready):
            async with open_scorer([model]) as scorer:
                ready.set_result(scorer)
                await anyio.sleep_forever()

        async with asyncio.TaskGroup() as tasks:
            ready = asyncio.get_running_loop().create_future()
            server = tasks.create_task(serve(ready))
            scorer = await ready
            first = await held_first_batch(scorer, model, tasks)
            waits = tasks.create_task(told(scorer.score([row(1)], [SIMILARITY])))
            await until(lambda: scorer.waiting == 1)
            server.cancel()
            await until(lambda: scorer.trouble == "The scorer is closed.")
            model.go.set()
            return await first, await waits

    first, second = run(work)
    assert first["semantic_similarity"].ok.all()
    assert isinstance(second, ScorerClosedError)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("faithfulness", "'faithfulness' needs a judge"),
        ('semantic_similarity(models=("other",))', "a model that is not loaded: other"),
    ],
)
def test_what_it_cannot_compute_is_refused(wanted, message):
    async def work():
        async with open_scorer([HashEmbedder()]) as scorer:
            await scorer.score([row(1)], [metric(wanted)])

    with pytest.raises(UsageError, match=message):
        run(work)


@pytest.mark.parametrize("rows", [0, 257])
def test_a_call_has_1_to_256_rows(rows):
    async def work():
        async with open_scorer([HashEmbedder()]) as scorer:
            await scorer.score([row(n) for n in range(rows)], [F1])

    with pytest.raises(UsageError, match="1 to 256"):
        run(work)


def test_more_texts_than_can_be_embedded_in_good_time_are_refused():
    response = " ".join(f"Sentence {number} is here." for number in range(MAX_TEXTS))
    sample = Sample(id="1", question="Which?", contexts=("one",), response=response)

    async def work():
        async with open_scorer([HashEmbedder(dimension=4)]) as scorer:
            with pytest.raises(UsageError, match="texts to embed"):
                await scorer.score([sample], [SGI])
            return await scorer.score([sample], [metric("sgi(sentences=false)")])

    assert run(work)["sgi(sentences=false)"].ok.all()


def test_many_short_references_are_texts_to_embed_too():
    others = tuple(f"answer {number}" for number in range(100))
    samples = [
        Sample(
            id=str(row), response="r", reference=f"s {row}", alternatives=tuple(f"{row} {t}" for t in others)
        )
        for row in range(60)
    ]

    async def work():
        async with open_scorer([HashEmbedder(dimension=4)]) as scorer:
            with pytest.raises(UsageError, match="6,061 texts to embed"):
                await scorer.score(samples, [metric("semantic_similarity")])
            return await scorer.score(samples, [F1])

    assert run(work)[F1.canonical].ok.all()


def test_no_more_text_is_compared_than_can_be_in_good_time():
    long = "word " * 20_000
    metrics = [metric("content_f1"), metric("squad_token_f1")]

    async def work():
        async with open_scorer([HashEmbedder(dimension=4)]) as scorer:
            with pytest.raises(UsageError, match="character comparisons"):
                await scorer.score([Sample(id="1", response=long, reference=long)], [*metrics, F1])
            await scorer.score([Sample(id="1", response=long, reference="word")], metrics)

    run(work)


def test_a_text_that_came_before_is_not_embedded_again_until_the_memory_is_full():
    model = HashEmbedder(dimension=384)

    async def work():
        async with open_scorer([model], cache_bytes=40_000) as scorer:
            for _ in range(2):
                await scorer.score([row(1)], [SIMILARITY])
            before = len(model.texts_seen)
            for number in range(2, 40):
                await scorer.score([row(number)], [SIMILARITY])
            await scorer.score([row(1)], [SIMILARITY])
            return before

    assert run(work) == 3  # the warm-up, an answer and a truth
    assert model.texts_seen.count("answer 1") == 2
    assert model.texts_seen.count("answer 39") == 1


def test_several_models_stay_open_and_the_first_is_the_primary_one():
    one, two = HashEmbedder(name="one"), HashEmbedder(name="two")

    async def work():
        async with open_scorer([one, two]) as scorer:
            return await scorer.score([row(1, question="q", contexts=("c",))], [SIMILARITY, SGI])

    made = run(work)
    assert set(made["semantic_similarity"].details[0]["models"]) == {"one", "two"}
    assert "c" in one.texts_seen
    assert "c" not in two.texts_seen


def test_models_are_refused_as_everywhere():
    async def work(*embedders):
        async with open_scorer(embedders):
            pass

    with pytest.raises(UsageError, match="Two embedders are called 'hash'"):
        run(work, HashEmbedder(), HashEmbedder())
    with pytest.raises(UnknownNameError, match="minilm"):
        run(work, "minilmm")


def test_the_embedded_model_is_the_default():
    async def work():
        async with open_scorer() as scorer:
            await until(lambda: not scorer.trouble)
            return await scorer.score([row(1)], [SIMILARITY]), scorer.resources.names

    made, names = run(work)
    assert names == ("minilm",)
    assert made["semantic_similarity"].ok.all()


def test_metrics_for_callers_who_name_none():
    answered = Sample(id="1", question="q", contexts=("c",), response="r")
    assert [found.canonical for found in allowed_metrics([answered])] == ["grounding", "sgi"]
    with_truth = row(2)
    assert [found.canonical for found in allowed_metrics([answered, with_truth])] == [
        "grounding",
        "sgi",
        "semantic_similarity",
        "lexical_aggregate",
    ]
    with pytest.raises(UsageError, match="No row has the fields"):
        allowed_metrics([Sample(id="1", question="q")])
