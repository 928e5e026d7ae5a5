"""Renders a report of a run, of a comparison or of a leaderboard as HTML, Markdown or JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path  # noqa: TC003 - the doctest uses it
from typing import TYPE_CHECKING, Literal

from sgi.analysis.diagnosis.diagnose import diagnose_run
from sgi.engine.export import export, require_not_data
from sgi.engine.stored_runs import read_run
from sgi.io.write import check_place, write_whole
from sgi.kernel.errors import UsageError
from sgi.reporting.leaderboard_view import LeaderboardOptions, leaderboard_view

if TYPE_CHECKING:
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

ReportFormat = Literal["html", "md", "json"]

_FORMATS: dict[str, ReportFormat] = {
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
}


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report.

    ``worst`` is the number of worst (or most changed) rows shown for each metric, ``rows`` the length of the
    table of an HTML report. ``diagnose`` adds the causes of what is wrong. ``leaderboard`` says which
    systems are compared, and how.
    """

    worst: int = 10
    rows: int = 10_000
    title: str | None = None
    diagnose: bool = False
    leaderboard: LeaderboardOptions = field(default_factory=LeaderboardOptions)


def report_format(path: Path) -> ReportFormat:
    """Return the format of a file by its suffix.

    >>> report_format(Path("nightly.md"))
    'md'
    """
    suffix = path.suffix.casefold()
    if suffix not in _FORMATS:
        hint = f"Use {', '.join(_FORMATS)}, or name the format: html, md or json."
        raise UsageError(f"The suffix of {str(path)!r} is not a known format.", hint=hint)
    return _FORMATS[suffix]


def render_report(
    database: Database,
    records: list[RunRecord],
    kind: ReportFormat,
    options: ReportOptions,
    out: Path | None = None,
) -> tuple[str, Path | None]:
    """Render a report of a run, a comparison or a leaderboard, and write it atomically to ``out``, if given.

    Returns the report and the path of a CSV file with all rows, which is written only if the HTML table
    cannot hold all rows; otherwise None.

    Raises:
        UsageError: the file cannot be written, or is the data of a run.
    """
    beside = None
    ranked = options.leaderboard.applies_to(len(records))
    if out is not None:
        check_place(out)
        for record in records:
            require_not_data(record, out)
        if kind == "html" and not ranked and len(records) == 1 and records[0].scored > options.rows:
            beside = _export_rows(database, records[0], out)
    first, *others = records
    if ranked:
        text = _leaderboard_report(database, records, kind, options)
    elif others:
        text = _comparison_report(database, first, others[0], kind, options)
    else:
        text = _run_report(database, first, kind, options, beside)
    if out is not None:
        write_whole(out, text.encode(errors="replace"))
    return text, beside


def _export_rows(database: Database, record: RunRecord, out: Path) -> Path:
    beside = out.with_name(f"{out.stem}.rows.csv")
    require_not_data(record, beside)
    export(database, record, beside, inputs=True)
    return beside


def _run_report(
    database: Database, record: RunRecord, kind: ReportFormat, options: ReportOptions, beside: Path | None
) -> str:
    from sgi.reporting.html import run_report
    from sgi.reporting.run_markdown import run_markdown
    from sgi.reporting.views.run_view import RunView
    from sgi.store.row_query import RowQuery, row_page

    view = RunView(database, record, worst=options.worst)
    if options.diagnose:
        view.diagnosis = diagnose_run(read_run(database, record))
    if options.title is not None:
        view.record = replace(record, name=options.title)
    if kind == "json":
        return _json(view.parts())
    if kind == "md":
        return run_markdown(view)
    page = row_page(database, record, RowQuery(size=options.rows))
    return run_report(view, page, export=beside.name if beside else None)


def _comparison_report(
    database: Database, base: RunRecord, new: RunRecord, kind: ReportFormat, options: ReportOptions
) -> str:
    from sgi.reporting.html import comparison_report
    from sgi.reporting.run_markdown import comparison_markdown
    from sgi.reporting.views.comparison import comparison_view
    from sgi.reporting.views.headline import headline

    view = comparison_view(
        database,
        base,
        new,
        changed=options.worst,
        allow_different=options.leaderboard.allow_different,
    )
    if options.title is not None:
        view = replace(view, new=replace(view.new, name=options.title))
    if kind == "json":
        return _json(view)
    if kind == "md":
        return comparison_markdown(view)
    return comparison_report(view, *(headline(database, record) for record in (base, new)))


def _leaderboard_report(
    database: Database, records: list[RunRecord], kind: ReportFormat, options: ReportOptions
) -> str:
    from sgi.reporting.html import leaderboard_report
    from sgi.reporting.run_markdown import leaderboard_markdown

    runs = [read_run(database, record) for record in records]
    view = leaderboard_view(records, runs, options.leaderboard)
    if options.title is not None:
        view = replace(view, title=options.title)
    if kind == "json":
        return _json(view)
    return leaderboard_markdown(view) if kind == "md" else leaderboard_report(view)


def _json(view: object) -> str:
    from sgi.reporting.views.to_json import as_json

    return json.dumps(as_json(view), indent=2, ensure_ascii=True) + "\n"
