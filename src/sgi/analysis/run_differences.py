"""Finds what differs between two runs besides their responses: models, judge, prompts, metrics, data."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.pairing import read_samples, shorten
from sgi.kernel.errors import UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.metric_column import FORMULA, MetricProvenance
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.short_text import pluralize
from sgi.stats.paired_tests import mcnemar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from sgi.analysis.pairing import Pairs
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn

MAX_UNPAIRED = 0.05
"""Up to this share of the smaller run's rows without a partner, the data counts as the same."""
MAX_MISSING = 0.02
"""Largest accepted difference of the shares of rows without a value."""
OTHER_QUESTIONS = "other questions"
"""The short form of a difference between the questions of two runs."""
_UNPAIRED, _REFERENCE = "rows without a partner", "reference"
_SHORT_FORMS = {_UNPAIRED: OTHER_QUESTIONS, _REFERENCE: "other references"}
_SIGNIFICANT = 0.05
_LONGEST = 200


@dataclass(frozen=True)
class Difference:
    """A difference between two runs besides their responses.

    Attributes:
        what: a name such as ``embedder``.
        base: value in the base run.
        new: value in the new run.
        metrics: the metrics that the difference can change; all if empty.
    """

    what: str
    base: str
    new: str
    metrics: tuple[str, ...] = ()

    def __str__(self) -> str:
        of = f" of {', '.join(self.metrics)}" if self.metrics else ""
        return f"{self.what}{of}: {self.base} → {self.new}"

    @property
    def in_short(self) -> str:
        """The difference in a few words.

        >>> Difference("judge", "a", "b").in_short
        'other judge'
        """
        what = re.split(" of |: ", self.what, maxsplit=1)[0]
        return _SHORT_FORMS.get(what, f"other {what}")

    def concerns(self, metrics: Iterable[str]) -> bool:
        """Return whether the difference can change one of these metrics."""
        return not self.metrics or not set(self.metrics).isdisjoint(metrics)


def find_differences(base: Run, new: Run, pairs: Pairs) -> tuple[Difference, ...]:
    """Find differences between two runs besides their responses, contexts and targets (the systems scored).

    These are: the clustering; rows without a partner, if they are more than 5 % of the smaller run;
    references of pairs; metrics that the runs have with different parameters only; and for each metric of
    both runs its models, judge, prompts and version, its share of rows without a value, and the parts from
    which a composite metric is computed.
    """
    shared = [(base.metrics[name], new.metrics[name]) for name in base.metrics if name in new.metrics]
    return (
        *_clustering_difference(base, new),
        *data_differences(base, new, pairs),
        *_parameters(base, new),
        *_merge(one for before, after in shared for one in origin_differences(before, after)),
        *(one for before, after in shared for one in _missing_values(before, after, pairs)),
        *(
            one
            for before, after in shared
            for one in part_differences(before, after, pairs.first, pairs.second)
        ),
    )


def data_differences(base: Run, new: Run, pairs: Pairs) -> Iterator[Difference]:
    """Return the differences between the questions and references of two runs."""
    yield from _unpaired_rows(base, new, pairs)
    yield from _references(base, new, pairs)


def unknown_origin(base: Run, new: Run) -> Iterator[str]:
    """Return notes on metrics whose version, or models and judge, are not recorded in both runs."""
    both = [name for name in base.metrics if name in new.metrics]
    unknown = [name for name in both if not (base.metrics[name].version and new.metrics[name].version)]
    if unknown:
        yield (
            f"The version of {', '.join(unknown)} is not recorded in both runs and is assumed to be the same."
            " To be sure, score both runs again."
        )
    no_origin = [
        name
        for name in both
        if None in (base.metrics[name].provenance, new.metrics[name].provenance) and _uses_models(name)
    ]
    if no_origin:
        yield (
            f"The models of {', '.join(no_origin)} are not recorded in both runs and are assumed to be the"
            " same. To be sure, score both runs again."
        )


def _uses_models(name: str) -> bool:
    """Return whether a metric can depend on a model or a judge; True if it is not installed."""
    try:
        metric = named_metric(name)
    except UsageError:
        return True
    needs = (metric.vector_needs, metric.token_needs, metric.entailment_needs)
    return isinstance(metric, JudgedMetric) or any(needs)


def _clustering_difference(base: Run, new: Run) -> Iterator[Difference]:
    if base.clustering.by != new.clustering.by:
        yield Difference("clustering", base.clustering.by, new.clustering.by)


def _unpaired_rows(base: Run, new: Run, pairs: Pairs) -> Iterator[Difference]:
    """Return the rows without a partner, unless the data is the same and a run is unfinished."""
    rows, others, paired = len(base.ids), len(new.ids), len(pairs.first)
    smaller = min(rows, others)
    if pairs.base_keys is not None and smaller - paired > MAX_UNPAIRED * smaller:
        yield Difference(_UNPAIRED, f"{rows - paired:,} of {rows:,}", f"{others - paired:,} of {others:,}")


def _references(base: Run, new: Run, pairs: Pairs) -> Iterator[Difference]:
    if pairs.base_keys is None or pairs.new_keys is None:
        return
    before, after = pairs.base_keys.reference[pairs.first], pairs.new_keys.reference[pairs.second]
    different = np.flatnonzero((before != after) & (before != 0) & (after != 0))
    if len(different):
        first = different[:1]
        (old,), (other,) = read_samples(base, pairs.first[first]), read_samples(new, pairs.second[first])
        some = f"{len(different):,} of {pluralize(len(pairs.first), 'pair')}"
        yield Difference(
            f"{_REFERENCE} of {some}, such as {shorten(old.id)}",
            repr(shorten(old.reference or "")),
            repr(shorten(other.reference or "")),
        )


def _parameters(base: Run, new: Run) -> Iterator[Difference]:
    """Return the metrics of the two runs that have the same name but different parameters."""
    before, after = _by_name(base), _by_name(new)
    for name in before:
        if name in after and set(before[name]).isdisjoint(after[name]):
            metrics = (*before[name], *after[name])
            words = (_in_words(base, before[name]), _in_words(new, after[name]))
            yield Difference("parameters", words[0], words[1], metrics)


def _in_words(run: Run, names: Iterable[str]) -> str:
    return " and ".join(shorten(metric_in_words(run.metrics[name]), _LONGEST) for name in names)


def metric_in_words(column: MetricColumn) -> str:
    """Return the canonical string of a metric; for a defined metric, its name and its formula."""
    formula = None if column.provenance is None else column.provenance.parameters.get(FORMULA)
    return column.metric if formula is None else f"{column.name} = {formula}"


def _by_name(run: Run) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for canonical, column in run.metrics.items():
        names.setdefault(column.name, []).append(canonical)
    return names


def origin_differences(before: MetricColumn, after: MetricColumn) -> Iterator[Difference]:
    """Return the differences between the models and judges of a metric, if both runs record them."""
    base, new = before.provenance, after.provenance
    if base is None or new is None:
        base = new = MetricProvenance()
    base, new = replace(base, version=before.version), replace(new, version=after.version)
    for what, one, two in base.differences(new):
        yield Difference(what, shorten(one, _LONGEST), shorten(two, _LONGEST), (before.metric,))


def _merge(differences: Iterable[Difference]) -> Iterator[Difference]:
    metrics: dict[tuple[str, str, str], list[str]] = {}
    for one in differences:
        metrics.setdefault((one.what, one.base, one.new), []).extend(one.metrics)
    return (Difference(*facts, tuple(names)) for facts, names in metrics.items())


def _missing_values(before: MetricColumn, after: MetricColumn, pairs: Pairs) -> Iterator[Difference]:
    """Return shares of rows without a value that differ, since the remaining pairs are then a selection."""
    first, second = ~before.ok[pairs.first], ~after.ok[pairs.second]
    yield from _share_difference("rows without a value", first, second, before.metric)


def part_differences(
    before: MetricColumn, after: MetricColumn, first: NDArray[np.int64], second: NDArray[np.int64]
) -> Iterator[Difference]:
    """Return the parts of a composite metric whose share of the pairs with a value differs.

    ``first`` and ``second`` are the rows of the pairs, shape (n,).
    """
    ok = before.ok[first] & after.ok[second]
    if not (before.parts and after.parts and ok.any()):
        return
    first, second = first[ok], second[ok]
    absent = np.zeros(len(first), dtype=np.bool_)
    for part in dict.fromkeys((*before.parts, *after.parts)):
        base = before.parts[part][first] if part in before.parts else absent
        new = after.parts[part][second] if part in after.parts else absent
        yield from _share_difference(f"parts: rows with {part}", base, new, before.metric)


def _share_difference(
    what: str, first: NDArray[np.bool_], second: NDArray[np.bool_], metric: str
) -> Iterator[Difference]:
    """Return two shares that differ by more than 2 percentage points, or by McNemar's test."""
    counts, n = (int(first.sum()), int(second.sum())), len(first)
    if abs(counts[0] - counts[1]) > MAX_MISSING * n or mcnemar(first, second).p < _SIGNIFICANT:
        base, new = (f"{count:,} of {n:,} ({count / n:.1%})" for count in counts)
        yield Difference(what, base, new, (metric,))
