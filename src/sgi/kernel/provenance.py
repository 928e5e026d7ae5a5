"""Provenance of scores: the models, judge and prompts that produced the numbers of a metric."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from sgi.kernel.parsing import AnyText, Count, JsonObject  # noqa: TC001 - pydantic reads the annotations
from sgi.kernel.protocols import ENTAILMENT
from sgi.kernel.tokens import TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
