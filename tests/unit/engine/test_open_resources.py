"""The judge of a run: opened where it is wanted, its replies kept, its calls in a file."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import anyio
import pytest

import sgi
from sgi.engine.evaluate import evaluate
from sgi.engine.open_resources import given_options, open_judge, open_models, open_resources
from sgi.engine.run_options import Cassette, RunOptions
from sgi.engine.runner import estimate
from sgi.kernel.errors import JudgeError, StoreError, UnknownNameError, UsageError
from sgi.kernel.protocols import usage_of
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.llm.judge_spec import JudgeSpec
from sgi.models.cached_embedder import CachedEmbedder
from sgi.store.cache import MemoryCache, SqliteCache, replies_path
from sgi.testing.fakes import HashEmbedder
from support.judge_server import JudgeServer, ServerReply
from support.judged_metrics import Echo, RuleJudge

SAMPLE = Sample(id="a", question="Who?", response="Thank you.")
REPLY = json.dumps({"questions": ["When?"]})
METRICS = (Echo(),)


def ask(judge, samples=(SAMPLE,), **more):
    async def work():
        options = given_options({"judge": judge, **more}, source="the test")
        async with open_judge(options) as opened:
            made = [await METRICS[0].ask(sample, opened) for sample in samples]
            return made, usage_of(opened)

    return anyio.run(work)


@pytest.fixture
def server():
    with JudgeServer(replies=ServerReply(REPLY)) as running:
        yield running


def named(server, **more):
    return {"model": f"openai:m@{server.url}", **more}


def test_metrics_that_ask_nothing_open_nothing():
    async def work():
        async with open_resources([metric("squad_em")], RunOptions()) as opened:
            return opened.judge

    assert anyio.run(work) is None


def test_a_judge_of_the_callers_own_is_taken_as_it_is():
    judge = RuleJudge()
    _, usage = ask(judge)
    assert usage.calls == judge.usage.calls == 1


@pytest.mark.parametrize("kind", [dict, JudgeSpec.of])
def test_replies_are_kept_beside_the_vectors(server, tmp_path, kind):
    vectors = tmp_path / "mine.db"
    for calls in (1, 0):
        made, usage = ask(kind(named(server)), cache=vectors)
        assert made[0].questions == ("When?",)
        assert usage.calls == calls
    assert (tmp_path / "mine.replies.db").exists()
    assert len(server.requests) == 1


def test_without_a_cache_nothing_lasts_but_the_same_is_asked_once(server):
    for calls in (1, 2):
        _, usage = ask(named(server), samples=(SAMPLE, SAMPLE), cache=False)
        assert (usage.calls, usage.cached) == (1, 1)
        assert len(server.requests) == calls


def test_a_run_that_was_recorded_is_replayed_without_a_server(server, tmp_path):
    file = tmp_path / "calls.jsonl"
    made, _ = ask(named(server), cache=False, cassette=Cassette(file, replaying=False))
    again, usage = ask(named(server), cache=False, cassette=Cassette(file, replaying=True))
    assert again == made
    assert usage.calls == 0
    assert len(server.requests) == 1


def test_no_judge_is_one_error_before_any_work():
    with pytest.raises(UsageError):
        ask(None)


def test_an_estimate_asks_nobody_and_counts_equal_inquiries_once():
    spec = JudgeSpec.of({"model": "openai:gpt-4o-mini"})
    rows = [
        SAMPLE,
        SAMPLE.model_copy(update={"id": "b"}),
        Sample(id="c", question="Who?", response="Go!"),
        Sample(id="d"),
    ]
    found = anyio.run(partial(estimate, cache=False), rows, (*METRICS, metric("squad_em")), spec)
    assert (found.calls, found.cached) == (2, 1)
    assert found.input_tokens > 2 * 50
    assert 0 < found.cost < 0.001


def test_an_unknown_price_is_no_price():
    spec = JudgeSpec.of("openai:m@http://127.0.0.1:9/v1")
    assert anyio.run(partial(estimate, cache=False), [SAMPLE], METRICS, spec).cost is None


@pytest.mark.parametrize(
    ("vectors", "replies"),
    [("vectors.db", "replies.db"), ("mine.db", "mine.replies.db"), ("plain", "plain.replies")],
)
def test_replies_lie_beside_vectors(vectors, replies):
    assert replies_path(Path("folder") / vectors) == Path("folder") / replies


def test_bad_replies_that_are_kept_are_asked_for_once_more_on_demand(tmp_path):
    replies = [ServerReply("no"), ServerReply("no")]
    with JudgeServer(replies, replies=ServerReply(REPLY)) as server:
        place = {"cache": tmp_path / "vectors.db"}
        for _ in range(2):
            with pytest.raises(JudgeError):
                ask(named(server), **place)
        assert len(server.requests) == 2
        made, _ = ask(named(server), retry_failed=True, **place)
    assert made[0].questions == ("When?",)


class Own(RuleJudge):
    """A judge as a user writes one: it builds the reply, and checks nothing."""

    def __init__(self, reply):
        super().__init__()
        self.reply = reply

    async def ask(self, inquiry, schema, /):
        if inquiry.prompt.name == "claims.extract":
            return schema.model_validate_json('{"claims": ["One.", "Two."]}')
        if not isinstance(self.reply, dict):
            return self.reply
        return schema.model_validate_json(json.dumps(self.reply))


def verdicts(*indices, supported=1):
    return {
        "verdicts": [
            {"index": index, "reason": f"{index}.", "supported": supported, "passage": 1} for index in indices
        ]
    }


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (verdicts(7, 7), "2 verdicts were wanted, one for each entry, and 2 came"),
        (verdicts(1), "2 verdicts were wanted"),
        (verdicts(1, 2, 3), "that were not asked: 3"),
        (verdicts(1, 2, supported=2), "verdicts.0.supported"),
        ("yes", "returned a str"),
        (None, "returned a NoneType"),
    ],
)
def test_the_replies_of_ones_own_judge_are_held_to_what_was_asked(reply, reason):
    rows = [{"response": "One. Two.", "contexts": ["One."]}]
    result = evaluate(rows, ["faithfulness"], judge=Own(reply), max_failures=1.0)
    assert result["faithfulness"].status.tolist() == ["failed"]
    assert reason in result["faithfulness"].reasons[0]


def test_the_verdicts_of_ones_own_judge_are_put_in_order():
    rows = [{"response": "One. Two.", "contexts": ["One."]}]
    reply = verdicts(2, 1)
    reply["verdicts"][0]["supported"] = 0
    result = evaluate(rows, ["faithfulness"], judge=Own(reply))
    (found,) = result.evidence["faithfulness"]
    assert [(claim.claim, claim.supported) for claim in found.claims] == [("One.", 1), ("Two.", 0)]
    assert result["faithfulness"].values.tolist() == [0.5]


def test_something_else_is_no_judge():
    with pytest.raises(UsageError):
        ask(object())


def test_a_result_has_the_evidence_and_the_usage(server, tmp_path):
    rows = [{"question": "Who?", "response": "Thank you."}, {"response": "No question."}]
    result = evaluate(rows, METRICS, HashEmbedder(), judge=named(server), cache=tmp_path / "vectors.db")
    assert result.evidence["echo"][0].questions == ("When?",)
    assert result.evidence["echo"][1] is None
    assert (result.usage.calls, result.usage.cached) == (1, 0)


def test_an_estimate_takes_no_two_texts_for_one():
    rows = [Sample(id=str(n), contexts=("The same.",), response=f"Answer {n}.") for n in range(5)]
    spec = JudgeSpec.of("openai:gpt-4o-mini")
    found = anyio.run(partial(estimate, cache=False), rows, [metric("faithfulness")], spec)
    assert (found.calls, found.cached) == (10, 0)  # claims and verdicts of each, over the same passage


VECTORS = (metric("theta_rq"),)


def options(embedder=None, *, cache=False):
    return given_options({"cache": cache}, embedder, source="the test")


def test_metrics_without_vectors_open_nothing(tmp_path):
    with open_models(
        (metric("squad_em"),), options("no such model", cache=tmp_path / "vectors.db")
    ) as resources:
        assert (resources.names, resources.fingerprints) == ((), ())
    assert list(tmp_path.iterdir()) == []


def test_the_embedded_model_is_the_default(tmp_path):
    with open_models(VECTORS, options(cache=tmp_path / "vectors.db")) as resources:
        assert resources.names == ("minilm",)
        resources.embedders["minilm"].embed(["one", "two", "one"])
    with SqliteCache(tmp_path / "vectors.db") as cache:
        assert cache.stats().entries == 2


def test_an_embedder_of_ones_own_gets_a_memory_and_a_cached_one_keeps_its_own():
    own, cached = HashEmbedder(), CachedEmbedder(HashEmbedder(name="other"), MemoryCache())
    with open_models(VECTORS, options([own, cached])) as resources:
        assert resources.names == ("hash", "other")
        assert resources.embedders["other"] is cached
        for _ in range(2):
            resources.embedders["hash"].embed(["one"])
    assert own.texts_seen == ["one"]


def test_a_model_that_a_metric_names_is_opened_too():
    named = (metric("semantic_similarity(models=['minilm'])"),)
    with open_models(named, options(HashEmbedder())) as resources:
        assert resources.names == ("hash", "minilm")


@pytest.mark.parametrize(
    ("embedders", "error"),
    [
        ("minilmm", UnknownNameError),
        (3, UsageError),
        ([HashEmbedder(), HashEmbedder()], UsageError),
        (["minilm", "minilm"], UsageError),
    ],
)
def test_what_cannot_be_opened_is_refused(embedders, error):
    with pytest.raises(error), open_models(VECTORS, options(embedders)):
        pass


def test_a_cache_that_is_a_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="cannot be used"), open_models(VECTORS, options(cache=tmp_path)):
        pass


def test_load_embedder_is_the_public_door(tmp_path):
    plain, cached = sgi.load_embedder("minilm"), sgi.load_embedder("minilm", cache=tmp_path / "v.db")
    assert plain.fingerprint == cached.fingerprint
    assert (
        plain.embed(["one"]).tobytes() == cached.embed(["one"]).tobytes() == cached.embed(["one"]).tobytes()
    )
    with pytest.raises(UnknownNameError):
        sgi.load_embedder("minilmm")
