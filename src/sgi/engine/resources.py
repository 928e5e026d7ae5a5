"""The open models, judge and target of a run, and what they determine: signature and provenance."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric, prompts_digest
from sgi.kernel.metric_column import FORMULA, MetricProvenance
from sgi.kernel.signature import run_signature
from sgi.metrics.definitions import DefinedMetric

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.protocols import Embedder, EntailmentModel, Judge, Target, TokenEncoder
    from sgi.kernel.tokens import TokenFrequencies, TokenModel


@dataclass(frozen=True)
class Resources:
    """The open models, judge and target of a run.

    Attributes:
        embedders: the embedders by name, the primary one first; metrics with one model use the primary.
        target: the RAG system that generates the responses; None if the data has them.
        judge: the judge; None if no metric needs one.
        frequencies: the number of references that contain each token, if a metric needs it.
        entailment_models: the entailment models, by the names that metrics use.
    """

    embedders: Mapping[str, Embedder] = field(default_factory=dict)
    target: Target | None = None
    judge: Judge | None = None
    token_encoders: Mapping[TokenModel, TokenEncoder] = field(default_factory=dict)
    frequencies: Mapping[TokenModel, TokenFrequencies] = field(default_factory=dict)
    entailment_models: Mapping[str, EntailmentModel] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The embedders' names, the primary one first."""
        return tuple(self.embedders)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprints of embedders, token encoders and entailment models."""
        return self._fingerprints(self.token_encoders, self.entailment_models)

    def provenance(self, metric: AnyMetric) -> MetricProvenance:
        """Return the models, judge and prompts that compute the scores of a metric."""
        names = metric.embedder_names(self.names) if metric.vector_needs else ()
        models = [self.embedders[name].fingerprint for name in names]
        if metric.token_needs:
            models.append(self.token_encoders[metric.token_needs.token_model].fingerprint)
        if metric.entailment_needs:
            models.append(self.entailment_models[metric.entailment_needs.entailment_model].fingerprint)
        own: dict[str, Any] = {
            "name": metric.spec.name,
            "parameters": json.loads(json.dumps(_recorded(metric))),  # lists, as they are read back
            "version": metric.spec.version,
        }
        if self.judge is None or not isinstance(metric, JudgedMetric):
            return MetricProvenance(tuple(models), **own)
        prompts = prompts_digest([metric])
        return MetricProvenance(tuple(models), self.judge.fingerprint, self.judge.budget, prompts, **own)

    def run_provenance(self, metrics: Sequence[AnyMetric]) -> dict[str, MetricProvenance]:
        """Return the provenance of these metrics, by canonical string."""
        return {metric.canonical: self.provenance(metric) for metric in metrics}

    def signature(self, metrics: Sequence[AnyMetric], *, n: int) -> str:
        """Return the signature of these metrics over ``n`` rows, which is printed under every table."""
        of_tokens = [model for model in self.token_encoders if model in token_models(metrics)]
        of_pairs = [name for name in self.entailment_models if name in entailment_models(metrics)]
        judge = self.judge_identity(metrics) or "-"
        return run_signature(self._fingerprints(of_tokens, of_pairs), n=n, judge=judge)

    def judge_identity(self, metrics: Sequence[AnyMetric]) -> str:
        """Return the judge's fingerprint and the digest of the prompts; empty if no metric needs a judge."""
        prompts = prompts_digest(metrics)
        return f"{self.judge.fingerprint}@{prompts}" if self.judge is not None and prompts else ""

    def _fingerprints(self, of_tokens: Iterable[TokenModel], of_pairs: Iterable[str]) -> tuple[str, ...]:
        embedders = (embedder.fingerprint for embedder in self.embedders.values())
        encoders = (self.token_encoders[model].fingerprint for model in of_tokens)
        return (*embedders, *encoders, *(self.entailment_models[name].fingerprint for name in of_pairs))


def _recorded(metric: AnyMetric) -> dict[str, Any]:
    """Return the parameters of a metric; a defined metric adds what its definition stands for."""
    formula = {FORMULA: metric.formula} if isinstance(metric, DefinedMetric) else {}
    return {**metric.parameters, **formula}


def require_resources(metrics: Sequence[AnyMetric], resources: Resources) -> None:
    """Raise a UsageError if a metric needs a token or entailment model that is not open."""
    elsewhere = "Score it with `sgi run` or sgi.evaluate."
    for metric in metrics:
        tokens, entailment = metric.token_needs, metric.entailment_needs
        name = f"The metric {metric.canonical!r}"
        if tokens and tokens.token_model not in resources.token_encoders:
            message = f"{name} needs token vectors of {tokens.token_model}, which is not loaded."
            raise UsageError(message, hint=elsewhere)
        if tokens and tokens.weighs_tokens and tokens.token_model not in resources.frequencies:
            message = f"{name} weighs tokens by all references of the data, but rows are scored one by one."
            raise UsageError(message, hint=f"{elsewhere} Or leave out idf.")
        if entailment and entailment.entailment_model not in resources.entailment_models:
            model = entailment.entailment_model
            message = f"{name} needs an entailment model that is not loaded: {model}."
            raise UsageError(message, hint=elsewhere)


def token_models(metrics: Iterable[AnyMetric]) -> list[TokenModel]:
    """Return the distinct token models that metrics need."""
    needs = (metric.token_needs for metric in metrics)
    return list(dict.fromkeys(need.token_model for need in needs if need))


def entailment_models(metrics: Iterable[AnyMetric]) -> list[str]:
    """Return the distinct entailment models that metrics need."""
    needs = (metric.entailment_needs for metric in metrics)
    return list(dict.fromkeys(need.entailment_model for need in needs if need))
