"""Latency, tokens and cost of an answer, which a row, a trace or the run of a target has."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sgi.kernel.metric import DOLLARS, MILLISECONDS, TOKENS, Metric, MetricHelp, MetricSpec, Question, Scores
from sgi.kernel.sample import COMPLETION_TOKENS, COST, LATENCY_MS, PROMPT_TOKENS

if TYPE_CHECKING:
    from sgi.kernel.sample import Batch, Fields
    from sgi.kernel.vectors import Features


def _spec(name: str, reading: str, needs: Fields, unit: str) -> MetricSpec:
    guide = MetricHelp(Question.COST, reading, "It repeats what your data says; SGI does not measure it.")
    return MetricSpec(
        name,
        1,
        needs=needs,
        high=inf,
        higher_is_better=False,
        unit=unit,
        citation="defined here",
        guide=guide,
    )


@dataclass(frozen=True)
class _CostMetric(Metric["Batch"]):
    """Base of the metrics that add fields of a sample."""

    def score(self, batch: Batch, _features: Features, /) -> Scores:
        """Return the sum of the needed fields of each row."""
        names = sorted(field.value for field in self.spec.needs)
        values = [sum(getattr(sample, name) for name in names) for sample in batch.samples]
        return Scores.of(np.array(values, dtype=np.float64))


@dataclass(frozen=True)
class Latency(_CostMetric):
    r"""Time that the answer took, in milliseconds.

    The value of the field ``latency_ms``. In [0, ∞), lower is better. In the run of a target it is the time
    of the attempt that was answered, without the waits of SGI for retries, for the rate and for a free slot.

    Limits: questions that are answered at the same time can slow each other down; compare runs with the same
    ``concurrency``.

    >>> from sgi.kernel.vectors import Features
    >>> from sgi.kernel.sample import Batch, Sample
    >>> Latency().score(Batch.of([Sample(id="1", latency_ms=125.5)]), Features.of()).values.tolist()
    [125.5]
    """

    spec: ClassVar = _spec(
        "latency",
        "Milliseconds for each answer. Read the percentiles: a few slow answers hardly change the median.",
        LATENCY_MS,
        MILLISECONDS,
    )


@dataclass(frozen=True)
class PromptTokens(_CostMetric):
    """Number of tokens that the language models read for the answer: the field ``prompt_tokens``.

    In [0, ∞), lower is better.

    >>> PromptTokens().spec.unit
    'tokens'
    """

    spec: ClassVar = _spec(
        "prompt_tokens",
        "Number of tokens for each answer. More passages in the prompt raise it.",
        PROMPT_TOKENS,
        TOKENS,
    )


@dataclass(frozen=True)
class CompletionTokens(_CostMetric):
    """Number of tokens that the language models wrote for the answer: the field ``completion_tokens``.

    In [0, ∞), lower is better.

    >>> CompletionTokens().spec.unit
    'tokens'
    """

    spec: ClassVar = _spec(
        "completion_tokens",
        "Number of tokens for each answer. Longer answers raise it.",
        COMPLETION_TOKENS,
        TOKENS,
    )


@dataclass(frozen=True)
class TotalTokens(_CostMetric):
    """Number of tokens that the language models read and wrote: ``prompt_tokens`` + ``completion_tokens``.

    In [0, ∞), lower is better. Missing if one of the two fields is absent.

    >>> from sgi.kernel.vectors import Features
    >>> from sgi.kernel.sample import Batch, Sample
    >>> row = Sample(id="1", prompt_tokens=300, completion_tokens=20)
    >>> TotalTokens().score(Batch.of([row]), Features.of()).values.tolist()
    [320.0]
    """

    spec: ClassVar = _spec(
        "total_tokens", "Number of tokens for each answer.", PROMPT_TOKENS | COMPLETION_TOKENS, TOKENS
    )


@dataclass(frozen=True)
class Cost(_CostMetric):
    """Cost of the answer in US dollars: the field ``cost``.

    In [0, ∞), lower is better.

    >>> Cost().spec.unit
    '$'
    """

    spec: ClassVar = _spec("cost", "US dollars for each answer.", COST, DOLLARS)
