"""Format figures as a table for the terminal or as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness import Figure

_NO_DECIMALS_FROM = 100
_WIDTH = 150
"""Columns of the output if it is not a terminal."""


def number(value: float) -> str:
    """Format a number with three significant digits and thousands separators.

    >>> number(12345.6), number(1.2345), number(0.0123), number(48.6), number(0)
    ('12,346', '1.23', '0.0123', '48.6', '0')
    """
    return f"{value:,.0f}" if abs(value) >= _NO_DECIMALS_FROM else f"{value:.3g}"


def ratio(figure: Figure) -> str:
    return "" if figure.ratio is None else f"{number(figure.ratio)} ×"


def target(figure: Figure) -> str:
    if figure.wanted is None:
        return ""
    sign = "≥" if figure.at_least else "≤"
    return f"{sign} {number(figure.wanted)} {'×' if figure.beside else figure.unit}"


def verdict(figure: Figure) -> str:
    """Say whether the target is reached; empty without a target."""
    if figure.met is not None:
        return "yes" if figure.met else "no"
    return "" if figure.wanted is None else "not measured"


def ours(figure: Figure) -> str:
    return "–" if figure.ours is None else f"{number(figure.ours)} {figure.unit}"


def comparison(figure: Figure) -> str:
    if not figure.beside:
        return ""
    return f"{figure.beside}: {'–' if figure.peer is None else number(figure.peer)}"


COLUMNS = {
    "work": lambda figure: figure.work,
    "ours": ours,
    "peer or bound": comparison,
    "ratio": ratio,
    "target": target,
    "met": verdict,
}


def show(figures: Sequence[Figure], console: Console | None = None) -> None:
    """Print the table, then the notes."""
    if console is None:
        console = Console()
        console = console if console.is_terminal else Console(width=_WIDTH)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        table.add_column(name, justify="right" if name in {"ours", "ratio", "target"} else "left")
    notes: list[str] = []
    for figure in figures:
        cells = [Text(write(figure)) for write in COLUMNS.values()]
        if figure.note:
            notes.append(figure.note)
            cells[0].append(f" [{len(notes)}]", style="dim")
        cells[-1].stylize({"no": "red", "yes": "green"}.get(cells[-1].plain, "dim"))
        table.add_row(*cells)
    console.print(table)
    for count, note in enumerate(notes, 1):
        console.print(Text(f"[{count}] {note}", style="dim"))


def markdown(figures: Sequence[Figure]) -> str:
    """Return the table and the notes as Markdown."""
    lines = [" | ".join(COLUMNS), " | ".join("---" for _ in COLUMNS)]
    lines += [" | ".join(write(figure) for write in COLUMNS.values()) for figure in figures]
    table = "\n".join(f"| {line} |" for line in lines)
    notes = "\n".join(f"* {figure.work}: {figure.note}" for figure in figures if figure.note)
    return f"{table}\n\n{notes}\n" if notes else f"{table}\n"
