"""The evaluation service for applications: generates, scores, stores and finds answers."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property, partial
from itertools import compress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import anyio.to_thread

from sgi.engine.open_resources import extra_embedders, open_embedder
from sgi.engine.run_options import DEFAULT_EMBEDDER
from sgi.engine.score import BatchScores
from sgi.kernel.errors import EmbedderError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.protocols import embedder_name
from sgi.kernel.registry import metric, metric_name
from sgi.kernel.sample import Batch, Sample
from sgi.service.embedding_models import OwnModel, UnavailableModel, UnusableVectorsError, usable_vectors
from sgi.service.question_evaluation import (
    Evaluation,
    evaluation_row,
    full_record,
    passages,
    require_value,
    scores_of_row,
    short_record,
    text_or_none,
)
from sgi.service.scorer import Scorer
from sgi.service.shared_resources import shared_target
from sgi.store.evals_table import LEXICAL, SIMILARITY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from sgi.engine.judge_batch import AnsweredBatch
    from sgi.engine.open_resources import JudgeLike
    from sgi.engine.resources import Resources
    from sgi.engine.summary import Summary
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Cache, Embedder
    from sgi.service.embedding_models import EmbeddingModel
    from sgi.service.shared_resources import TargetLike
    from sgi.store.database import Database
    from sgi.store.evaluations import MetricScore
    from sgi.store.samples import StoredAnswer

DEFAULT_METRICS = (*LEXICAL, SIMILARITY)
"""The default metrics: those that compare an answer with its reference."""

JUDGED_METRICS = ("answer_relevance_rated", "context_relevance", "groundedness", "llm_judged_overall")
"""Further default metrics of a service with a judge: its ratings, all from one request."""

logger = logging.getLogger("sgi.service")


class RAGEvalService:
    """Evaluates the answers of a RAG system one by one, inside an application.

    Use it as ``async with RAGEvalService(...) as service``, or call ``aclose`` at the end. Models open at
    first use; a `Scorer` computes the scores. Tasks of one event loop may share a service; any thread may
    save and look up. A failure of the target or of an embedding model gives a score without a value, with a
    reason that is also logged.

    Args:
        target: the RAG system: ``module:function``, a URL, a TargetSpec, or a function (async or not) from
            the question to the answer, or to the answer and its contexts. None if answers are always given.
        database: a path of a SQLite file, or a URL; None for ``SGI_DATABASE_URL``, else ``sgi.db``. Created
            at first use.
        metrics: names such as ``"rouge_l(beta=1.2)"``, or metrics; None for ``DEFAULT_METRICS``, and with a
            judge also ``JUDGED_METRICS``.
        judge: a name such as ``"openai:NAME"``, its settings, or a judge.
        embedder: the default model: a name, an Embedder, or an object with ``embed_texts(texts)``, async or
            not.
        cache: where vectors and replies of models given by name are stored: a file, the user's cache (True),
            or in memory (False).

    Raises:
        UnknownNameError: a metric or a setting does not exist.
        UsageError: the target is invalid, or a metric needs a judge and there is none.

    >>> import asyncio
    >>> from sgi.testing import HashEmbedder
    >>> service = RAGEvalService(lambda question: "Jane Austen", embedder=HashEmbedder())
    >>> evaluation = asyncio.run(service.generate_and_evaluate("Who wrote Emma?", "Austen"))
    >>> evaluation.answer, round(evaluation.scores["squad_token_f1"].value, 4)
    ('Jane Austen', 0.6667)
    """

    def __init__(
        self,
        target: TargetLike | None = None,
        *,
        database: str | Path | None = None,
        metrics: Sequence[str | AnyMetric] | None = None,
        judge: JudgeLike | None = None,
        embedder: EmbeddingModel | None = None,
        cache: bool | str | Path = True,
    ) -> None:
        self._target = shared_target(target)
        self._location = database
        default = DEFAULT_METRICS if judge is None else (*DEFAULT_METRICS, *JUDGED_METRICS)
        self._metrics = tuple(metric(each) for each in (default if metrics is None else metrics))
        self._new_scorer = partial(Scorer, self._metrics, (), judge=judge, cache=cache)
        self._scorer = self._new_scorer()
        self._embedder: EmbeddingModel = DEFAULT_EMBEDDER if embedder is None else embedder
        self._cache = cache
        self._on_close = ExitStack()
        self._vectors: Cache | None = None
        self._lock = Lock()
        self._database: Database | None = None

    async def generate_and_evaluate(
        self,
        question: str,
        reference: str | None = None,
        *,
        answer: str | None = None,
        contexts: Sequence[str] | None = None,
        embedding_model: EmbeddingModel | None = None,
    ) -> Evaluation:
        """Ask the target, and score its answer.

        Args:
            question: the question.
            reference: the expected answer; without it, metrics that need it are ``missing``.
            answer: the answer to score; with it, the target is not asked.
            contexts: the passages, if the target returns none.
            embedding_model: the embedding model to use instead of the service's own.

        Raises:
            UsageError: there is neither a target nor an answer, or an argument has the wrong type.
            UnknownNameError: the embedding model does not exist.
        """
        asked = require_value("question", question)
        known = {"reference": text_or_none("reference", reference), "contexts": passages(contexts)}
        sample = Sample.model_validate({"id": "pair", "question": asked, **known})
        embedders = await self._embedders(embedding_model)
        answered, stored_answer = await self._answer(sample, text_or_none("answer", answer))
        batch_scores, resources = await self._score(answered, embedders)
        scores = scores_of_row(self._metrics, batch_scores, resources)
        _log(stored_answer, scores, batch_scores.failures)
        scored = answered.batch.samples[0]
        return Evaluation(
            question=question,
            reference=reference,
            answer=stored_answer.response,
            contexts=scored.contexts if "contexts" in scored.model_fields_set else None,
            scores=scores,
            seconds=stored_answer.seconds,
            reason=stored_answer.reason or "",
            embedders=resources.fingerprints,
            judge=resources.judge_identity(self._metrics),
            truncated=tuple(batch_scores.truncated),
            left_out=dict(batch_scores.failures),
        )

    async def calculate_semantic_similarity(
        self, reference_answer: str, generated_answer: str, embedding_model: EmbeddingModel | None = None
    ) -> float:
        r"""Compute the similarity of two answers, in [0, 1], from the cosine of their embeddings.

        .. math:: \max(0, \cos\theta(r, g))

        A blank text gives 0, with a warning in the log. ``embedding_model`` is used instead of the service's
        model.

        Raises:
            UnusableVectorsError: the vectors differ in dimension, are zero or not finite, or the vocabulary
                of the model covers less than 80 % of an answer.
            EmbedderError: the model fails.
        """
        from sgi.kernel.vectors import Features, VectorTable
        from sgi.metrics.similarity import SemanticSimilarity

        pair = [
            require_value("reference_answer", reference_answer),
            require_value("generated_answer", generated_answer),
        ]
        batch = Batch.of([Sample(id="pair", reference=pair[0], response=pair[1])])
        features = Features()
        if all(text.strip() for text in pair):
            embedder = await self._model(embedding_model)
            embedded = await anyio.to_thread.run_sync(usable_vectors, embedder, pair, abandon_on_cancel=True)
            unread = compress(pair, embedded.unread.tolist())
            table = VectorTable.of(embedder_name(embedder), pair, embedded.rows, unread=unread)
            features = Features.of(table)
            if embedded.truncated.any():
                logger.warning("An answer exceeds the limit of the embedding model and was truncated.")
        similarity = SemanticSimilarity()
        scores = similarity.score(similarity.prepare(batch), features)
        if not scores.ok[0]:
            raise UnusableVectorsError(f"There is no similarity: {scores.reasons[0]}.")
        _warn(scores.details[0])
        return float(scores.values[0])

    def save_evaluation_to_db(
        self,
        test_run_id: str,
        qa_pair_id: str,
        evaluation: Evaluation | None = None,
        *,
        question: str | None = None,
        reference: str | None = None,
        answer: str | None = None,
        contexts: Sequence[str] | None = None,
        **values: float | str | None,
    ) -> str:
        """Store an evaluation in a run; the call returns after it is stored.

        The first evaluation creates the run; ``finish_run`` closes it. Saving a pair (a question with its
        reference) again replaces it. Threads, tasks and processes may save at once. Waiting for another
        writer blocks the thread; call it with ``asyncio.to_thread`` to avoid that.

        Args:
            test_run_id: the run's name.
            qa_pair_id: the pair's id, unique in the run.
            evaluation: the result of `generate_and_evaluate`; None if the other arguments hold everything.
            question: replaces the question of the evaluation.
            reference: replaces the reference of the evaluation.
            answer: replaces the answer of the evaluation.
            contexts: replaces the contexts of the evaluation.
            **values: numbers by metric (``bleu=0.4``) and reasonings of a judge
                (``groundedness_reasoning="…"``); they override the evaluation's. None, NaN and infinity are
                stored as no value, with a reason.

        Returns:
            The record's id.

        Raises:
            UnknownNameError: a column does not exist.
            UsageError: a value has the wrong type, or the run's name is invalid.
            RunMismatchError: the run has another embedding model, judge, prompts or metric version, or mixes
                computed values of a metric with given ones. Use another ``test_run_id``.
            StoreError: the database cannot be written; no part of the evaluation is stored.
        """
        from sgi.store.growing_runs import save_evaluation

        texts = {"question": question, "reference": reference, "answer": answer, "contexts": contexts}
        row = evaluation_row(require_value("qa_pair_id", qa_pair_id), evaluation, texts, values)
        run = require_value("test_run_id", test_run_id)
        return save_evaluation(self._open_database(), run, row, versions=self._versions)

    def get_by_test_run_id(self, test_run_id: str) -> list[dict[str, Any]]:
        """Return the records of a run, by its name or id, in order; empty if there is no such run.

        A record has ``id``, ``test_run_id``, ``qa_pair_id``, a number or None for each metric, ``answer`` and
        the reasonings.

        Raises:
            StoreError: the database cannot be read.
        """
        from sgi.store.evaluations import read_evaluations

        run = require_value("test_run_id", test_run_id)
        return [short_record(stored) for stored in read_evaluations(self._open_database(), run)]

    def get_full_by_run_and_qa(self, test_run_id: str, qa_pair_id: str) -> dict[str, Any] | None:
        """Return the record of one pair with its texts, reasons and details; None if there is no such pair.

        Raises:
            StoreError: the database cannot be read.
        """
        from sgi.store.evaluations import read_evaluation

        run, pair = require_value("test_run_id", test_run_id), require_value("qa_pair_id", qa_pair_id)
        stored_evaluation = read_evaluation(self._open_database(), run, pair)
        return None if stored_evaluation is None else full_record(stored_evaluation)

    def finish_run(self, test_run_id: str) -> Summary:
        """Close a run, and store its summary; an evaluation saved later reopens it.

        Raises:
            UnknownNameError: the run does not exist.
            UsageError: the run was not made by this service.
            StoreError: the database cannot be written.
        """
        from sgi.service.question_evaluation import finish

        return finish(self._open_database(), require_value("test_run_id", test_run_id))

    async def aclose(self) -> None:
        """Close the target, the judge, the caches and the database. You can call it twice."""
        try:
            await self._target.aclose()
        finally:
            await anyio.to_thread.run_sync(self.close)

    def close(self) -> None:
        """Close the judge, the caches and the database; only ``aclose`` closes a target that is a URL."""
        self._scorer.close()
        self._scorer = self._new_scorer()  # a closed service can be used again
        with self._lock:
            self._vectors = None
            self._on_close.close()
            if self._database is not None:
                self._database.close()
                self._database = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @cached_property
    def _versions(self) -> dict[str, str]:
        from sgi.engine.run_recorder import versions

        return versions()

    async def _answer(self, sample: Sample, answer: str | None) -> tuple[AnsweredBatch, StoredAnswer]:
        from sgi.engine.judge_batch import AnsweredBatch, answer_batch
        from sgi.store.samples import StoredAnswer

        if answer is not None:
            batch = Batch.of([sample.with_response(answer)])
            return AnsweredBatch(0, batch.samples, batch), StoredAnswer(answer)
        answers: dict[int, StoredAnswer] = {}
        target = await self._target.get()
        answered_batch = await answer_batch(0, Batch.of([sample]), target, known={}, keep=answers.update)
        return answered_batch, answers[0]

    async def _score(
        self, answered: AnsweredBatch, embedders: Mapping[str, Embedder]
    ) -> tuple[BatchScores, Resources]:
        if answered.failed:
            failed = Scores.without_value(Status.FAILED, [answered.failed[0]])
            batch_scores = BatchScores({each.canonical: failed for each in self._metrics})
        else:
            batch_scores = await self._scorer.score_batch(answered.batch.samples, embedders=embedders)
        return batch_scores, replace(self._scorer.resources, embedders=embedders)

    async def _embedders(self, embedding_model: EmbeddingModel | None) -> dict[str, Embedder]:
        if not any(each.vector_needs for each in self._metrics):
            return {}
        primary = await self._model(embedding_model)
        models = {embedder_name(primary): primary}
        for name in extra_embedders(self._metrics, (*models,)):
            models[name] = await self._model(name)
        return models

    async def _model(self, model: EmbeddingModel | None) -> Embedder:
        choice = self._embedder if model is None else model
        if not isinstance(choice, (str, Path)):
            return OwnModel(choice, asyncio.get_running_loop())
        try:
            return await anyio.to_thread.run_sync(self._open_model, choice)
        except EmbedderError as error:
            return UnavailableModel(str(choice), error)

    def _open_model(self, name: str | Path) -> Embedder:
        from sgi.store.cache import open_cache

        with self._lock:
            if self._vectors is None:
                self._vectors = self._on_close.enter_context(open_cache(self._cache))
            return open_embedder(name, self._vectors)

    def _open_database(self) -> Database:
        from sgi.store.database import open_database

        with self._lock:
            if self._database is None:
                self._database = open_database(self._location)
            return self._database


def _log(stored_answer: StoredAnswer, scores: Mapping[str, MetricScore], failures: Mapping[str, str]) -> None:
    """Log failures; their reasons contain no secrets."""
    if stored_answer.reason is not None:
        logger.error("The target gave no answer: %s", stored_answer.reason)
    for reason in failures.values():
        logger.error("No vectors: %s", reason)
    for name, score in scores.items():
        if metric_name(name) == SIMILARITY:
            _warn(score.details)
            if score.status is Status.FAILED and stored_answer.reason is None and not failures:
                logger.error("Failed to calculate %s: %s", name, score.reason)


def _warn(details: Mapping[str, Any]) -> None:
    if "warning" in details:
        logger.warning("The semantic similarity is 0: %s", details["warning"])
