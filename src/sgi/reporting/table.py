"""Table of texts, written to the terminal, to Markdown or to HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from markupsafe import Markup

from sgi.reporting.formatting import one_line, plain
from sgi.reporting.markdown import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table as RichTable

_MAX_CELL = 400  # characters in a terminal
_LONG_TEXT, _MIN_WRAPPED = 40, 24  # a column with a text this long may wrap; its least width


class Cell(str):
    """Text of a table cell; its tooltip, CSS classes and link apply to HTML only."""

    __slots__ = ("css", "link", "tooltip")
    css: str
    link: str
    tooltip: str

    def __new__(cls, text: str, *, tooltip: str = "", css: str = "", link: str = "") -> Self:
        """Create a cell."""
        cell = super().__new__(cls, text)
        cell.tooltip, cell.css, cell.link = tooltip, css, link
        return cell


class Table:
    """Table of texts. Every writer escapes the texts.

    The caption appears in HTML only. ``left`` lists text columns besides the first; others are right-aligned.

    Raises:
        ValueError: a row has more or fewer cells than there are columns.

    >>> print(Table(["model", "AUROC"], [["minilm", "0.80"]]).markdown())
    | model | AUROC |
    |:------|------:|
    | minilm | 0.80 |
    """

    def __init__(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        title: str = "",
        *,
        left: Sequence[str] = (),
    ) -> None:
        self.columns, self.rows, self.title = tuple(columns), tuple(map(tuple, rows)), title
        self._words = [place == 0 or name in left for place, name in enumerate(columns)]
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"A row has {len(row)} cells, but the table has {len(self.columns)} columns."
                )

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rules = (
            f":{'-' * (len(name) + 1)}" if words else f"{'-' * (len(name) + 1)}:"
            for name, words in zip(self.columns, self._words, strict=True)
        )
        lines = (f"| {' | '.join(escape(cell) for cell in row)} |" for row in self.rows)
        head = f"| {' | '.join(escape(name) for name in self.columns)} |"
        return "\n".join([head, f"|{'|'.join(rules)}|", *lines])

    def terminal(self, *, wrap: bool = False) -> RichTable:
        """Return the table for `rich`, without markup and borders; ``wrap`` allows long texts to wrap."""
        from rich.cells import cell_len
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=None, pad_edge=False)
        for place, (name, words) in enumerate(zip(self.columns, self._words, strict=True)):
            widest = max(cell_len(one_line(text)) for text in (name, *(row[place] for row in self.rows)))
            wraps = wrap and words and place > 0 and widest > _LONG_TEXT
            table.add_column(
                Text(one_line(name)),
                justify="left" if words else "right",
                no_wrap=not wraps,
                min_width=_MIN_WRAPPED if wraps else min(widest, _MAX_CELL),
            )
        for row in self.rows:
            table.add_row(*(Text(one_line(cell, longest=_MAX_CELL)) for cell in row))
        return table

    def html(self) -> Markup:
        """Return the table as HTML; the first cell of each row is its heading."""
        heads = (
            Markup('<th scope="col" dir="auto"{}>{}</th>').format(_css("" if words else "n"), plain(name))
            for name, words in zip(self.columns, self._words, strict=True)
        )
        rows = (Markup("<tr>{}</tr>\n").format(Markup("").join(self._html_cells(row))) for row in self.rows)
        caption = Markup("<caption>{}</caption>\n").format(plain(self.title)) if self.title else ""
        table = Markup("<table>\n{}<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>").format(
            caption, Markup("").join(heads), Markup("").join(rows)
        )
        box = Markup('<div class="box" tabindex="0" role="region" aria-label="{}">\n{}\n</div>')
        return box.format(plain(self.title or self.columns[0]), table)

    def _html_cells(self, row: Sequence[str]) -> Iterable[Markup]:
        for place, (cell, words) in enumerate(zip(row, self._words, strict=True)):
            tooltip = getattr(cell, "tooltip", "")
            title = Markup(' title="{}"').format(plain(tooltip)) if tooltip else ""
            text: str = plain(cell)
            if css := getattr(cell, "css", ""):
                text = Markup("<span{}>{}</span>").format(_css(css), text)
            if link := getattr(cell, "link", ""):
                text = Markup('<a href="{}">{}</a>').format(link, text)
            if place == 0 and cell:
                yield Markup('<th scope="row" dir="auto"{}>{}</th>').format(title, text)
            elif words:
                yield Markup('<td class="words" dir="auto"{}>{}</td>').format(title, text)
            else:
                yield Markup('<td class="n"{}>{}</td>').format(title, text)


def _css(names: str) -> Markup:
    return Markup(' class="{}"').format(names) if names else Markup("")
