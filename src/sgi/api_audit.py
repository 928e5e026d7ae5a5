"""Function of the public API that audits a judge; a run and ``db`` are as in `sgi.api`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.analysis.given_runs import open_given_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.analysis.audit.audit import Audit
    from sgi.analysis.given_runs import Db, RunLike
    from sgi.engine.progress import Listener


def audit(
    run: RunLike,
    metric: str,
    labels: str | None = None,
    *,
    threshold: float | None = None,
    probes: Sequence[str] = (),
    since: str | None = None,
    listener: Listener | None = None,
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
        listener: called with progress events; None for a progress bar in notebooks.
        db: the database of a run given by name.

    Returns:
        The audit: ``verdict``, ``reason``, the estimates with intervals, and the corrected mean.

    Raises:
        UnknownNameError: there is no such run, metric, column or probe.
        UsageError: the labels are not yes and no, or the metric has no default threshold.
    """
    from sgi.analysis.audit.audit import audit_labels
    from sgi.store.audits import store_audit

    with open_given_runs((run,), None, db) as (database, (record,)):
        result, provenance = audit_labels(database, record, metric, labels, threshold=threshold)
        if provenance is not None:
            store_audit(database, result.stored(provenance))
    return result
