"""Gates stored runs, and counts how often their questions were used for a gate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from sgi.analysis.audit.audited_means import audit_notes, audited_means
from sgi.analysis.gate.gate import gate, look_of, metric_of
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import StoreError
from sgi.kernel.signature import canonical_json, digest
from sgi.store.run_history import earlier_looks, record_gate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from sgi.analysis.audit.audited_means import AuditedMean
    from sgi.analysis.gate.gate import GateReport, Options
    from sgi.analysis.gate.rules import Rule
    from sgi.engine.run import Run
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


def gate_stored_run(
    database: Database,
    record: RunRecord,
    rules: str | Path | Rule | Sequence[str | Path | Rule],
    against: RunRecord | None = None,
    *,
    require_audit: bool = False,
    **options: Unpack[Options],
) -> tuple[GateReport, list[str]]:
    """Gate a stored run, record the gate, and return notes on audits and on the number of gates.

    The arguments are as in `gate`; the database holds both runs. With ``require_audit``, a rule on a metric
    with a judge fails unless an audit certifies the judge.
    """
    base = None if against is None else read_run(database, against)
    run = read_run(database, record)
    questions = questions_key(run)
    earlier = earlier_looks(database, questions, record.id)
    report = gate(run, rules, against=base, earlier=earlier, **options)
    gated = {metric_of(run, check)[0] for check in report.checks}
    audits = {mean.metric: mean for mean in audited_means(database, record, run) if mean.metric in gated}
    if require_audit:
        report = _require_audits(report, run, audits)
    notes = [*audit_notes(tuple(audits.values())), *_look_notes(report)]
    if run.finished:
        pairs = ((look_of(run, check), check) for check in report.checks)
        rows = [(*look, check.rule, check.passed) for look, check in pairs if look is not None]
        try:
            record_gate(database, questions, record.id, rows)
        except StoreError as error:
            notes.append(f"This gate is not counted: {error}")
    return report, notes


def _require_audits(report: GateReport, run: Run, audits: Mapping[str, AuditedMean]) -> GateReport:
    """Fail the checks of metrics whose judge no valid audit certifies."""
    checks = []
    for check in report.checks:
        audit = audits.get(metric_of(run, check)[0] or "")
        if audit is not None and audit.judge and not audit.trusted:
            reason = "; ".join(filter(None, [audit.says.rstrip("."), check.reason]))
            check = replace(check, passed=False, reason=reason)  # noqa: PLW2901 - one of the fields changes
        checks.append(check)
    return replace(report, checks=tuple(checks))


def _look_notes(report: GateReport) -> list[str]:
    look = max((check.look or 1 for check in report.checks), default=1)
    if report.looks is not None:
        level = f"{100 * report.checks[0].level:.6g} %"
        return [f"This is gate {look} of {report.looks} planned on these questions; intervals at {level}."]
    if look == 1:
        return []
    advice = (
        "Each gate at 95 % is one more chance for a bad run to pass. To correct for them, "
        "set `looks` to the number of gates that you plan."
    )
    return [f"This is gate {look} on these questions. {advice}"]


def questions_key(run: Run) -> str:
    """Hash the set of questions of a run, independent of order, responses and contexts.

    A row without a question is identified by its contexts; without contexts, by its reference or its id.

    >>> import numpy as np
    >>> from sgi.kernel.sample import Sample
    >>> from sgi.engine.run import Run
    >>> def key(*samples):
    ...     return questions_key(Run.of("last", [sample.id for sample in samples], [], samples=samples))
    >>> one, two = Sample(id="1", question="Who?"), Sample(id="2", question="When?")
    >>> key(one, two) == key(two, one), key(one) == key(two)
    (True, False)
    """
    keys = run.row_keys
    identities = [("", 0)] * len(run.ids) if keys is None else keys.identity
    pairs = zip(identities, run.ids, strict=True)
    questions = {identity if identity[1] else ("id", name) for identity, name in pairs}
    return digest(canonical_json(sorted(map(list, questions), key=repr))).hex()
