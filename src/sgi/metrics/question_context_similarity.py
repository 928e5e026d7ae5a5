"""Similarity of the question and the retrieved passages, by embedding."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from typing_extensions import TypedDict

from sgi.geometry.angles import cosine
from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import CONTEXTS, QUESTION
from sgi.metrics.complete_rows import unread_passages, unread_reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features


@closed
class QuestionContextDetails(TypedDict, total=False):
    """The similarity of each passage.

    Attributes:
        passages: the similarity of each passage and the question; None for a blank passage, and for one of
            which the vocabulary of the model covers too few letters.
    """

    passages: list[float | None]


@dataclass(frozen=True)
class QuestionContextSimilarity(Metric["Batch"]):
    r"""Mean cosine similarity of the question and the retrieved passages, without a judge.

    .. math:: \frac{1}{n} \sum_i \max(0, \cos\theta(q, c_i))

    In [0, 1]. `context_relevance` asks a judge instead. Blank passages do not count. The score is undefined
    if the question or all passages are blank. The details hold the similarity of each passage.

    The vocabulary of the model must cover 80 % of a text. A passage of which it covers less is treated as a
    blank one; a row has no value if it is the question, or every passage.

    Limits: a passage about the same subject is similar even if it does not answer the question; a long
    passage is less similar than the part of it that matters. Compare values of one model only.

    References: Reimers and Gurevych (2019), "Sentence-BERT", section 3.

    >>> from sgi.types import Batch, Features, Sample, VectorTable
    >>> row = Batch.of([Sample(id="1", question="q", contexts=("a", "b"))])
    >>> vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    >>> features = Features.of(VectorTable.of("demo", ["q", "a", "b"], vectors))
    >>> QuestionContextSimilarity().score(row, features).values.tolist()
    [0.5]
    """

    spec: ClassVar = MetricSpec(
        "question_context_similarity",
        3,
        needs=QUESTION | CONTEXTS,
        citation="Reimers and Gurevych (2019)",
        guide=MetricHelp(
            Question.FOUND,
            "High: the passages are about the topic of the question. Compare values instead of reading one "
            "alone.",
            "A passage on the topic need not have the answer.",
        ),
        details=QuestionContextDetails,
    )

    def texts(self, batch: Batch, /) -> Iterable[str]:
        """List the questions and passages to compare, without blank texts."""
        return chain.from_iterable(pair for _, _, *pair in _pairs(batch))

    def score(self, batch: Batch, features: Features, /) -> Scores:
        """Return the mean similarity of each row."""
        sums, counts = np.zeros(len(batch)), np.zeros(len(batch))
        values: list[list[JsonValue]] = [[None] * len(contexts) for contexts in batch.contexts]
        unread = features.vectors.unread
        if pairs := [pair for pair in _pairs(batch) if unread.isdisjoint(pair[2:])]:
            rows, places, questions, passages = zip(*pairs, strict=True)
            u, v = (features.vectors.rows(texts).astype(np.float64) for texts in (questions, passages))
            similarities = np.maximum(cosine(u, v), 0.0)
            owners = np.array(rows, dtype=np.int64)
            sums += np.bincount(owners, weights=similarities, minlength=len(batch))
            counts += np.bincount(owners, minlength=len(batch))
            for row, place, value in zip(rows, places, similarities.tolist(), strict=True):
                values[row][place] = value
        reasons = {
            "the question is blank": np.array([not text.strip() for text in batch.question], dtype=np.bool_),
            **unread_reasons(features.vectors, question=batch.question),
            **unread_passages(features.vectors, batch.contexts),
            "there are no passages, or all are blank": counts == 0,
        }
        details: list[dict[str, JsonValue]] = [{"passages": row} for row in values]
        return Scores.of(sums / np.maximum(counts, 1), undefined=reasons, details=details)


def _pairs(batch: Batch) -> Iterator[tuple[int, int, str, str]]:
    """Yield row, place, question and passage of each pair of texts that are not blank."""
    for row, (question, contexts) in enumerate(zip(batch.question, batch.contexts, strict=True)):
        if question.strip():
            yield from ((row, place, question, text) for place, text in enumerate(contexts) if text.strip())
