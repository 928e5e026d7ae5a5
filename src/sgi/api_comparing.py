"""Functions of the public API that compare systems and answers; each has the name of its command.

A run and ``db`` are as in `sgi.api`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.analysis.given_runs import given_run
from sgi.analysis.pareto import pareto
from sgi.engine.progress import default_listener

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sgi.analysis.compare import Comparison
    from sgi.analysis.duel.duel import Duel
    from sgi.analysis.given_runs import Db, RunLike
    from sgi.analysis.leaderboard import Leaderboard
    from sgi.analysis.repeats import Repeats
    from sgi.engine.given_options import JudgeLike
    from sgi.engine.progress import Listener

__all__ = ["compare", "duel", "leaderboard", "pareto", "repeats"]


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
    metrics: Sequence[str] = (),
    allow_different: bool = False,
    cluster: str | None = None,
    db: Db = None,
) -> Leaderboard:
    """Rank several runs over the same questions, or the systems of one run.

    Args:
        *runs: two or more runs; one run if ``by`` is given.
        by: the column of the data that names the system of each row.
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
    return rank_systems(systems, metrics=metrics)


def duel(
    *runs: RunLike,
    judge: JudgeLike,
    by: str | None = None,
    allow_different: bool = False,
    cluster: str | None = None,
    cache: bool | str | Path = True,
    listener: Listener | None = None,
    db: Db = None,
) -> Duel:
    """Ask a judge which of two systems answers each question better, and rank the systems.

    Args:
        *runs: two or more runs; one run if ``by`` is given.
        judge: a name such as ``"openai:NAME"``, its settings, or a judge of yours.
        by: the column of the data that names the system of each row.
        allow_different: compare runs that differ in more than their responses.
        cluster: which rows of stored runs belong together; None for the rule of each run.
        cache: where replies are stored: beside a file, in the user's cache (True), or nowhere (False).
        listener: called with progress events; None for a progress bar in notebooks.
        db: the database of runs given by name.

    Returns:
        The duel: for each pair of systems the counts of wins and ties and the win rate, and a ranking.

    Raises:
        NotComparableError: the runs differ in more than their responses.
        UsageError: there are fewer than two systems, they share no question, or their texts are not stored.
    """
    from sgi.analysis.duel.duel import duel as ask_about_all
    from sgi.analysis.systems import compared_systems
    from sgi.engine.evaluate import run_outside_loop
    from sgi.engine.given_options import given_options
    from sgi.engine.open_resources import open_judge

    scored = [given_run(run, cluster, db) for run in runs]
    systems = compared_systems(scored, by, allow_different=allow_different)

    options = given_options({"judge": judge, "cache": cache}, source="sgi.duel")

    async def ask() -> Duel:
        async with open_judge(options) as opened:
            return await ask_about_all(systems, opened, listener=listener or default_listener())

    return run_outside_loop(ask)


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
