"""State of labelling a run: who labelled, where people disagree, and what the labels say about metrics."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.agreement.agree import agree
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import pluralize
from sgi.stats.agreement import cohen_kappa
from sgi.store.human_labels import HumanLabels, run_labels
from sgi.store.label_consensus import DRAWN, PEOPLE, uncertainty_chances

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.analysis.agreement.report import MetricAgreement
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn
    from sgi.stats.agreement import Agreement
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class Author:
    """How many rows one person labelled yes, labelled no and skipped; decisions do not count."""

    name: str
    yes: int
    no: int
    skipped: int


@dataclass(frozen=True)
class AuthorPair:
    """Agreement of two people over the rows that both labelled.

    Decisions do not count: who decides has seen the labels of the others.

    Attributes:
        rows: number of these rows.
        equal: number of them with the same label.
        kappa: Cohen's κ.
    """

    first: str
    second: str
    rows: int
    equal: int
    kappa: Agreement


@dataclass(frozen=True, eq=False)
class DrawnLabels:
    """The labels of rows that were drawn by the uncertainty of a metric.

    Attributes:
        metric: the canonical string of the metric.
        values: the label of each row; None for a row that was not drawn, or has no label.
        probabilities: the probability with which it was drawn; NaN without a label, shape (n,).
    """

    metric: str
    values: tuple[bool | None, ...]
    probabilities: NDArray[np.float64]

    @property
    def column(self) -> str:
        """The name of this label column, such as ``people:METRIC``."""
        return f"{DRAWN}{self.metric}"

    @property
    def labelled(self) -> int:
        """Number of rows with a label."""
        return int(np.isfinite(self.probabilities).sum())


@dataclass(frozen=True, eq=False)
class Labelling:
    """The progress of labelling a run, and what its labels show.

    Attributes:
        labels: the labels.
        authors: who labelled, the most labels first.
        pairs: agreement of each two people with rows in common.
        metrics: agreement of the metrics with the labels of the random sample, and corrected means; or with
            the labels of the rows drawn by the uncertainty of a metric, if these are more.
        drawn: the labels of these rows; None if ``metrics`` belong to the random sample.
    """

    labels: HumanLabels
    authors: tuple[Author, ...]
    pairs: tuple[AuthorPair, ...]
    metrics: tuple[MetricAgreement, ...]
    drawn: DrawnLabels | None = None

    @property
    def sampled(self) -> int:
        """Number of rows of the random sample that have a label."""
        return sum(value is not None for value in self.labels.values())

    @property
    def labelled(self) -> int:
        """Number of rows with a label."""
        return sum(value is not None for value in self.labels.values(of_sample=False))


def labelling(database: Database, record: RunRecord) -> Labelling:
    """Return the progress of labelling a run, and what its labels show."""
    labels = run_labels(database, record)
    values = labels.values()
    metrics: tuple[MetricAgreement, ...] = ()
    drawn: DrawnLabels | None = None
    if labels.current:
        run = read_run(database, record)
        samples = [drawn_labels(run, labels, name) for name in run.metrics]
        largest = max(samples, key=lambda one: one.labelled, default=None)
        if largest is not None and largest.labelled > sum(value is not None for value in values):
            drawn = largest
        metrics = _agreement(run, values, drawn)
    by_author: dict[str, dict[str, bool | None]] = defaultdict(dict)
    for name, given in labels.current.items():
        for label in given:
            if not label.decides:
                by_author[label.author][name] = label.value
    authors = [_author(name, list(given.values())) for name, given in by_author.items()]
    authors.sort(key=lambda author: (-(author.yes + author.no), author.name))
    return Labelling(labels, tuple(authors), tuple(_pairs(by_author)), metrics, drawn)


def _agreement(
    run: Run, values: Sequence[bool | None], drawn: DrawnLabels | None
) -> tuple[MetricAgreement, ...]:
    if drawn is not None:
        return agree(run, drawn.column, drawn.values, probabilities=drawn.probabilities).metrics
    return agree(run, PEOPLE, values).metrics if any(value is not None for value in values) else ()


def draw_chances(column: MetricColumn) -> NDArray[np.float64]:
    """Return the relative probability with which the queue draws each row by its uncertainty, shape (n,)."""
    return uncertainty_chances(column.values, middle_value(column))


def middle_value(column: MetricColumn) -> float:
    """Return the middle of the range of a metric, or the median of its values if the range has no end."""
    middle = ((column.low or 0.0) + (column.high or 0.0)) / 2
    if column.low is not None and column.high is not None and isfinite(middle):
        return middle
    return float(np.median(column.values[column.ok])) if column.ok.any() else 0.0


def drawn_labels(run: Run, labels: HumanLabels, metric: str) -> DrawnLabels:
    """Return the labels of the rows that were drawn by the uncertainty of a metric.

    Raises UnknownNameError if the run has no such metric.
    """
    column = run.metric(metric)
    probabilities = labels.drawn(draw_chances(column))
    values = [
        value if is_drawn else None
        for value, is_drawn in zip(
            labels.values(of_sample=False), np.isfinite(probabilities).tolist(), strict=True
        )
    ]
    known = np.array([value is not None for value in values], dtype=np.bool_)
    return DrawnLabels(column.metric, tuple(values), np.where(known, probabilities, np.nan))


def require_drawn_labels(run: Run, labels: HumanLabels, column: str) -> DrawnLabels:
    """Return the labels of a column ``people:METRIC``.

    Raises UsageError if no row that was drawn by the uncertainty of this metric has a label.
    """
    drawn = drawn_labels(run, labels, column.removeprefix(DRAWN))
    if not drawn.labelled:
        message = f"No row of {run.name} that is drawn by the uncertainty of {drawn.metric} has a label."
        raise UsageError(message, hint="In sgi serve, choose this order before you label.")
    return drawn


def labels_drawn_by(
    database: Database, record: RunRecord, column: str, metric: str
) -> tuple[Run, tuple[float | str | None, ...]]:
    """Return a run and the labels of a column ``people:METRIC``, to calibrate the same metric.

    Raises UsageError for another metric: how a row was drawn then says more than its score about its label.
    """
    run = read_run(database, record)
    drawn = require_drawn_labels(run, run_labels(database, record), column)
    if drawn.metric != run.metric(metric).metric:
        message = f"The rows of {column!r} were drawn by {drawn.metric}, not by {metric}."
        raise UsageError(message, hint="Calibrate that metric, or label rows in random order.")
    return run, tuple(None if value is None else float(value) for value in drawn.values)


def undecided_notes(labels: HumanLabels) -> Iterator[str]:
    """Say how many rows are left out because people disagree, and what this does to the results."""
    if waiting := len(labels.undecided):
        rows = pluralize(waiting, "row waits", "rows wait")
        yield (
            f"{rows} for a decision, because people disagree and there is no majority. Leaving out such rows "
            "makes the agreement with the metrics look better than it is."
        )


def _author(name: str, values: list[bool | None]) -> Author:
    return Author(name, values.count(True), values.count(False), values.count(None))


def _pairs(by_author: Mapping[str, Mapping[str, bool | None]]) -> Iterator[AuthorPair]:
    for first, second in combinations(sorted(by_author), 2):
        one, other = by_author[first], by_author[second]
        rows = [row for row in one if one[row] is not None and other.get(row) is not None]
        if rows:
            pairs = np.array([(bool(one[row]), bool(other[row])) for row in rows], dtype=np.float64)
            equal = int((pairs[:, 0] == pairs[:, 1]).sum())
            yield AuthorPair(first, second, len(rows), equal, cohen_kappa(pairs[:, 0], pairs[:, 1]))


def label_rows(state: Labelling) -> list[dict[str, JsonValue]]:
    """Return all labels of a run as rows of an export, in the order of the data.

    Rows drawn by uncertainty have the probability with which they were drawn.
    """
    labels, chances = state.labels, {}
    if state.drawn is not None:
        pairs = zip(labels.ids, state.drawn.probabilities.tolist(), strict=True)
        chances = {name: chance for name, chance in pairs if isfinite(chance)}
    return [
        {
            "id": name,
            "label": label.value,
            "author": label.author,
            "comment": label.comment,
            "decides": label.decides,
            "stale": is_stale,
            "version": label.version,
            "created_at": label.created_at,
            "probability": None if is_stale else chances.get(name),
        }
        for name in labels.ids
        for is_stale, given in ((False, labels.current), (True, labels.stale))
        for label in given.get(name, ())
    ]
