"""The end of a run that grew row by row: its headline."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from sgi.engine.groups import column_summary
from sgi.engine.summary import Summary
from sgi.kernel.errors import UnknownNameError
from sgi.store.evaluations import finish_growing
from sgi.store.run_queries import list_runs
from sgi.store.run_rows import metadata_values, scored_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


def finish(database: Database, name: str) -> Summary:
    """Sum up what was saved and close the run; to be called when nobody saves into it any more."""
    runs = list_runs(database)
    record = next((run for key in ("name", "id") for run in runs if getattr(run, key) == name), None)
    if record is None:
        raise UnknownNameError("run", name, hint="`sgi runs` lists them.")
    summary = growing_summary(database, record)
    finish_growing(database, name, summary.to_dict())
    return summary


def growing_summary(database: Database, record: RunRecord) -> Summary:
    """The summary of a run that grew row by row, computed from its rows."""
    run = scored_run(database, record)
    cut, left_out = (_counted(metadata_values(database, record, kept)) for kept in ("truncated", "left_out"))
    return Summary(
        rows=len(run.ids),
        questions=len(np.unique(run.clusters)),
        labelled=0,
        positives=0,
        metrics=tuple(column_summary(column, run.clusters) for column in run.metrics.values()),
        baselines=(),
        copies=0,
        truncated=cut,
        left_out=left_out,
        signature=record.signature,
    )


def _counted(values: list[Iterable[str] | None]) -> dict[str, int]:
    """How many rows name each of them."""
    return dict(Counter(name for names in values for name in names or ()))
