"""Tables of a diagnosis, shared by the terminal, Markdown, HTML pages and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.analysis.diagnosis.causes import NOT_DIAGNOSED, SHARES_ARE, TITLES
from sgi.reporting.formatting import NOTHING, beginning, format_scaled, probability, shorten, span
from sgi.reporting.table import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.analysis.diagnosis.diagnosis import CauseShare, Diagnosis, RowDiagnosis
    from sgi.analysis.diagnosis.over_runs import DiagnosisComparison

_EVIDENCE = 300
_SPANS = 3
_ROWS = 20


def diagnosis_tables(diagnosis: Diagnosis, *, with_rows: bool = True) -> Iterator[Table]:
    """Yield tables: causes, reasons of rows without a cause, which of these rows to read, shares by group."""
    if diagnosis.diagnosed:
        yield cause_table(diagnosis)
    if diagnosis.reasons:
        rows = ((reason, f"{count:,}") for reason, count in diagnosis.reasons.items())
        yield Table((f"{NOT_DIAGNOSED}, because", "rows"), rows, title="Rows that are not diagnosed")
    if (to_read := diagnosis.to_read) and with_rows:
        shown = to_read[:_ROWS]
        title = f"Rows without a cause to read first: {len(shown):,} of {len(to_read):,}"
        yield _rows(shown, {"to read, because": [row.finding for row in shown]}, title)
    if diagnosis.groups:
        yield _groups(diagnosis)


def cause_table(diagnosis: Diagnosis) -> Table:
    """Return the table of the causes that occur, with what to do about each."""
    rows = [
        (
            share.cause,
            f"{share.rows:,}",
            Cell(_share(share), css="strong", share=share.share),
            Cell(span(share.interval, is_share=True), tooltip=share.no_interval),
            TITLES[share.cause],
            diagnosis.next_steps.get(share.cause, ""),
        )
        for share in diagnosis.causes
        if share.rows
    ]
    columns = ("called", "rows", "share", "95 % interval", "meaning", "what to do about it")
    title = f"{diagnosis.count_text}; {SHARES_ARE}"
    return Table(columns, rows, title=title, left=["meaning", "what to do about it"])


def _share(share: CauseShare) -> str:
    return format_scaled(share.share, is_share=True)


def _groups(diagnosis: Diagnosis) -> Table:
    causes = [share.cause for share in diagnosis.causes if share.rows]
    columns = (diagnosis.by, "rows", "diagnosed", *causes)
    rows = []
    for group in diagnosis.groups:
        shares = {share.cause: share for share in group.causes}
        cells = (
            Cell(
                _share(shares[one]),
                tooltip=span(shares[one].interval, is_share=True),
                share=shares[one].share,
            )
            for one in causes
        )
        rows.append((group.name, f"{group.rows:,}", f"{group.diagnosed:,}", *cells))
    return Table(columns, rows, title=f"Share of the rows called so, by {diagnosis.by}")


def row_table(rows: Sequence[RowDiagnosis]) -> Table:
    """Return a table of rows with their evidence."""
    texts = {"cause": [row.label for row in rows], "because": [row.explanation for row in rows]}
    return _rows(rows, texts, "Rows")


def _rows(rows: Sequence[RowDiagnosis], texts: Mapping[str, Sequence[str]], title: str) -> Table:
    """Return a table of rows with these texts, and the system if the run has several."""
    names = [beginning(row.system, 60) for row in rows]
    systems = {"system": names} if any(names) else {}
    columns = {**systems, **texts, "evidence": [evidence_text(row) for row in rows]}
    cells = zip([row.id for row in rows], *columns.values(), strict=True)
    return Table(("id", *columns), cells, title=title, left=list(columns))


def evidence_text(row: RowDiagnosis) -> str:
    """Return the parts of a row that decided, in one line."""
    shown = [shorten(str(each), _EVIDENCE) for each in row.spans[:_SPANS]]
    more = len(row.spans) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])]) or NOTHING


def comparison_of_causes(comparison: DiagnosisComparison) -> Iterator[Table]:
    """Yield the shares of several runs side by side, and the differences from the first run."""
    names = [one.run for one in comparison.diagnoses]
    rows = [
        (
            one.cause,
            *(
                Cell(_share(share), tooltip=span(share.interval, is_share=True), share=share.share)
                for share in one.shares
            ),
        )
        for one in comparison.causes
    ]
    coverage = (format_scaled(one.coverage, is_share=True) for one in comparison.diagnoses)
    yield Table(
        ("cause", *names),
        [*rows, ("rows that are diagnosed", *coverage)],
        title=f"Share of each cause; {SHARES_ARE}",
    )
    differences = [
        (
            cause.cause,
            f"{one.run} − {names[0]}",
            Cell(format_scaled(one.difference.difference, is_share=True, unit="pp", sign="+"), css="strong"),
            Cell(span(one.difference.interval, is_share=True), tooltip=one.difference.no_interval),
            f"{one.difference.pairs:,}",
            probability(one.adjusted_p),
        )
        for cause in comparison.causes
        for one in cause.differences
    ]
    columns = ("cause", "runs", "difference", "95 % interval", "pairs", "p (Holm)")
    yield Table(columns, differences, title="Paired differences of the shares", left=["runs"])
