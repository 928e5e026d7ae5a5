"""``sgi report``: one page about a run, or about the differences between two runs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli.options import (
    OUTPUT,
    AllowDifferentOption,
    DatabaseOption,
    QuietOption,
    RunArgument,
    RunClusterOption,
    complete_run,
)
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from sgi.report.views.rows import RowPage
    from sgi.report.views.run import RunView
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}
_DEFAULT = Path("report.html")
_MEGABYTE = 1_000_000


class Format(StrEnum):
    """Formats of a report."""

    HTML = "html"
    MD = "md"
    JSON = "json"


def report(
    run: RunArgument,
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN2]",
            help="A second, newer run: report what changed.",
            autocompletion=complete_run,
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="File; an existing one is replaced. Default: report.html, or stdout for md and json.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format", help="Format. Default: from the suffix of -o, otherwise html.", rich_help_panel=OUTPUT
        ),
    ] = None,
    rows: Annotated[
        int,
        typer.Option(
            min=1,
            max=10_000,
            help="Rows in the table of the HTML file; a larger run is also written as CSV beside it.",
        ),
    ] = 10_000,
    worst: Annotated[
        int,
        typer.Option(
            min=0, max=1000, help="Number of worst (or most changed) rows to show in full for each metric."
        ),
    ] = 10,
    title: Annotated[str | None, typer.Option(help="Title of the page.", rich_help_panel=OUTPUT)] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open the file in a browser.", rich_help_panel=OUTPUT)
    ] = False,
    allow_different: AllowDifferentOption = False,
    cluster: RunClusterOption = None,
    db: DatabaseOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write a report about a run, or about the differences between two runs.

    The report is one HTML file that needs no network. It shows a summary with coverage and intervals,
    distributions, groups, correlations, the worst rows with their texts and judgements, and with labels ROC
    and calibration. Markdown and JSON are printed unless you give -o.

    Examples:

      sgi report last

      sgi report monday friday -o friday.html --open

      sgi report last --format md >> "$GITHUB_STEP_SUMMARY"
    """
    from sgi.cli.console import talk
    from sgi.cli.export import require_not_data
    from sgi.io.write import check_place
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    kind = _kind(format_, out)
    target = out or (_DEFAULT if kind is Format.HTML else None)
    _check_options(kind, title=title, open_=open_)
    if target is not None:
        check_place(target)  # fails before the work if the file cannot be written
    with open_database(db, create=False) as database:
        records = [find_run(database, name).clustered(cluster) for name in (run, new) if name is not None]
        if target is not None:
            for record in records:
                require_not_data(record, target)
        beside = _export(database, records[0], target, rows) if kind is Format.HTML and new is None else None
        if new is None:
            text = _run_text(database, records[0], kind, worst, title, rows, beside)
        else:
            text = _comparison_text(database, records, kind, worst, title, allow_different=allow_different)
    if target is None:
        _print_text(text)
        return
    size = _write(target, text)
    if not quiet:
        talk(f"Wrote {target}: {' and '.join(record.label for record in records)}, {size}.")
        if beside is not None:
            talk(f"Wrote {beside}: all {records[0].scored:,} rows; the page shows {rows:,} of them.")
    if open_:
        typer.launch(target.resolve().as_uri())


def _check_options(kind: Format, *, title: str | None, open_: bool) -> None:
    if kind is Format.JSON and title is not None:
        raise UsageError("--title does not apply to JSON.")
    if open_ and kind is not Format.HTML:
        raise UsageError(
            "--open needs an HTML file.", hint="Leave out --format, or name an .html file with -o."
        )


def _kind(requested: Format | None, out: Path | None) -> Format:
    """The requested format, otherwise the one of the file's suffix."""
    if requested is not None:
        return requested
    if out is None:
        return Format.HTML
    if out.suffix.casefold() not in _SUFFIXES:
        raise UsageError(
            f"The suffix of {str(out)!r} is not a known format.",
            hint=f"Use {', '.join(_SUFFIXES)}, or add --format html, md or json.",
        )
    return Format(_SUFFIXES[out.suffix.casefold()])


def _export(database: Database, record: RunRecord, target: Path | None, rows: int) -> Path | None:
    """Write all rows as CSV beside a page that cannot hold them; None if it can."""
    if target is None or record.scored <= rows:
        return None
    from sgi.cli.export import require_not_data
    from sgi.engine.export import export

    beside = target.with_name(f"{target.stem}.rows.csv")
    require_not_data(record, beside)
    export(database, record, beside, inputs=True)
    return beside


def _run_text(
    database: Database,
    record: RunRecord,
    kind: Format,
    worst: int,
    title: str | None,
    rows: int,
    beside: Path | None,
) -> str:
    from sgi.report.views.run import run_view

    view = _titled(run_view(database, record, worst=worst), title)
    if kind is Format.JSON:
        return _json(view)
    if kind is Format.MD:
        from sgi.report.run_markdown import run_markdown

        return run_markdown(view)
    from sgi.report.html import run_report

    return run_report(view, _row_page(database, record, rows), export=beside.name if beside else None)


def _comparison_text(
    database: Database,
    records: list[RunRecord],
    kind: Format,
    worst: int,
    title: str | None,
    *,
    allow_different: bool,
) -> str:
    from sgi.report.views.comparison import comparison_view

    base, new = records
    view = comparison_view(database, base, new, changed=worst, allow_different=allow_different)
    if title is not None:
        view = replace(view, new=replace(view.new, name=title))
    if kind is Format.JSON:
        return _json(view)
    if kind is Format.MD:
        from sgi.report.run_markdown import comparison_markdown

        return comparison_markdown(view)
    from sgi.report.html import comparison_report
    from sgi.report.views.headline import headline

    return comparison_report(view, *(headline(database, record) for record in (base, new)))


def _titled(view: RunView, title: str | None) -> RunView:
    return view if title is None else replace(view, head=replace(view.head, name=title))


def _row_page(database: Database, record: RunRecord, rows: int) -> RowPage:
    from sgi.report.views.rows import row_page
    from sgi.store.row_filters import RowQuery

    return row_page(database, record, RowQuery(size=rows))


def _json(view: object) -> str:
    from sgi.report.views.to_json import as_json

    return json.dumps(as_json(view), indent=2, ensure_ascii=True) + "\n"


def _print_text(text: str) -> None:
    from sgi.cli.console import readers_may_leave

    with readers_may_leave():
        sys.stdout.buffer.write(_encoded(text))
        sys.stdout.buffer.flush()


def _write(target: Path, text: str) -> str:
    """Write the file atomically; returns its size as text."""
    from sgi.io.write import write_whole

    content = _encoded(text)
    write_whole(target, content)
    return f"{len(content) / _MEGABYTE:.1f} MB" if len(content) >= _MEGABYTE else f"{len(content):,} bytes"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")
