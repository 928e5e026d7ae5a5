"""Functions of the public API that say what is wrong with the rows of a run.

A run and ``db`` are as in `sgi.api`.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

from sgi.analysis.diagnosis.decision_table import DecisionTable, built_in_table, read_table
from sgi.analysis.diagnosis.diagnose import RowSource
from sgi.analysis.diagnosis.diagnose import diagnose as diagnose_rows
from sgi.analysis.diagnosis.over_runs import compare_diagnoses
from sgi.analysis.diagnosis.sources import stored_source
from sgi.analysis.given_runs import open_given_runs
from sgi.engine.evaluate import run_outside_loop
from sgi.engine.plan import batches
from sgi.engine.progress import default_listener
from sgi.engine.results import Result
from sgi.engine.run_options import given_options
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.analysis.diagnosis.over_runs import DiagnosisComparison
    from sgi.analysis.given_runs import Db, Stored
    from sgi.engine.progress import Listener
    from sgi.engine.run_options import EmbedderLike, RunOptions
    from sgi.kernel.metric import Scores
    from sgi.kernel.sample import Batch

__all__ = ["compare_causes", "diagnose"]

_TWO = 2


class Options(TypedDict, total=False):
    """The arguments that `diagnose` and `compare_causes` share."""

    table: str | Path | DecisionTable | None
    embedder: EmbedderLike | None
    cluster: str | None
    cache: bool | str | Path
    listener: Listener | None
    db: Db


def diagnose(
    run: Stored | Result,
    *,
    by: str = "",
    table: str | Path | DecisionTable | None = None,
    embedder: EmbedderLike | None = None,
    cluster: str | None = None,
    cache: bool | str | Path = True,
    listener: Listener | None = None,
    db: Db = None,
) -> Diagnosis:
    """Find the cause of what is wrong with each row of a run.

    Scores of the run are used where it has a metric with the same parameters and version; other metrics are
    computed. No judge is asked.

    Args:
        run: a result of `evaluate`, an opened run, or the name of a stored run.
        by: a column of the data; the shares of the causes are also computed for each of its values.
        table: a decision table or its TOML file; None for the built-in one.
        embedder: a name, a folder or an embedder; None for the model of the stored run, or the bundled one.
        cluster: which rows of a stored run belong together; None for the rule of the run.
        cache: a file for vectors, your user cache (True), or none (False).
        listener: takes progress events; None shows a progress bar in a notebook.
        db: the database of a run given by name.

    Raises:
        UsageError: the table is not valid, or the texts of the run are not stored.

    >>> import sgi
    >>> rows = [{"question": "How tall is the tower?", "contexts": ["The tower is 330 m tall."],
    ...          "response": "The tower is 312 m tall.", "reference": "330 m"}]
    >>> sgi.diagnose(sgi.evaluate(rows, "grounding")).rows[0].cause
    'contradicted_fact'
    """
    with _opened(run, embedder, cluster, cache, db) as (source, options):
        return _diagnose(source, options, table, by, listener)


def compare_causes(
    *runs: Stored | Result, allow_different: bool = False, **options: Unpack[Options]
) -> DiagnosisComparison:
    """Diagnose several runs over the same questions, and compare the shares of the causes.

    Rows are paired with those of the first run. Each difference is over the rows that both runs diagnose.

    Args:
        *runs: two or more runs.
        allow_different: compare runs that differ in more than their responses and passages.
        **options: ``table``, ``embedder``, ``cluster``, ``cache``, ``listener``, ``db``, as in `diagnose`.

    Raises:
        RunsDifferError: the runs differ in more than their responses and passages.
        UsageError: fewer than two runs are given, or they have no row in common.
    """
    if len(runs) < _TWO:
        raise UsageError("A comparison needs two or more runs.")
    table, listener = options.get("table"), options.get("listener")
    places = options.get("embedder"), options.get("cluster"), options.get("cache", True), options.get("db")
    with ExitStack() as stack:
        names = (f"result {number}" for number in range(1, len(runs) + 1))
        opened = [stack.enter_context(_opened(run, *places, name=next(names))) for run in runs]
        diagnoses = [_diagnose(*one, table, "", listener) for one in opened]
        scored = [source.run for source, _ in opened]
        return compare_diagnoses(scored, diagnoses, allow_different=allow_different)


def _diagnose(
    source: RowSource,
    options: RunOptions,
    table: str | Path | DecisionTable | None,
    by: str,
    listener: Listener | None,
) -> Diagnosis:
    if not isinstance(table, DecisionTable):
        table = built_in_table() if table is None else read_table(table)
    work = partial(diagnose_rows, source, table, by=by, options=options)
    return run_outside_loop(partial(work, listener=listener or default_listener()))


@contextmanager
def _opened(
    run: Stored | Result,
    embedder: EmbedderLike | None,
    cluster: str | None,
    cache: bool | str | Path,
    db: Db,
    name: str = "result",
) -> Iterator[tuple[RowSource, RunOptions]]:
    """Context manager that opens a run; ``name`` is that of a result."""
    if isinstance(run, Result):
        options = given_options({"cache": cache}, embedder, source="sgi.diagnose")
        yield _source_of_result(run, embedder, name), options
        return
    with open_given_runs((run,), cluster, db) as (database, (record,)):
        yield stored_source(database, record, embedder, cache=cache)


def _source_of_result(result: Result, embedder: EmbedderLike | None, name: str) -> RowSource:
    run = result.scored(name)
    columns = {name: result[name] for name in run.metrics}

    def read() -> Iterator[tuple[Batch, Mapping[str, Scores]]]:
        start = 0
        for batch in batches(result.samples):
            stop = start + len(batch)
            yield batch, {name: scores.rows(start, stop) for name, scores in columns.items()}
            start = stop

    return RowSource(run, read, same_models=embedder is None)
