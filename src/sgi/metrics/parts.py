"""Parts of composite metrics: their rows, their scores, and what is computed from these."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, NotRequired

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, create_model
from typing_extensions import TypedDict

from sgi.kernel.details import JudgedDetails, closed
from sgi.kernel.errors import JudgeError
from sgi.kernel.judged_metric import JudgedMetric, JudgedRows, UnusableReply
from sgi.kernel.metric import Scores, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pydantic import JsonValue

    from sgi.kernel.metric import AnyMetric, MetricSpec
    from sgi.kernel.protocols import Judge
    from sgi.kernel.sample import Batch, Sample
    from sgi.kernel.vectors import Features

Failed = Literal["fail", "leave_out"]
"""What happens if a part fails: the row is ``failed``, or the part is left out."""

_NO_PART = "none of its parts has a value"
_NO_ROWS: Mapping[int, str] = {}
_WORST_FIRST = (Status.FAILED, Status.UNDEFINED, Status.MISSING)


@closed
class PartsDetails(JudgedDetails, total=False):
    """The value of each part.

    Attributes:
        parts: the value by the name of the part; null for a part without one.
        reasons: why a part has no value, by its name; absent if all parts have one.
    """

    parts: dict[str, float | None]
    reasons: dict[str, str]


def weighted_mean_of_parts(
    parts: Mapping[str, Scores], weights: Sequence[float], *, failed: Failed = "fail", high: float = 1.0
) -> Scores:
    r"""Return the weighted mean over the parts that have a value, with renormalised weights.

    .. math:: \sum_{i \in ok} w_i v_i \,/\, \sum_{i \in ok} w_i

    Parts of weight 0 are left out; for the other rules, see `combine_parts`.

    Args:
        parts: the scores of each part by its name, for the same rows, in [0, high].
        weights: one weight for each part; none is negative, and at least one is above 0.
        failed: ``fail`` or ``leave_out``.
        high: maximum of the parts and of the mean.

    Source: document 002, section 5.

    >>> recall = Scores.of(np.array([1.0]))
    >>> precision = Scores.without_value(Status.MISSING, ["the sample has no contexts"])
    >>> scores = weighted_mean_of_parts({"recall": recall, "precision": precision}, [0.5, 0.5])
    >>> scores.values.tolist(), scores.details[0]["parts"]
    ([1.0], {'recall': 1.0, 'precision': None})
    """
    shares = {name: weight / max(weights) for name, weight in zip(parts, weights, strict=True) if weight}

    def mean(values: Mapping[str, float]) -> float:
        total = math.fsum(shares[name] for name in values)
        return min(high, math.fsum(shares[name] * value for name, value in values.items()) / total)

    return combine_parts(parts, mean, failed=failed, counted=shares.keys())


def combine_parts(
    parts: Mapping[str, Scores],
    combine: Callable[[Mapping[str, float]], float],
    *,
    failed: Failed = "fail",
    counted: Collection[str] | None = None,
) -> Scores:
    """Compute one value for each row from the parts that have a value.

    Parts that are undefined or missing are left out. A failed part makes the row ``failed``, because a
    failure of the judge must not raise a score; ``leave_out`` leaves it out too. If no part has a value, the
    row gets the worst status of its parts: failed, then undefined, then missing.

    Args:
        parts: the scores of each part by its name, for the same rows.
        combine: returns the value of a row from the values of its parts, by name.
        failed: ``fail`` or ``leave_out``.
        counted: names of the parts that count; None for all. The details hold all parts.

    Returns:
        Scores whose details hold ``parts``, the value of each part or None, and ``reasons`` for each None.
    """
    names = [name for name in parts if counted is None or name in counted]
    n = len(next(iter(parts.values())))
    values, status, reasons = np.full(n, np.nan), np.full(n, Status.OK.value, dtype="<U9"), [""] * n
    details: list[Mapping[str, JsonValue]] = [{}] * n
    for row in range(n):
        by_status: dict[str, list[str]] = {}
        for name in names:
            by_status.setdefault(str(parts[name].status[row]), []).append(name)
        used = by_status.get(Status.OK, [])
        if used and (failed == "leave_out" or Status.FAILED not in by_status):
            values[row] = combine({name: float(parts[name].values[row]) for name in used})
            details[row] = _detail(parts, row)
            continue
        worst = next(status for status in _WORST_FIRST if status in by_status)
        message = "; ".join(f"{name}: {parts[name].reasons[row]}" for name in by_status[worst])
        status[row] = worst.value
        reasons[row] = message if worst is Status.FAILED else f"{_NO_PART}: {message}"
    return Scores(values, status, tuple(reasons), tuple(details))


def _detail(parts: Mapping[str, Scores], row: int) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = {
        name: float(part.values[row]) if part.ok[row] else None for name, part in parts.items()
    }
    reasons: dict[str, JsonValue] = {
        name: part.reasons[row] for name, part in parts.items() if not part.ok[row]
    }
    return {"parts": values, "reasons": reasons} if reasons else {"parts": values}


@dataclass(frozen=True, eq=False)
class PartRows:
    """The rows of a batch that one part scores, and the reasons of the other rows.

    Attributes:
        batch: all rows.
        rows: the rows that the part scores.
        positions: their indices in the batch, ascending.
        failed: the reason of each row that failed, by its index.
        missing: the reason of each row that lacks a field, by its index.
    """

    metric: AnyMetric
    batch: Batch
    rows: Batch | JudgedRows[Any]
    positions: npt.NDArray[np.int64]
    failed: Mapping[int, str]
    missing: Mapping[int, str]

    @classmethod
    def shared(cls, metric: AnyMetric, batch: Batch) -> PartRows:
        """Select the rows that have the fields of a metric that needs no judge, once for each batch.

        Definitions can use each other in many ways: all of them share the rows and their scores.
        """
        known = batch.compute_once(_known_parts)
        if id(metric) not in known:
            known[id(metric)] = cls.of(metric, batch)
        return known[id(metric)]

    @classmethod
    def of(cls, metric: AnyMetric, batch: Batch) -> PartRows:
        """Select the rows that have the fields of a metric that needs no judge."""
        positions = np.flatnonzero(batch.present(metric.spec.needs))
        whole = len(positions) == len(batch)
        missing = {} if whole else _missing(metric, batch, set(range(len(batch))).difference(positions))
        return cls(metric, batch, batch if whole else batch.take(positions), positions, _NO_ROWS, missing)

    @classmethod
    def of_judged(
        cls,
        metric: JudgedMetric[Any],
        batch: Batch,
        judgements: Sequence[Any],
        failed: Mapping[int, str] = _NO_ROWS,
    ) -> PartRows:
        """Select the rows that have a judgement; a judgement is None for a row without one."""
        rows = [row for row, judgement in enumerate(judgements) if judgement is not None]
        missing = _missing(metric, batch, {*range(len(batch))} - {*rows, *failed})
        judged = JudgedRows(batch, judgements).take(rows)
        return cls(metric, batch, judged, np.array(rows, dtype=np.int64), failed, missing)

    @cached_property
    def prepared(self) -> Any:
        """The value that the metric prepared from its rows."""
        return self.metric.prepare(self.rows)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The distinct texts whose vectors the metric needs."""
        needs = self.metric.vector_needs
        return () if needs is None else tuple(dict.fromkeys(needs.texts(self.prepared)))

    @cached_property
    def token_texts(self) -> tuple[str, ...]:
        """The distinct texts whose token vectors the metric needs."""
        needs = self.metric.token_needs
        return () if needs is None else tuple(dict.fromkeys(needs.token_texts(self.prepared)))

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The distinct (premise, hypothesis) pairs that the metric needs."""
        needs = self.metric.entailment_needs
        return () if needs is None else tuple(dict.fromkeys(needs.pairs(self.prepared)))

    def texts_by_embedder(self, configured: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
        """Return the texts that the metric needs from each embedder."""
        known = self._texts_by_embedder
        if configured not in known:
            known[configured] = self.metric.texts_by_embedder(self.prepared, configured)
        return known[configured]

    @cached_property
    def _texts_by_embedder(self) -> dict[tuple[str, ...], Mapping[str, tuple[str, ...]]]:
        return {}

    def scores(self, features: Features) -> Scores:
        """Score all rows of the batch, or return the last scores if they are from the same features."""
        last = self._last_scores
        if not last or not _are_same(last[0][0], features):
            last[:] = [(features, self._scores(features))]
        return last[0][1]

    @cached_property
    def _last_scores(self) -> list[tuple[Features, Scores]]:
        return []

    def _scores(self, features: Features) -> Scores:
        without = Scores.without_value
        failed, missing = (np.array([*rows], dtype=np.int64) for rows in (self.failed, self.missing))
        parts = [
            (failed, without(Status.FAILED, [*self.failed.values()])),
            (missing, without(Status.MISSING, [*self.missing.values()])),
        ]
        if len(self.positions):
            parts.append((self.positions, self.metric.score(self.prepared, features)))
        return Scores.assemble(len(self.batch), parts)


def _are_same(one: Features, other: Features) -> bool:
    """Return whether features are the same tables, not only equal ones."""
    tables = [[*each.by_embedder.values(), each.token_table, each.entailment_table] for each in (one, other)]
    names = [(each.by_embedder.keys(), each.failures, each.configured) for each in (one, other)]
    return names[0] == names[1] and all(map(operator.is_, *tables))


def _known_parts(_batch: Batch) -> dict[int, PartRows]:
    """Return the place for the parts of a batch, by the identity of the metric: hashing it can take long."""
    return {}


def _missing(metric: AnyMetric, batch: Batch, rows: Collection[int]) -> dict[int, str]:
    return {row: batch.samples[row].missing_reason(metric.spec.needs) for row in sorted(rows)}


def has_fields(part: AnyMetric, sample: Sample) -> bool:
    """Return whether a sample has the fields that a metric needs."""
    return all(map(sample.has, part.spec.needs))


class _Failures(TypedDict):
    failed: dict[str, str]
    replies: dict[str, UnusableReply]


async def ask_parts(
    parts: Mapping[str, JudgedMetric[Any]], sample: Sample, judge: Judge
) -> tuple[dict[str, BaseModel], _Failures]:
    """Ask the judge, concurrently, about the parts whose fields the sample has.

    Returns:
        The judgements, and the fields ``failed`` and ``replies`` of `PartJudgements`, by the names of the
        parts. An error other than `JudgeError` cancels all requests.
    """
    import anyio

    asked = {name: part for name, part in parts.items() if has_fields(part, sample)}
    judgements: dict[str, BaseModel] = {}
    errors: dict[str, JudgeError] = {}

    async def ask(name: str, part: JudgedMetric[Any]) -> None:
        try:
            judgements[name] = await part.ask(sample, judge)
        except JudgeError as error:
            errors[name] = error

    try:
        async with anyio.create_task_group() as group:
            for name, part in asked.items():
                group.start_soon(ask, name, part)
    except BaseExceptionGroup as raised:
        raise raised.exceptions[0] from None
    failed = {name: errors[name] for name in asked if name in errors}
    return {name: judgements[name] for name in asked if name in judgements}, {
        "failed": {name: str(error) for name, error in failed.items()},
        "replies": {name: UnusableReply.of(error) for name, error in failed.items() if error.text},
    }


def with_replies(scores: Scores, replies: Sequence[Mapping[str, UnusableReply]]) -> Scores:
    """Add to the details of each row without a value the first unusable reply about it."""
    details = list(scores.details)
    for row in np.flatnonzero(~scores.ok).tolist():
        for reply in list(replies[row].values())[:1]:
            details[row] = {**details[row], **reply.details()}
    return replace(scores, details=tuple(details))


class PartJudgements(BaseModel, frozen=True):
    """Judgements of the judged parts of an aggregate, by their names.

    Attributes:
        parts: the judgement of each part that has one.
        failed: why the judge gave no usable reply, for each part that failed.
        replies: the last reply of the judge for each part that failed, if there was a reply.
    """

    parts: Mapping[str, Any] = {}
    failed: dict[str, str] = {}
    replies: dict[str, UnusableReply] = {}


@cache
def judgement_class(parts: tuple[tuple[str, type[BaseModel]], ...]) -> type[PartJudgements]:
    """Return the class of judgements of these parts, which checks each part when it is read back."""
    kinds: object = TypedDict("Parts", {name: NotRequired[kind] for name, kind in parts})  # type: ignore[misc]
    return create_model("PartJudgements", __base__=PartJudgements, parts=(kinds, {}))


def rescaled(scores: Scores, spec: MetricSpec) -> Scores:
    """Scale scores to [0, 1], where 1 is best."""
    if (spec.low, spec.high, spec.higher_is_better) == (0.0, 1.0, True):
        return scores
    values = (scores.values - spec.low) / (spec.high - spec.low)
    return replace(scores, values=values if spec.higher_is_better else 1.0 - values)
