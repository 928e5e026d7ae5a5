"""Citation map as lines of text: each statement, and the verdict on each of its citations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from sgi.reporting.formatting import STEERING, one_line
from sgi.reporting.terminal_style import BAD, FAINT, GOOD, HEADING, style_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sgi.reporting.views.citation_map_view import CitationMapView, LegendEntry

_RESULTS = {True: f"{HEADING} {GOOD}", False: f"{HEADING} {BAD}", None: FAINT}
_LONGEST = 160
_INDENT = " " * 10


def citation_map_lines(view: CitationMapView) -> Iterator[Text]:
    """Yield the lines of a citation map; control characters are replaced."""
    yield Text(view.verdict)
    for statement in view.statements:
        yield Text("")
        head = Text(f"{statement.number:>2}  ")
        head.append(statement.result, style=_RESULTS[statement.is_supported])
        yield head.append(f": {_plain(statement.text)}")
        for note in statement.notes:
            text = f"{_INDENT}{note.sign} {_plain(note.marker)} {_plain(note.reason)}"
            yield Text(text, style=style_of(note.verdict))
    if view.more_statements:
        yield Text("")
        yield Text(f"{view.more_statements:,} further statements are not shown.")
    yield from legend_lines(view.legend)


def legend_lines(legend: Iterable[LegendEntry]) -> Iterator[Text]:
    """Yield what the signs of citations mean."""
    entries = [*legend]
    if entries:
        yield Text("")
        yield Text("citations:", style=FAINT)
    for entry in entries:
        yield Text(f"  {entry.sign} {entry.verdict}: {entry.meaning}", style=style_of(entry.verdict))


def _plain(text: str) -> str:
    return one_line(" ".join(text.translate(STEERING).split()), longest=_LONGEST)
