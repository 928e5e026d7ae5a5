"""The scores of a run as columns, for tables, comparisons and gates (pass/fail rules)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.clusters import DEFAULT_CLUSTERING, Clustering
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.metric import PERCENT, RATIO, SCORE, Status
from sgi.kernel.names import metric_label
from sgi.kernel.registry import metric_name
from sgi.kernel.row_keys import RowKeys
from sgi.kernel.short_repr import short_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.provenance import MetricProvenance
    from sgi.kernel.sample import Sample
    from sgi.kernel.weights import Weighting

    ReadSamples = Callable[[Sequence[int]], Iterable[Sample]]
    ReadFields = Callable[[Sequence[str]], Iterable[tuple[Any, ...]]]

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
    def width(self) -> float | None:
        """The difference ``high - low``; None for an unbounded scale."""
        width = math.inf if self.low is None or self.high is None else self.high - self.low
        return width if math.isfinite(width) else None

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

    def counts(self) -> dict[Status, int]:
        """Return how many rows have each status."""
        totals = np.bincount(self.codes, minlength=len(STATUSES))
        return dict(zip(STATUSES, totals.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """The scores of a run; row ``i`` of every column belongs to the sample ``ids[i]``.

    Attributes:
        name: the run's name or id, for messages.
        rows: the number of rows of the data; greater than n for an unfinished run.
        clusters: the cluster number of each row, int64, shape (n,).
        metrics: the column of each metric, by canonical string.
        rejected: the number of rows of the data that could not be read.
        dataset: a hash of the samples; may be empty.
        numbered: whether the ids are only row numbers.
        samples: a function that reads the samples of some rows; None for a run without texts.
        fields: a function that reads fields of all samples without building them; None if there is none.
        weights: the weight of each row in means, float64, shape (n,); None counts each row once.
        weighting: the weights of all rows in numbers; None without weights.
    """

    name: str
    rows: int
    ids: tuple[str, ...]
    clusters: NDArray[np.int64]
    metrics: Mapping[str, MetricColumn]
    signature: str = ""
    rejected: int = 0
    finished: bool = True
    dataset: str = ""
    numbered: bool = False
    samples: ReadSamples | None = None
    fields: ReadFields | None = field(default=None, repr=False)
    clustering: Clustering = DEFAULT_CLUSTERING
    weights: NDArray[np.float64] | None = field(default=None, repr=False)
    weighting: Weighting | None = None

    __repr__ = short_repr

    def metric(self, name: str) -> MetricColumn:
        """Return a metric by its canonical string, or by its name alone if only one metric has this name.

        Raises an UnknownNameError if the run has no such metric, or several with this name.
        """
        if name in self.metrics:
            return self.metrics[name]
        columns = [column for column in self.metrics.values() if column.name == name]
        if len(columns) == 1:
            return columns[0]
        label = metric_label(name)
        hint = f"It has: {', '.join(map(metric_label, self.metrics))}."
        if label != name and label in {column.name for column in self.metrics.values()}:
            hint = f"The run has another definition of {label}."
        raise UnknownNameError(f"metric of {self.name}", name, hint=hint)

    def take(self, rows: NDArray[np.int64]) -> ScoredRun:
        """Return a run that contains only these rows."""
        metrics = {
            name: replace(
                column,
                values=column.values[rows],
                codes=column.codes[rows],
                parts={part: has_value[rows] for part, has_value in column.parts.items()},
            )
            for name, column in self.metrics.items()
        }
        ids = tuple(self.ids[row] for row in rows)
        clusters = self.clusters[rows]
        read_samples = self.samples
        samples = None if read_samples is None else lambda some: read_samples(rows[list(some)].tolist())
        return replace(
            self,
            rows=len(rows),
            ids=ids,
            clusters=clusters,
            weights=None if self.weights is None else self.weights[rows],
            metrics=metrics,
            rejected=0,
            samples=samples,
            fields=None,
        )

    @cached_property
    def keys(self) -> RowKeys | None:
        """Hashes of the texts that identify the rows; None for a run without texts."""
        if self.samples is None:
            return None
        return RowKeys.of(
            self.read_fields("question", "reference"),
            lambda: self.read_fields("contexts"),
            lambda: self.read_fields("response"),
        )

    def statistics_notes(self) -> Iterator[str]:
        """Yield notes on how intervals treat rows: their clusters and their weights."""
        yield from self.clustering.notes(len(self.ids))
        if self.weighting is not None:
            yield from self.weighting.notes()

    def read_fields(self, *names: str) -> Iterable[tuple[Any, ...]]:
        """Return fields of all samples in the order of the rows; nothing for a run without texts."""
        if self.samples is None:
            return ()
        if self.fields is not None:
            return self.fields(names)
        samples = self.samples(range(len(self.ids)))
        return (tuple(getattr(sample, name) for name in names) for sample in samples)


def parts_of_rows(details: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[np.bool_]]:
    """Return which parts of a composite metric have a value in each row, from the details of the rows.

    >>> parts_of_rows([{"parts": {"a": 1.0, "b": None}}, {}])
    {'a': array([ True, False]), 'b': array([False, False])}
    """
    rows = [parts if isinstance(parts := body.get("parts"), dict) else {} for body in details]
    names = dict.fromkeys(name for parts in rows for name in parts)
    return {name: np.array([parts.get(name) is not None for parts in rows], np.bool_) for name in names}


def are_numbers(ids: Sequence[str], stem: str = "") -> bool:
    """Return whether all ids are row numbers, which rows without an id get: increasing, from 1.

    A row with two answers has the ids ``STEM-NUMBER-right`` and ``STEM-NUMBER-hallucinated``; ``stem`` is the
    file name of the data without its suffix.

    >>> are_numbers(["1", "2", "4"]), are_numbers(["q1", "q2"]), are_numbers(["2", "1"])
    (True, False, False)
    """
    pattern = re.compile(rf"(?:{re.escape(stem)}-)?([1-9][0-9]*)(?:-right|-hallucinated)?")
    before = 0
    for name in ids:
        match = pattern.fullmatch(name)
        if match is None or int(match[1]) < before:
            return False
        before = int(match[1])
    return bool(ids)
