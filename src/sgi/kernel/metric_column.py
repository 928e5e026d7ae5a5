"""The values of one metric of a run as a column, and the provenance of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sgi.kernel.metric import PERCENT, RATIO, SCORE, Status
from sgi.kernel.parsing import AnyText, Count, JsonObject  # noqa: TC001 - pydantic reads the annotations
from sgi.kernel.protocols import ENTAILMENT
from sgi.kernel.registry import metric_name
from sgi.kernel.short_text import short_repr
from sgi.kernel.tokens import TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

UNOPENED = "@unopened"
"""The end of a model's fingerprint if the model could not be opened, so that its digest is unknown."""

FORMULA = "formula"
"""The key of a metric's parameters that says what its definition stands for."""


class FieldDifference(NamedTuple):
    """A field whose value differs between two records."""

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.field}: {self.before} → {self.after}"


@dataclass(frozen=True)
class MetricProvenance:
    """Models, judge and parameters of a metric.

    Attributes:
        models: the fingerprints (identities) of embedders, token encoders and entailment models.
        judge: the fingerprint of the judge; empty if the metric uses none.
        budget: the maximum number of tokens of passages in one request to the judge; None if not recorded.
        prompts: a hash of the prompts.
        version: the version of the metric's definition; 0 if not recorded.
    """

    models: tuple[AnyText, ...] = ()
    judge: AnyText = ""
    budget: Count | None = None
    prompts: AnyText = ""
    name: AnyText = ""
    parameters: JsonObject = field(default_factory=dict)
    version: Count = 0

    @property
    def is_complete(self) -> bool:
        """Whether the digest of every model is known."""
        return not any(model.endswith(UNOPENED) for model in self.models)

    def differences(self, after: MetricProvenance) -> Iterator[FieldDifference]:
        """Yield the fields that differ in a later record; fields that one record lacks are not compared.

        >>> list(map(str, MetricProvenance(("m@1",)).differences(MetricProvenance(("m@2",)))))
        ['embedder: m@1 → m@2']
        """
        if self.version and after.version and self.version != after.version:
            yield FieldDifference("version", str(self.version), str(after.version))
        if self.models != after.models:
            other = any(model.startswith((TOKENS, ENTAILMENT)) for model in (*self.models, *after.models))
            before, now = (" + ".join(record.models) or "none" for record in (self, after))
            yield FieldDifference("model" if other else "embedder", before, now)
        if self.judge != after.judge:
            yield FieldDifference("judge", self.judge or "none", after.judge or "none")
        if self.budget != after.budget and None not in (self.budget, after.budget):
            yield FieldDifference("judge's budget of tokens", str(self.budget), str(after.budget))
        if self.prompts != after.prompts:
            yield FieldDifference("prompts", self.prompts or "none", after.prompts or "none")


def provenance_differences(
    before: Mapping[str, MetricProvenance | None], after: Mapping[str, MetricProvenance]
) -> Iterator[FieldDifference]:
    """Yield the fields that differ in later records of the same metrics; None if none is stored."""
    for name, record in before.items():
        if record is None:
            yield FieldDifference(f"provenance of {name}", "not recorded", "recorded")
            continue
        for difference in record.differences(after[name]):
            yield difference._replace(field=f"{difference.field} of {name}")


STATUSES = tuple(Status)
"""The statuses in the order of their codes."""


@dataclass(frozen=True, eq=False)
class MetricColumn:
    """The values of one metric of a run.

    Attributes:
        metric: the metric's canonical string, its name and parameters.
        values: float64, NaN for a row without a value, shape (n,).
        codes: index of each status in ``STATUSES``, int8, shape (n,).
        low: the smallest possible value; None if unknown.
        high: the largest possible value; None if unknown.
        version: the version of the metric's definition; 0 if unknown.
        parts: for a composite metric, whether each part has a value in each row, by the name of the part.
    """

    metric: str
    values: NDArray[np.float64]
    codes: NDArray[np.int8]
    low: float | None = None
    high: float | None = None
    higher_is_better: bool = True
    version: int = 0
    unit: str = ""
    provenance: MetricProvenance | None = None
    parts: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    __repr__ = short_repr

    @property
    def name(self) -> str:
        """The metric's name, without parameters."""
        return metric_name(self.metric)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Mask of the rows that have a value."""
        return np.isfinite(self.values)

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest possible value; −∞ or ∞ if unknown."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high

    @property
    def width(self) -> float | None:
        """The difference ``high - low``; None for an unbounded scale."""
        low, high = self.bounds
        return high - low if math.isfinite(high - low) else None

    @property
    def in_unit_range(self) -> bool:
        """Whether the range of the metric is [0, 1]."""
        return self.low == 0 and self.high == 1

    @property
    def is_share(self) -> bool:
        """Whether the metric is a share or probability in [0, 1], not a score without that meaning."""
        return self.in_unit_range and self.unit != SCORE

    @property
    def is_percentage(self) -> bool:
        """Whether the metric is a share in percent, from 0 to 100."""
        return self.unit == PERCENT

    @property
    def is_ratio(self) -> bool:
        """Whether the metric is a ratio v in [0, ∞), whose mean is computed on the scale v/(1+v)."""
        return self.unit == RATIO

    def meets(self, threshold: float) -> NDArray[np.bool_]:
        """Return whether each value is at least the threshold (at most, if lower is better), shape (n,)."""
        return meets(self.values, threshold, higher_is_better=self.higher_is_better)

    def counts(self) -> dict[Status, int]:
        """Return how many rows have each status."""
        totals = np.bincount(self.codes, minlength=len(STATUSES))
        return dict(zip(STATUSES, totals.tolist(), strict=True))


def meets(values: NDArray[np.float64], threshold: float, *, higher_is_better: bool) -> NDArray[np.bool_]:
    """Return whether each value is at least the threshold (at most, if lower is better), in their shape."""
    return values >= threshold if higher_is_better else values <= threshold


def parts_of_rows(details: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.bool_]]:
    """Return which parts of a composite metric have a value in each row, from the details of the rows.

    >>> parts_of_rows([{"parts": {"a": 1.0, "b": None}}, {}])
    {'a': array([ True, False]), 'b': array([False, False])}
    """
    rows = [parts if isinstance(parts := body.get("parts"), dict) else {} for body in details]
    names = dict.fromkeys(name for parts in rows for name in parts)
    return {name: np.array([parts.get(name) is not None for parts in rows], np.bool_) for name in names}
