"""The metrics under the names of document 002, with the conventions of that document, from 0 to 100.

Each is a plain metric with other conventions. Both send the same prompts, so asking for both costs one call.
They reproduce the tables of that document; the plain metrics keep the safe conventions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sgi.kernel.metric import COUNT, PERCENT, MetricSpec, Scores, Status
from sgi.metrics.bertscore import BertScore
from sgi.metrics.classification import AnswerClassification, CorrectAnswers, DontKnowAnswers, WrongAnswers
from sgi.metrics.judged.answer_relevance import AnswerRelevance, Scale
from sgi.metrics.judged.context_precision import ContextPrecision
from sgi.metrics.judged.context_recall import ContextRecall
from sgi.metrics.judged.factual_accuracy import FactualAccuracy
from sgi.metrics.judged.faithfulness import Faithfulness
from sgi.metrics.parameters import check_choice
from sgi.metrics.references import BLANK
from sgi.metrics.similarity import SemanticSimilarity
from sgi.metrics.wrapper import JudgedWrapper, MetricWrapper

if TYPE_CHECKING:
    from sgi.kernel.judged_metric import JudgedMetric
    from sgi.kernel.sample import Batch

_CITATION = "GraphRAG evaluation metrics, section "
_FULL = 100.0
_DECIMALS = 2


def _percent(plain: MetricSpec, name: str, section: int) -> MetricSpec:
    return replace(plain, name=name, high=_FULL, unit=PERCENT, citation=f"{_CITATION}{section}")


def _count(plain: MetricSpec, name: str, section: int) -> MetricSpec:
    return replace(plain, name=name, unit=COUNT, citation=f"{_CITATION}{section}")


@dataclass(frozen=True)
class _DocumentName(JudgedWrapper):
    """A plain metric under another name and in another unit; a subclass names the plain metric."""

    _default: ClassVar[JudgedMetric[Any]]

    @property
    def inner(self) -> JudgedMetric[Any]:
        """The plain metric, with the conventions of the document."""
        return self._default

    def convert(self, scores: Scores, batch: Batch) -> Scores:
        """Convert the scores to this metric's unit."""
        del batch
        return replace(scores, values=scores.values * self.spec.high)


@dataclass(frozen=True)
class RagasFaithfulness(_DocumentName):
    """Faithfulness in percent, where a response without claims has 100, a blank one too.

    Calls and limits are those of ``faithfulness``. From 0 to 100; always ok, unless the judge fails.

    References: document 002, section 1.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.judged.claims import Claims
    >>> rows = Batch.of([Sample(id="1", contexts=["Anke."], response="")])
    >>> metric = RagasFaithfulness()
    >>> metric.score(metric.prepare(Judged(rows, [Claims()])), Features()).values.tolist()
    [100.0]
    """

    spec: ClassVar = _percent(Faithfulness.spec, "ragas_faithfulness", 1)
    judgement: ClassVar = Faithfulness.judgement
    prompts: ClassVar = Faithfulness.prompts
    _default: ClassVar = Faithfulness(empty="full")


@dataclass(frozen=True)
class RagasContextPrecision(_DocumentName):
    """Context precision in percent: the simple mean, where an empty list of passages has 0.

    Calls and limits are those of ``context_precision``. From 0 to 100; a blank question is undefined.

    References: document 002, section 2.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.judged.context_precision import Relevances
    >>> rows = Batch.of([Sample(id="1", question="When?", contexts=[])])
    >>> metric = RagasContextPrecision()
    >>> metric.score(metric.prepare(Judged(rows, [Relevances()])), Features()).values.tolist()
    [0.0]
    """

    spec: ClassVar = _percent(ContextPrecision.spec, "ragas_context_precision", 2)
    judgement: ClassVar = ContextPrecision.judgement
    prompts: ClassVar = ContextPrecision.prompts
    _default: ClassVar = ContextPrecision(empty="zero")


@dataclass(frozen=True)
class RagasContextRecall(_DocumentName):
    """Context recall in percent, where a reference without statements has 100, and one without passages 0.

    Calls and limits are those of ``context_recall``. From 0 to 100; always ok, unless the judge fails.

    References: document 002, section 3.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.judged.claims import Claims
    >>> rows = Batch.of([Sample(id="1", contexts=["Anke."], reference=" ")])
    >>> metric = RagasContextRecall()
    >>> metric.score(metric.prepare(Judged(rows, [Claims()])), Features()).values.tolist()
    [100.0]
    """

    spec: ClassVar = _percent(ContextRecall.spec, "ragas_context_recall", 3)
    judgement: ClassVar = ContextRecall.judgement
    prompts: ClassVar = ContextRecall.prompts
    _default: ClassVar = ContextRecall(empty="full")


@dataclass(frozen=True)
class RagasAnswerRelevance(_DocumentName):
    r"""Answer relevance in percent: the mean cosine of the questions, also for a response that evades.

    .. math:: 100 \max\Bigl(0, \frac{1}{n} \sum_i \cos\theta(q, q_i)\Bigr)

    From 0 to 100; a blank response has 0, a blank question is undefined. Calls and limits are those of
    ``answer_relevance``.

    Attributes:
        scale: ``cosine``, the formula that the document prints; or ``affine``, the mean of (1 + cos) / 2.

    References: document 002, section 4.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.kernel.vectors import VectorTable
    >>> from sgi.metrics.judged.answer_relevance import Answered
    >>> row = Batch.of([Sample(id="1", question="When?", response="In 1950.")])
    >>> rows = np.array([[3.0, 4.0], [4.0, 3.0]])
    >>> features = Features.of(VectorTable.of("demo", ["When?", "Which year?"], rows))
    >>> found = Answered(questions=("Which year?",), noncommittal=True)
    >>> metric = RagasAnswerRelevance()
    >>> metric.score(metric.prepare(Judged(row, [found])), features).values.round(2).tolist()
    [96.0]
    """

    scale: Scale = "cosine"
    spec: ClassVar = _percent(AnswerRelevance.spec, "ragas_answer_relevance", 4)
    judgement: ClassVar = AnswerRelevance.judgement
    prompts: ClassVar = AnswerRelevance.prompts

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, Scale)

    @property
    def inner(self) -> AnswerRelevance:
        """Answer relevance on this scale."""
        return AnswerRelevance(scale=self.scale, noncommittal="ignore")


@dataclass(frozen=True)
class FactualAccuracyPercentage(_DocumentName):
    """Factual accuracy in percent, with its letter grade in the details.

    Calls, grades, statuses and limits are those of ``factual_accuracy``. From 0 to 100.

    References: document 002, section 6.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.judged.factual_accuracy import Accuracy
    >>> row = Batch.of([Sample(id="1", response="In 1960.", reference="In 1950.")])
    >>> said = {"correctness": 20, "completeness": 90, "consistency": 100}
    >>> found = Accuracy(criteria={name: {"reasoning": "…", "score": n} for name, n in said.items()})
    >>> metric = FactualAccuracyPercentage()
    >>> scores = metric.score(metric.prepare(Judged(row, [found])), Features())
    >>> round(float(scores.values[0]), 4), scores.details[0]["grade"]
    (57.0, 'C')
    """

    spec: ClassVar = _percent(FactualAccuracy.spec, "factual_accuracy_percentage", 6)
    judgement: ClassVar = FactualAccuracy.judgement
    prompts: ClassVar = FactualAccuracy.prompts
    _default: ClassVar = FactualAccuracy()


@dataclass(frozen=True)
class SemanticSimilarityPercentage(MetricWrapper):
    r"""Semantic similarity in percent, rounded to two digits, by the first embedding model configured.

    .. math:: \mathrm{round}(100 \max(0, \cos\theta(r, g)), 2)

    From 0 to 100; a blank response or reference has 0. Otherwise as ``semantic_similarity``.

    References: document 002, section 7.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.vectors import VectorTable
    >>> pair = Batch.of([Sample(id="1", response="yes", reference="indeed")])
    >>> rows = np.array([[3, 4], [4, 3]], dtype=np.float32)
    >>> features = Features.of(VectorTable.of("demo", ["yes", "indeed"], rows))
    >>> metric = SemanticSimilarityPercentage()
    >>> metric.score(metric.prepare(pair), features).values.tolist()
    [96.0]
    """

    spec: ClassVar = _percent(SemanticSimilarity.spec, "semantic_similarity_percentage", 7)

    @property
    def inner(self) -> SemanticSimilarity:
        """Semantic similarity."""
        return SemanticSimilarity()

    def embedder_names(self, configured: tuple[str, ...], /) -> tuple[str, ...]:
        """Choose the first embedder configured."""
        return configured[:1]

    def convert(self, scores: Scores, batch: Batch) -> Scores:
        """Convert the scores to percent."""
        del batch
        return replace(scores, values=np.round(scores.values * _FULL, _DECIMALS))


@dataclass(frozen=True)
class BertScoreF1(MetricWrapper):
    """BERTScore F1 in percent, as it is, where a blank response or reference has 0.

    The document's code takes ``torch:microsoft/deberta-xlarge-mnli``; its printed 16.23 and 6.62 are rescaled
    values of that model, which stand in the details. From 0 to 100. Otherwise as ``bertscore``.

    Attributes:
        model: whose token vectors are compared.

    References: document 002, section 8.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.tokens import TokenTable
    >>> from sgi.kernel.features import Features
    >>> pair = Batch.of([Sample(id="1", response="a b", reference="a")])
    >>> ids, rows = [np.array([1, 2]), np.array([1])], np.eye(2, dtype=np.float32)[[0, 1, 0]]
    >>> table = TokenTable.checked("minilm", ["a b", "a"], ids, rows, special=())
    >>> features = Features(token_table=table)
    >>> metric = BertScoreF1()
    >>> metric.score(metric.prepare(pair), features).values.round(4).tolist()
    [66.6667]
    """

    model: str = BertScore.model
    spec: ClassVar = _percent(BertScore.spec, "bert_score_f1", 8)

    def __post_init__(self) -> None:
        BertScore(self.model)  # raises what is wrong with the name

    @property
    def inner(self) -> BertScore:
        """BERTScore with this model."""
        return BertScore(self.model)

    def convert(self, scores: Scores, batch: Batch) -> Scores:
        """Convert the scores to percent; 0 where the references are blank."""
        del batch
        blank = np.array([reason == BLANK for reason in scores.reasons], dtype=np.bool_)
        status = np.where(blank, Status.OK.value, scores.status)
        reasons = tuple("" if empty else reason for empty, reason in zip(blank, scores.reasons, strict=True))
        return Scores(np.where(blank, 0.0, scores.values * _FULL), status, reasons, scores.details)


@dataclass(frozen=True)
class CorrectAnswersCount(_DocumentName):
    """1 for each correct response, else 0; their sum is the count.

    As ``correct_answers(phrases="substring")``: a phrase of uncertainty anywhere makes it no answer.

    References: document 002, section 9.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.classification import Classified
    >>> row = Batch.of([Sample(id="1", response="Paris.", reference="Paris")])
    >>> metric = CorrectAnswersCount()
    >>> metric.score(metric.prepare(Judged(row, [Classified(verdict="CORRECT")])), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = _count(CorrectAnswers.spec, "correct_answers_count", 9)
    judgement: ClassVar = AnswerClassification.judgement
    prompts: ClassVar = AnswerClassification.prompts
    _default: ClassVar = CorrectAnswers(phrases="substring")


@dataclass(frozen=True)
class WrongAnswersCount(_DocumentName):
    """1 for each wrong response, else 0; their sum is the count.

    As ``wrong_answers(phrases="substring")``: a phrase of uncertainty anywhere makes it no answer.

    References: document 002, section 10.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.classification import Classified
    >>> row = Batch.of([Sample(id="1", response="Lyon.", reference="Paris")])
    >>> metric = WrongAnswersCount()
    >>> metric.score(metric.prepare(Judged(row, [Classified(verdict="WRONG")])), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = _count(WrongAnswers.spec, "wrong_answers_count", 10)
    judgement: ClassVar = AnswerClassification.judgement
    prompts: ClassVar = AnswerClassification.prompts
    _default: ClassVar = WrongAnswers(phrases="substring")


@dataclass(frozen=True)
class DontKnowAnswersCount(_DocumentName):
    """1 for each response that says somewhere that it does not know, else 0; their sum is the count.

    As ``dont_know_answers(phrases="substring")``.

    References: document 002, section 11.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> from sgi.kernel.features import Features
    >>> from sgi.kernel.judged_metric import Judged
    >>> from sgi.metrics.classification import Classified
    >>> row = Batch.of([Sample(id="1", response="The Unknown Soldier.", reference="He")])
    >>> metric = DontKnowAnswersCount()
    >>> metric.score(metric.prepare(Judged(row, [Classified()])), Features()).values.tolist()
    [1.0]
    """

    spec: ClassVar = _count(DontKnowAnswers.spec, "dont_know_answers_count", 11)
    judgement: ClassVar = AnswerClassification.judgement
    prompts: ClassVar = AnswerClassification.prompts
    _default: ClassVar = DontKnowAnswers(phrases="substring")
