"""The table of figures, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measured import Figure

_MANY = 100
"""From here on a number needs no decimals."""
_WIDTH = 150
"""Columns where there is no terminal to ask."""


def number(value: float) -> str:
    """Three digits that count, thousands marked.

    >>> number(12345.6), number(1.2345), number(0.0123), number(48.6), number(0)
    ('12,346', '1.23', '0.0123', '48.6', '0')
    """
    return f"{value:,.0f}" if abs(value) >= _MANY else f"{value:.3g}"


def compared(figure: Figure) -> str:
    """The ratio, or nothing."""
    return "" if figure.ratio is None else f"{number(figure.ratio)} ×"


def wished(figure: Figure) -> str:
    """What was wanted, of the ratio or of ours."""
    if figure.wanted is None:
        return ""
    sign = "≥" if figure.at_least else "≤"
    return f"{sign} {number(figure.wanted)} {'×' if figure.beside else figure.unit}"


def verdict(figure: Figure) -> str:
    """Yes or no; a word where something is missing, nothing where nothing was wanted."""
    if figure.met is not None:
        return "yes" if figure.met else "no"
    return "" if figure.wanted is None else "not measured"


def own(figure: Figure) -> str:
    """Our own number with its unit."""
    return "–" if figure.ours is None else f"{number(figure.ours)} {figure.unit}"


def other(figure: Figure) -> str:
    """The number of the peer or of the bound, with its name."""
    if not figure.beside:
        return ""
    return f"{figure.beside}: {'–' if figure.peer is None else number(figure.peer)}"


COLUMNS = {
    "work": lambda figure: figure.work,
    "ours": own,
    "peer or bound": other,
    "ratio": compared,
    "wanted": wished,
    "met": verdict,
}


def show(figures: Sequence[Figure], console: Console | None = None) -> None:
    """Print one table, and under it the notes."""
    if console is None:
        console = Console()
        console = console if console.is_terminal else Console(width=_WIDTH)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        table.add_column(name, justify="right" if name in {"ours", "ratio", "wanted"} else "left")
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
    """The same table for a page."""
    lines = [" | ".join(COLUMNS), " | ".join("---" for _ in COLUMNS)]
    lines += [" | ".join(write(figure) for write in COLUMNS.values()) for figure in figures]
    table = "\n".join(f"| {line} |" for line in lines)
    notes = "\n".join(f"* {figure.work}: {figure.note}" for figure in figures if figure.note)
    return f"{table}\n\n{notes}\n" if notes else f"{table}\n"
