"""The rows of a stored run for its diagnosis, and the models for metrics that it lacks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sgi.analysis.diagnosis.decision_table import built_in_table
from sgi.analysis.diagnosis.diagnose import RowSource, diagnose
from sgi.engine.evaluate import run_outside_loop
from sgi.engine.run_options import model_options
from sgi.engine.run_recorder import require_texts
from sgi.engine.stored_options import require_local_models
from sgi.store.scored_runs import scored_run
from sgi.store.stored_batches import stored_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.engine.run_options import EmbedderLike, RunOptions
    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Batch
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


def stored_source(
    database: Database,
    record: RunRecord,
    embedder: EmbedderLike | None = None,
    *,
    cache: bool | str | Path = True,
) -> tuple[RowSource, RunOptions]:
    """Return the rows of a stored run, and the models for metrics that it lacks.

    Args:
        database: the database of the run.
        record: the run.
        embedder: a name, a folder or an embedder; None for the model of the run.
        cache: a file for vectors, your user cache (True), or none (False).

    Raises:
        UsageError: the texts of the run are not stored, or its model is not on this machine.
    """
    require_texts(record, "Diagnosing")
    options = model_options(record.spec, () if embedder is None else (embedder,), cache=cache)
    if embedder is None:
        require_local_models(record, options.embedders, option="-e")

    def read() -> Iterator[tuple[Batch, Mapping[str, Scores]]]:
        for stored in stored_batches(database, record):
            yield stored.batch, stored.scores

    source = RowSource(scored_run(database, record), read, same_models=embedder is None)
    return source, options


def diagnose_stored(database: Database, record: RunRecord) -> Diagnosis:
    """Diagnose a stored run with the built-in table and the model of the run.

    Raises:
        UsageError: the texts of the run are not stored, or its model is not on this machine.
    """
    source, options = stored_source(database, record)
    return run_outside_loop(partial(diagnose, source, built_in_table(), options=options))
