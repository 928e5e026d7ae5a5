"""What people see: tables, progress and complaints. Untrusted text is printed as text, never as markup."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sgi.engine.progress import Advanced, Finished, Started
from sgi.kernel.metric import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.engine.progress import Event, Listener
    from sgi.engine.summary import MetricSummary, Summary
    from sgi.kernel.errors import SgiError
    from sgi.stats.ranking import Ranking

_LINE_SECONDS = 5.0
_CONTROL = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)
}
_CONTROL |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}")


def plain(text: str) -> str:
    """Text without the characters that steer a terminal (control codes, direction overrides)."""
    return text.translate(_CONTROL)


def talk(message: str, *, style: str = "") -> None:
    """A line for the person, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(plain(message), style=style))


def complain(error: SgiError) -> None:
    """An error, on stderr: what is wrong, then the way out."""
    talk(f"Error: {error}", style="red" if sys.stderr.isatty() else "")


def print_json(value: Any) -> None:
    """Data as JSON, on stdout."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode())


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
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: list[Any] = []

        def listen(event: Event) -> None:
            match event:
                case Started(stage, total):
                    tasks.append(bar.add_task(stage, total=total, rate=""))
                case Advanced(rows):
                    task = bar.tasks[-1]
                    rate = f"{task.speed:,.0f} rows/s" if task.speed else ""
                    bar.update(tasks[-1], advance=rows, rate=rate)
                case Finished():
                    bar.remove_task(tasks.pop())

        yield listen


class _Lines:
    """Progress as plain lines, at most one every few seconds, for logs."""

    def __init__(self) -> None:
        self._stage, self._done, self._told = "", 0, 0
        self._total: int | None = None
        self._began = self._spoke = time.monotonic()

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        match event:
            case Started(stage, total):
                self._stage, self._total, self._done, self._told = stage, total, 0, 0
                self._began = self._spoke = now
            case Advanced(rows):
                self._done += rows
                if now - self._spoke >= _LINE_SECONDS:
                    self._spoke = now
                    self._say(now)
            case Finished():
                if 0 < self._told < self._done:
                    self._say(now)

    def _say(self, now: float) -> None:
        self._told = self._done
        rate = self._done / max(now - self._began, 1e-9)
        share = f" of {self._total:,}" if self._total else ""
        left = f", {(self._total - self._done) / rate:,.0f} s left" if self._total and rate else ""
        talk(f"{self._stage}: {self._done:,}{share} rows, {rate:,.0f} rows/s{left}")


def print_summary(summary: Summary, *, percent: bool = True) -> None:
    """The headline and what made its numbers, on stdout; no number is cut, however narrow the window."""
    tables = [means_table(summary, percent=percent), *ranking_tables(summary)]
    endless = Console(width=10_000)
    needed = max(endless.measure(table).maximum for table in tables)
    console = Console(highlight=False, width=max(Console().width, needed))
    for table in tables:
        console.print(table)
        console.print()
    console.print(Text(plain(summary.signature)), soft_wrap=True)


def means_table(summary: Summary, *, percent: bool) -> Table:
    """One line a metric: mean, interval, coverage, and why rows have no value."""
    table = _table("metric", "mean", "95 % interval", "ok / n", "no value")
    for made in summary.metrics:
        cells = [made.metric, *_numbers(made, percent=percent), f"{made.ok:,} / {made.rows:,}", _gaps(made)]
        table.add_row(*map(plain, cells))
    return table


def ranking_tables(summary: Summary) -> list[Table]:
    """How well each metric ranks label 1 above 0, beside the trivial baselines; nothing without labels."""
    ranked = [(made.metric, made.ranking) for made in summary.metrics if made.ranking is not None]
    if not ranked and not summary.baselines:
        return []
    table = _table("ranks label 1 over 0", "AUROC", "95 % interval", "1 / 0")
    for name, ranking in ranked:
        table.add_row(*map(plain, [name, *_ranks(ranking)]))
    for baseline in summary.baselines:
        name = f"{baseline.name} alone ({baseline.direction} = grounded)"
        table.add_row(name, *_ranks(baseline.ranking), style="dim")
    return [table]


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _numbers(made: MetricSummary, *, percent: bool) -> list[str]:
    scale, digits, sign = (100, 2, " %") if percent and made.is_share else (1, 4, "")
    if made.mean is None:
        return ["–", "–"]
    mean = f"{made.mean * scale:.{digits}f}{sign}"
    if made.interval is None:
        return [mean, "–"]
    return [mean, f"[{made.interval.low * scale:.{digits}f}, {made.interval.high * scale:.{digits}f}]"]


def _gaps(made: MetricSummary) -> str:
    gaps = [
        f"{made.counts[status]:,} {status}"
        for status in Status
        if status is not Status.OK and made.counts[status]
    ]
    return ", ".join(gaps)


def _ranks(ranking: Ranking) -> list[str]:
    """AUROC, its interval, and the rows of either label it is over, which differ where values are missing."""
    found = ranking.interval
    interval = "–" if found is None else f"[{found.low:.3f}, {found.high:.3f}]"
    return [f"{ranking.auroc:.3f}", interval, f"{ranking.positives:,} / {ranking.negatives:,}"]
