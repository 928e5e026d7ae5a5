"""Finds what differs between two runs beside the responses: models, judge, prompts, metrics, data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.pairing import read_samples, shorten
from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.provenance import MetricProvenance
from sgi.kernel.registry import metric as named_metric
from sgi.stats.paired import mcnemar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sgi.analysis.pairing import Pairs
    from sgi.kernel.scored import MetricColumn, ScoredRun

MAX_UNPAIRED = 0.05
"""The share of the smaller run's rows that may lack a partner before the runs count as different data."""
MAX_MISSING = 0.02
"""By how much the shares of rows without a value may differ, in [0, 1]."""
_SIGNIFICANT = 0.05
_LONGEST = 200
_WAY_OUT = (
    "Score both runs alike, name the metrics that are alike, or accept the differences: --allow-different"
    " (in Python allow_different=True)."
)


@dataclass(frozen=True)
class Difference:
    """Something beside the responses in which two runs differ.

    Attributes:
        what: in a few words, such as ``embedder``.
        base: its value in the base run.
        new: its value in the new run.
        metrics: those it can change; all metrics if empty.
    """

    what: str
    base: str
    new: str
    metrics: tuple[str, ...] = ()

    def __str__(self) -> str:
        of = f" of {', '.join(self.metrics)}" if self.metrics else ""
        return f"{self.what}{of}: {self.base} → {self.new}"

    def concerns(self, metrics: Iterable[str]) -> bool:
        """Whether it can change one of these metrics."""
        return not self.metrics or not set(self.metrics).isdisjoint(metrics)


class RunsDifferError(UsageError):
    """Two runs differ in more than their responses; carries every difference.

    Args:
        base: the name of the base run.
        new: the name of the new run.
        differences: at least one.
    """

    def __init__(self, base: str, new: str, differences: Sequence[Difference]) -> None:
        listed = "; ".join(map(str, differences))
        super().__init__(f"{base} and {new} differ in more than their responses. {listed}.", hint=_WAY_OUT)
        self.differences = tuple(differences)


def find_differences(base: ScoredRun, new: ScoredRun, pairs: Pairs) -> tuple[Difference, ...]:
    """Every difference of two runs, beside their responses, contexts and targets.

    These are: the clustering; rows without a partner, if they are more than 5 % of the smaller run;
    references of pairs; metrics that the runs have with different parameters only; and for each metric of
    both runs its models, judge, prompts and version, and its share of rows without a value.

    Args:
        base: the run before.
        new: the run after.
        pairs: their rows.
    """
    shared = [name for name in base.metrics if name in new.metrics]
    return (
        *_clustering_difference(base, new),
        *_unpaired_rows(base, new, pairs),
        *_references(base, new, pairs),
        *_parameters(base, new),
        *_merge(found for name in shared for found in _of_metric(base.metrics[name], new.metrics[name])),
        *(found for name in shared for found in _missing(base.metrics[name], new.metrics[name], pairs)),
    )


def unknown_origin(base: ScoredRun, new: ScoredRun) -> Iterator[str]:
    """What to say of metrics of which a run does not tell the version, or the models and the judge."""
    both = [name for name in base.metrics if name in new.metrics]
    unknown = [name for name in both if not (base.metrics[name].version and new.metrics[name].version)]
    if unknown:
        yield (
            f"The version of {', '.join(unknown)} is not recorded in both runs and is assumed to be the same."
            " To be sure, score both runs again."
        )
    untold = [
        name
        for name in both
        if None in (base.metrics[name].provenance, new.metrics[name].provenance) and _uses_models(name)
    ]
    if untold:
        yield (
            f"The models of {', '.join(untold)} are not recorded in both runs and are assumed to be the same."
            " To be sure, score both runs again."
        )


def _uses_models(name: str) -> bool:
    """Whether a metric can depend on a model or a judge; one that is not installed here can."""
    try:
        found = named_metric(name)
    except UsageError:
        return True
    needs = (found.vector_needs, found.token_needs, found.entailment_needs)
    return isinstance(found, JudgedMetric) or any(needs)


def _clustering_difference(base: ScoredRun, new: ScoredRun) -> Iterator[Difference]:
    if base.clustering.by != new.clustering.by:
        yield Difference("clustering", base.clustering.by, new.clustering.by)


def _unpaired_rows(base: ScoredRun, new: ScoredRun, pairs: Pairs) -> Iterator[Difference]:
    """Rows without a partner; not those of the same data, where a run is only not finished."""
    rows, others, paired = len(base.ids), len(new.ids), len(pairs.first)
    smaller = min(rows, others)
    if pairs.base_keys is not None and smaller - paired > MAX_UNPAIRED * smaller:
        yield Difference(
            "rows without a partner", f"{rows - paired:,} of {rows:,}", f"{others - paired:,} of {others:,}"
        )


def _references(base: ScoredRun, new: ScoredRun, pairs: Pairs) -> Iterator[Difference]:
    if pairs.base_keys is None or pairs.new_keys is None:
        return
    before, after = pairs.base_keys.reference[pairs.first], pairs.new_keys.reference[pairs.second]
    other = np.flatnonzero((before != after) & (before != 0) & (after != 0))
    if len(other):
        one, two = (
            read_samples(run, rows[other[:1]])[0] for run, rows in ((base, pairs.first), (new, pairs.second))
        )
        yield Difference(
            f"reference of {len(other):,} of {len(pairs.first):,} pairs, such as {shorten(one.id)}",
            repr(shorten(one.reference or "")),
            repr(shorten(two.reference or "")),
        )


def _parameters(base: ScoredRun, new: ScoredRun) -> Iterator[Difference]:
    """Metrics of one name that no run has with the parameters of the other."""
    before, after = _by_name(base), _by_name(new)
    for name in before:
        if name in after and set(before[name]).isdisjoint(after[name]):
            metrics = (*before[name], *after[name])
            yield Difference("parameters", " and ".join(before[name]), " and ".join(after[name]), metrics)


def _by_name(run: ScoredRun) -> dict[str, list[str]]:
    """The canonical strings of a run's metrics by their bare names."""
    found: dict[str, list[str]] = {}
    for canonical, column in run.metrics.items():
        found.setdefault(column.name, []).append(canonical)
    return found


def _of_metric(before: MetricColumn, after: MetricColumn) -> Iterator[Difference]:
    """What computed a metric in one run and not in the other, as far as both tell."""
    base, new = before.provenance, after.provenance
    if base is None or new is None:
        base = new = MetricProvenance()
    base, new = replace(base, version=before.version), replace(new, version=after.version)
    for what, one, two in base.differences(new):
        yield Difference(what, shorten(one, _LONGEST), shorten(two, _LONGEST), (before.metric,))


def _merge(found: Iterable[Difference]) -> Iterator[Difference]:
    """Equal differences of several metrics as one."""
    metrics: dict[tuple[str, str, str], list[str]] = {}
    for one in found:
        metrics.setdefault((one.what, one.base, one.new), []).extend(one.metrics)
    return (Difference(*facts, tuple(names)) for facts, names in metrics.items())


def _missing(before: MetricColumn, after: MetricColumn, pairs: Pairs) -> Iterator[Difference]:
    """Shares of rows without a value that differ: the pairs that are left are then a selection.

    They differ if they lie more than 2 percentage points apart, or if McNemar's test finds a difference.
    """
    lacking, lacking_now = ~before.ok[pairs.first], ~after.ok[pairs.second]
    one, two, n = int(lacking.sum()), int(lacking_now.sum()), len(pairs.first)
    apart = abs(one - two) > MAX_MISSING * n
    if apart or mcnemar(lacking, lacking_now).p < _SIGNIFICANT:
        base, new = (f"{count:,} of {n:,} ({count / n:.1%})" for count in (one, two))
        yield Difference("rows without a value", base, new, (before.metric,))
