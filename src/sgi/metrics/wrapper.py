"""Metrics that convert the scores of another metric."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sgi.kernel.judged_metric import Judged, JudgedMetric
from sgi.kernel.metric import AnyMetric

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.kernel.features import Features
    from sgi.kernel.metric import EntailmentNeeds, Scores, TokenNeeds, VectorNeeds
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.tokens import TokenModel

T = TypeVar("T")


class _Prepared(NamedTuple):
    batch: Batch
    inner: Any


class MetricWrapper(AnyMetric):
    """A metric that converts the scores of another one; it needs the features that the other one needs."""

    @property
    @abstractmethod
    def inner(self) -> AnyMetric:
        """The other metric."""

    @abstractmethod
    def convert(self, scores: Scores, batch: Batch) -> Scores:
        """Convert the scores of the other metric."""

    @property
    def vector_needs(self) -> VectorNeeds | None:
        """The metric, if the other one needs vectors."""
        return None if self.inner.vector_needs is None else self

    @property
    def token_needs(self) -> TokenNeeds | None:
        """The metric, if the other one needs token vectors."""
        return None if self.inner.token_needs is None else self

    @property
    def entailment_needs(self) -> EntailmentNeeds | None:
        """The metric, if the other one needs an entailment model."""
        return None if self.inner.entailment_needs is None else self

    def embedder_names(self, configured: tuple[str, ...], /) -> tuple[str, ...]:
        """Choose the embedders of the other metric."""
        return self.inner.embedder_names(configured)

    @property
    def token_model(self) -> TokenModel:
        """The token model of the other metric."""
        return _required(self.inner.token_needs).token_model

    @property
    def weighs_tokens(self) -> bool:
        """Whether the other metric weighs tokens."""
        return _required(self.inner.token_needs).weighs_tokens

    @property
    def entailment_model(self) -> str:
        """The entailment model of the other metric."""
        return _required(self.inner.entailment_needs).entailment_model

    def prepare(self, rows: Any, /) -> _Prepared:
        """Prepare the rows for the other metric."""
        return _Prepared(rows.batch if isinstance(rows, Judged) else rows, self.inner.prepare(rows))

    def texts(self, prepared: _Prepared, /) -> Iterable[str]:
        """List the texts of the other metric."""
        return _required(self.inner.vector_needs).texts(prepared.inner)

    def token_texts(self, prepared: _Prepared, /) -> Iterable[str]:
        """List the token texts of the other metric."""
        return _required(self.inner.token_needs).token_texts(prepared.inner)

    def pairs(self, prepared: _Prepared, /) -> Iterable[tuple[str, str]]:
        """List the pairs of the other metric."""
        return _required(self.inner.entailment_needs).pairs(prepared.inner)

    def score(self, prepared: Any, features: Features, /) -> Scores:
        """Score with the other metric and convert."""
        return self.convert(self.inner.score(prepared.inner, features), prepared.batch)


class JudgedWrapper(MetricWrapper, JudgedMetric[Any]):
    """A wrapper of a judged metric; it asks what that one asks, so that one call serves both."""

    @property
    @abstractmethod
    def inner(self) -> JudgedMetric[Any]:
        """The other metric."""

    async def ask(self, sample: Sample, judge: Judge, /) -> Any:
        """Ask what the other metric asks."""
        return await self.inner.ask(sample, judge)


def _required(needs: T | None) -> T:
    if needs is None:
        raise TypeError("the inner metric does not need this feature")
    return needs
