"""A stored run in Python: scores, texts, summary and the data for comparisons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sgi.engine.results import ScoreTable, join_scores
from sgi.engine.summarise import growing_summary
from sgi.engine.summary import Summary
from sgi.kernel.short_repr import short_repr
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.store.scored_runs import scored_run
from sgi.store.stored_batches import stored_batches

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Sample
    from sgi.kernel.scored_run import ScoredRun
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True, eq=False)
class StoredRun(ScoreTable):
    """A stored run in memory, with the methods of `Result`.

    Attributes:
        record: name, id, data, settings, versions, tags and state of the run.
        db: the argument of `open_run`.
        samples: the scored rows.
    """

    record: RunRecord
    db: str | Path | None
    samples: tuple[Sample, ...]
    _scores: Mapping[str, Scores]
    _scored: ScoredRun
    _summary: Summary

    __repr__ = short_repr

    @property
    def name(self) -> str:
        """The name of the run, or its id."""
        return self.record.label

    @property
    def signature(self) -> str:
        """Provenance of the scores, for printing."""
        return self.record.signature

    def __str__(self) -> str:
        return str(self._summary)

    def summary(self) -> Summary:
        """Compute the summary: means with intervals and coverage."""
        return self._summary

    def scored(self) -> ScoredRun:
        """Return the scores as columns, as `compare` and `gate` read them."""
        return self._scored


def open_run(
    run: str = "last",
    *,
    db: str | Path | None = None,
    cluster: str | None = None,
    weights: str | None = None,
) -> StoredRun:
    """Read a stored run.

    Args:
        run: its id or the beginning of its id, its name, ``last``, or ``last~1`` for the one before last.
        db: a SQLite file or ``postgresql://…``; None: ``SGI_DATABASE_URL`` if set, otherwise ``sgi.db``.
        cluster: rule that says which rows are dependent in intervals and tests; None: the rule of the run.
        weights: column of the data with the weight of each row, a number above 0, in the means of the
            summary, gates and comparisons; None counts each row once.

    Raises:
        UnknownNameError: there is no such run or column.
        DataError: a weight is not a number above 0.
        StoreError: the database cannot be read.
    """
    with open_database(db, create=False) as database:
        record = find_run(database, run).with_clusters(cluster).with_weights(weights)
        batches = list(stored_batches(database, record))
        columns = scored_run(database, record)
        if record.summary is None or cluster is not None or weights is not None:
            summary = growing_summary(database, record)
        else:
            summary = Summary.from_dict(record.summary)
    samples = tuple(sample for stored in batches for sample in stored.batch.samples)
    return StoredRun(
        record,
        db,
        samples,
        {name: join_scores([one.scores[name] for one in batches]) for name in columns.metrics if batches},
        replace(columns, samples=lambda rows: (samples[row] for row in rows), fields=None),
        summary,
    )
