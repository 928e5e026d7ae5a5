"""The metrics that an upload can be scored with, and the calls that they need from the judge."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING

import anyio

from sgi.engine.plan import PREFERRED
from sgi.engine.runner import estimate
from sgi.kernel.errors import SgiError
from sgi.kernel.judged_metric import JudgedMetric, judged_metrics
from sgi.kernel.registry import metric, metric_classes, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Fields
    from sgi.llm.spec import JudgeSpec
    from sgi_web.data_scan import DataScan, ReadSettings

MAX_ESTIMATED = 1000
"""Maximum number of rows that are used for an estimate; the numbers of a longer file are scaled."""


@dataclass(frozen=True)
class MetricGroup:
    """Metrics that need the same fields.

    Attributes:
        needs: the fields, and a judge if they need one, as text.
        names: the metrics.
        reason: why they are not available; empty if they are.
    """

    needs: str
    names: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class JudgeEstimate:
    """The estimated calls of the judge for a file.

    Attributes:
        calls: number of calls.
        known: number of replies that are in the cache or shared by several metrics.
        cost: US dollars; None if the price is unknown.
        rows: number of rows that the estimate is based on.
    """

    calls: int
    known: int
    cost: float | None
    rows: int


@cache
def upload_metrics() -> dict[str, AnyMetric]:
    """Return the metrics without required parameters, by name."""
    usable = {}
    for name in metric_classes()[0]:
        with suppress(SgiError, TypeError):
            usable[name] = metric(name)
    return usable


def metric_groups(present: Fields, *, has_judge: bool) -> list[MetricGroup]:
    """Group the metrics by what they need; those without a judge come first."""
    members: dict[tuple[bool, Fields], list[str]] = {}
    for name, item in upload_metrics().items():
        members.setdefault((isinstance(item, JudgedMetric), item.spec.needs), []).append(name)
    groups = [
        MetricGroup(
            ", ".join([*sorted(needs), *(["a judge"] if judged else [])]),
            tuple(names),
            _reason(needs - present, lacks_judge=judged and not has_judge),
        )
        for (judged, needs), names in members.items()
    ]
    return sorted(groups, key=lambda group: ("judge" in group.needs, len(group.needs)))


def unavailable(names: Iterable[str], groups: Iterable[MetricGroup]) -> str:
    """Return why the first of these metrics cannot be scored; empty if all can."""
    reasons = {name: group.reason for group in groups for name in group.names}
    for name in names:
        if reasons.get(name, "it is not an available metric"):
            return f"{name!r}: {reasons.get(name, 'it is not an available metric')}."
    return ""


def default_names(present: Fields) -> tuple[str, ...]:
    """Return the metrics that are selected at first: the default metrics of `sgi run` for these fields."""
    return tuple(name for name in PREFERRED if upload_metrics()[name].spec.needs <= present)


def estimate_calls(
    path: Path, settings: ReadSettings, scan: DataScan, names: Sequence[str], judge: JudgeSpec
) -> JudgeEstimate | None:
    """Estimate the calls and the cost of the judge; None if none of the metrics needs it.

    Raises:
        SgiError: the file cannot be read.
    """
    metrics = resolve(names)
    if not judged_metrics(metrics):
        return None
    samples = list(islice(settings.open(path).samples(on_reject=lambda _: None), MAX_ESTIMATED))
    usage = anyio.run(partial(estimate, samples, metrics, judge))
    scale = max(scan.rows / max(len(samples), 1), 1.0)
    cost = None if usage.cost is None else usage.cost * scale
    return JudgeEstimate(round(usage.calls * scale), round(usage.cached * scale), cost, len(samples))


def _reason(missing: Fields, *, lacks_judge: bool) -> str:
    fields = f"no row has {', '.join(sorted(missing))}" if missing else ""
    judge = "this server has no judge (sgi serve --judge)" if lacks_judge else ""
    return "; ".join(filter(None, (fields, judge)))
