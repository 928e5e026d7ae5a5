"""Finds the audit that holds for each metric of a run, and corrects the run's share of good answers by it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sgi.analysis.audit.audit import NEED, NOT_TRUSTED, TRUSTED, scorer_key
from sgi.analysis.audit.label_sample import question_rows, says_yes
from sgi.analysis.stored_judgements import judged_metric
from sgi.engine.stored_options import stored_definitions
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import StoreDamagedError, UnknownNameError
from sgi.kernel.short_text import metric_label, pluralize
from sgi.stats.judge_trust import LabelCounts, corrected_share
from sgi.store.audits import audits_of
from sgi.store.human_labels import run_labels
from sgi.store.label_consensus import PEOPLE, consensus
from sgi.store.run_queries import find_run, run_provenance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
        verdict: verdict of the audit that decides, of those of the same metric, version, models, judge and
            prompts; empty without one.
        obstacle: why there is no audit that holds; empty if there is one.
        audit: the audited run, by its name at the time, the number of labels and the threshold.
        share_yes: share of the questions with a value for which the metric says yes, one row of each.
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


def audited_means(database: Database, record: RunRecord, run: Run | None = None) -> tuple[AuditedMean, ...]:
    """Return what audits say about each metric that has a judge or an audit; reads the run if it must."""
    found = []
    for metric, provenance in run_provenance(database, record).items():
        if provenance is None:
            if judged_metric(metric, stored_definitions(record).metrics) is not None:
                found.append(
                    AuditedMean(metric, "not recorded", obstacle="the run does not record its judge")
                )
            continue
        audits = audits_of(database, scorer_key(metric, provenance))
        if audits:
            run = run or read_run(database, record)
            found.append(_audited(database, run, metric, provenance.judge, audits))
        elif provenance.judge:
            obstacle = "nobody has audited this judge with these prompts"
            found.append(AuditedMean(metric, provenance.judge, obstacle=obstacle))
    return tuple(found)


def _audited(
    database: Database, run: Run, metric: str, judge: str, audits: Sequence[StoredAudit]
) -> AuditedMean:
    audit, obstacle = _deciding(database, audits)
    body = audit.body
    try:
        counts = LabelCounts(**body["counts"])
    except TypeError as error:
        raise StoreDamagedError(f"The audit of {body['run']} is damaged: {error}.") from error
    facts = f"{pluralize(counts.labelled, 'label')}, {audit.created_at[:10]}, threshold {body['threshold']:g}"
    name = f"{body['run']} ({facts})"
    column = run.metric(metric)
    rows = question_rows(run, column.ok)
    count = int(rows.sum())
    if obstacle or not count:
        obstacle = obstacle or "no row has a value"
        return AuditedMean(metric, judge, audit.verdict, obstacle, name)
    share = float(says_yes(column, body["threshold"])[rows].mean())
    corrected: CorrectedShare | None
    if audit.run == run.record.id:
        corrected = corrected_share(counts, body["share_yes"])
    elif run.weights is None:
        corrected = corrected_share(
            counts, body["share_yes"], other_share=share, rows=count, audited_rows=body["rows"]
        )
    else:  # the share of weighted rows is not that of the rows
        corrected = None
    return AuditedMean(metric, judge, audit.verdict, "", name, share, corrected)


def _deciding(database: Database, audits: Sequence[StoredAudit]) -> tuple[StoredAudit, str]:
    """Return the audit that decides, and why none holds; "" if it holds.

    Of each run and column of labels, the newest audit counts. One that says NOT TRUSTED decides, whatever
    others say; then the newest one that says TRUSTED, then the newest.
    """
    newest: dict[tuple[str, str], StoredAudit] = {}
    for audit in audits:
        if audit.verdict != NEED or audit.body["used"]:
            newest.setdefault((audit.run, audit.body["label"]), audit)
    states = [(audit, _obstacle(database, audit)) for audit in newest.values()] or [(audits[0], "")]
    order = (NOT_TRUSTED, TRUSTED, NEED)
    return min(states, key=lambda state: (bool(state[1]), order.index(state[0].verdict)))


def _obstacle(database: Database, audit: StoredAudit) -> str:
    """Return why an audit does not hold any more: its labels must be as they were."""
    body: Mapping[str, Any] = audit.body
    try:
        record = find_run(database, audit.run)
    except UnknownNameError:
        return f"the audited run {body['run']} was deleted, so its labels cannot be checked"
    if body["label"] != PEOPLE:
        return ""  # a column of the data does not change
    now = {name: consensus(given) for name, given in run_labels(database, record).current.items()}
    changed = sum(now.get(name) is not value for name, value in body["used"].items())
    have = "has" if changed == 1 else "have"
    return f"{changed:,} of its labels {have} changed since; run sgi audit again" if changed else ""


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
            f"{mean.says} The judge passes {mean.share_yes:.1%} of the questions; corrected by the audit, "
            f"{corrected.value:.1%} [{low:.1%}, {high:.1%}] of the answers are good."
        )
