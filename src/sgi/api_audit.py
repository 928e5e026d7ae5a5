"""Function of the public API that audits a judge; a run and ``db`` are as in `sgi.api`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sgi.analysis.given_runs import open_given_runs
from sgi.engine.evaluate import run_outside_loop
from sgi.engine.stored_runs import read_run
from sgi.engine.summarise import with_range
from sgi.store.label_consensus import random_order
from sgi.store.run_queries import find_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sgi.analysis.audit.audit import Audit
    from sgi.analysis.audit.drift import Drift
    from sgi.analysis.audit.probes import Probe
    from sgi.analysis.given_runs import Db, RunLike
    from sgi.engine.open_resources import JudgeLike
    from sgi.engine.run import Run

_MOST_ROWS = 2000
"""Maximum number of rows, drawn at random, from which probes choose theirs."""


def audit(
    run: RunLike,
    metric: str,
    labels: str | None = None,
    *,
    threshold: float | None = None,
    probes: Sequence[str] = (),
    since: str | None = None,
    judge: JudgeLike | None = None,
    cache: bool | Path = True,
    db: Db = None,
) -> Audit:
    """Say whether a judge, or another metric of a stored run, may be trusted, and store the audit.

    Args:
        run: the stored run.
        metric: a metric of the run.
        labels: a column of yes and no, or ``people`` for labels from the dashboard; None: ``label`` if the
            data has it, otherwise ``people``. The labelled rows must be a random sample.
        threshold: scores of at least this value are a yes (at most, if lower is better); None: 0.5.
        probes: names of biases to test, which asks the judge of the run; ``("all",)`` for all.
        since: an earlier run, whose judge is asked again about some of its rows.
        judge: the judge of the run, by name, settings or as an object; ``probes`` and ``since`` need it for
            a metric with a judge.
        cache: where replies are cached, as in `sgi.evaluate`.
        db: the database of a run given by name.

    Returns:
        The audit: ``verdict``, ``reason``, the estimates with intervals, and the corrected mean.

    Raises:
        UnknownNameError: there is no such run, metric, column or probe.
        UsageError: the labels are not yes and no, or the metric has no default threshold.
    """
    from sgi.analysis.audit.audit import audit_labels, scorer_key
    from sgi.analysis.audit.probe_texts import PROBES
    from sgi.store.audits import latest_audit, store_audit

    names = tuple(PROBES) if "all" in probes else tuple(probes)
    with open_given_runs((run,), None, db) as (database, (record,)):
        result, provenance = audit_labels(database, record, metric, labels, threshold=threshold)
        if provenance is not None:
            result = result.keeping(latest_audit(database, scorer_key(result.metric, provenance)))
        if names or since is not None:
            earlier = None if since is None else read_run(database, find_run(database, since))
            run_tests = partial(_tests, read_run(database, record), result, names, earlier, judge, cache)
            found, drift = run_outside_loop(run_tests)
            result = replace(result, probes=found, drift=drift)
        if provenance is not None:
            store_audit(database, result.stored(provenance))
    return result


async def _tests(
    run: Run,
    audit: Audit,
    names: Sequence[str],
    earlier: Run | None,
    judge: JudgeLike | None,
    cache: bool | Path,
) -> tuple[tuple[Probe, ...], Drift | None]:
    """Run the probes, and compare with an earlier run; what cannot be run is missing with a reason."""
    from sgi.analysis.audit.drift import measure_drift
    from sgi.analysis.audit.probes import run_probes
    from sgi.analysis.audit.run_scorer import open_scorer_of_run

    column = with_range(run.metric(audit.metric))
    rows = random_order(run.ids)[:_MOST_ROWS]
    samples = () if run.read_samples is None else tuple(run.read_samples(rows.tolist()))
    drift = None
    async with open_scorer_of_run(run.record, audit.metric, judge, cache=cache) as score:
        probes = await run_probes(
            score,
            samples,
            threshold=audit.threshold,
            higher_is_better=column.higher_is_better,
            names=names,
            clusters=run.clusters[rows],
            width=column.width,
        )
        if earlier is not None:
            drift = await measure_drift(
                score, earlier, audit.metric, threshold=audit.threshold, provenance=score.provenance
            )
    return probes, drift
