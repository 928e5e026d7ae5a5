"""Aggregates of any metrics: their weighted mean and their minimum."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel.metric import SCORE, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import REFERENCE, RESPONSE
from sgi.kernel.vectors import Features
from sgi.metrics.aggregate_base import Aggregate, AggregateDetails, JudgedAggregate
from sgi.metrics.lexical import LexicalAggregate, Tokenizer
from sgi.metrics.parameters import check_choice, check_share, checked_weights
from sgi.metrics.parts import PartsDetails, combine_parts, weighted_mean_of_parts
from sgi.metrics.similarity import SemanticSimilarity
from sgi.metrics.wrapper import MetricWrapper

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Batch


@dataclass(frozen=True)
class WeightedMean(Aggregate):
    r"""Weighted mean of any metrics.

    .. math:: \sum_{i \in ok} w_i v_i \,/\, \sum_{i \in ok} w_i

    In [0, 1]. Each part counts on the scale from 0 to 1, where 1 is best: a percentage is divided by 100, and
    1 - v counts if lower values are better. Metrics without such a scale (``sgi``, angles) are refused. The
    details hold the value of each part, or the reason why it has none.

    A part that is undefined, or whose fields the sample lacks, is left out, and the other weights are
    renormalised. If no part has a value, the row is undefined, or missing if the sample has the fields of no
    part. Judged parts share their judge calls with the same metrics outside the mean.

    Limits: do not compare rows with different parts. A high value of one part can hide a low value of
    another; see ``minimum``.

    Attributes:
        of: the metrics, with their parameters.
        failed: ``fail``: a failed part makes the row ``failed``; ``leave_out``: the mean leaves it out.
        weights: one weight for each metric; equal weights if empty.

    References: GraphRAG evaluation metrics, section 5, for any metrics.

    >>> from sgi.types import Batch, Features, Sample
    >>> rows = Batch.of([Sample(id="1", response="in 1950", reference="1950 or later")])
    >>> metric = WeightedMean(("squad_em", "squad_token_f1"), weights=(1, 3))
    >>> metric.canonical
    'weighted_mean(of=["squad_em", "squad_token_f1"], weights=[1.0, 3.0])'
    >>> metric.score(metric.prepare(rows), Features()).details[0]["parts"]
    {'squad_em': 0.0, 'squad_token_f1': 0.4}
    """

    weights: tuple[float, ...] = field(default=(), kw_only=True)
    example: ClassVar = 'weighted_mean(of=["rouge_l", "content_f1"], weights=[2.0, 1.0])'
    spec: ClassVar = MetricSpec(
        "weighted_mean",
        1,
        needs=frozenset(),
        unit=SCORE,
        citation="GraphRAG evaluation metrics, section 5, for any metrics",
        guide=MetricHelp(
            Question.OTHER,
            "1: the best value of every part. The details have the parts.",
            "A mean hides a bad part: read the parts too. A row has a value only if its parts have one.",
        ),
        details=AggregateDetails,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights != ():
            weights = checked_weights(self.weights, tuple(part.canonical for part in self.of))
            object.__setattr__(self, "weights", weights)

    def combine(self, parts: Mapping[str, Scores]) -> Scores:
        """Return the weighted mean of each row's parts."""
        return weighted_mean_of_parts(parts, self.weights or (1.0,) * len(parts), failed=self.failed)


@dataclass(frozen=True)
class JudgedWeightedMean(WeightedMean, JudgedAggregate):
    """A `WeightedMean` with at least one part that needs a judge."""


WeightedMean.judged_class = JudgedWeightedMean


@dataclass(frozen=True)
class Minimum(Aggregate):
    r"""Smallest of any metrics.

    .. math:: \min_{i \in ok} v_i

    In [0, 1]. Each part counts on the scale from 0 to 1, where 1 is best, and parts without a value are left
    out, as in ``weighted_mean``. A row is as good as its worst part.

    Limits: do not compare rows with different parts. The mean over rows is below the mean of every part.

    Attributes:
        of: the metrics, with their parameters.
        failed: ``fail``: a failed part makes the row ``failed``; ``leave_out``: it is left out.

    References: none; it is defined here.

    >>> from sgi.types import Batch, Features, Sample
    >>> rows = Batch.of([Sample(id="1", response="in 1950", reference="1950 or later")])
    >>> metric = Minimum(("rouge_l", "squad_token_f1"))
    >>> metric.score(metric.prepare(rows), Features()).values.tolist()
    [0.4]
    """

    example: ClassVar = 'minimum(of=["rouge_l", "content_f1"])'
    spec: ClassVar = MetricSpec(
        "minimum",
        1,
        needs=frozenset(),
        unit=SCORE,
        citation="defined here",
        details=AggregateDetails,
        guide=MetricHelp(
            Question.OTHER,
            "The value of the worst part. The details have the parts.",
            "A row has a value only if its parts have one.",
        ),
    )

    def combine(self, parts: Mapping[str, Scores]) -> Scores:
        """Return the smallest value of each row's parts."""
        return combine_parts(parts, lambda values: min(values.values()), failed=self.failed)


@dataclass(frozen=True)
class JudgedMinimum(Minimum, JudgedAggregate):
    """A `Minimum` with at least one part that needs a judge."""


Minimum.judged_class = JudgedMinimum


@dataclass(frozen=True)
class ReferenceAggregate(MetricWrapper):
    r"""Weighted mean of semantic similarity and the lexical aggregate.

    .. math:: w \cdot \mathrm{semantic\ similarity} + (1 - w) \cdot \mathrm{lexical\ aggregate}

    In [0, 1]. A part that is undefined is left out; a part that failed makes the row ``failed``. The details
    hold both parts.

    Limits: those of its parts. A response that contradicts the reference in the same words scores high.

    Attributes:
        weight: weight w of semantic similarity, in [0, 1]. The default is the best multiple of 0.1 on the
            training split of STS-B with the embedded model (Pearson correlation with human scores 0.840,
            n = 1,688). On the test split it gives 0.825, semantic similarity alone 0.821, and the lexical
            aggregate alone 0.559 (n = 385).
        tokenizer: tokens of the lexical aggregate: ``rouge``, or ``unicode`` for scripts other than Latin.

    References: document 003, its aggregate with semantic similarity.

    >>> import numpy as np
    >>> from sgi.types import Batch, Features, Sample, VectorTable
    >>> pair = Batch.of([Sample(id="1", response="yes", reference="indeed")])
    >>> rows = np.array([[3, 4], [4, 3]], dtype=np.float32)
    >>> features = Features.of(VectorTable.of("demo", ["yes", "indeed"], rows))
    >>> metric = ReferenceAggregate()
    >>> scores = metric.score(metric.prepare(pair), features)
    >>> round(float(scores.values[0]), 4), scores.details[0]["parts"]["lexical_aggregate"]
    (0.864, 0.0)
    """

    weight: float = 0.9
    tokenizer: Tokenizer = "rouge"
    spec: ClassVar = MetricSpec(
        "reference_aggregate",
        2,
        needs=RESPONSE | REFERENCE,
        citation="RAG evaluation records, aggregate with semantic similarity",
        guide=MetricHelp(
            Question.RIGHT,
            "1: the response equals the reference. The details have the parts.",
            "A wrong number or a missing “not” hardly changes it. A row has a value only if its parts have "
            "one.",
        ),
        details=PartsDetails,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_share("weight", self.weight))
        check_choice("tokenizer", self.tokenizer, Tokenizer)

    @property
    def inner(self) -> SemanticSimilarity:
        """The metric semantic similarity."""
        return SemanticSimilarity()

    def convert(self, scores: Scores, batch: Batch) -> Scores:
        """Return the weighted mean of semantic similarity and the lexical aggregate."""
        lexical = LexicalAggregate(self.tokenizer).score(batch, Features())
        parts = {"semantic_similarity": scores, "lexical_aggregate": lexical}
        return weighted_mean_of_parts(parts, (self.weight, 1.0 - self.weight))
