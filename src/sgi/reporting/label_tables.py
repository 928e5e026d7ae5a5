"""Tables of the labels that people gave to a run, for the terminal and the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.analysis.agreement.report import label_advice
from sgi.analysis.audit.audited_means import audited_means
from sgi.analysis.labelling import undecided_notes
from sgi.kernel.short_text import metric_label, pluralize, pluralize_part
from sgi.reporting.formatting import NOTHING, format_scaled, number, probability, span
from sgi.reporting.safe_text import one_line
from sgi.reporting.table import Table
from sgi.store.label_consensus import DRAWN, PEOPLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.analysis.agreement.report import Estimate, MetricAgreement
    from sgi.analysis.audit.audit import Audit
    from sgi.analysis.audit.audited_means import AuditedMean
    from sgi.analysis.audit.drift import Drift
    from sgi.analysis.audit.probes import Probe
    from sgi.analysis.labelling import Labelling
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


_RESULTS = {"ok": "not found", "undefined": "does not apply", "missing": "not run"}


def label_tables(state: Labelling) -> list[Table]:
    """Return the tables that have rows: people, their agreement, and the means corrected by their labels."""
    column = PEOPLE if state.drawn is None else state.drawn.column
    tables = [_authors(state), _pairs(state), corrected_means(state.metrics, column)]
    return [table for table in tables if table.rows]


def label_lines(state: Labelling) -> Iterator[str]:
    """Yield sentences about the labels: how many rows have a label, and what to do next."""
    rows, labels = len(state.labels.ids), state.labels
    yield (
        f"People have labelled {pluralize_part(state.labelled, rows, 'row')} in the dashboard;"
        f" {state.sampled:,} of them {'is' if state.sampled == 1 else 'are'} a random sample."
        " Labels in the data are not counted."
    )
    if (drawn := state.drawn) is not None:
        name = one_line(metric_label(drawn.metric))
        yield (
            f"{drawn.labelled:,} of them were drawn by the uncertainty of {name}, with known probabilities."
            f" The corrected means are those of sgi judge agree --label {one_line(drawn.column)}."
        )
    if missing := int(labels.sampled.sum()) - state.sampled:
        yield f"Rows of the random sample without a label (skipped, or no majority): {missing:,}."
    if disputed := len(labels.disputed):
        yield f"Rows on which people disagree, and nobody has decided: {disputed:,}."
    yield from undecided_notes(labels)
    if stale := len(labels.stale):
        yield f"Rows with labels of another version of their text, which do not count: {stale:,}."
    for metric in state.metrics:
        if metric.corpus is not None:
            for advice in label_advice(metric.corpus, is_share=metric.is_share):
                yield f"{one_line(metric.metric)}: {advice}"


def _authors(state: Labelling) -> Table:
    rows = [(one.name, f"{one.yes:,}", f"{one.no:,}", f"{one.skipped:,}") for one in state.authors]
    return Table(("person", "yes", "no", "skipped"), rows, "Labels by person")


def _pairs(state: Labelling) -> Table:
    rows = [
        (
            f"{pair.first}, {pair.second}",
            f"{pair.rows:,}",
            format_scaled(pair.equal / pair.rows, True),  # noqa: FBT003
            number(pair.kappa.value),
            span(pair.kappa.interval),
        )
        for pair in state.pairs
    ]
    return Table(("people", "rows", "same label", "kappa", "95 % interval"), rows, "Agreement of people")


def corrected_means(metrics: Iterable[MetricAgreement], column: str, *, percent: bool = True) -> Table:
    """Return the means of scores and labels, and the means that the labels correct; λ weights the scores.

    ``column`` is the column of the labels.
    """
    rows = []
    for metric in metrics:
        if (corpus := metric.corpus) is not None:
            estimates = (corpus.naive, corpus.labels, corpus.corrected)
            as_percent = percent and metric.is_share
            cells = [cell for one in estimates for cell in estimate_cells(one, percent=as_percent)]
            counts = f"{corpus.labels.rows:,} / {corpus.naive.rows:,}"
            rows.append((metric.metric, *cells, f"{corpus.power:.2f}", counts))
    interval = "95 % interval"
    means = ("mean score", interval, "mean label", interval, "corrected mean", interval)
    return Table(
        ("metric", *means, "lambda", "labels / rows"),
        rows,
        "Means, corrected by the labels of the rows drawn by uncertainty"
        if column.startswith(DRAWN)
        else "Means, corrected by the labels of the random sample",
    )


def estimate_cells(estimate: Estimate, *, percent: bool) -> tuple[str, str]:
    """Return the cells of a mean and of its interval."""
    return format_scaled(estimate.value, percent), span(estimate.interval, percent)


def audit_tables(audit: Audit) -> list[Table]:
    """Return the tables of an audit that have rows: what the labels show, and the probes and the drift."""
    trust, counts = audit.trust, audit.counts
    estimates = (
        ("balanced accuracy", trust.balanced_accuracy, counts.labelled),
        ("good answers that it passes", trust.sensitivity, counts.right_yes + counts.wrong_no),
        ("bad answers that it fails", trust.specificity, counts.right_no + counts.wrong_yes),
        ("good answers in the run, corrected", audit.corrected, audit.rows),
    )
    rows = [
        (
            name,
            format_scaled(None if one is None else one.value, True),  # noqa: FBT003
            span(None if one is None else one.interval, True),  # noqa: FBT003
            f"{count:,}",
        )
        for name, one, count in estimates
    ]
    passed = ("answers in the run that it passes", format_scaled(audit.share_yes, True), NOTHING)  # noqa: FBT003
    title = (
        f"{pluralize(counts.labelled, 'label')} of {pluralize(audit.rows, 'question')}, column {audit.label}"
    )
    tables = [
        Table(("share", "value", "95 % interval", "rows"), [*rows, (*passed, f"{audit.rows:,}")], title),
        Table(
            (
                "test",
                "result",
                "change of the score",
                "95 % interval",
                "p",
                "changed verdicts",
                "rows",
                "requests",
            ),
            [*map(_probe_row, audit.probes), *([] if audit.drift is None else [_drift_row(audit.drift)])],
            "Probes and drift",
            left=["result"],
        ),
    ]
    return [table for table in tables if table.rows]


def _probe_row(probe: Probe) -> tuple[str, ...]:
    result = "FOUND" if probe.flagged else _RESULTS[probe.status]
    changes = (number(probe.difference, sign="+"), span(probe.interval), probability(probe.p_holm))
    flips = format_scaled(probe.flips, True)  # noqa: FBT003
    return (probe.name, result, *changes, flips, f"{probe.rows:,}", f"{probe.calls:,}")


def _drift_row(drift: Drift) -> tuple[str, ...]:
    result = "FOUND" if drift.drifted else _RESULTS[drift.status]
    changes = (number(drift.difference, sign="+"), span(drift.difference_interval), probability(drift.p))
    changed = format_scaled(drift.changed, True)  # noqa: FBT003
    return ("drift", result, *changes, changed, f"{drift.rows:,}", f"{drift.calls:,}")


def audited_tables(database: Database, record: RunRecord) -> list[Table]:
    """Return the means of a run that audits correct, as a table; none if no metric has an audit."""
    means = audited_means(database, record)
    return [audited_table(means)] if any(mean.verdict for mean in means) else []


def audited_table(means: Iterable[AuditedMean]) -> Table:
    """Return the means that audits correct, with the verdict of each audit; judges without one are listed."""
    rows = []
    for mean in means:
        corrected = mean.corrected
        rows.append(
            (
                mean.metric,
                "no valid audit" if mean.obstacle else mean.verdict,
                format_scaled(mean.share_yes, True),  # noqa: FBT003
                format_scaled(None if corrected is None else corrected.value, True),  # noqa: FBT003
                span(None if corrected is None else corrected.interval, True),  # noqa: FBT003
                mean.obstacle or mean.audit,
            )
        )
    columns = ("metric", "judge", "verdict yes", "good, corrected", "95 % interval", "audit")
    return Table(columns, rows, "Means, corrected by an audit", left=["judge", "audit"])
