"""LlamaIndex: an evaluator that scores responses with a metric of SGI, and an engine that blocks them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Unpack

from sgi.integrations.adapter import HostScorer, describe, explain, nan_if_none
from sgi.integrations.guarded_answers import AnswerBlockedError, allowed_text, iterate, iterate_in_thread
from sgi.kernel.errors import require_extra

with require_extra("sgi.integrations.llama_index", "llama-index"):
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.response.schema import AsyncStreamingResponse, Response, StreamingResponse
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import QueryBundle

    from sgi.engine.open_resources import ModelKeywords
    from sgi.engine.run_options import EmbedderLike
    from sgi.kernel.guard_verdict import GuardVerdict
    from sgi.kernel.metric import AnyMetric
    from sgi.service.guard import Guard

_PARTS = {"query": "question", "response": "response", "contexts": "contexts", "reference": "reference"}

_NO_RESPONSE = "Empty Response"


class SgiEvaluator(BaseEvaluator):  # type: ignore[misc]  # the base has no types where we check ours
    """Scores a query, a response and its contexts with one metric.

    A result without a value has ``invalid_result=True``, the score NaN and no ``passing``; ``invalid_reason``
    has the status and the reason. The score is not None, because `get_results_df` counts None as 0. The
    ``feedback`` of a value has the sentences that `grounding` doubts.

    A bad row raises no exception, which `BatchEvalRunner` would retry. The text "Empty Response", which
    LlamaIndex writes if the model returns nothing or nothing was retrieved, is a blank response.

    Args:
        metric: a name such as ``"rouge_l(beta=2)"``, or a metric.
        embedder: a name, a folder or an embedder; None for the bundled model.
        passing_score: the lowest score that passes; with None, ``passing`` stays None.
        options: further arguments of `sgi.Scorer`, such as ``judge``.

    Raises:
        UsageError: the metric or an option is invalid.
    """

    def __init__(
        self,
        metric: str | AnyMetric = "grounding",
        embedder: EmbedderLike | None = None,
        *,
        passing_score: float | None = None,
        **options: Unpack[ModelKeywords],
    ) -> None:
        self._scorer = HostScorer(metric, embedder, parts=_PARTS, **options)
        self.metric = self._scorer.only_metric()
        self.passing_score = passing_score

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        reference: str | Sequence[str] | None = None,
        **_: Any,
    ) -> EvaluationResult:
        """Score a response. An argument of None is not given; ``reference`` is the expected answer."""
        answer = "" if response == _NO_RESPONSE else response
        parts = {"query": query, "response": answer, "contexts": contexts, "reference": reference}
        score = (await self._scorer.ascore(**parts))[self.metric]
        passing = None
        if score.value is not None and self.passing_score is not None:
            passing = score.value >= self.passing_score
        return EvaluationResult(
            query=query,
            contexts=contexts if _are_texts(contexts) else None,
            response=response,
            feedback=None if score.value is None else explain(score) or None,
            score=nan_if_none(score.value),
            passing=passing,
            invalid_result=score.value is None,
            invalid_reason=describe(score) if score.value is None else None,
        )

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """Do nothing: there are no prompts."""


def _are_texts(contexts: Sequence[object] | None) -> bool:
    return isinstance(contexts, (list, tuple)) and all(isinstance(text, str) for text in contexts)


class GuardedQueryEngine(BaseQueryEngine):  # type: ignore[misc]  # the same
    """Query engine that returns the responses of another engine if the guard allows them.

    The passages are the source nodes. The metadata of a response has the verdict under ``guard``. A streamed
    response yields each sentence when it is allowed, and has no verdict.

    Args:
        engine: the engine that answers.
        guard: the guard.
        fallback: the response in place of a blocked one; in a stream, in place of its rest.

    Raises:
        AnswerBlockedError: a response is blocked, and there is no fallback.
    """

    def __init__(self, engine: BaseQueryEngine, guard: Guard, *, fallback: str | None = None) -> None:
        super().__init__(engine.callback_manager)
        self.engine, self.guard, self.fallback = engine, guard, fallback

    def _query(self, query_bundle: QueryBundle) -> Any:
        question, response = query_bundle.query_str, self.engine.query(query_bundle)
        if self._is_streamed(question, response):
            return response
        return self._settle(response, self.guard.check(question, *_checked(response)))

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        question, response = query_bundle.query_str, await self.engine.aquery(query_bundle)
        if self._is_streamed(question, response):
            return response
        return self._settle(response, await self.guard.acheck(question, *_checked(response)))

    def _is_streamed(self, question: str, response: Any) -> bool:
        """Return whether a response is a stream, which then yields allowed sentences."""
        if not isinstance(response, (AsyncStreamingResponse, StreamingResponse)):
            return False
        is_sync = isinstance(response, StreamingResponse)
        chunks = iterate_in_thread(response.response_gen) if is_sync else response.response_gen
        text = allowed_text(self.guard.stream(question, _passages(response), chunks), self.fallback)
        response.response_gen = iterate(text) if is_sync else text
        return True

    def _settle(self, response: Any, verdict: GuardVerdict) -> Any:
        if verdict.blocked:
            if self.fallback is None:
                raise AnswerBlockedError(verdict)
            response = Response(self.fallback, response.source_nodes, response.metadata)
        response.metadata = {**(response.metadata or {}), "guard": asdict(verdict)}
        return response

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {"engine": self.engine}


def _passages(response: Any) -> list[str]:
    return [node.get_content() for node in response.source_nodes]


def _checked(response: Any) -> tuple[list[str], str]:
    """Return the passages of a response, and its text."""
    text = "" if response.response in (None, _NO_RESPONSE) else str(response)
    return _passages(response), text
