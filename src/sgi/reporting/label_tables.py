"""Tables of the labels that people gave to a run, for the terminal and the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.analysis.agreement.report import label_advice
from sgi.analysis.audit.audited_means import audited_means
from sgi.analysis.labelling import undecided_notes
from sgi.kernel.short_text import metric_label
from sgi.reporting.formatting import NOTHING, format_scaled, number, probability, span
from sgi.reporting.safe_text import one_line
from sgi.reporting.table import Table
from sgi.store.label_consensus import DRAWN, PEOPLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.analysis.agreement.report import Estimate, MetricAgreement
    from sgi.analysis.audit.audit import Audit
    from sgi.analysis.audit.audited_means import AuditedMean
    from sgi.analysis.labelling import Labelling
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


def label_tables(state: Labelling) -> list[Table]:
    """Return the tables that have rows: people, their agreement, and the means corrected by their labels."""
    column = PEOPLE if state.drawn is None else state.drawn.column
    tables = [_authors(state), _pairs(state), corrected_means(state.metrics, column)]
    return [table for table in tables if table.rows]


def label_lines(state: Labelling) -> Iterator[str]:
    """Yield sentences about the labels: how many rows have a label, and what to do next."""
    rows, labels = len(state.labels.ids), state.labels
    yield (
        f"People have labelled {state.labelled:,} of {rows:,} rows in the dashboard; {state.sampled:,} of "
        "them are a random sample. Labels in the data are not counted."
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
    """Return the tables of an audit that have rows: estimates, probes and drift."""
    trust, counts = audit.trust, audit.counts
    estimates = (
        ("balanced accuracy", trust.balanced_accuracy, counts.labelled),
        ("yes if the answer is good", trust.sensitivity, counts.right_yes + counts.wrong_no),
        ("no if the answer is bad", trust.specificity, counts.right_no + counts.wrong_yes),
        ("good answers, corrected", audit.corrected, audit.rows),
    )
    rows = [
        (name, format_scaled(one.value, True), span(one.interval, True), f"{count:,}")  # noqa: FBT003
        for name, one, count in estimates
    ]
    rows.append(("verdict yes", format_scaled(audit.share_yes, True), NOTHING, f"{audit.rows:,}"))  # noqa: FBT003
    title = f"{counts.labelled:,} labels of {audit.rows:,} questions, column {audit.label}"
    probes = [
        (
            probe.name,
            "FOUND" if probe.flagged else "not found" if probe.status == "ok" else "not run",
            number(probe.difference, sign="+"),
            span(probe.interval),
            probability(probe.p_holm),
            f"{probe.rows:,}",
            probe.says or probe.reason,
        )
        for probe in audit.probes
    ]
    tables = [
        Table(("share", "value", "95 % interval", "rows"), rows, title),
        Table(
            ("probe", "bias", "change", "95 % interval", "p (Holm)", "rows", "says"),
            probes,
            "Probes",
            left=["bias", "says"],
        ),
    ]
    return [table for table in tables if table.rows]


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
