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
_NOT_STORED = "This audit is not stored: the run does not record what computed the metric."
_OTHER_JUDGE = "the judge that was asked, its prompts or models are not those of the run"


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
    from sgi.store.audits import audits_of, store_audit

    names = tuple(PROBES) if "all" in probes else tuple(probes)
    with open_given_runs((run,), None, db) as (database, (record,)):
        result, provenance, stored = audit_labels(database, record, metric, labels, threshold=threshold)
        if names or since is not None:
            earlier = None if since is None else read_run(database, find_run(database, since))
            scorer = None if provenance is None else scorer_key(result.metric, provenance)
            task = partial(_run_tests, stored, result, names, earlier, scorer, judge, cache)
            found, drift = run_outside_loop(task)
            result = replace(result, probes=found, drift=drift)
        if provenance is None:
            return replace(result, notes=(*result.notes, _NOT_STORED))
        result = result.after(audits_of(database, scorer_key(result.metric, provenance)))
        if result.rows:
            store_audit(database, result.stored(provenance))
    return result


async def _run_tests(
    run: Run,
    audited: Audit,
    names: Sequence[str],
    earlier: Run | None,
    scorer: str | None,
    judge: JudgeLike | None,
    cache: bool | Path,
) -> tuple[tuple[Probe, ...], Drift | None]:
    """Run probes, and compare with an earlier run; ``scorer`` is the key of the audited metric.

    What cannot be run is missing with a reason.
    """
    from sgi.analysis.audit.audit import scorer_key
    from sgi.analysis.audit.drift import Drift, measure_drift
    from sgi.analysis.audit.probes import Probe, run_probes
    from sgi.analysis.audit.run_scorer import open_scorer_of_run

    metric, threshold = audited.metric, audited.threshold
    column = with_range(run.metric(metric))
    rows = random_order(run.ids)[:_MOST_ROWS]
    samples = () if run.read_samples is None else tuple(run.read_samples(rows.tolist()))
    async with open_scorer_of_run(run.record, metric, judge, cache=cache) as score:
        if scorer not in {None, scorer_key(metric, score.provenance)}:
            probes = tuple(Probe.missing(name, _OTHER_JUDGE) for name in names)
            return probes, None if earlier is None else Drift.missing(_OTHER_JUDGE)
        probes = await run_probes(
            score,
            samples,
            threshold=threshold,
            higher_is_better=column.higher_is_better,
            names=names,
            clusters=run.clusters[rows],
            width=column.width,
        )
        if earlier is None:
            return probes, None
        how = score.provenance
        return probes, await measure_drift(score, earlier, metric, threshold=threshold, provenance=how)
