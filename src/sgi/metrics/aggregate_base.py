"""Base of the metrics that compute one value from several metrics."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from sgi.kernel.details import closed
from sgi.kernel.judged_metric import JudgedMetric, JudgedRows, UnusableReply
from sgi.kernel.metric import AnyMetric, Scores
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.vectors import Features
from sgi.metrics.parameters import check_choice
from sgi.metrics.parts import (
    Failed,
    PartJudgements,
    PartRows,
    PartsDetails,
    ask_parts,
    has_fields,
    judgement_class,
    rescaled,
    with_replies,
)
from sgi.metrics.wrapper import MetricWrapper

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from sgi.kernel.prompts import Prompt
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.tokens import TokenModel
    from sgi.kernel.vectors import EntailmentNeeds, TokenNeeds, VectorNeeds

MAX_PARTS = 50
MAX_DEPTH = 5
"""Maximum number of aggregates inside each other."""
MAX_JUDGED = 1000
"""Maximum number of judgements that a row stores for an aggregate: one for each way to a judged metric."""
_RADIANS = "rad"
_NOT_STORED = "no judgement of this part was stored"


@closed
class AggregateDetails(PartsDetails, total=False):
    """The value of each part on the scale from 0 to 1.

    Attributes:
        own_values: the value of each part on its own scale, if it differs from that in ``parts``.
    """

    own_values: dict[str, float]


class _PreparedParts(NamedTuple):
    parts: dict[str, PartRows]
    replies: Sequence[Mapping[str, UnusableReply]]


@dataclass(frozen=True)
class Aggregate(AnyMetric):
    """Base of the metrics that compute one value from several metrics, the parts.

    Each part counts on the scale from 0 to 1, where 1 is best. A value v in [low, high] counts as
    (v - low) / (high - low), and as 1 minus this if lower values are better.

    Attributes:
        of: the parts.
        failed: ``fail``: a failed part makes the row ``failed``; ``leave_out``: it is left out.
    """

    of: tuple[AnyMetric, ...]
    failed: Failed = field(default="fail", kw_only=True)
    judged_class: ClassVar[type[Aggregate]]
    metric_parameters: ClassVar = frozenset({"of"})

    def __new__(cls, of: object, **_parameters: object) -> Self:
        """Create an instance of the judged class if a part needs a judge."""
        judged = any(isinstance(part, JudgedMetric) for part in _parts(of))
        return super().__new__(cls.judged_class if judged else cls)  # type: ignore[return-value]

    def __getnewargs__(self) -> tuple[tuple[AnyMetric, ...]]:
        """Return the argument of ``__new__`` for copies."""
        return (self.of,)

    def __post_init__(self) -> None:
        parts = _parts(self.of)
        object.__setattr__(self, "of", parts)
        _check_parts(self.spec.name, parts)
        if self._depth > MAX_DEPTH:
            raise ValueError(f"aggregates are nested more than {MAX_DEPTH} levels deep")
        if self._judged_size > MAX_JUDGED:
            raise ValueError(
                f"parts use judged metrics {self._judged_size:,} times; at most {MAX_JUDGED:,} are allowed"
            )
        check_choice("failed", self.failed, Failed)
        version = self.spec.version + sum(part.spec.version - 1 for part in parts)
        object.__setattr__(self, "spec", replace(self.spec, version=version))

    @property
    def parameters(self) -> dict[str, Any]:
        """The canonical strings of the parts, and the other parameters that differ from their defaults."""
        return {**super().parameters, "of": [part.canonical for part in self.of]}

    @cached_property
    def part_names(self) -> dict[str, AnyMetric]:
        """The parts by name; by canonical string if two parts have the same name."""
        counts = Counter(part.spec.name for part in self.of)
        return {part.spec.name if counts[part.spec.name] == 1 else part.canonical: part for part in self.of}

    @cached_property
    def vector_needs(self) -> VectorNeeds | None:
        """This metric if a part needs vectors, otherwise None."""
        return self if any(part.vector_needs for part in self.of) else None

    @cached_property
    def token_needs(self) -> TokenNeeds | None:
        """This metric if a part needs token vectors, otherwise None."""
        return self if any(part.token_needs for part in self.of) else None

    @cached_property
    def entailment_needs(self) -> EntailmentNeeds | None:
        """This metric if a part needs an entailment model, otherwise None."""
        return self if any(part.entailment_needs for part in self.of) else None

    @property
    def token_model(self) -> TokenModel:
        """The token model of the parts."""
        return next(part.token_needs.token_model for part in self.of if part.token_needs)

    @property
    def weighs_tokens(self) -> bool:
        """Whether a part weighs tokens by their frequency."""
        return any(part.token_needs.weighs_tokens for part in self.of if part.token_needs)

    @property
    def entailment_model(self) -> str:
        """The entailment model of the parts."""
        return next(part.entailment_needs.entailment_model for part in self.of if part.entailment_needs)

    def embedder_names(self, configured: tuple[str, ...], /) -> tuple[str, ...]:
        """Return the names of the embedders that the parts need."""
        known = self._embedder_names
        if configured not in known:
            needs = [part.vector_needs.embedder_names(configured) for part in self.of if part.vector_needs]
            known[configured] = tuple(dict.fromkeys(chain.from_iterable(needs)))
        return known[configured]

    @cached_property
    def _embedder_names(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        return {}

    @cached_property
    def _depth(self) -> int:
        """The number of nested aggregates; metrics that wrap another one do not count."""
        aggregates = [part for part in map(_unwrapped, self.of) if isinstance(part, Aggregate)]
        return 1 + max((part._depth for part in aggregates), default=0)  # noqa: SLF001 - the same class

    @cached_property
    def _judged_size(self) -> int:
        """The number of judged metrics inside each other, each as often as it is used."""
        judged = [_unwrapped(part) for part in self.of if isinstance(part, JudgedMetric)]
        inner = [part for part in judged if isinstance(part, Aggregate)]
        return len(judged) - len(inner) + sum(part._judged_size for part in inner)  # noqa: SLF001 - the same class

    def prepare(self, rows: Batch | JudgedRows[PartJudgements], /) -> _PreparedParts:
        """Select the rows of each part."""
        batch, judgements = (rows.batch, rows.judgements) if isinstance(rows, JudgedRows) else (rows, ())
        parts = {
            name: _judged_rows(name, part, batch, judgements)
            if isinstance(part, JudgedMetric)
            else PartRows.shared(part, batch)
            for name, part in self.part_names.items()
        }
        return _PreparedParts(parts, [one.replies for one in judgements] or [{}] * len(batch))

    def texts(self, prepared: _PreparedParts, /) -> Iterator[str]:
        """List the texts whose vectors the parts need."""
        return chain.from_iterable(part.texts for part in prepared.parts.values())

    def texts_by_embedder(
        self, prepared: _PreparedParts, configured: tuple[str, ...], /
    ) -> dict[str, tuple[str, ...]]:
        """Return the texts that the parts need from each embedder."""
        texts: dict[str, dict[str, None]] = {}
        for part in prepared.parts.values():
            if part.metric.vector_needs:
                for name, own in part.texts_by_embedder(configured).items():
                    texts.setdefault(name, {}).update(dict.fromkeys(own))
        return {name: tuple(distinct) for name, distinct in texts.items()}

    def token_texts(self, prepared: _PreparedParts, /) -> Iterator[str]:
        """List the texts whose token vectors the parts need."""
        return chain.from_iterable(part.token_texts for part in prepared.parts.values())

    def pairs(self, prepared: _PreparedParts, /) -> Iterator[tuple[str, str]]:
        """List the (premise, hypothesis) pairs that the parts need."""
        return chain.from_iterable(part.pairs for part in prepared.parts.values())

    def combine(self, parts: Mapping[str, Scores]) -> Scores:
        """Compute the value of each row from the scores of the parts in [0, 1]."""
        raise NotImplementedError

    def score(self, prepared: Any, features: Features, /) -> Scores:
        """Score the parts, and combine their scores."""
        own = {name: _score(part, features) for name, part in prepared.parts.items()}
        parts = {name: rescaled(scores, prepared.parts[name].metric.spec) for name, scores in own.items()}
        combined = self.combine(parts)
        details: list[Mapping[str, JsonValue]] = []
        for row, detail in enumerate(combined.details):
            values: dict[str, JsonValue] = {
                name: float(own[name].values[row])
                for name, scores in parts.items()
                if scores is not own[name] and scores.ok[row]
            }
            details.append({**detail, "own_values": values} if values and combined.ok[row] else detail)
        return with_replies(replace(combined, details=tuple(details)), prepared.replies)


def _parts(of: object) -> tuple[AnyMetric, ...]:
    """Return the metrics in a list of names and metrics."""
    if not isinstance(of, (list, tuple)) or not 1 <= len(of) <= MAX_PARTS:
        raise ValueError(f"of must be a list of 1 to {MAX_PARTS} metrics, not {str(of)[:100]!r}")
    return tuple(named_metric(part) for part in of)


def _check_parts(name: str, parts: Sequence[AnyMetric]) -> None:
    """Raise a ValueError if metrics cannot be the parts of one aggregate."""
    names = [part.canonical for part in parts]
    if twice := next((each for each in names if names.count(each) > 1), ""):
        raise ValueError(f"of contains {twice} twice; give it a larger weight instead")
    for part in parts:
        spec = part.spec
        if not math.isfinite(spec.high - spec.low) or spec.unit == _RADIANS:
            message = f"{part.canonical} has no scale from worst to best, so it cannot be a part of {name}"
            raise ValueError(f"{message}; use a metric with a range from 0 to 1, or sgi_bounded for sgi")
    token_models = {str(part.token_needs.token_model) for part in parts if part.token_needs}
    entailment = {part.entailment_needs.entailment_model for part in parts if part.entailment_needs}
    for kind, models in {"token": token_models, "entailment": entailment}.items():
        if len(models) > 1:
            shown = " and ".join(sorted(models))
            raise ValueError(f"the parts need different {kind} models, {shown}; use one for all of them")


def _unwrapped(metric: AnyMetric) -> AnyMetric:
    while isinstance(metric, MetricWrapper):
        metric = metric.inner
    return metric


def _judged_rows(
    name: str, part: JudgedMetric[Any], batch: Batch, judgements: Sequence[PartJudgements]
) -> PartRows:
    """Select the rows of a judged part; a row whose judgement is not stored fails."""
    own = [one.parts.get(name) for one in judgements]
    failed = {row: one.failed[name] for row, one in enumerate(judgements) if name in one.failed}
    for row, judgement in enumerate(own):
        if judgement is None and row not in failed and has_fields(part, batch.samples[row]):
            failed[row] = _NOT_STORED
    return PartRows.of_judged(part, batch, own, failed)


def _score(part: PartRows, features: Features) -> Scores:
    """Score a part with the features of its models; it fails if none of its embedders returned vectors."""
    needs = part.metric.vector_needs
    names = needs.embedder_names(features.configured) if needs else ()
    vectors = {name: features.by_embedder[name] for name in names if name in features.by_embedder}
    failures = {name: features.failures[name] for name in names if name in features.failures}
    if failures and not vectors:
        failed = dict.fromkeys(part.positions.tolist(), " ".join(failures.values()))
        nothing = np.zeros(0, dtype=np.int64)
        part = replace(part, positions=nothing, failed={**part.failed, **failed})
    own = Features(
        vectors,
        failures,
        features.token_table if part.metric.token_needs else None,
        features.entailment_table if part.metric.entailment_needs else None,
        features.configured,
    )
    return part.scores(own)


class JudgedAggregate(Aggregate, JudgedMetric[PartJudgements]):
    """Asks the judge about the judged parts of an aggregate; they share its calls with other metrics."""

    @property
    def judgement(self) -> type[PartJudgements]:  # type: ignore[override]  # it depends on the parts
        """The class of the judgements of these parts."""
        return judgement_class(tuple((name, part.judgement) for name, part in self._judged.items()))

    @property
    def prompts(self) -> tuple[Prompt, ...]:  # type: ignore[override]
        """The prompts of the parts."""
        return tuple({p.name: p for part in self._judged.values() for p in part.prompts}.values())

    @property
    def _judged(self) -> dict[str, JudgedMetric[Any]]:
        return {name: part for name, part in self.part_names.items() if isinstance(part, JudgedMetric)}

    async def ask(self, sample: Sample, judge: Judge, /) -> PartJudgements:
        """Ask the judge, concurrently, about all judged parts whose fields the sample has."""
        judgements, failures = await ask_parts(self._judged, sample, judge)
        return self.judgement(parts=judgements, **failures)
