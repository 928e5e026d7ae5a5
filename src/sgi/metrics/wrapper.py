"""Metrics that convert the scores of an inner metric."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from sgi.kernel.judged_metric import JudgedMetric, JudgedRows
from sgi.kernel.metric import AnyMetric

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel

    from sgi.kernel.metric import Scores
    from sgi.kernel.prompts import Prompt
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.tokens import TokenModel
    from sgi.kernel.vectors import EntailmentNeeds, Features, TokenNeeds, VectorNeeds

T = TypeVar("T")


class _PreparedRows(NamedTuple):
    batch: Batch
    inner: object


class MetricWrapper(AnyMetric):
    """Base of metrics that convert the scores of an inner metric; both need the same vectors and models."""

    @property
    @abstractmethod
    def inner(self) -> AnyMetric:
        """The metric whose scores are converted."""

    @abstractmethod
    def convert(self, scores: Scores, batch: Batch) -> Scores:
        """Convert the scores of the inner metric into the scores of this metric."""

    @property
    def vector_needs(self) -> VectorNeeds | None:
        """This metric if the inner metric needs vectors, otherwise None."""
        return None if self.inner.vector_needs is None else self

    @property
    def token_needs(self) -> TokenNeeds | None:
        """This metric if the inner metric needs token vectors, otherwise None."""
        return None if self.inner.token_needs is None else self

    @property
    def entailment_needs(self) -> EntailmentNeeds | None:
        """This metric if the inner metric needs an entailment model, otherwise None."""
        return None if self.inner.entailment_needs is None else self

    def embedder_names(self, configured: tuple[str, ...], /) -> tuple[str, ...]:
        """Return the names of the embedders that the inner metric needs."""
        return self.inner.embedder_names(configured)

    def texts_by_embedder(
        self, prepared: _PreparedRows, configured: tuple[str, ...], /
    ) -> Mapping[str, tuple[str, ...]]:
        """Return the texts whose vectors the inner metric needs, by the name of the embedder."""
        return self.inner.texts_by_embedder(prepared.inner, configured)

    @property
    def token_model(self) -> TokenModel:
        """The token model of the inner metric."""
        return _require(self.inner.token_needs).token_model

    @property
    def weighs_tokens(self) -> bool:
        """Whether the inner metric weighs tokens by their frequency."""
        return _require(self.inner.token_needs).weighs_tokens

    @property
    def entailment_model(self) -> str:
        """The entailment model of the inner metric."""
        return _require(self.inner.entailment_needs).entailment_model

    def prepare(self, rows: Any, /) -> _PreparedRows:
        """Prepare the rows for the inner metric."""
        return _PreparedRows(rows.batch if isinstance(rows, JudgedRows) else rows, self.inner.prepare(rows))

    def texts(self, prepared: _PreparedRows, /) -> Iterable[str]:
        """List the texts whose vectors the inner metric needs."""
        return _require(self.inner.vector_needs).texts(prepared.inner)

    def token_texts(self, prepared: _PreparedRows, /) -> Iterable[str]:
        """List the texts whose token vectors the inner metric needs."""
        return _require(self.inner.token_needs).token_texts(prepared.inner)

    def pairs(self, prepared: _PreparedRows, /) -> Iterable[tuple[str, str]]:
        """List the (premise, hypothesis) pairs that the inner metric needs."""
        return _require(self.inner.entailment_needs).pairs(prepared.inner)

    def score(self, prepared: Any, features: Features, /) -> Scores:
        """Score with the inner metric, and convert the scores."""
        return self.convert(self.inner.score(prepared.inner, features), prepared.batch)


class JudgedWrapper(MetricWrapper, JudgedMetric[Any]):
    """Base of metrics that wrap a judged metric and share its judge calls."""

    @property
    def judgement(self) -> type[BaseModel]:  # type: ignore[override]
        """The class of a judgement of the inner metric."""
        return self._judged.judgement

    @property
    def prompts(self) -> tuple[Prompt, ...]:  # type: ignore[override]
        """The prompts of the inner metric."""
        return self._judged.prompts

    async def ask(self, sample: Sample, judge: Judge, /) -> Any:
        """Ask the judge for the judgement that the inner metric needs."""
        return await self._judged.ask(sample, judge)

    @property
    def _judged(self) -> JudgedMetric[Any]:
        return cast("JudgedMetric[Any]", self.inner)


def _require(needs: T | None) -> T:
    if needs is None:
        raise TypeError(
            "the inner metric uses no model of this kind; "
            "check that `vector_needs`, `token_needs` or `entailment_needs` is not None before you use it"
        )
    return needs
