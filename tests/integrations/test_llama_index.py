from __future__ import annotations

import asyncio
import math

import pytest
from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.evaluation import BatchEvalRunner, EvaluationResult
from llama_index.core.evaluation.eval_utils import get_results_df
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.response import Response
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

import sgi
from sgi.integrations.guarded_answers import AnswerBlockedError
from sgi.integrations.llama_index import GuardedQueryEngine, SgiEvaluator
from support.adapter_contract import (
    BLANK,
    CONTRADICTED,
    NO_CONTEXTS,
    SUPPORTED,
    AdapterContract,
    HostResult,
    HostRow,
)
from support.guards import fitted_guard


class TestLlamaIndex(AdapterContract):
    name = "llama_index"
    mean = "none"

    def evaluate(self, rows, metric, embedder=None):
        results = run_batch(rows, SgiEvaluator(metric, embedder))
        for result in results:
            assert result.invalid_result == math.isnan(result.score) == bool(result.invalid_reason)
        return HostResult(
            [
                HostRow(None if result.invalid_result else result.score, result.invalid_reason or "")
                for result in results
            ]
        )


def run_batch(rows, evaluator):
    return BatchEvalRunner({"m": evaluator}, workers=8).evaluate_response_strs(
        queries=[row.get("question") for row in rows],
        response_strs=[row.get("response") for row in rows],
        contexts_list=[row.get("contexts") for row in rows],
        reference=[row.get("reference") for row in rows],
    )["m"]


class Retriever(BaseRetriever):
    def _retrieve(self, query_bundle):
        passages = [] if "Pluto" in query_bundle.query_str else SUPPORTED["contexts"]
        return [NodeWithScore(node=TextNode(text=text)) for text in passages]


def test_passing_needs_a_value_and_a_passing_score():
    rows = [SUPPORTED, CONTRADICTED, BLANK, NO_CONTEXTS]
    passing = [result.passing for result in run_batch(rows, SgiEvaluator(passing_score=0.5))]
    assert passing == [True, False, None, None]
    assert [result.passing for result in run_batch(rows, SgiEvaluator())] == [None] * 4


def test_the_feedback_has_the_unsupported_sentences():
    feedback = [result.feedback for result in run_batch([SUPPORTED, CONTRADICTED, BLANK], SgiEvaluator())]
    assert feedback == [None, "Unsupported: It is 312 m tall.", None]


def test_the_table_of_the_host_has_no_mean_rather_than_zeros():
    results = run_batch([SUPPORTED, BLANK], SgiEvaluator())
    table = get_results_df(
        [{"grounding": results}, {"grounding": results[:1]}], ["both", "one"], ["grounding"]
    )
    assert math.isnan(table["grounding"][0])
    assert table["grounding"][1] == results[0].score


def test_a_result_without_a_value_is_null_in_json():
    (result,) = run_batch([BLANK], SgiEvaluator())
    loaded = EvaluationResult.model_validate_json(result.model_dump_json())
    assert (loaded.score, loaded.invalid_result) == (None, True)
    assert loaded.invalid_reason == "undefined: the response is blank"


def test_a_query_engine_without_passages_gives_no_value():
    engine = RetrieverQueryEngine.from_args(Retriever(), llm=MockLLM())
    runner = BatchEvalRunner({"grounding": SgiEvaluator()})
    (result,) = runner.evaluate_queries(engine, ["Is Pluto a planet?"])["grounding"]
    assert result.response == "Empty Response"
    assert result.invalid_reason == "undefined: the response is blank"


def test_a_response_object_brings_its_passages():
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in SUPPORTED["contexts"]]
    response = Response(SUPPORTED["response"], source_nodes=nodes)
    result = SgiEvaluator().evaluate_response(SUPPORTED["question"], response)
    assert result.score == sgi.evaluate([SUPPORTED], "grounding")["grounding"].values[0]
    assert result.contexts == SUPPORTED["contexts"]


def test_an_evaluator_serves_several_event_loops():
    evaluator = SgiEvaluator("squad_em")

    async def score():
        return (await evaluator.aevaluate(response="Paris", reference=["Lyon", "paris"])).score

    assert [asyncio.run(score()), asyncio.run(score())] == [1.0, 1.0]


def test_an_unknown_metric_is_reported_at_once():
    with pytest.raises(sgi.errors.UnknownNameError, match="groundig"):
        SgiEvaluator("groundig")


HEIGHT = "The tower is 330 m tall."
TOWER = [NodeWithScore(node=TextNode(text=f"{HEIGHT} It stands in Paris."))]
TRUE, FALSE = f"{HEIGHT} It stands in Paris.", f"{HEIGHT} It was built in 1204. It stands in Paris."
WITHDRAWN = "[withdrawn]"


class Engine(CustomQueryEngine):
    """Answers with this text, as a stream if it is one."""

    text: str
    streaming: bool = False

    def words(self):
        yield from (f"{word} " for word in self.text.split(" "))

    async def awords(self):
        for word in self.words():
            yield word

    def custom_query(self, query_str):
        return StreamingResponse(self.words(), TOWER) if self.streaming else Response(self.text, TOWER)

    async def acustom_query(self, query_str):
        return AsyncStreamingResponse(self.awords(), TOWER) if self.streaming else Response(self.text, TOWER)


@pytest.fixture
def guard():
    return sgi.Guard(fitted_guard())


def ask(engine, is_async):
    """The text of a response, and its metadata."""

    async def answer():
        response = await engine.aquery("How tall is it?")
        if isinstance(response, AsyncStreamingResponse):
            response = await response.get_response()
        return response

    response = asyncio.run(answer()) if is_async else engine.query("How tall is it?")
    return str(response), response.metadata


@pytest.mark.parametrize("is_async", [False, True], ids=["query", "aquery"])
def test_the_engine_returns_allowed_responses_with_the_verdict(guard, is_async):
    text, metadata = ask(GuardedQueryEngine(Engine(text=TRUE), guard), is_async)
    assert (text, metadata["guard"]["blocked"]) == (TRUE, False)
    assert metadata["guard"]["score"] > guard.file.limit
    streamed = GuardedQueryEngine(Engine(text=TRUE, streaming=True), guard)
    assert ask(streamed, is_async)[0] == f"{TRUE} "
    assert (guard.counts.checked, guard.counts.blocked) == (2, 0)


@pytest.mark.parametrize("is_async", [False, True], ids=["query", "aquery"])
def test_the_engine_blocks_with_an_error_or_a_fallback(guard, is_async):
    for streaming in (False, True):
        engine = Engine(text=FALSE, streaming=streaming)
        with pytest.raises(AnswerBlockedError) as raised:
            ask(GuardedQueryEngine(engine, guard), is_async)
        assert "1204" in raised.value.verdict.reason
        text, _ = ask(GuardedQueryEngine(engine, guard, fallback=WITHDRAWN), is_async)
        assert text == (f"{HEIGHT} {WITHDRAWN}" if streaming else WITHDRAWN)
    assert (guard.counts.checked, guard.counts.blocked) == (4, 4)


def test_a_response_without_source_nodes_is_blocked_and_an_empty_one_claims_nothing(guard):
    inner = RetrieverQueryEngine.from_args(Retriever(), llm=MockLLM())
    engine = GuardedQueryEngine(inner, guard, fallback=WITHDRAWN)
    empty = engine.query("What of Pluto?")
    assert (str(empty), empty.metadata["guard"]["blocked"]) == ("Empty Response", False)

    class Bare(CustomQueryEngine):
        def custom_query(self, query_str):
            return TRUE

    bare = GuardedQueryEngine(Bare(), guard, fallback=WITHDRAWN).query("How tall is it?")
    assert (str(bare), bare.metadata["guard"]["score"]) == (WITHDRAWN, None)
    assert bare.metadata["guard"]["error"]
