"""The metrics of document 002 (GraphRAG evaluation metrics), with its names and conventions.

Each is a plain metric with other parameters and another unit, and shares the judge calls of the plain metric.
Each row of `TABLE` becomes a class of this module, such as ``RagasFaithfulness``.
"""

from __future__ import annotations

from dataclasses import dataclass, make_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from sgi.kernel.details import closed
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric import COUNT, PERCENT, AnyMetric, Scores, Status
from sgi.metrics.bertscore import BertScore
from sgi.metrics.classification import CorrectAnswers, DontKnowAnswers, WrongAnswers
from sgi.metrics.judged.answer_relevance import AnswerRelevance
from sgi.metrics.judged.context_precision import ContextPrecision
from sgi.metrics.judged.factual_accuracy import CRITERIA, AccuracyDetails, FactualAccuracy
from sgi.metrics.judged.faithfulness import ContextRecall, Faithfulness
from sgi.metrics.references import BLANK
from sgi.metrics.similarity import SemanticSimilarity
from sgi.metrics.wrapper import JudgedWrapper, MetricWrapper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from sgi.kernel.sample import Batch

_PERCENT = 100.0
_DECIMALS = 2


def _to_percent(scores: Scores) -> Scores:
    return replace(scores, values=scores.values * _PERCENT)


@closed
class PercentageDetails(AccuracyDetails, total=False):
    """The grade and the criteria.

    Attributes:
        correctness: the judge's score of correctness, from 0 to 100.
        completeness: the judge's score of completeness, from 0 to 100.
        consistency: the judge's score of consistency, from 0 to 100.
    """


def _criteria_to_percent(scores: Scores) -> Scores:
    """Convert scores into percent, and the criteria in their details too."""
    return replace(_to_percent(scores), details=tuple(map(_percent_details, scores.details)))


def _percent_details(details: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    percent = {name: round(_PERCENT * float(str(details[name]))) for name in CRITERIA if name in details}
    return {**details, **percent}


def _to_rounded_percent(scores: Scores) -> Scores:
    return replace(scores, values=np.round(scores.values * _PERCENT, _DECIMALS))


def _to_percent_or_zero(scores: Scores) -> Scores:
    """Convert scores into percent; rows whose references are blank get 0."""
    blank = np.array([reason == BLANK for reason in scores.reasons], dtype=np.bool_)
    status = np.where(blank, Status.OK.value, scores.status)
    reasons = tuple("" if empty else reason for empty, reason in zip(blank, scores.reasons, strict=True))
    return Scores(np.where(blank, 0.0, scores.values * _PERCENT), status, reasons, scores.details)


class Row(NamedTuple):
    """A metric of the GraphRAG evaluation document, and the SGI metric that computes it.

    Attributes:
        section: the section of the document.
        plain: the plain metric, with the conventions of the document.
        meaning: the first line of the docstring.
        note: the rest of the docstring.
        convert: function that converts the plain metric's scores; None for a count, whose scores stay.
        parameter: name of the parameter that is passed on to the plain metric; "" if there is none.
        first_embedder: whether the metric uses only the first of the configured embedders.
        details: the schema of the details; None for the value of the plain metric.
    """

    name: str
    section: int
    plain: AnyMetric
    meaning: str
    note: str
    convert: Callable[[Scores], Scores] | None = _to_percent
    parameter: str = ""
    first_embedder: bool = False
    details: Any = None


TABLE = (
    Row(
        "ragas_faithfulness",
        1,
        Faithfulness(empty="full"),
        "Percentage of the response's claims that the passages support; 100 if there are no claims.",
        "From 0 to 100; the status is ok unless the judge fails. A blank response has no claims.",
    ),
    Row(
        "ragas_context_precision",
        2,
        ContextPrecision(empty="zero"),
        "Percentage of the passages that help to answer the question; 0 if there are no passages.",
        "From 0 to 100; the simple mean over passages. A row with a blank question is undefined.",
    ),
    Row(
        "ragas_context_recall",
        3,
        ContextRecall(empty="full"),
        "Percentage of the reference's statements that the passages state; 100 if there are no statements.",
        "From 0 to 100; the status is ok unless the judge fails. If there are no passages, the value is 0.",
    ),
    Row(
        "ragas_answer_relevance",
        4,
        AnswerRelevance(noncommittal="ignore"),
        "Mean cosine, in percent, between the question and questions that the response answers.",
        r""".. math:: 100 \max\Bigl(0, \frac{1}{n} \sum_i \cos\theta(q, q_i)\Bigr)

From 0 to 100; an evasive response is scored in the same way. A blank response scores 0; a row with a blank
question is undefined.

Attributes:
    scale: ``cosine``, the formula that the document prints; or ``affine``, the mean of (1 + cos) / 2.""",
        parameter="scale",
    ),
    Row(
        "factual_accuracy_percentage",
        6,
        FactualAccuracy(),
        "How correct, complete and consistent the response is, in percent, with a letter grade.",
        "From 0 to 100; the grade and the three criteria, from 0 to 100, are in the details.",
        convert=_criteria_to_percent,
        details=PercentageDetails,
    ),
    Row(
        "semantic_similarity_percentage",
        7,
        SemanticSimilarity(),
        "Cosine of response and reference in percent, rounded to two digits, by the first embedder.",
        r""".. math:: \mathrm{round}(100 \max(0, \cos\theta(r, g)), 2)

From 0 to 100; 0 where the response or the reference is blank.""",
        convert=_to_rounded_percent,
        first_embedder=True,
    ),
    Row(
        "bert_score_f1",
        8,
        BertScore(),
        "BERTScore F1 in percent, not rescaled; 0 where the response or the reference is blank.",
        """From 0 to 100. The document's code uses ``torch:microsoft/deberta-xlarge-mnli``; its printed 16.23
and 6.62 are rescaled values of that model, which are in the details.

Attributes:
    model: the model that gives the token vectors.""",
        convert=_to_percent_or_zero,
        parameter="model",
    ),
    Row(
        "correct_answers_count",
        9,
        CorrectAnswers(phrases="substring"),
        "1 if the response is correct, 0 otherwise; the sum is the count of correct responses.",
        'A response with a phrase of uncertainty anywhere in it is classified as "don\'t know".',
        convert=None,
    ),
    Row(
        "wrong_answers_count",
        10,
        WrongAnswers(phrases="substring"),
        "1 if the response is wrong, 0 otherwise; the sum is the count of wrong responses.",
        'A response with a phrase of uncertainty anywhere in it is classified as "don\'t know".',
        convert=None,
    ),
    Row(
        "dont_know_answers_count",
        11,
        DontKnowAnswers(phrases="substring"),
        "1 if the response says anywhere that it does not know, 0 otherwise; the sum is their count.",
        "The value is 0 or 1.",
        convert=None,
    ),
)
"""The metrics of the document, in its order."""


@dataclass(frozen=True)
class _DocumentMetric(MetricWrapper):
    _row: ClassVar[Row]

    def __post_init__(self) -> None:
        _ = self.inner  # checks the parameter

    @property
    def inner(self) -> Any:
        row = self._row
        plain: Any = row.plain
        return replace(plain, **{row.parameter: getattr(self, row.parameter)}) if row.parameter else plain

    def embedder_names(self, configured: tuple[str, ...], /) -> tuple[str, ...]:
        return configured[:1] if self._row.first_embedder else super().embedder_names(configured)

    def convert(self, scores: Scores, batch: Batch) -> Scores:
        del batch
        return scores if self._row.convert is None else self._row.convert(scores)


class _JudgedDocumentMetric(_DocumentMetric, JudgedWrapper):
    pass


def _metric_class(row: Row) -> type[AnyMetric]:
    plain = row.plain
    unit: dict[str, Any] = {"unit": COUNT} if row.convert is None else {"unit": PERCENT, "high": _PERCENT}
    unit["details"] = row.details or plain.spec.details
    scale = "a count" if row.convert is None else "percent"
    guide: Any = plain.spec.guide
    unit["guide"] = guide._replace(reading=f"The value of `{plain.spec.name}`, as {scale}.")
    spec: Any = replace(
        plain.spec, name=row.name, citation=f"GraphRAG evaluation metrics, section {row.section}", **unit
    )
    doc = f"""{row.meaning}

{row.note}

In all other respects it equals ``{plain.spec.name}``, with the same judge calls and limits.

References: document 002, section {row.section}.

>>> from sgi.kernel.registry import metric
>>> metric("{row.name}").inner.canonical
{plain.canonical!r}
"""
    body = {"spec": spec, "_row": row, "__doc__": doc, "__module__": __name__}
    fields = [(row.parameter, Any, getattr(plain, row.parameter))] if row.parameter else []
    name = "".join(part.title() for part in row.name.split("_"))
    base = _JudgedDocumentMetric if isinstance(plain, JudgedMetric) else _DocumentMetric
    return make_dataclass(name, fields, bases=(base,), namespace=body, frozen=True)


_CLASSES = {kind.__name__: kind for kind in map(_metric_class, TABLE)}
globals().update(_CLASSES)


def __getattr__(name: str) -> Any:
    """Tell type checkers that the module has the classes of the table."""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
