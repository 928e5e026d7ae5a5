"""The evaluation service for applications: generate an answer, score it, keep it, look it up."""

from __future__ import annotations

import logging
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import anyio.to_thread

from sgi.engine.spec import DEFAULT_EMBEDDER
from sgi.kernel.errors import EmbedderError, NonFiniteVectorError
from sgi.kernel.metric import Status
from sgi.kernel.protocols import embedder_name, encode
from sgi.kernel.registry import metric, metric_name
from sgi.kernel.sample import Batch, Sample
from sgi.service.records import (
    Evaluation,
    evaluation_row,
    full_record,
    passages,
    required,
    scores_of_row,
    short_record,
    text_or_none,
)
from sgi.store.evals_columns import LEXICAL, SIMILARITY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from sgi.engine.generate import AnsweredBatch
    from sgi.engine.open_resources import JudgeLike
    from sgi.engine.resources import Resources
    from sgi.engine.summary import Summary
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Embedded, Embedder
    from sgi.service.embedding_models import EmbeddingModel
    from sgi.service.shared_target import TargetLike
    from sgi.store.database import Database
    from sgi.store.evaluations import MetricScore
    from sgi.store.samples import StoredAnswer

DEFAULT_METRICS = (*LEXICAL, SIMILARITY)
"""What is computed unless the service is told otherwise: all that compares an answer with its reference."""

JUDGED_METRICS = ("answer_relevance_rated", "context_relevance", "groundedness", "llm_judged_overall")
"""What is computed besides if the service has a judge: its ratings, all from one request."""

logger = logging.getLogger("sgi.service")


class RAGEvalService:
    """Evaluates the answers of a RAG system one by one, beside the application that asks for them.

    Resources are opened at first use. Use it as ``async with RAGEvalService(...) as service``, or call
    ``aclose`` at the end. Tasks of one event loop may share it; any thread may save and look up. A failure
    of the target or of an embedding model gives a score without value, with a reason that is also logged.

    Args:
        target: the RAG system: ``module:function``, a URL, a TargetSpec, or a function (async or not) that
            takes the question and returns the answer, or the answer and its contexts. None if answers are
            always given.
        database: where evaluations are kept: the path of a SQLite file or a URL; None stands for
            ``SGI_DATABASE_URL`` and, without that, for ``sgi.db`` in the working folder. Made at first use.
        metrics: names such as ``"rouge_l(beta=1.2)"``, or metrics; None for ``DEFAULT_METRICS``, with a judge
            also ``JUDGED_METRICS``.
        judge: what judged metrics ask: a name such as ``"openai:NAME"``, its settings, or a judge.
        embedder: the embedding model where a call names none: a name, an Embedder, or an object with
            ``embed_texts(texts)``, async or not.
        cache: where vectors and replies of models known by name are kept: a file, the user's cache (True), or
            nowhere.

    Raises:
        UnknownNameError: a metric or a setting there isn't.
        UsageError: the target is none, or a metric asks a judge and there is none.

    >>> import asyncio
    >>> from sgi.testing import HashEmbedder
    >>> service = RAGEvalService(lambda question: "Jane Austen", embedder=HashEmbedder())
    >>> made = asyncio.run(service.generate_and_evaluate("Who wrote Emma?", "Austen"))
    >>> made.answer, round(made.scores["squad_token_f1"].value, 4)
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
        from sgi.service.embedding_models import EmbeddingModels
        from sgi.service.shared_judge import shared_judge
        from sgi.service.shared_target import SharedTarget

        self._target = SharedTarget(target)
        self._where = database
        default = DEFAULT_METRICS if judge is None else (*DEFAULT_METRICS, *JUDGED_METRICS)
        self._metrics = tuple(metric(wanted) for wanted in (default if metrics is None else metrics))
        self._judge = shared_judge(self._metrics, judge, cache=cache)
        self._embedder: EmbeddingModel = DEFAULT_EMBEDDER if embedder is None else embedder
        self._models = EmbeddingModels(cache)
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
            question: what to ask.
            reference: the expected answer; without one, what compares with it is ``missing``.
            answer: judged in place of asking the target.
            contexts: the passages, where the target tells none.
            embedding_model: in place of the service's own.

        Returns:
            Answer, contexts, and for each metric a value or the reason why there is none.

        Raises:
            UsageError: there is neither a target nor an answer, or an argument is of the wrong type.
            UnknownNameError: there is no such embedding model.
        """
        from sgi.engine.score import evaluate_batch

        sample = Sample.model_validate(
            {
                "id": "pair",
                "question": required("question", question),
                "reference": text_or_none("reference", reference),
                "contexts": passages(contexts),
            }
        )
        resources = await self._resources(embedding_model)
        asked, told = await self._answer(sample, text_or_none("answer", answer))
        batch_scores = await evaluate_batch(asked.batch, self._metrics, resources, asked.failed)
        scores = scores_of_row(self._metrics, batch_scores, resources)
        _log(told, scores, batch_scores.failures)
        scored = asked.batch.samples[0]
        return Evaluation(
            question=question,
            reference=reference,
            answer=told.response,
            contexts=scored.contexts if "contexts" in scored.model_fields_set else None,
            scores=scores,
            seconds=told.seconds,
            reason=told.reason or "",
            embedders=resources.fingerprints,
            judge=resources.judge_identity(self._metrics),
            truncated=tuple(batch_scores.truncated),
            left_out=dict(batch_scores.failures),
        )

    async def calculate_semantic_similarity(
        self, reference_answer: str, generated_answer: str, embedding_model: EmbeddingModel | None = None
    ) -> float:
        r"""How near two answers are, by the cosine of their embeddings, negative ones counted as 0.

        .. math:: \max(0, \cos\theta(r, g))

        Both are embedded in one call.

        Args:
            reference_answer: the expected answer.
            generated_answer: the one to be judged.
            embedding_model: in place of the service's own.

        Returns:
            A similarity in [0, 1]; 0 where a text is blank, with a warning to the logger.

        Raises:
            UnusableVectorsError: the vectors differ in dimension, are zero or not finite.
            EmbedderError: the model gave none.
        """
        from sgi.kernel.features import Features
        from sgi.kernel.vectors import VectorTable
        from sgi.metrics.similarity import SemanticSimilarity

        pair = [
            required("reference_answer", reference_answer),
            required("generated_answer", generated_answer),
        ]
        batch = Batch.of([Sample(id="pair", reference=pair[0], response=pair[1])])
        features = Features()
        if all(text.strip() for text in pair):
            embedder = await self._model(embedding_model)
            made = await anyio.to_thread.run_sync(_vectors, embedder, pair, abandon_on_cancel=True)
            features = Features.of(VectorTable.of(embedder_name(embedder), pair, made.rows))
            if made.truncated.any():
                logger.warning("An answer is longer than the embedding model reads; its end has no effect.")
        similarity = SemanticSimilarity()
        scores = similarity.score(similarity.prepare(batch), features)
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
        """Keep an evaluation in the run of this name; done when the call returns, so it is not awaited.

        The first evaluation creates the run; ``finish_run`` closes it. The same pair again replaces what was
        there. Threads, tasks and processes may save at once. Waiting for another writer blocks the thread;
        ``anyio.to_thread.run_sync`` or ``asyncio.to_thread`` waits elsewhere.

        Args:
            test_run_id: the run's name.
            qa_pair_id: the pair's id, unique in the run.
            evaluation: what `generate_and_evaluate` returned; None if all is given below.
            question: in place of the evaluation's.
            reference: in place of the evaluation's.
            answer: in place of the evaluation's.
            contexts: in place of the evaluation's.
            **values: numbers by metric (``bleu=0.4``) and what a judge said (``groundedness_reasoning="…"``);
                they go before the evaluation's. None is no value; nor are NaN and infinity, with a reason.

        Returns:
            The record's id.

        Raises:
            UnknownNameError: there is no such column.
            UsageError: a value is of the wrong type, or a run cannot be called so.
            RunMismatchError: the run has another embedding model, judge, prompts or metric version, or mixes
                computed values of a metric with given ones. Use another ``test_run_id``.
            StoreError: the database cannot be written; nothing of the evaluation is kept.
        """
        from sgi.store.growing_runs import save_evaluation

        texts = {"question": question, "reference": reference, "answer": answer, "contexts": contexts}
        row = evaluation_row(required("qa_pair_id", qa_pair_id), evaluation, texts, values)
        run = required("test_run_id", test_run_id)
        return save_evaluation(self._open_database(), run, row, versions=self._versions)

    def get_by_test_run_id(self, test_run_id: str) -> list[dict[str, Any]]:
        """The records of a run, by its name or id, in order; none if there is no such run.

        A record holds ``id``, ``test_run_id``, ``qa_pair_id``, a number or None for each metric, ``answer``
        and the reasonings. Runs made by ``sgi run`` and imported ones are read alike.

        Raises:
            StoreError: the database cannot be read.
        """
        from sgi.store.evaluations import read_evaluations

        run = required("test_run_id", test_run_id)
        return [
            short_record(stored_evaluation)
            for stored_evaluation in read_evaluations(self._open_database(), run)
        ]

    def get_full_by_run_and_qa(self, test_run_id: str, qa_pair_id: str) -> dict[str, Any] | None:
        """The record of one pair, with question, reference, contexts, reasons and details; None without one.

        Raises:
            StoreError: the database cannot be read.
        """
        from sgi.store.evaluations import read_evaluation

        run, pair = required("test_run_id", test_run_id), required("qa_pair_id", qa_pair_id)
        stored_evaluation = read_evaluation(self._open_database(), run, pair)
        return None if stored_evaluation is None else full_record(stored_evaluation)

    def finish_run(self, test_run_id: str) -> Summary:
        """The run has all its rows: means with intervals and coverage, kept as its headline.

        An evaluation saved later opens the run again.

        Raises:
            UnknownNameError: there is no such run.
            UsageError: the run was not made by this service.
            StoreError: the database cannot be written.
        """
        from sgi.service.records import finish

        return finish(self._open_database(), required("test_run_id", test_run_id))

    async def aclose(self) -> None:
        """Close target, judge, caches and database; closing twice does no harm."""
        try:
            await self._target.aclose()
        finally:
            await self._judge.aclose()
            self.close()

    def close(self) -> None:
        """Close caches and database; a judge, and a target that is a URL, are closed by ``aclose`` alone."""
        self._models.close()
        with self._lock:
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
        """The sample with the answer, and how it came about."""
        from sgi.engine.generate import AnsweredBatch, answer_batch
        from sgi.store.samples import StoredAnswer

        if answer is not None:
            batch = Batch.of([sample.with_response(answer)])
            return AnsweredBatch(0, batch.samples, batch), StoredAnswer(answer)
        kept: dict[int, StoredAnswer] = {}
        target = await self._target.opened()
        answered_batch = await answer_batch(0, Batch.of([sample]), target, known={}, keep=kept.update)
        return answered_batch, kept[0]

    async def _resources(self, embedding_model: EmbeddingModel | None) -> Resources:
        """The models that the metrics want, and the judge that they ask."""
        from sgi.engine.resources import Resources

        judge = await self._judge.opened()
        embedding = [made for made in self._metrics if made.vector_needs]
        if not embedding:
            return Resources(judge=judge)
        primary = await self._model(embedding_model)
        models = {embedder_name(primary): primary}
        for name in dict.fromkeys(name for made in embedding for name in made.embedder_names((*models,)[:1])):
            if name not in models:
                models[name] = await self._model(name)
        return Resources(models, judge=judge)

    async def _model(self, model: EmbeddingModel | None) -> Embedder:
        from sgi.service.embedding_models import OwnModel, UnavailableModel

        meant = self._embedder if model is None else model
        if not isinstance(meant, (str, Path)):
            return OwnModel(meant)
        found = self._models.at_hand(meant)
        if found is not None:
            return found
        try:
            return await anyio.to_thread.run_sync(self._models.open, meant)
        except EmbedderError as error:
            return UnavailableModel(str(meant), error)

    def _open_database(self) -> Database:
        from sgi.store.database import open_database

        with self._lock:
            if self._database is None:
                self._database = open_database(self._where)
            return self._database


def _vectors(embedder: Embedder, texts: list[str]) -> Embedded:
    from sgi.service.embedding_models import UnusableVectorsError

    try:
        return encode(embedder, texts)
    except NonFiniteVectorError as error:
        raise UnusableVectorsError(error.message, hint=error.hint) from error


def _log(stored_answer: StoredAnswer, scores: Mapping[str, MetricScore], failures: Mapping[str, str]) -> None:
    """Tell what went wrong; reasons hold no secrets."""
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
