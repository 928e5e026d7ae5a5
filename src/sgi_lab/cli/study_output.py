"""Prints and writes the results of a study: a detector card, or the test bench of metrics."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from sgi.cli.console import one_line, print_json, print_lines, print_message, print_tables, styled
from sgi.reporting.terminal_style import HEADING, style_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.text import Text

    from sgi.reporting.charts import Chart
    from sgi.reporting.table import Table

_MAX_LINE = 400


def make_folder(folder: Path, *, figures: bool = True) -> None:
    """Make a folder for results before the work begins, so that an error is raised at once."""
    from sgi.reporting.charts import check_figure

    if figures:
        check_figure(folder / "figure.png")
    folder.mkdir(parents=True, exist_ok=True)


def print_study(
    facts: dict[str, Any],
    markdown: str,
    tables: Iterable[Table],
    *,
    head: Sequence[str],
    foot: Iterable[str],
    as_json: bool,
) -> None:
    """Print JSON, or tables between ``head`` and ``foot`` on a terminal, or Markdown elsewhere.

    The first line of ``head`` is the title.
    """
    if as_json:
        print_json(facts)
    elif sys.stdout.isatty():
        title, *lines = (one_line(line, longest=_MAX_LINE) for line in head)
        print_lines([styled((title, HEADING)), *map(_styled_line, lines), ""])
        print_tables(tables, headings=True)
        print_lines(one_line(line, longest=_MAX_LINE) for line in foot)
    else:
        print_lines([markdown.rstrip("\n")])


def _styled_line(line: str) -> Text:
    return styled((line, style_of("warning" if line.startswith("Warning: ") else "")))


def write_study(
    folder: Path, name: str, *, markdown: str, json: str, chart: Chart | None = None, quiet: bool
) -> None:
    """Write the results to a folder as NAME.md and NAME.json, and a chart as NAME.png and NAME.svg."""
    from sgi.io.write import write_whole
    from sgi.reporting.charts import save_figure

    write_whole(folder / f"{name}.md", markdown.encode())
    write_whole(folder / f"{name}.json", f"{json}\n".encode())
    figures = {} if chart is None else dict.fromkeys(("png", "svg"), chart)
    for suffix, figure in figures.items():
        save_figure(figure, folder / f"{name}.{suffix}")
    if not quiet:
        names = ", ".join(f"{name}.{suffix}" for suffix in ("md", "json", *figures))
        print_message(f"Written to {folder}: {names}.")
