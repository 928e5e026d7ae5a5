"""Tables of the labels that people gave to a run, for the terminal and the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.analysis.agreement.report import label_advice
from sgi.reporting.formatting import format_scaled, number, one_line, span
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.analysis.labelling import Labelling


def label_tables(state: Labelling) -> list[Table]:
    """Return the tables that have rows: people, their agreement, and the means corrected by their labels."""
    tables = [_authors(state), _pairs(state), _means(state)]
    return [table for table in tables if table.rows]


def label_lines(state: Labelling) -> Iterator[str]:
    """Yield sentences about the labels: how many rows have one, and what is to do."""
    rows, labels = len(state.labels.ids), state.labels
    yield f"{state.labelled:,} of {rows:,} rows have a label; {state.sampled:,} of them are a random sample."
    if missing := int(labels.sampled.sum()) - state.sampled:
        yield f"Rows of the random sample without a label (skipped, or no majority): {missing:,}."
    if disputed := len(labels.disputed):
        yield f"Rows on which people disagree, and nobody has decided: {disputed:,}."
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


def _means(state: Labelling) -> Table:
    rows = []
    for metric in state.metrics:
        if (corpus := metric.corpus) is not None:
            cells = [
                cell
                for one in (corpus.naive, corpus.labels, corpus.corrected)
                for cell in (format_scaled(one.value, metric.is_share), span(one.interval, metric.is_share))
            ]
            rows.append((metric.metric, *cells))
    interval = "95 % interval"
    columns = ("metric", "mean score", interval, "mean label", interval, "corrected mean", interval)
    return Table(columns, rows, "Means, corrected by the labels of the random sample")
