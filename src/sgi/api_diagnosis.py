"""Functions of the public API that say what is wrong with the rows of a run.

A run and ``db`` are as in `sgi.api`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

from sgi.analysis.diagnosis.decision_table import DecisionTable, read_table
from sgi.analysis.diagnosis.diagnose import diagnose_run
from sgi.analysis.diagnosis.over_runs import compare_diagnoses
from sgi.analysis.given_runs import given_run
from sgi.engine.progress import default_listener
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.analysis.diagnosis.over_runs import DiagnosisComparison
    from sgi.analysis.given_runs import Db, RunLike
    from sgi.engine.progress import Listener
    from sgi.engine.run_options import EmbedderLike

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
    run: RunLike,
    *,
    by: str = "",
    table: str | Path | DecisionTable | None = None,
    embedder: EmbedderLike | None = None,
    cluster: str | None = None,
    cache: bool | str | Path = True,
    listener: Listener | None = None,
    db: Db = None,
) -> Diagnosis:
    """Find out what is wrong with each row of a run, such as a missing passage or a contradicted fact.

    A decision table maps the scores of a row to a cause. The scores of the run are used; metrics that the run
    does not have are computed. No judge is asked.

    Args:
        run: a run of `evaluate` or `open_run`, or the name of a stored run.
        by: a column of the data; the shares of the causes are also computed for each of its values.
        table: a decision table or its TOML file; None for the built-in one.
        embedder: a name, a folder or an embedder; None for the model of the stored run, or the bundled one.
        cluster: which rows of a stored run belong together; None for the rule of the run.
        cache: a file for vectors, your user cache (True), or none (False).
        listener: takes progress events; None shows a progress bar in a notebook.
        db: the database of a run given by name.

    Returns:
        The diagnosis: ``rows`` has the cause and the evidence of each row, ``causes`` the share of each
        cause, and ``next_steps`` what to do about it.

    Raises:
        UsageError: the table is not valid, or the texts of the run are not stored.

    >>> import sgi
    >>> rows = [{"question": "How tall is the tower?", "contexts": ["The tower is 330 m tall."],
    ...          "response": "The tower is 312 m tall.", "reference": "330 m"}]
    >>> sgi.diagnose(sgi.evaluate(rows, "grounding")).rows[0].cause
    'contradicted_fact'
    """
    opened, how = given_run(run, cluster, db), _table(table)
    listener = listener or default_listener()
    return diagnose_run(opened, how, by=by, embedder=embedder, cache=cache, listener=listener)


def compare_causes(
    *runs: RunLike, allow_different: bool = False, **options: Unpack[Options]
) -> DiagnosisComparison:
    """Diagnose several runs over the same questions, and compare the shares of the causes.

    Rows are paired with the rows of the first run. Each difference is over the rows that both runs diagnose.

    Args:
        *runs: two or more runs.
        allow_different: compare runs that differ in more than their responses and passages.
        **options: ``table``, ``embedder``, ``cluster``, ``cache``, ``listener``, ``db``, as in `diagnose`.

    Returns:
        The diagnosis of each run, and for each cause the differences of its shares.

    Raises:
        NotComparableError: the runs differ in more than their responses and passages.
        UsageError: fewer than two runs are given, or they have no row in common.
    """
    if len(runs) < _TWO:
        raise UsageError("A comparison needs two or more runs.")
    table, listener = _table(options.get("table")), options.get("listener") or default_listener()
    given = (given_run(run, options.get("cluster"), options.get("db")) for run in runs)
    opened = [
        run.named(f"result {number}") if run.name == "result" else run for number, run in enumerate(given, 1)
    ]
    work = partial(diagnose_run, embedder=options.get("embedder"), cache=options.get("cache", True))
    diagnoses = [work(run, table, listener=listener) for run in opened]
    return compare_diagnoses(opened, diagnoses, allow_different=allow_different)


def _table(table: str | Path | DecisionTable | None) -> DecisionTable | None:
    return table if table is None or isinstance(table, DecisionTable) else read_table(table)
