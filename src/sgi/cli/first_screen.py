"""The first screen of a stored run: what to check, the first rows with reasons, then the numbers."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from sgi.cli.console import print_overview
from sgi.cli.printed_tables import worst_facts
from sgi.kernel.short_text import metric_label
from sgi.reporting.formatting import main_metric
from sgi.reporting.overview import evidence, overview_sentence
from sgi.reporting.views.row_view import rows_to_check
from sgi.reporting.views.run_view import RunView, earlier_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from sgi.engine.summary import MetricSummary
    from sgi.reporting.views.row_view import LowestRows, SampleView
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_SHOWN, _FEW = 5, 10
_WIDTH = 120
"""Width of lines where there is no terminal."""
_MAX_WORST = 1000


def terminal_width() -> int:
    """Return the width of the terminal, or of ``COLUMNS``; without both, a fixed width."""
    return shutil.get_terminal_size((_WIDTH, 24)).columns


def print_first_screen(
    database: Database,
    record: RunRecord,
    metrics: Sequence[MetricSummary],
    blank: int,
    db_option: str = "",
) -> None:
    """Print the overview of a run with the first answers to check; the command gets ``db_option``."""
    rows = _rows(database, record, metrics)
    lines = _lines(record, metrics, rows, db_option)
    print_overview(metrics, blank, earlier_run(database, record), lines)


def first_screen_facts(
    stored: tuple[Database, RunRecord] | None, metrics: Sequence[MetricSummary], blank: int
) -> dict[str, Any]:
    """Return the facts of the first screen as JSON values; a run that is not stored has no rows to check."""
    sentences = {"headline": overview_sentence(metrics, blank), "evidence": list(evidence(metrics))}
    if stored is None:
        return sentences
    rows = _rows(*stored, metrics)
    return sentences | {"to_check": [] if rows is None else worst_facts(rows)["worst"]}


def _rows(
    database: Database, record: RunRecord, metrics: Sequence[MetricSummary]
) -> LowestRows[SampleView] | None:
    if not any(metric.review for metric in metrics):
        return None
    worst = RunView(database, record).worst_ids
    return rows_to_check(database, record, metrics, worst, most=_SHOWN)


def _lines(
    record: RunRecord, metrics: Sequence[MetricSummary], rows: LowestRows[SampleView] | None, db_option: str
) -> Iterator[Text]:
    from rich.text import Text

    from sgi.reporting.overview import row_lines

    main = main_metric(metrics)
    if main is None or (rows is None and (main.review is not None or main.best == main.worst)):
        return
    show = f"sgi show {record.id}{db_option}"
    command = f"{show} --worst"
    if rows is None or main.review is None:
        yield Text(f"  Worst values of {metric_label(main.metric)} first: {command} {min(main.ok, _FEW)}")
        return
    yield from row_lines(rows, "{:.2f}".format, terminal_width())
    count = main.review.rows
    if count > len(rows.samples):
        what = f"All {count:,}" if count <= _MAX_WORST else f"The first {_MAX_WORST:,} of {count:,}"
        yield Text(f"  {what}: {command} {min(count, _MAX_WORST)}")
    yield Text(f"  One row in full: {show} --sample ID")
