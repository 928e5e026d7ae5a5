"""Functions of the public API that score data, diagnose rows and compare systems, named as their commands.

A run and ``db`` are as in `sgi.api`.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from sgi.analysis.diagnosis.decision_table import DecisionTable, read_table
from sgi.analysis.diagnosis.diagnose import diagnose_run
from sgi.analysis.diagnosis.over_runs import compare_diagnoses
from sgi.analysis.given_runs import given_run, open_given_runs
from sgi.analysis.pareto import pareto
from sgi.engine.evaluate import run_outside_loop
from sgi.engine.progress import default_listener
from sgi.engine.stored_runs import open_run
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import AnyMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.analysis.compare import Comparison
    from sgi.analysis.diagnosis.diagnosis import Diagnosis
    from sgi.analysis.diagnosis.over_runs import DiagnosisComparison
    from sgi.analysis.given_runs import Db, RunLike
    from sgi.analysis.leaderboard_result import Leaderboard
    from sgi.analysis.repeats import Repeats
    from sgi.engine.open_resources import OptionKeywords
    from sgi.engine.progress import Listener
    from sgi.engine.run import Run
    from sgi.engine.run_options import EmbedderLike


__all__ = [
    "compare",
    "compare_causes",
    "diagnose",
    "leaderboard",
    "pareto",
    "repeats",
    "rescore",
    "run",
]


def run(
    data: str | Path,
    metrics: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
    embedder: str | Sequence[str] | None = None,
    **options: Unpack[OptionKeywords],
) -> Run:
    """Score a file of answers, and store the run, as ``sgi run`` does.

    Each finished batch is stored. If the run fails or is interrupted, ``sgi run --resume`` resumes it.

    Args:
        data: a .jsonl, .json, .csv, .tsv, .parquet, .arrow or .xlsx file; `evaluate` scores rows in memory.
        metrics: names, or metrics; None selects those whose fields the data has.
        embedder: one model name or several, the primary one first; None for the bundled model.
        **options: fields of `sgi.engine.run_options.RunOptions`, which ``sgi run`` has as options: those of
            `evaluate`, ``name``, ``tags``, ``out``, ``inputs``, ``rejects``, ``no_texts`` and ``db``.

    Returns:
        The stored run, as from `open_run`.

    Raises:
        DataError: the data cannot be read; the message names file, line, id and field.
        UsageError: an argument is invalid, or ``data`` is not a file.
        EmbedderError, JudgeError: more than ``max_failures`` of the rows failed.
        StoreError: the database cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"response": "Paris.", "reference": "paris"}')
    >>> stored = run(folder / "rows.jsonl", "squad_em", name="monday", db=folder / "sgi.db")
    >>> stored.name, stored["squad_em"].mean
    ('monday', 1.0)
    """
    from sgi.engine.open_resources import given_options
    from sgi.engine.runner import start_run
    from sgi.metrics.definitions import Definitions

    path: object = data
    if not isinstance(path, (str, os.PathLike)):
        hint = "Write the rows to a file, or score them with `sgi.evaluate`, which stores nothing."
        raise UsageError(f"A stored run reads rows from a file, not from a {type(path).__name__}.", hint=hint)
    listener = options.pop("listener", None) or default_listener()
    values: dict[str, Any] = {"data": Path(data), **options}
    if metrics is not None:
        several = [metrics] if isinstance(metrics, (str, AnyMetric)) else metrics
        values["metrics"] = [each if isinstance(each, str) else each.canonical for each in several]
        if used := Definitions.used_by(several).tables:
            values["define"] = {**used, **Definitions.of(options.get("define")).tables}
    chosen = given_options(values, embedder, source="sgi.run")
    if chosen.given_embedders is not None or chosen.given_judge is not None:
        hint = "Name them, or use `sgi.evaluate`, which takes objects."
        raise UsageError("A stored run needs an embedder and a judge that are given by name.", hint=hint)
    report = run_outside_loop(partial(start_run, chosen, listener))
    return open_run(report.run or "last", db=chosen.db)


def rescore(
    run: RunLike,
    metrics: Sequence[str | AnyMetric] | None = None,
    *,
    name: str | None = None,
    embedder: str | Sequence[str] | None = None,
    cache: bool | Path = True,
    listener: Listener | None = None,
    db: Db = None,
) -> Run:
    """Compute judged metrics again from the stored judgements of a run, as a new run; no judge is called.

    Args:
        run: the run.
        metrics: names or metrics; None takes every judged metric of the run.
        name: the name of the new run.
        embedder: one model name or several; None for the models of the run, if they are on this machine.
        cache: a file for vectors, your user cache (True), or none (False).
        listener: takes progress events; None shows a progress bar in a notebook.
        db: the database of a run given by name.

    Returns:
        The new run, which is stored beside the old one.

    Raises:
        UsageError: the run is not finished, or does not store what a metric needs.
    """
    from sgi.analysis.rescore import rescore as rescore_run

    place = db if isinstance(run, str) else run.db
    embedders = [embedder] if isinstance(embedder, str) else embedder
    with open_given_runs([run], None, db) as (database, (record,)):
        work = partial(rescore_run, database, record, metrics, name=name, embedders=embedders)
        result = run_outside_loop(partial(work, cache=cache, listener=listener or default_listener()))
    return open_run(result.report.run or "last", db=place)


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


def compare(
    base: RunLike,
    new: RunLike,
    *,
    changed: int = 10,
    metrics: Sequence[str] = (),
    allow_different: bool = False,
    margin: float | None = None,
    cluster: str | None = None,
    db: Db = None,
) -> Comparison:
    """Compare two runs over the same questions, with intervals and tests.

    Rows are paired by their id, or by question, contexts and reference if the data has no ids. The p-values
    are corrected for the number of metrics (Holm).

    Args:
        base: the run before.
        new: the run after.
        changed: number of most changed rows to list for each metric.
        metrics: only these; all if empty.
        allow_different: compare runs that differ in more than their responses.
        margin: also test whether the new run is no worse than this, in the unit of each metric.
        cluster: which rows of stored runs belong together; None for the rule of each run.
        db: the database of runs given by name.

    Returns:
        The comparison. ``metrics`` has, for each metric, the paired difference (new − base) with its 95 %
        interval, the p-value, a verdict (``"better"``, ``"worse"``, ``"no difference found"`` or ``"not
        tested"``) and the most changed rows.

    Raises:
        NotComparableError: the runs differ in more than their responses.
        UsageError: the runs share no row or no metric, or the margin is not above 0.

    >>> from sgi import evaluate
    >>> rows = [{"id": str(n), "question": str(n), "reference": f"{n} cats"} for n in range(12)]
    >>> before, after = (
    ...     evaluate([row | {"response": answer} for row in rows], "content_f1")
    ...     for answer in ("I do not know.", "It has cats.")
    ... )
    >>> compare(before, after).metrics[0].verdict
    'better'
    """
    from sgi.analysis.compare import compare as compare_runs

    first, second = (given_run(run, cluster, db) for run in (base, new))
    return compare_runs(
        first, second, changed=changed, metrics=metrics, allow_different=allow_different, margin=margin
    )


def leaderboard(
    *runs: RunLike,
    by: str | None = None,
    within: str | None = None,
    metrics: Sequence[str] = (),
    allow_different: bool = False,
    cluster: str | None = None,
    db: Db = None,
) -> Leaderboard:
    """Rank several runs over the same questions, or the systems of one run.

    Args:
        *runs: two or more runs; one run if ``by`` is given.
        by: the column of the data that names the system of each row.
        within: a column of the data; the systems are also ranked in each of its groups.
        metrics: only these; all if empty.
        allow_different: compare runs that differ in more than their responses.
        cluster: which rows of stored runs belong together; None for the rule of each run.
        db: the database of runs given by name.

    Returns:
        The leaderboard: for each metric the systems, best mean first, with intervals and letters. Systems
        that share a letter do not differ significantly.

    Raises:
        NotComparableError: the runs differ in more than their responses.
        UsageError: there are fewer than two systems, or they share no question.
    """
    from sgi.analysis.leaderboard import leaderboard as rank_systems
    from sgi.analysis.systems import compared_systems

    scored = [given_run(run, cluster, db) for run in runs]
    systems = compared_systems(scored, by, metrics=metrics, allow_different=allow_different)
    return rank_systems(systems, metrics=metrics, within=within)


def repeats(
    run: RunLike,
    metric: str,
    *,
    threshold: float | None = None,
    examples: int = 10,
    cluster: str | None = None,
    db: Db = None,
) -> Repeats:
    """Analyse repeated answers to the same questions: pass rates, flaky questions, components of variance.

    Args:
        run: the run, with several answers to each question.
        metric: one of its metrics.
        threshold: the value from which on an answer passes (at most this if lower is better); None: 1 for a
            metric whose values are all 0 or 1, otherwise no pass rates.
        examples: number of flaky questions to list.
        cluster: which rows of a stored run belong together; None for the rule of the run.
        db: the database of a run given by name.

    Returns:
        The pass rates, the flaky questions, and the shares of the variance between and within questions.

    Raises:
        UsageError: no question has two answers with a value.
    """
    from sgi.analysis.repeats import repeats as analyse

    return analyse(given_run(run, cluster, db), metric, threshold=threshold, examples=examples)
