"""Finds the audit that holds for each metric of a run, and corrects the run's share of good answers by it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.audit.audit import TRUSTED, says_yes, scorer_key
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.short_text import metric_label
from sgi.stats.judge_trust import LabelCounts, corrected_share
from sgi.store.audits import latest_audit
from sgi.store.human_labels import run_labels
from sgi.store.label_consensus import PEOPLE, consensus
from sgi.store.run_queries import find_run, run_provenance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sgi.engine.run import Run
    from sgi.stats.judge_trust import CorrectedShare
    from sgi.store.audits import StoredAudit
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


@dataclass(frozen=True)
class AuditedMean:
    """What an audit says about a metric of a run.

    Attributes:
        metric: canonical string of the metric.
        judge: fingerprint of its judge; empty if it uses none.
        verdict: verdict of the newest audit of the same metric, version, models, judge and prompts; empty
            without one.
        obstacle: why there is no audit that holds; empty if there is one.
        audit: the audited run, by its name at the time, and the number of labels.
        share_yes: share of the rows for which the metric says yes.
        corrected: estimate of the share of good answers; None without an audit that holds.
    """

    metric: str
    judge: str
    verdict: str = ""
    obstacle: str = ""
    audit: str = ""
    share_yes: float | None = None
    corrected: CorrectedShare | None = None

    @property
    def trusted(self) -> bool:
        """Whether an audit that holds certifies the metric."""
        return self.verdict == TRUSTED and not self.obstacle

    @property
    def says(self) -> str:
        """One sentence: the verdict, or why there is none."""
        name = metric_label(self.metric)
        if self.obstacle:
            return f"{name} has no valid audit: {self.obstacle}."
        return f"{name}: {self.verdict} by the audit of {self.audit}."

    def to_dict(self) -> dict[str, Any]:
        """Return the values as JSON."""
        corrected = None if self.corrected is None else asdict(self.corrected)
        facts = {name: getattr(self, name) for name in ("metric", "judge", "verdict", "obstacle", "audit")}
        return {**facts, "trusted": self.trusted, "share_yes": self.share_yes, "corrected": corrected}


def audited_means(database: Database, record: RunRecord) -> tuple[AuditedMean, ...]:
    """Return what audits say about each metric that has a judge or an audit."""
    found = []
    run: Run | None = None
    for metric, provenance in run_provenance(database, record).items():
        judge = "" if provenance is None else provenance.judge
        audit = None if provenance is None else latest_audit(database, scorer_key(metric, provenance))
        if audit is None:
            if judge:
                obstacle = "nobody has audited this judge with these prompts"
                found.append(AuditedMean(metric, judge, obstacle=obstacle))
            continue
        run = run or read_run(database, record)
        found.append(_audited(database, run, metric, judge, audit))
    return tuple(found)


def _audited(database: Database, run: Run, metric: str, judge: str, audit: StoredAudit) -> AuditedMean:
    body = audit.body
    counts = LabelCounts(**body["counts"])
    name = f"{body['run']} ({counts.labelled:,} labels, {audit.created_at[:10]})"
    obstacle = _obstacle(database, audit)
    column = run.metric(metric)
    rows = int(column.ok.sum())
    if obstacle or not rows:
        obstacle = obstacle or "no row has a value"
        return AuditedMean(metric, judge, audit.verdict, obstacle, name)
    share = float(np.mean(says_yes(column, body["threshold"])[column.ok]))
    if audit.run == run.record.id:
        corrected = corrected_share(counts, body["share_yes"])
    else:
        corrected = corrected_share(
            counts, body["share_yes"], other_share=share, rows=rows, audited_rows=body["rows"]
        )
    return AuditedMean(metric, judge, audit.verdict, "", name, share, corrected)


def _obstacle(database: Database, audit: StoredAudit) -> str:
    """Return why an audit does not hold any more: its labels must be as they were."""
    body: Mapping[str, Any] = audit.body
    if body["label"] != PEOPLE:
        return ""
    try:
        labels = run_labels(database, find_run(database, audit.run))
    except UnknownNameError:
        return f"the audited run {body['run']} was deleted, so its labels cannot be checked"
    now = {name: consensus(given) for name, given in labels.current.items()}
    changed = sum(now.get(name) is not value for name, value in body["used"].items())
    return f"{changed:,} of its labels have changed since; run sgi audit again" if changed else ""


def audit_notes(means: tuple[AuditedMean, ...]) -> Iterator[str]:
    """Yield a sentence for each metric: the verdict and the corrected mean, or why there are none."""
    for mean in means:
        corrected = mean.corrected
        if (
            corrected is None
            or corrected.value is None
            or corrected.interval is None
            or mean.share_yes is None
        ):
            yield mean.says
            continue
        low, high = corrected.interval
        yield (
            f"{mean.says} The judge passes {mean.share_yes:.1%} of the rows; corrected by the audit, "
            f"{corrected.value:.1%} [{low:.1%}, {high:.1%}] of the answers are good."
        )
