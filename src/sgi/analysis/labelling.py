"""State of labelling a run: who labelled, where people disagree, and what the labels say about metrics."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sgi.analysis.agreement.agree import agree
from sgi.kernel.human_labels import PEOPLE
from sgi.stats.agreement import cohen_kappa
from sgi.store.human_labels import RunLabels, run_labels
from sgi.store.scored_runs import scored_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from sgi.analysis.agreement.report import MetricAgreement
    from sgi.stats.agreement import Agreement
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class Author:
    """The number of labels of a person without decisions: rows with yes, with no, and skipped rows."""

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
class Labelling:
    """The state of labelling a run.

    Attributes:
        labels: the labels.
        authors: who labelled, the most labels first.
        pairs: agreement of each two people with rows in common.
        metrics: agreement of the metrics with the labels of the random sample, and corrected means.
    """

    labels: RunLabels
    authors: tuple[Author, ...]
    pairs: tuple[AuthorPair, ...]
    metrics: tuple[MetricAgreement, ...]

    @property
    def sampled(self) -> int:
        """Number of rows of the random sample that have a label."""
        return sum(value is not None for value in self.labels.values())

    @property
    def labelled(self) -> int:
        """Number of rows with a label."""
        return sum(value is not None for value in self.labels.values(of_sample=False))


def labelling(database: Database, record: RunRecord) -> Labelling:
    """Return the state of labelling a run."""
    labels = run_labels(database, record)
    values = labels.values()
    metrics: tuple[MetricAgreement, ...] = ()
    if any(value is not None for value in values):
        metrics = agree(scored_run(database, record), PEOPLE, values).metrics
    by_author: dict[str, dict[str, bool | None]] = defaultdict(dict)
    for name, given in labels.current.items():
        for label in given:
            if not label.decides:
                by_author[label.author][name] = label.value
    authors = [_author(name, list(given.values())) for name, given in by_author.items()]
    authors.sort(key=lambda author: (-(author.yes + author.no), author.name))
    return Labelling(labels, tuple(authors), tuple(_pairs(by_author)), metrics)


def undecided_notes(labels: RunLabels) -> Iterator[str]:
    """Say how many rows are left out because people disagree, and what this does to the results."""
    if waiting := len(labels.undecided):
        rows = "1 row waits" if waiting == 1 else f"{waiting:,} rows wait"
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


def label_rows(labels: RunLabels) -> list[dict[str, JsonValue]]:
    """Return all labels of a run as rows of an export, in the order of the data."""
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
        }
        for name in labels.ids
        for is_stale, given in ((False, labels.current), (True, labels.stale))
        for label in given.get(name, ())
    ]
