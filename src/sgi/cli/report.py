"""``sgi report``: a run, or two side by side, as one page to look at and to pass on."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sgi.cli.options import (
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
    """What a report can be."""

    HTML = "html"
    MD = "md"
    JSON = "json"


def report(
    run: RunArgument,
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN2]",
            help="A second run, the newer one: what changed between the two.",
            autocompletion=complete_run,
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="The file, replaced if it is there; report.html, or stdout."),
    ] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="By default what the suffix of -o says, else html.")
    ] = None,
    rows: Annotated[
        int,
        typer.Option(
            min=1,
            max=10_000,
            help="Rows in the HTML file's table; of a larger run, all are written beside it as CSV.",
        ),
    ] = 10_000,
    worst: Annotated[
        int, typer.Option(min=0, max=1000, help="Rows told whole for each metric: the worst, or the changed.")
    ] = 10,
    title: Annotated[str | None, typer.Option(help="What the page calls the run.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show the file in the browser.")] = False,
    allow_different: AllowDifferentOption = False,
    cluster: RunClusterOption = None,
    db: DatabaseOption = None,
    quiet: QuietOption = False,
) -> None:
    """Make a page of a run, or of what changed between two: one HTML file that needs no network.

    It shows the headline with coverage and intervals, how values are spread, groups, correlations, the worst
    rows with their texts and evidence, and with labels ROC and calibration. HTML goes into a file, Markdown
    and JSON to standard output unless -o names one.

    Examples:

      sgi report last

      sgi report monday friday -o friday.html --open

      sgi report last --format md >> "$GITHUB_STEP_SUMMARY"
    """
    from sgi.cli.console import talk
    from sgi.io.write import check_place
    from sgi.store.database import open_database
    from sgi.store.run_queries import find_run

    kind = _kind(format_, out)
    if kind is Format.JSON and title is not None:
        raise UsageError("--title is for pages; JSON holds the names as they are.")
    target = out or (_DEFAULT if kind is Format.HTML else None)
    if open_ and (target is None or kind is not Format.HTML):
        raise UsageError("--open shows an HTML file.", hint="Leave --format out, or name a file with -o.")
    if target is not None:
        check_place(target)  # what cannot be written is told before the work
    with open_database(db, create=False) as database:
        records = [find_run(database, name).clustered(cluster) for name in (run, new) if name is not None]
        if target is not None:
            _spare_data(records, target)
        beside = _export(database, records[0], target, rows) if kind is Format.HTML and new is None else None
        if new is None:
            text = _run_text(database, records[0], kind, worst, title, rows, beside)
        else:
            text = _comparison_text(database, records, kind, worst, title, allow_different=allow_different)
    if target is None:
        _pour(text)
        return
    size = _write(target, text)
    if not quiet:
        talk(f"{target} holds {' and '.join(found.label for found in records)}: {size}.")
        if beside is not None:
            talk(f"{beside} holds all {records[0].scored:,} rows; the page shows {rows:,} and links to it.")
    if open_:
        typer.launch(target.resolve().as_uri())


def _kind(asked: Format | None, out: Path | None) -> Format:
    """The format that is asked for, or that the file's name says."""
    if asked is not None:
        return asked
    if out is None:
        return Format.HTML
    if out.suffix.casefold() not in _SUFFIXES:
        raise UsageError(
            f"Cannot tell from {str(out)!r} what to write.",
            hint=f"Name it {', '.join(_SUFFIXES)}, or say --format html, md or json.",
        )
    return Format(_SUFFIXES[out.suffix.casefold()])


def _spare_data(records: list[RunRecord], target: Path) -> None:
    """A report does not take the place of the data its run was made of."""
    from sgi.cli.export import spare_data

    for record in records:
        spare_data(record, target)


def _export(database: Database, record: RunRecord, target: Path | None, rows: int) -> Path | None:
    """All rows, beside a page that has no place for them; None where it has."""
    if target is None or record.scored <= rows:
        return None
    from sgi.cli.export import spare_data
    from sgi.engine.export import export

    beside = target.with_name(f"{target.stem}.rows.csv")
    spare_data(record, beside)
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
    from sgi.store.row_pages import RowQuery

    return row_page(database, record, RowQuery(size=rows))


def _json(view: object) -> str:
    from sgi.report.views.to_json import as_json

    return json.dumps(as_json(view), indent=2, ensure_ascii=True) + "\n"


def _pour(text: str) -> None:
    from sgi.cli.console import readers_may_leave

    with readers_may_leave():
        sys.stdout.buffer.write(_encoded(text))
        sys.stdout.buffer.flush()


def _write(target: Path, text: str) -> str:
    """The file, whole or not at all; gives its size in words."""
    from sgi.io.write import write_whole

    content = _encoded(text)
    write_whole(target, content)
    return f"{len(content) / _MEGABYTE:.1f} MB" if len(content) >= _MEGABYTE else f"{len(content):,} bytes"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")
