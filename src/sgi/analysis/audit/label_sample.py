"""The labelled rows that an audit may use: one of each question, a random sample within each verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.agreement.agree import default_threshold
from sgi.analysis.labels import read_labels
from sgi.engine.stored_runs import grouped_run, read_run
from sgi.engine.summarise import with_range
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import metric_label, pluralize, pluralize_part
from sgi.stats.judge_trust import LabelCounts
from sgi.stats.two_samples import UNLIKELY, compare_labelled
from sgi.store.human_labels import default_label, run_labels
from sgi.store.label_consensus import (
    ALL_PEOPLE,
    DRAWN,
    PEOPLE,
    balanced_order,
    consensus,
    random_order,
    random_sample,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn
    from sgi.store.database import Database
    from sgi.store.human_labels import HumanLabels
    from sgi.store.run_queries import RunRecord

    Mask = NDArray[np.bool_]

MAX_UNDECIDED = 0.1
"""Largest share of the sampled rows that may lack a label, because people skipped them or disagree."""


@dataclass(frozen=True, eq=False)
class LabelSample:
    """The labels of a run that an audit may use.

    Attributes:
        run: the run.
        column: the metric.
        label: the column of the labels.
        threshold: scores of at least this value (at most, if lower is better) are a yes.
        rows: mask of the rows that count: one with a value of each question, shape (n,).
        yes: mask of the rows with the verdict yes, shape (n,).
        truth: the label of each row that counts, 1 or 0, NaN without one, shape (n,).
        undecided: number of rows of the sample that have no label, because people skipped them or disagree.
        stale: number of rows whose labels belong to another text.
    """

    run: Run
    column: MetricColumn
    label: str
    threshold: float
    rows: Mask
    yes: Mask
    truth: NDArray[np.float64]
    undecided: int = 0
    stale: int = 0

    @property
    def counts(self) -> LabelCounts:
        """The numbers of labels by verdict and label."""
        good, bad = self.truth == 1, self.truth == 0
        return LabelCounts(
            right_yes=int((self.yes & good).sum()),
            wrong_yes=int((self.yes & bad).sum()),
            right_no=int((~self.yes & bad).sum()),
            wrong_no=int((~self.yes & good).sum()),
        )

    @property
    def share_yes(self) -> float:
        """The share of the rows that count with the verdict yes; 0 without rows."""
        return float(self.yes[self.rows].mean()) if self.rows.any() else 0.0

    @property
    def used(self) -> dict[str, bool]:
        """The label of each row that counts, by id."""
        known = np.flatnonzero(~np.isnan(self.truth)).tolist()
        return {self.run.ids[row]: bool(self.truth[row]) for row in known}

    @property
    def values(self) -> str:
        """How many rows have which status, as text."""
        counts = (f"{count:,} {status.value}" for status, count in self.column.counts().items() if count)
        return ", ".join(counts)

    def notes(self) -> Iterator[str]:
        """Yield which rows are left out."""
        if without := int((~self.column.ok).sum()):
            rows = pluralize_part(
                without, len(self.run.ids), "row", "has no value and is", "have no value and are"
            )
            yield f"{rows} left out ({self.values})."
        if self.undecided:
            rows = pluralize(self.undecided, "row")
            yield f"Without a label: {rows} of the sample (skipped, or people disagree)."
        if self.stale:
            rows = pluralize(self.stale, "row")
            yield f"The labels of {rows} do not count: they are of another version of the text."

    def obstacles(self) -> Iterator[str]:
        """Yield why the labels cannot show that the metric may be trusted: they are not a random sample."""
        count = self.counts.labelled
        if self.undecided > MAX_UNDECIDED * (count + self.undecided):
            some = f"{self.undecided:,} of {count + self.undecided:,} rows of the sample have no label"
            yield f"{some}, and rows that are hard to decide may be those where the judge is wrong."
        known = ~np.isnan(self.truth)
        if self.label == PEOPLE or count in {0, int(self.rows.sum())}:
            return
        order = known[self.rows]
        if order[:count].all() or order[-count:].all():
            yield f"The labelled rows are the first or last {count:,} of the run, not a random sample."
        clusters = np.arange(len(order))
        test = compare_labelled(self.column.values[self.rows], order, clusters)
        if test is not None and test.p <= UNLIKELY:
            yield (
                f"The labelled rows have other scores than the rest (p = {test.p:.3f}), so they are not a "
                "random sample."
            )


def label_sample(
    database: Database,
    record: RunRecord,
    metric: str,
    label: str | None = None,
    *,
    threshold: float | None = None,
) -> LabelSample:
    """Read the labels of a run that an audit may use; arguments and errors as in `audit_labels`."""
    given = label
    label = label or default_label(database, record)
    if label == ALL_PEOPLE or label.startswith(DRAWN):
        hint = f"Use --labels {PEOPLE}: labels in random order, or in the order of sgi audit --next."
        raise UsageError(f"An audit cannot use {label!r}: its rows are not a random sample.", hint=hint)
    human: HumanLabels | None = None
    values: Sequence[Any] = []
    try:
        if label != PEOPLE:
            run, values, _ = grouped_run(database, record, label, {})
    except UsageError:
        if given is not None:
            raise
        label = PEOPLE  # the data has no labels
    if label == PEOPLE:
        run, human = read_run(database, record), run_labels(database, record)
    column = run.metric(metric)
    limit = verdict_threshold(column, threshold)
    rows, yes = question_rows(run, column.ok), says_yes(column, limit)
    sampled = rows
    if human is not None:
        sampled = _sampled(human, rows & yes, human.seen) | _sampled(human, rows & ~yes, human.seen)
        known = {name: consensus(given) for name, given in human.current.items()}
        values = [known.get(name) for name in human.ids]
    labels = read_labels(label, values, run.ids)
    if labels.kind != "yes or no":
        raise UsageError(f"The labels in {label!r} are {labels.kind}, not yes and no.")
    truth = np.array([np.nan if value is None else value for value in labels.values], dtype=np.float64)
    truth[~sampled] = np.nan
    undecided = 0 if human is None else int((sampled & np.isnan(truth)).sum())
    stale = 0 if human is None else len(human.stale.keys() - human.current.keys())
    return LabelSample(run, column, label, limit, rows, yes, truth, undecided, stale)


def verdict_threshold(column: MetricColumn, threshold: float | None) -> float:
    """Return the threshold of a verdict, by default the middle of the range.

    Raises UsageError if it is not in the range of the metric, or there is no default.
    """
    ranged = with_range(column)
    limit = default_threshold(ranged) if threshold is None else threshold
    name = metric_label(column.metric)
    if limit is None:
        hint = "Give --threshold: from which score on the verdict is yes."
        raise UsageError(f"The range of {name} is not 0 to 1, so it has no default threshold.", hint=hint)
    low, high = ranged.bounds
    if not math.isfinite(limit) or not low <= limit <= high:
        ends = f"{low:g} to {high:g}".replace("-inf", "−∞").replace("inf", "∞")
        raise UsageError(f"The threshold {limit:g} is not in the range of {name}, {ends}.")
    return limit


def says_yes(column: MetricColumn, threshold: float) -> Mask:
    """Return whether the verdict of each row is yes, shape (n,); False without a value."""
    return column.meets(threshold) & column.ok


def question_rows(run: Run, ok: Mask) -> Mask:
    """Return the mask of one row with a value of each question: the first in random order, shape (n,).

    Labels of several answers to one question are not independent. The choice does not depend on labels or
    verdicts, so the share of verdicts of these rows is that of the run.
    """
    order = random_order(run.ids)
    order = order[ok[order]]
    _, first = np.unique(run.clusters[order], return_index=True)
    mask = np.zeros(len(run.ids), dtype=np.bool_)
    mask[order[first]] = True
    return mask


def label_order(run: Run, metric: str, threshold: float | None = None) -> NDArray[np.int64]:
    """Return the positions of the rows in the order in which an audit needs labels, one row of each question.

    Rows with the verdicts yes and no alternate; within each verdict, the order is random.
    """
    column = run.metric(metric)
    yes = says_yes(column, verdict_threshold(column, threshold))
    strata = np.where(question_rows(run, column.ok), yes.astype(np.int8), np.int8(-1))
    return balanced_order(random_order(run.ids), strata)


def rows_to_label(
    database: Database, record: RunRecord, metric: str, threshold: float, used: Collection[str], number: int
) -> list[tuple[str, float]]:
    """Return the ids of the next rows to label, and the probability with which each is in the sample then.

    Within a verdict, each row has the same probability: the share of its rows that are labelled then.
    ``used`` are the ids of the rows with a label.
    """
    run, human = read_run(database, record), run_labels(database, record)
    column = run.metric(metric)
    yes, rows = says_yes(column, threshold), question_rows(run, column.ok)
    seen = human.seen | np.array([name in used for name in run.ids], dtype=np.bool_)
    order = [row for row in label_order(run, metric, threshold).tolist() if not seen[row]]
    chosen = np.array(order[:number], dtype=np.int64)
    seen[chosen] = True
    parts = {verdict: rows & (yes == verdict) for verdict in (True, False)}
    shares = {
        verdict: float(_sampled(human, part, seen).sum()) / max(int(part.sum()), 1)
        for verdict, part in parts.items()
    }
    return [(run.ids[row], shares[bool(yes[row])]) for row in chosen.tolist()]


def _sampled(human: HumanLabels, part: Mask, seen: Mask) -> Mask:
    """Return the mask of the first rows of ``part`` in random order, up to the first that is not seen."""
    return random_sample(human.rows.order[part[human.rows.order]], seen)
