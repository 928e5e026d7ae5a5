"""Function of the public API that compares systems by a judge; a run and ``db`` are as in `sgi.api`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.analysis.duel.duel_criteria import MAX_AA_QUESTIONS, criteria_named
from sgi.analysis.given_runs import given_run
from sgi.engine.evaluate import run_outside_loop
from sgi.engine.progress import default_listener
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sgi.analysis.duel.duel_result import Duel
    from sgi.analysis.given_runs import Db, RunLike
    from sgi.analysis.systems import Systems
    from sgi.engine.open_resources import JudgeLike
    from sgi.engine.progress import Listener
    from sgi.kernel.protocols import Usage


def duel(
    *runs: RunLike,
    judge: JudgeLike,
    by: str | None = None,
    on: Sequence[str] = (),
    aa: int = MAX_AA_QUESTIONS,
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
        on: criteria: ``comprehensiveness``, ``diversity``, ``empowerment``, ``directness`` or
            ``better_answer``; only the last one without any.
        aa: maximum number of questions of the A/A test, which comes first; 0 for none.
        allow_different: compare runs that differ in more than their responses.
        cluster: which rows of stored runs belong together; None for the rule of each run.
        cache: where replies are stored: beside a file, in the user's cache (True), or nowhere (False).
        listener: called with progress events; None for a progress bar in notebooks.
        db: the database of runs given by name.

    Returns:
        The duel: for each criterion the A/A test, the pairs of systems with their win rates, also at equal
        length, and a ranking.

    Raises:
        NotComparableError: the runs differ in more than their responses.
        UnknownNameError: a criterion is unknown.
        UsageError: there are fewer than two systems, they share no question, or their texts are not stored.
    """
    from sgi.analysis.duel.duel import duel as ask_about_all
    from sgi.engine.open_resources import given_options, open_judge

    systems = _systems(runs, by, on, aa, allow_different=allow_different, cluster=cluster, db=db)
    options = given_options({"judge": judge, "cache": cache}, source="sgi.duel")

    async def ask() -> Duel:
        async with open_judge(options) as opened:
            return await ask_about_all(systems, opened, on=on, aa=aa, listener=listener or default_listener())

    return run_outside_loop(ask)


class DuelPlan(NamedTuple):
    """What a duel would do, and the estimated usage of its judge."""

    systems: tuple[str, ...]
    unit: str
    units: int
    criteria: tuple[str, ...]
    usage: Usage


def plan_duel(
    *runs: RunLike,
    judge: str | Mapping[str, Any],
    by: str | None = None,
    on: Sequence[str] = (),
    aa: int = MAX_AA_QUESTIONS,
    allow_different: bool = False,
    cluster: str | None = None,
    cache: bool | str | Path = True,
    db: Db = None,
) -> DuelPlan:
    """Return what `duel` would do with these arguments, without a request to the judge."""
    from sgi.analysis.duel.duel import estimate_duel
    from sgi.engine.open_resources import given_options

    systems = _systems(runs, by, on, aa, allow_different=allow_different, cluster=cluster, db=db)
    options = given_options({"judge": judge, "cache": cache}, source="sgi.duel")
    if options.judge is None:
        raise UsageError("A judge is needed, and none is named.", hint="Name one, as in openai:gpt-4o-mini.")
    usage = run_outside_loop(
        partial(estimate_duel, systems, options.judge, on=on, aa=aa, cache=options.cache)
    )
    names = tuple(one.name for one in criteria_named(on))
    return DuelPlan(systems.names, systems.unit, len(systems.clusters), names, usage)


def _systems(
    runs: Sequence[RunLike],
    by: str | None,
    on: Sequence[str],
    aa: int,
    *,
    allow_different: bool,
    cluster: str | None,
    db: Db,
) -> Systems:
    """Return the systems of the runs; wrong criteria and a wrong ``aa`` are errors before a run is read."""
    from sgi.analysis.systems import compared_systems

    if aa < 0:
        raise UsageError(f"aa must be 0 or more, not {aa}.")
    criteria_named(on)
    scored = [given_run(run, cluster, db) for run in runs]
    return compared_systems(scored, by, allow_different=allow_different)
