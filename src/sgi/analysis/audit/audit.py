"""Says whether a judge, or any metric with a verdict of yes or no, may be trusted, from labels by people."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.agreement.agree import default_threshold
from sgi.analysis.labels import read_labels
from sgi.engine.stored_runs import grouped_run, read_run
from sgi.engine.summarise import with_range
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import metric_label
from sgi.kernel.signature import canonical_json, digest
from sgi.stats.judge_trust import LabelCounts, corrected_share, judge_trust
from sgi.stats.two_samples import UNLIKELY, compare_labelled
from sgi.store.audits import StoredAudit
from sgi.store.human_labels import default_label, run_labels
from sgi.store.label_consensus import (
    ALL_PEOPLE,
    DRAWN,
    PEOPLE,
    balanced_order,
    consensus,
    random_order,
    random_sample,
)
from sgi.store.run_queries import run_provenance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.audit.drift import Drift
    from sgi.analysis.audit.probes import Probe
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn, MetricProvenance
    from sgi.stats.judge_trust import CorrectedShare, JudgeTrust
    from sgi.store.database import Database
    from sgi.store.human_labels import HumanLabels
    from sgi.store.run_queries import RunRecord

    Mask = NDArray[np.bool_]

TRUSTED = "TRUSTED"


@dataclass(frozen=True)
class Audit:
    """The verdict on a judge or another metric.

    Attributes:
        run: name of the run; ``run_id`` is its id.
        metric: canonical string of the metric.
        label: the column of the labels.
        threshold: scores of at least this value (at most, if lower is better) are a yes.
        rows: number of questions with a value, each with one row.
        share_yes: share of them with the verdict yes.
        counts: numbers of labels by verdict and label.
        trust: what the labels show.
        corrected: the share of good answers among all rows, with interval.
        stale: number of rows whose labels belong to another text and do not count.
        used: label of each row that counted, by id.
        probes: the probes that were run.
        drift: comparison with an earlier run; None if none was asked for.
        notes: signs that the labels are not a random sample, and other limits.
    """

    run: str
    run_id: str
    metric: str
    label: str
    threshold: float
    rows: int
    share_yes: float
    counts: LabelCounts
    trust: JudgeTrust
    corrected: CorrectedShare
    stale: int
    used: Mapping[str, bool]
    probes: tuple[Probe, ...] = ()
    drift: Drift | None = None
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[str, ...]:
        """What the probes and the comparison with an earlier run found."""
        drifted = [] if self.drift is None or not self.drift.drifted else [self.drift.says]
        return (*(probe.says for probe in self.probes if probe.flagged), *drifted)

    @property
    def untested(self) -> tuple[str, ...]:
        """The probes and the comparison that could not be made, and why."""
        tests: list[Probe | Drift] = [*self.probes, *([] if self.drift is None else [self.drift])]
        return tuple(test.says for test in tests if test.status == "missing")

    @property
    def verdict(self) -> str:
        """``TRUSTED``, ``NOT TRUSTED`` or ``NEED``; a bias or a drift that was found rules out trust."""
        if self.found:
            return "NOT TRUSTED"
        return "NEED" if self.trust.verdict == TRUSTED and self.untested else self.trust.verdict

    @property
    def text(self) -> str:
        """The verdict as it is printed, such as ``NEED 23 MORE LABELS``."""
        if self.verdict != "NEED":
            return self.verdict
        if self.trust.verdict == TRUSTED:
            return "NEED A TEST THAT COULD NOT BE RUN"
        more = self.trust.more
        return "NEED MORE LABELS" if more is None else f"NEED {more:,} MORE LABEL{'S' if more != 1 else ''}"

    @property
    def reason(self) -> str:
        """Why the verdict is what it is."""
        if self.verdict == self.trust.verdict and not self.found:
            return self.trust.reason
        return " ".join(self.found or self.untested)

    def keeping(self, earlier: StoredAudit | None) -> Audit:
        """Keep the verdict of an earlier audit of the run if the labels since then show neither.

        With more labels, the evidence can fall below its limit again; the first verdict is the one that is
        right in 95 % of cases. All labels of the earlier audit must be among the present ones.
        """
        if self.trust.verdict != "NEED" or earlier is None or earlier.run != self.run_id:
            return self
        body = earlier.body
        verdict, used = body["trust"]["verdict"], body["used"]
        same = (body["label"], body["threshold"]) == (self.label, self.threshold)
        if not same or not used or verdict == "NEED" or not used.items() <= self.used.items():
            return self
        reason = f"{body['trust']['reason']} This was shown with the first {len(used):,} labels."
        return replace(self, trust=replace(self.trust, verdict=verdict, more=None, reason=reason))

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON values."""
        facts = asdict(replace(self, probes=(), drift=None, used={}))
        del facts["used"]
        return {
            "verdict": self.verdict,
            "text": self.text,
            "reason": self.reason,
            **facts,
            "probes": [probe.to_dict() for probe in self.probes],
            "drift": None if self.drift is None else self.drift.to_dict(),
        }

    def stored(self, provenance: MetricProvenance) -> StoredAudit:
        """Return the audit as it is stored; labels of a column cannot change and are not kept."""
        body = self.to_dict() | {"used": dict(self.used) if self.label == PEOPLE else {}}
        return StoredAudit(scorer_key(self.metric, provenance), self.metric, self.run_id, self.verdict, body)


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
) -> tuple[Audit, MetricProvenance | None]:
    """Audit a metric of a stored run against labels, and return the provenance of the metric.

    Args:
        database: the database of the run.
        record: the run.
        metric: a metric of the run.
        label: a column of yes and no, or ``people`` for labels from the dashboard. None: ``label`` if the
            data has it, otherwise ``people``.
        threshold: scores of at least this value are a yes (at most, if lower is better). None: the middle of
            the range, for metrics from 0 to 1 or from 0 to 100.

    Raises:
        UnknownNameError: the run has no such metric or column.
        DataError: a label cannot be read.
        UsageError: the metric has no default threshold, or the labels are not yes and no.
    """
    label = label or default_label(database, record)
    if label == ALL_PEOPLE or label.startswith(DRAWN):
        hint = f"Use --labels {PEOPLE}: labels in random order, or in the order of sgi audit --next."
        raise UsageError(f"An audit cannot use {label!r}: its rows are not a random sample.", hint=hint)
    human: HumanLabels | None = None
    if label == PEOPLE:
        run, human = read_run(database, record), run_labels(database, record)
        column = run.metric(metric)
        yes = says_yes(column, threshold)
        values: Sequence[Any] = _people(human, column.ok, yes)
    else:
        run, values, _ = grouped_run(database, record, label, {})
        column = run.metric(metric)
        yes = says_yes(column, threshold)
    labels = read_labels(label, values, run.ids)
    if labels.kind != "yes or no":
        raise UsageError(f"The labels in {label!r} are {labels.kind}, not yes and no.")
    truth = np.array([np.nan if value is None else value for value in labels.values], dtype=np.float64)
    rows = _one_row_per_question(run, column.ok, ~np.isnan(truth))
    result = _audit(run, column, yes, truth, rows, threshold)
    notes = (*result.notes, *_label_notes(run, column, truth, human))
    stale = 0 if human is None else len(human.stale.keys() - human.current.keys())
    if stale and not result.counts.labelled:
        reason = f"all labels ({stale:,}) belong to another version of the text, so none counts"
        result = replace(result, trust=replace(result.trust, reason=reason))
    return (
        replace(result, run_id=record.id, label=label, stale=stale, notes=notes),
        run_provenance(database, record)[column.metric],
    )


def says_yes(column: MetricColumn, threshold: float | None = None) -> Mask:
    """Return whether the verdict of each row is yes, shape (n,); False without a value.

    Raises UsageError if there is no default threshold.
    """
    limit = _threshold(column, threshold)
    with np.errstate(invalid="ignore"):
        better = column.values >= limit if column.higher_is_better else column.values <= limit
    return better & column.ok


def _threshold(column: MetricColumn, threshold: float | None) -> float:
    limit = default_threshold(with_range(column)) if threshold is None else threshold
    if limit is None:
        name = metric_label(column.metric)
        hint = "Give --threshold: from which score on the verdict is yes."
        raise UsageError(f"The range of {name} is not 0 to 1, so it has no default threshold.", hint=hint)
    return limit


def label_order(
    ids: Sequence[str], column: MetricColumn, threshold: float | None = None
) -> NDArray[np.int64]:
    """Return the positions of the rows with a value in the order in which an audit needs labels.

    Rows with the verdicts yes and no alternate; within each verdict, the order is random.
    """
    yes = says_yes(column, threshold)
    return balanced_order(random_order(ids), np.where(column.ok, yes.astype(np.int8), np.int8(-1)))


def rows_to_label(
    database: Database, record: RunRecord, audit: Audit, number: int
) -> list[tuple[str, float]]:
    """Return the ids of the next rows to label, and the probability with which each is in the sample then.

    Within a verdict, each row has the same probability: the share of its rows that are labelled then.
    """
    run, human = read_run(database, record), run_labels(database, record)
    column = run.metric(audit.metric)
    yes = says_yes(column, audit.threshold)
    seen = human.seen | np.array([name in audit.used for name in run.ids], dtype=np.bool_)
    order = [row for row in label_order(run.ids, column, audit.threshold).tolist() if not seen[row]]
    chosen = np.array(order[:number], dtype=np.int64)
    seen[chosen] = True
    parts = {verdict: column.ok & (yes == verdict) for verdict in (True, False)}
    shares = {
        verdict: float(_sampled(human, part, seen).sum()) / max(int(part.sum()), 1)
        for verdict, part in parts.items()
    }
    return [(run.ids[row], shares[bool(yes[row])]) for row in chosen.tolist()]


def _sampled(human: HumanLabels, part: Mask, seen: Mask) -> Mask:
    """Return the mask of the first rows of ``part`` in random order, up to the first that is not seen."""
    return random_sample(human.rows.order[part[human.rows.order]], seen)


def _people(human: HumanLabels, ok: Mask, yes: Mask) -> list[bool | None]:
    """Return the label of each row whose verdict's rows were labelled from the beginning of the random order.

    This holds for labels in random order and for labels in the order of `label_order`.
    """
    counted = _sampled(human, ok & yes, human.seen) | _sampled(human, ok & ~yes, human.seen)
    known = {name: consensus(given) for name, given in human.current.items()}
    return [known.get(name) if use else None for name, use in zip(human.ids, counted.tolist(), strict=True)]


def _one_row_per_question(run: Run, ok: Mask, labelled: Mask) -> NDArray[np.int64]:
    """Return one row with a value of each question: the first in random order, labelled rows before others.

    Labels of several answers to one question are not independent.
    """
    order = random_order(run.ids)
    order = order[ok[order]]
    order = order[np.argsort(~labelled[order], kind="stable")]
    _, first = np.unique(run.clusters[order], return_index=True)
    return np.sort(order[first])


def _audit(
    run: Run,
    column: MetricColumn,
    yes: Mask,
    truth: NDArray[np.float64],
    rows: NDArray[np.int64],
    threshold: float | None,
) -> Audit:
    counts = _counts(yes[rows], truth[rows])
    share = float(yes[rows].mean()) if len(rows) else 0.0
    trust = judge_trust(counts, share)
    if not len(rows):
        trust = replace(trust, reason=f"no row has a value: {_why_missing(column)}", more=None)
    used = {run.ids[row]: bool(truth[row]) for row in rows.tolist() if not np.isnan(truth[row])}
    return Audit(
        run=run.name,
        run_id="",
        metric=column.metric,
        label="",
        threshold=_threshold(column, threshold),
        rows=len(rows),
        share_yes=share,
        counts=counts,
        trust=trust,
        corrected=corrected_share(counts, share),
        stale=0,
        used=used,
    )


def _why_missing(column: MetricColumn) -> str:
    counts = (f"{count:,} {status.value}" for status, count in column.counts().items() if count)
    return ", ".join(counts)


def _counts(yes: Mask, truth: NDArray[np.float64]) -> LabelCounts:
    good, bad = truth == 1, truth == 0
    return LabelCounts(
        right_yes=int((yes & good).sum()),
        wrong_yes=int((yes & bad).sum()),
        right_no=int((~yes & bad).sum()),
        wrong_no=int((~yes & good).sum()),
    )


def _label_notes(
    run: Run, column: MetricColumn, truth: NDArray[np.float64], human: HumanLabels | None
) -> Iterator[str]:
    known = ~np.isnan(truth)
    count = int(known.sum())
    if without := int((known & ~column.ok).sum()):
        yield f"{without:,} labelled rows have no value ({_why_missing(column)}) and are left out."
    if human is not None or count in {0, len(truth)}:
        return
    if known[:count].all():
        yield f"The labelled rows are the first {count:,} of the run, not a random sample."
    test = compare_labelled(column.values[column.ok], known[column.ok], run.clusters[column.ok])
    if test is not None and test.p <= UNLIKELY:
        yield (
            f"The labelled rows have other scores than the rest (p = {test.p:.3f}), so they may not be a "
            "random sample; the verdict needs one."
        )
