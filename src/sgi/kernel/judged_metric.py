"""Metrics that ask a judge about each row and compute scores from its judgements."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from sgi.kernel.errors import SgiError
from sgi.kernel.metric import AnyMetric
from sgi.kernel.registry import metric_class, metric_name
from sgi.kernel.short_text import shorten
from sgi.kernel.signature import canonical_json, digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.kernel.errors import JudgeError
    from sgi.kernel.metric import Scores
    from sgi.kernel.prompts import Prompt
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import Features

MAX_REPLY = 4000
"""The maximum number of characters of an unusable reply that are stored."""

CACHED_REPLY = "reply_from_cache"
"""The key in the details of a failed row that is true if all its replies came from the cache."""

E = TypeVar("E", bound=BaseModel)


class UnusableReply(BaseModel):
    """The last reply about a failed row, shortened; ``cached`` if all its replies came from the cache."""

    model_config = ConfigDict(frozen=True)

    text: str
    cached: bool

    @classmethod
    def of(cls, error: JudgeError) -> UnusableReply:
        """Return the reply in a judge's error, shortened."""
        return cls(text=shorten(error.text, MAX_REPLY), cached=error.cached)

    def details(self) -> dict[str, JsonValue]:
        """Return the reply as the details of a score."""
        return {"judge_reply": self.text, CACHED_REPLY: self.cached}


@dataclass(frozen=True, eq=False)
class JudgedRows(Generic[E]):
    """Rows of a batch with their judgements."""

    batch: Batch
    judgements: Sequence[E]

    def __len__(self) -> int:
        return len(self.batch)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return these rows with their judgements, in this order."""
        return type(self)(self.batch.take(rows), tuple(self.judgements[row] for row in rows))


class JudgedMetric(AnyMetric, Generic[E]):
    """A metric that asks a judge about each row and computes scores from the stored judgements."""

    judgement: ClassVar[type[BaseModel]]
    """The class of a judgement, the object that ``ask`` returns."""
    prompts: ClassVar[tuple[Prompt, ...]]
    """Every prompt that ``ask`` may send."""

    @abstractmethod
    async def ask(self, sample: Sample, judge: Judge, /) -> E:
        """Return the judgement of a sample that has all the fields the metric needs.

        Raises a JudgeError if the judge returns no usable reply; the row gets the status ``failed``.
        """

    @abstractmethod
    def score(self, judged: JudgedRows[E], features: Features, /) -> Scores:
        """Return one score for each row."""


def prompts_digest(metrics: Iterable[AnyMetric]) -> str:
    """Return a hash of the prompts of these metrics; empty if none of them uses a judge."""
    judged = [metric for metric in metrics if isinstance(metric, JudgedMetric)]
    digests = sorted({prompt.digest for metric in judged for prompt in metric.prompts})
    return digest(canonical_json(digests), size=4).hex() if digests else ""


@cache
def is_judged(metric: str) -> bool:
    """Return whether a metric, by its canonical string, uses a judge; False for an unknown one."""
    try:
        return issubclass(metric_class(metric_name(metric)), JudgedMetric)
    except SgiError:
        return False


def judged_metrics(metrics: Sequence[AnyMetric]) -> list[JudgedMetric[Any]]:
    """Return the metrics that use a judge."""
    return [metric for metric in metrics if isinstance(metric, JudgedMetric)]
