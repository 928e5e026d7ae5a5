"""Terminal output: tables, progress and errors. Untrusted text is printed as text, never as markup."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson
import typer

from sgi.engine.progress import Advanced, Embedded, Finished, Judged, Started
from sgi.reporting.safe_text import REPLACED, STEERING, escaped_json
from sgi.reporting.safe_text import one_line as one_line  # noqa: PLC0414 - commands import it from here
from sgi.reporting.terminal_style import BAD, HEADING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    from sgi.engine.progress import Event, Listener
    from sgi.engine.summary import MetricSummary, Summary
    from sgi.kernel.errors import SgiError
    from sgi.reporting.table import Table
    from sgi.reporting.views.run_view import Earlier

_LINE_SECONDS = 5.0
_MAX_MESSAGE = 10_000
_ARGUMENT = re.compile(r"`(\w+)`")
_OPTIONS = {"columns": "--map"} | {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("cascade", "cluster", "inputs", "judge", "max_failures", "name", "no_texts", "per_turn"),
        *("repeat_judge", "resume", "retry_failed", "take_over", "target"),
        *("against", "allow_different", "bins", "label", "looks", "margin", "max_drop"),
        *("on", "scale", "threshold"),
    )
}
"""The option for each Python argument that messages of lower layers name."""


def plain(text: str) -> str:
    """Replace the characters that control a terminal: control codes, direction marks, line separators."""
    return text.translate(STEERING).replace("\u2028", REPLACED).replace("\u2029", REPLACED)


def print_message(message: str, *, style: str = "") -> None:
    """Print one line on stderr; names in data, which may contain line feeds, cannot forge another line."""
    from rich.console import Console
    from rich.text import Text

    line = one_line(message, longest=_MAX_MESSAGE)
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(line, style=style))


def print_notes(notes: Iterable[str], *, longest: int = 400) -> None:
    """Print each note as one line on stderr; options replace Python arguments."""
    for note in notes:
        print_message(one_line(with_options(note), longest=longest))


def complain(error: SgiError) -> None:
    """Print an error on stderr: what is wrong, then what to do; options replace Python arguments."""
    print_message(f"Error: {with_options(str(error))}", style=BAD if sys.stderr.isatty() else "")


def with_options(message: str) -> str:
    """Replace names of Python arguments in a message by the options of the command line.

    >>> with_options("Ask again with `retry_failed`.")
    'Ask again with --retry-failed.'
    """
    return _ARGUMENT.sub(lambda match: _OPTIONS.get(match[1], match[0]), message)


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Context manager that discards output after the reader of stdout, such as head, has closed the pipe."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()


def discard_stdout() -> None:
    """Discard what is still buffered, so that closing stdout raises no second error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@ignore_broken_pipe()
def json_text(value: Any) -> str:
    """Return data as JSON, as ``--json`` prints it."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # integers beyond 64 bits, lone surrogates
        return json.dumps(value, indent=2)


def print_json(value: Any) -> None:
    """Print data as JSON on stdout."""
    typer.echo(escaped_json(json_text(value)))


def print_json_line(row: Mapping[str, JsonValue]) -> None:
    """Print a row as one line of JSON on stdout."""
    from sgi.io.write import json_line

    sys.stdout.buffer.write(escaped_json(json_line(row).decode()).encode())


@contextmanager
def progress(*, quiet: bool) -> Iterator[Listener]:
    """Context manager with a listener that shows a bar on a terminal, else lines, or nothing if quiet."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar() as listener:
            yield listener
    else:
        yield _Lines()


@contextmanager
def _bar() -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[texts]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: list[Any] = []

        def listen(event: Event) -> None:
            match event:
                case Started(stage, total):
                    tasks.append(bar.add_task(stage, total=total, rate="", texts="", scored=0))
                case Advanced(rows):
                    task = bar.tasks[-1]
                    rate = f"{task.speed:,.0f} rows/s" if task.speed else ""
                    scored = task.fields["scored"] + rows
                    bar.update(tasks[-1], completed=scored, scored=scored, texts="", rate=rate)
                case Embedded(done, total):
                    completed = bar.tasks[-1].fields["scored"] + event.row_share
                    bar.update(tasks[-1], completed=completed, texts=f"{done:,} of {total:,} texts")
                case Judged(done, total):
                    stage = bar.tasks[-1].description.partition(",")[0]
                    bar.update(tasks[-1], description=f"{stage}, judge {done:,} of {total:,}")
                case Finished():
                    bar.remove_task(tasks.pop())

        yield listen


class _Lines:
    """Progress as lines for logs, at most one every few seconds."""

    def __init__(self) -> None:
        self._stage, self._done, self._printed = "", 0, 0
        self._inside = 0.0
        """Finished part of the current batch, in rows."""
        self._total: int | None = None
        self._judged: Judged | None = None
        self._started_at = self._printed_at = time.monotonic()

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        match event:
            case Started(stage, total):
                self._stage, self._total, self._done, self._printed = stage, total, 0, 0
                self._inside = 0.0
                self._started_at = self._printed_at = now
            case Advanced(rows):
                self._done += rows
                self._inside = 0.0
                self._print_if_due(now)
            case Embedded():
                self._inside = event.row_share
                self._print_if_due(now)
            case Judged():
                self._judged = event
                self._print_if_due(now)
            case Finished():
                if 0 < self._printed < self._done:
                    self._print(now)

    def _print_if_due(self, now: float) -> None:
        if now - self._printed_at >= _LINE_SECONDS:
            self._printed_at = now
            self._print(now)

    def _print(self, now: float) -> None:
        self._printed = self._done
        done = int(self._done + self._inside)
        rate = done / max(now - self._started_at, 1e-9)
        share = f" of {self._total:,}" if self._total else ""
        left = f", {(self._total - done) / rate:,.0f} s left" if self._total and rate else ""
        judge = f"; judge: {self._judged.done:,} of {self._judged.total:,}" if self._judged else ""
        print_message(f"{self._stage}: {done:,}{share} rows, {rate:,.0f} rows/s{left}{judge}")


def styled(*parts: str | tuple[str, str]) -> Text:
    """Join texts, some with a style, to a line for `print_lines`; the first call imports rich."""
    from rich.text import Text

    return Text.assemble(*parts)


def is_styled(console: Console) -> bool:
    """Return whether a terminal supports colours and bars, and ``NO_COLOR`` is not set."""
    able = console.is_terminal and console.color_system is not None and console.encoding.startswith("utf")
    return able and not console.no_color


@ignore_broken_pipe()
def print_tables(tables: Iterable[Table], *, headings: bool = False, only_styled: bool = False) -> None:
    """Print the tables that have rows on stdout; numbers are never cut, long texts wrap in a terminal.

    Titles are printed with ``headings``, and where output is styled. Tables that are ``only_styled``, such as
    sparklines, are printed nowhere else.
    """
    from rich.console import Console
    from rich.text import Text

    class Output(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - rich calls it while it handles the BrokenPipeError

    window = Console()
    styled = is_styled(window)
    if only_styled and not styled:
        return
    filled = [table for table in tables if table.rows]
    drawn = [_draw(table, window, styled=styled) for table in filled]
    width = max((width for _, width in drawn), default=0)
    output = Output(highlight=False, width=max(window.width, width))
    for table, (rich_table, needed) in zip(filled, drawn, strict=True):
        if table.title and (headings or styled):
            output.print(Text(one_line(table.title, longest=400), style=HEADING if styled else ""))
        output.print(rich_table, width=max(window.width, needed))
        output.print()


def _draw(table: Table, window: Console, *, styled: bool) -> tuple[RichTable, int]:
    """Return a table for rich and the width that it needs; bars are left out if they do not fit."""
    from rich.console import Console

    measured = Console(width=10_000)
    is_terminal = window.is_terminal
    for bars in (True, False) if styled else (False,):
        drawn = table.terminal(wrap=is_terminal, styled=styled, bars=bars)
        size = measured.measure(drawn)
        # rich may make columns that wrap a character too wide, and would cut the last column.
        spare = sum(not column.no_wrap for column in drawn.columns)
        width = size.minimum + spare if is_terminal else size.maximum
        if width <= window.width:
            break
    return drawn, width


@ignore_broken_pipe()
def print_lines(lines: Iterable[str | Text]) -> None:
    """Print lines on stdout without wrapping them; a `Text` keeps its styles where output is styled."""
    console: Console | None = None
    for line in lines:
        if isinstance(line, str):
            typer.echo(plain(line))
            continue
        console = console or _line_console()
        if is_styled(console):
            shown = line.copy()
            shown.plain = plain(line.plain)
            console.print(shown)
        else:
            typer.echo(plain(line.plain))


def _line_console() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def print_overview(
    metrics: Sequence[MetricSummary],
    blank: int,
    earlier: Earlier | None = None,
    rows: Iterable[Text] = (),
) -> None:
    """Print the overview of a run on stdout: one sentence, rows to check, and changes."""
    from sgi.reporting.overview import overview, overview_lines

    print_lines([*overview_lines(overview(metrics, earlier, blank), rows), ""])


def print_summary(summary: Summary, *, percent: bool = True) -> None:
    """Print the summary and its signature on stdout."""
    from sgi.engine.summary import reasons_without_interval
    from sgi.reporting.tables import class_lines, summary_tables

    print_tables(summary_tables(summary, percent=percent))
    print_lines(
        [*class_lines(summary.metrics), *reasons_without_interval(summary.metrics), summary.signature]
    )
