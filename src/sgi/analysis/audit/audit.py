"""Says whether a judge, or any metric with a verdict of yes or no, may be trusted, from labels by people."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sgi.analysis.audit.label_sample import label_sample
from sgi.kernel.short_text import pluralize
from sgi.kernel.signature import canonical_json, digest
from sgi.stats.judge_trust import corrected_share, judge_trust
from sgi.store.audits import StoredAudit
from sgi.store.label_consensus import PEOPLE
from sgi.store.run_queries import run_provenance

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sgi.analysis.audit.drift import Drift
    from sgi.analysis.audit.label_sample import LabelSample
    from sgi.analysis.audit.probes import Probe
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricProvenance
    from sgi.stats.judge_trust import CorrectedShare, JudgeTrust, LabelCounts
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

TRUSTED, NOT_TRUSTED, NEED = "TRUSTED", "NOT TRUSTED", "NEED"
DRIFT = "drift"
"""The name of the comparison with an earlier run among the tests."""


@dataclass(frozen=True)
class Audit:
    """The verdict on a judge or another metric.

    Attributes:
        run: name of the run; ``run_id`` is its id.
        metric: canonical string of the metric.
        label: the column of the labels.
        threshold: scores of at least this value (at most, if lower is better) are a yes.
        higher_is_better: whether scores from the threshold on are a yes, not scores up to it.
        rows: number of questions with a value, each with one row.
        left: number of them without a label.
        share_yes: share of them with the verdict yes.
        counts: numbers of labels by verdict and label.
        trust: what the labels show.
        corrected: the share of good answers among all rows with a value, with interval.
        used: label of each row that counted, by id.
        obstacles: why the labels cannot show that the metric may be trusted.
        probes: the probes that were run.
        drift: comparison with an earlier run; None if none was asked for.
        carried: what tests of earlier audits found and no later test has cleared, by the name of the test.
        notes: which rows are left out.
    """

    run: str
    run_id: str
    metric: str
    label: str
    threshold: float
    higher_is_better: bool
    rows: int
    left: int
    share_yes: float
    counts: LabelCounts
    trust: JudgeTrust
    corrected: CorrectedShare
    used: Mapping[str, bool]
    obstacles: tuple[str, ...] = ()
    probes: tuple[Probe, ...] = ()
    drift: Drift | None = None
    carried: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> dict[str, str]:
        """What tests found, of this audit and of earlier ones, by the name of the test."""
        drifted = {} if self.drift is None or not self.drift.drifted else {DRIFT: self.drift.says}
        return {
            **self.carried,
            **{probe.name: probe.says for probe in self.probes if probe.flagged},
            **drifted,
        }

    @property
    def untested(self) -> tuple[str, ...]:
        """The probes and the comparison that could not be made, and why."""
        tests: list[Probe | Drift] = [*self.probes, *([] if self.drift is None else [self.drift])]
        return tuple(test.says for test in tests if test.status == "missing")

    @property
    def verdict(self) -> str:
        """``TRUSTED``, ``NOT TRUSTED`` or ``NEED``; a bias or a drift that was found rules out trust."""
        if self.found:
            return NOT_TRUSTED
        return NEED if self.trust.verdict == TRUSTED and self._open else self.trust.verdict

    @property
    def _open(self) -> tuple[str, ...]:
        return (*self.obstacles, *self.untested)

    @property
    def text(self) -> str:
        """The verdict as it is printed, such as ``NEED 23 MORE LABELS``."""
        if self.verdict != NEED:
            return self.verdict
        if self.trust.verdict == TRUSTED:
            return "NEED A RANDOM SAMPLE OF LABELS" if self.obstacles else "NEED A TEST THAT COULD NOT BE RUN"
        more = self.trust.more
        return "NEED MORE LABELS" if more is None else f"NEED {more:,} MORE LABEL{'S' if more != 1 else ''}"

    @property
    def reason(self) -> str:
        """Why the verdict is what it is."""
        if self.found:
            return " ".join(self.found.values())
        return self.trust.reason if self.verdict == self.trust.verdict else " ".join(self._open)

    def after(self, earlier: Iterable[StoredAudit]) -> Audit:
        """Keep what earlier audits of the same scorer, newest first, have shown.

        * The verdict on the same run, column and threshold, if the labels since then show neither. With more
          labels, the evidence can fall below its limit again, and the first verdict is right in 95 % of
          cases. All its labels must be among the present ones.
        * A bias or drift that a test found, until the same test is run again.
        """
        past = list(earlier)
        tested = {probe.name for probe in self.probes if probe.status == "ok"}
        tested |= {DRIFT} if self.drift is not None and self.drift.status == "ok" else set()
        carried = dict(past[0].body["found"]) if past else {}
        result = replace(self, carried={name: says for name, says in carried.items() if name not in tested})
        place = self.run_id, self.label, self.threshold
        same = (audit for audit in past if audit_place(audit) == place)
        first = next((audit.body for audit in same if audit.body["trust"]["verdict"] != NEED), None)
        if self.trust.verdict != NEED or first is None or not first["used"]:
            return result
        if not first["used"].items() <= self.used.items():
            return result
        reason = f"{first['trust']['reason']} This was shown with the first {len(first['used']):,} labels."
        kept = replace(self.trust, verdict=first["trust"]["verdict"], more=None, reason=reason)
        return replace(result, trust=kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON values."""
        facts = asdict(replace(self, probes=(), drift=None, used={}, carried={}))
        for name in ("used", "carried"):
            del facts[name]
        return {
            "verdict": self.verdict,
            "text": self.text,
            "reason": self.reason,
            **facts,
            "found": self.found,
            "probes": [probe.to_dict() for probe in self.probes],
            "drift": None if self.drift is None else self.drift.to_dict(),
        }

    def stored(self, provenance: MetricProvenance) -> StoredAudit:
        """Return the audit as it is stored; labels of a column cannot change and are not kept."""
        body = self.to_dict() | {"used": dict(self.used) if self.label == PEOPLE else {}}
        return StoredAudit(scorer_key(self.metric, provenance), self.metric, self.run_id, self.verdict, body)


def audit_place(audit: StoredAudit) -> tuple[str, str, float]:
    """Return the run, the column of labels and the threshold of a stored audit."""
    return audit.run, audit.body["label"], audit.body["threshold"]


def scorer_key(metric: str, provenance: MetricProvenance) -> str:
    """Return a hash of what must be the same for an audit to hold: metric, models, judge and prompts."""
    known = provenance.version, provenance.models, provenance.judge, provenance.budget, provenance.prompts
    return digest(canonical_json([metric, *known]), size=16).hex()


def audit_labels(
    database: Database,
    record: RunRecord,
    metric: str,
    label: str | None = None,
    *,
    threshold: float | None = None,
) -> tuple[Audit, MetricProvenance | None, Run]:
    """Audit a metric of a stored run against labels; also return the metric's provenance and the run.

    Args:
        database: the database of the run.
        record: the run.
        metric: a metric of the run.
        label: a column of yes and no, or ``people`` for labels from the dashboard. None: ``label`` if the
            data has labels there, otherwise ``people``.
        threshold: scores of at least this value are a yes (at most, if lower is better). None: the middle of
            the range, for metrics from 0 to 1 or from 0 to 100.

    Raises:
        UnknownNameError: the run has no such metric or column.
        DataError: a label cannot be read.
        UsageError: the metric has no default threshold, the threshold is not in its range, or the labels are
            not yes and no.
    """
    sample = label_sample(database, record, metric, label, threshold=threshold)
    counts, share, rows = sample.counts, sample.share_yes, int(sample.rows.sum())
    audit = Audit(
        run=sample.run.name,
        run_id=record.id,
        metric=sample.column.metric,
        label=sample.label,
        threshold=sample.threshold,
        higher_is_better=sample.column.higher_is_better,
        rows=rows,
        left=rows - counts.labelled,
        share_yes=share,
        counts=counts,
        trust=_trust(sample),
        corrected=corrected_share(counts, share),
        used=sample.used,
        obstacles=tuple(sample.obstacles()),
        notes=tuple(sample.notes()),
    )
    return audit, run_provenance(database, record)[sample.column.metric], sample.run


def _trust(sample: LabelSample) -> JudgeTrust:
    trust = judge_trust(sample.counts, sample.share_yes)
    if not sample.rows.any():
        return replace(trust, reason=f"No row has a value: {sample.values}.", more=None)
    if sample.stale and not sample.counts.labelled:
        rows = pluralize(sample.stale, "row")
        reason = f"All labels, of {rows}, belong to another version of the text; none counts."
        return replace(trust, reason=reason)
    return trust
