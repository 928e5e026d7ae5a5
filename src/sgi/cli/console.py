"""What people see: tables, progress and complaints. Untrusted text is printed as text, never as markup."""

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
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgi.engine.progress import Advanced, Embedded, Finished, Judged, Started
from sgi.io.write import json_line
from sgi.report import formatting as wording
from sgi.report.formatting import STEERING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue
    from rich.console import JustifyMethod

    from sgi.engine.progress import Event, Listener
    from sgi.engine.summary import MetricSummary, Summary
    from sgi.kernel.errors import SgiError
    from sgi.report.views.headline import Headline
    from sgi.stats.intervals import Interval

_UNSEEN = re.compile("[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
_LINE_SECONDS = 5.0
_LONGEST = 60
_CELL = 400
_BREAKS = dict.fromkeys((9, 10, 0x2028, 0x2029), "\N{REPLACEMENT CHARACTER}")


def plain(text: str) -> str:
    """Text without the characters that steer a terminal (control codes, direction overrides)."""
    return text.translate(STEERING)


def one_line(text: str, *, longest: int = _LONGEST) -> str:
    r"""Text for a cell or a line: plain, without breaks, and not longer than that.

    >>> one_line("a\nb"), one_line("abcdef", longest=4)
    ('a�b', 'abc…')
    """
    shown = plain(text).translate(_BREAKS)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def talk(message: str, *, style: str = "") -> None:
    """A line for the person, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(plain(message), style=style))


def complain(error: SgiError) -> None:
    """An error, on stderr: what is wrong, then the way out."""
    talk(f"Error: {error}", style="red" if sys.stderr.isatty() else "")


def escaped_json(text: str) -> str:
    r"""JSON whose texts hold no character that steers a terminal or is not seen: each becomes an escape.

    The value stays the same. These are the controls beyond ASCII, marks of direction, characters without a
    width, and the separators of lines; JSON escapes the controls of ASCII by itself.

    >>> escaped_json('{"a": "x\u202ey\x9b"}')
    '{"a": "x\\u202ey\\u009b"}'
    """
    return _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def print_json(value: Any) -> None:
    """Data as JSON, on stdout."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # whole numbers beyond 64 bits, lone surrogates
        text = json.dumps(value, indent=2)
    typer.echo(escaped_json(text))


def print_json_line(row: Mapping[str, JsonValue]) -> None:
    """A row as a line of JSON, on stdout."""
    sys.stdout.buffer.write(escaped_json(json_line(row).decode()).encode())


@contextmanager
def progress(*, quiet: bool) -> Iterator[Listener]:
    """A listener that draws a bar on a terminal, writes a line now and then elsewhere, or stays quiet."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar() as listener:
            yield listener
    else:
        yield _Lines()


@contextmanager
def _bar() -> Iterator[Listener]:
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
    """Progress as plain lines, at most one every few seconds, for logs."""

    def __init__(self) -> None:
        self._stage, self._done, self._told = "", 0, 0
        self._inside = 0.0
        """Rows that the work on the current batch amounts to."""
        self._total: int | None = None
        self._judged: Judged | None = None
        self._began = self._spoke = time.monotonic()

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        match event:
            case Started(stage, total):
                self._stage, self._total, self._done, self._told = stage, total, 0, 0
                self._inside = 0.0
                self._began = self._spoke = now
            case Advanced(rows):
                self._done += rows
                self._inside = 0.0
                self._say_now_and_then(now)
            case Embedded():
                self._inside = event.row_share
                self._say_now_and_then(now)
            case Judged():
                self._judged = event
                self._say_now_and_then(now)
            case Finished():
                if 0 < self._told < self._done:
                    self._say(now)

    def _say_now_and_then(self, now: float) -> None:
        if now - self._spoke >= _LINE_SECONDS:
            self._spoke = now
            self._say(now)

    def _say(self, now: float) -> None:
        self._told = self._done
        done = int(self._done + self._inside)
        rate = done / max(now - self._began, 1e-9)
        share = f" of {self._total:,}" if self._total else ""
        left = f", {(self._total - done) / rate:,.0f} s left" if self._total and rate else ""
        told = self._judged
        judge = f"; judge: {told.done:,} of {told.total:,}" if told else ""
        talk(f"{self._stage}: {done:,}{share} rows, {rate:,.0f} rows/s{left}{judge}")


@contextmanager
def readers_may_leave() -> Iterator[None]:
    """A reader that has had enough, such as head, quietly ends what stands in the block, and nothing else."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered goes nowhere, so that leaving raises no second error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Paper(Console):
    """Standard output; that nobody reads it any more is left to the caller."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 - rich calls it while it handles the BrokenPipeError


def print_tables(tables: Sequence[Table]) -> None:
    """Tables, one below the other, on stdout; no number is cut, however narrow the window."""
    endless = Console(width=10_000)
    needed = max((endless.measure(table).maximum for table in tables), default=0)
    paper = _Paper(highlight=False, width=max(Console().width, needed))
    for table in tables:
        paper.print(table)
        paper.print()


def print_lines(lines: Iterable[str]) -> None:
    """Lines of text on stdout, none of them broken."""
    for line in lines:
        typer.echo(plain(line))


def print_summary(summary: Summary, *, percent: bool = True) -> None:
    """The headline and what made its numbers, on stdout."""
    from sgi.engine.summary import reasons_without_interval

    print_tables([means_table(summary.metrics, percent=percent), *ranking_tables(summary)])
    print_lines(
        [*class_lines(summary.metrics), *reasons_without_interval(summary.metrics), summary.signature]
    )


def class_lines(metrics: Iterable[MetricSummary]) -> list[str]:
    """How many rows are of each class or grade, a line for each metric that has them."""
    return [f"{made.metric}: {wording.classes_of(made)}" for made in metrics if made.classes]


def means_table(metrics: Iterable[MetricSummary], *, percent: bool, rows: int | None = None) -> Table:
    """One line a metric: mean, interval, coverage, and why rows have no value.

    Args:
        metrics: what is known of each.
        percent: print shares as percent.
        rows: how many rows the data has, where not all of them need be scored.
    """
    table = new_table("metric", *MEANS)
    for made in metrics:
        add_row(table, made.metric, *means_cells(made, percent=percent, rows=rows))
    return table


MEANS = ("mean", "95 % interval", "ok / n", "no value")


def means_cells(made: MetricSummary, *, percent: bool, rows: int | None = None) -> list[str]:
    """A metric's cells under ``MEANS``."""
    n = made.rows if rows is None else rows
    numbers = [wording.mean_of(made, percent=percent), wording.interval_of(made, percent=percent)]
    return [*numbers, f"{made.ok:,} / {n:,}", wording.gaps_of(made, n)]


def ranking_tables(summary: Summary | Headline) -> list[Table]:
    """How well each metric ranks label 1 above 0, beside the trivial baselines; nothing without labels."""
    ranked = [(made.metric, made.ranking) for made in summary.metrics if made.ranking is not None]
    if not ranked and not summary.baselines:
        return []
    table = new_table("ranks label 1 over 0", "AUROC", "95 % interval", "1 / 0")
    for name, ranking in ranked:
        add_row(table, name, *wording.ranks_of(ranking))
    for baseline in summary.baselines:
        add_row(table, wording.baseline_name(baseline), *wording.ranks_of(baseline.ranking), style="dim")
    return [table]


def new_table(*columns: str, left: Sequence[str] = ()) -> Table:
    """An empty table: the first column and those named in ``left`` to the left, the others to the right."""
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(columns):
        side: JustifyMethod = "right" if place and name not in left else "left"
        table.add_column(Text(one_line(name)), justify=side, no_wrap=True)
    return table


def add_row(table: Table, *cells: str, style: str = "") -> None:
    """A row of texts, none of which is read as markup or begins a line of its own."""
    table.add_row(*(Text(one_line(cell, longest=_CELL)) for cell in cells), style=style)


def scaled(number: float | None, *, percent: bool, unit: str = "%", sign: str = "-") -> str:
    """A number of the metric's own scale, or a share as percent; a dash where there is none.

    Args:
        number: the number.
        percent: whether it is a share to be shown as percent.
        unit: what follows it then; the difference of two shares is in percentage points, ``pp``.
        sign: ``+`` to show the sign of positive numbers too.

    >>> scaled(0.25, percent=True), scaled(0.25, percent=False)
    ('25.00 %', '0.2500')
    >>> scaled(0.25, percent=True, unit="pp", sign="+")
    '+25.00 pp'
    """
    return wording.scaled(number, percent, unit=unit, sign=sign)


def span(interval: Interval | None, *, percent: bool) -> str:
    """Both ends of an interval, in the unit of the number beside it."""
    return wording.span(interval, percent)
