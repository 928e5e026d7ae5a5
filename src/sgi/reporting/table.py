"""Table of texts, written to the terminal, to Markdown or to HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from markupsafe import Markup

from sgi.reporting.safe_text import escape, one_line, plain
from sgi.reporting.terminal_style import bar, style_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table as RichTable

_MAX_CELL = 400  # characters in a terminal
_LONG_TEXT, _LONG_NAME = 40, 60  # a column with a longer text may wrap, the first one with a longer name
_MIN_WRAPPED = 13  # its least width


class Cell(str):
    """Text of a table cell.

    The tooltip and the link apply to HTML only. The CSS classes also select the style in a terminal, which
    draws ``share``, the place of a value in its range from 0 to 1, as a bar.
    """

    __slots__ = ("css", "link", "share", "tooltip")
    css: str
    link: str
    share: float | None
    tooltip: str

    def __new__(
        cls, text: str, *, tooltip: str = "", css: str = "", link: str = "", share: float | None = None
    ) -> Self:
        """Create a cell."""
        cell = super().__new__(cls, text)
        cell.tooltip, cell.css, cell.link, cell.share = tooltip, css, link, share
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
        self._places = range(len(self.columns))
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

    def terminal(self, *, wrap: bool = False, styled: bool = False, bars: bool = False) -> RichTable:
        """Return the table for `rich`, without markup and borders.

        ``wrap`` allows long texts to wrap, ``styled`` shows the styles of cells, ``bars`` draws their shares.
        """
        from rich.cells import cell_len
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=None, pad_edge=False)
        barred = [bars and any(_share(row[place]) is not None for row in self.rows) for place in self._places]
        for place, (name, words) in enumerate(zip(self.columns, self._words, strict=True)):
            texts = (one_line(text, longest=_MAX_CELL) for text in (name, *(row[place] for row in self.rows)))
            widest = max(map(cell_len, texts))
            wraps = wrap and words and widest > (_LONG_TEXT if place else _LONG_NAME)
            table.add_column(
                Text(one_line(name)),
                justify="left" if words else "right",
                no_wrap=not wraps,
                min_width=_MIN_WRAPPED if wraps else widest,
            )
            if barred[place]:
                table.add_column()
        for row in self.rows:
            cells: list[Text] = []
            for place, cell in enumerate(row):
                style = style_of(getattr(cell, "css", "").split(" ")[-1]) if styled else ""
                cells.append(Text(one_line(cell, longest=_MAX_CELL), style=style))
                if barred[place]:
                    share = _share(cell)
                    cells.append(Text() if share is None else bar(share))
            table.add_row(*cells)
        return table

    def html(self) -> Markup:
        """Return the table as HTML; the first cell of each row is its heading."""
        heads = (
            Markup('<th scope="col" dir="auto"{}>{}</th>').format(_css("" if words else "n"), name)
            for name, words in zip(self.columns, self._words, strict=True)
        )
        rows = (Markup("<tr>{}</tr>\n").format(Markup("").join(self._html_cells(row))) for row in self.rows)
        caption = Markup("<caption>{}</caption>\n").format(self.title) if self.title else ""
        table = Markup("<table>\n{}<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>").format(
            caption, Markup("").join(heads), Markup("").join(rows)
        )
        box = Markup('<div class="box" tabindex="0" role="region" aria-label="{}">\n{}\n</div>')
        return Markup(plain(box.format(self.title or self.columns[0], table)))  # noqa: S704 - escaped

    def _html_cells(self, row: Sequence[str]) -> Iterable[Markup]:
        # `Markup % values` escapes as `Markup.format` does, in a third of the time.
        for place, (cell, words) in enumerate(zip(row, self._words, strict=True)):
            tooltip = getattr(cell, "tooltip", "")
            title = Markup(' title="%s"') % tooltip if tooltip else ""
            text: str = cell
            if css := getattr(cell, "css", ""):
                text = Markup("<span%s>%s</span>") % (_css(css), text)
            if link := getattr(cell, "link", ""):
                text = Markup('<a href="%s">%s</a>') % (link, text)
            if place == 0 and cell:
                yield Markup('<th scope="row" dir="auto"%s>%s</th>') % (title, text)
            elif words:
                yield Markup('<td class="words" dir="auto"%s>%s</td>') % (title, text)
            else:
                yield Markup('<td class="n"%s>%s</td>') % (title, text)


def _share(cell: str) -> float | None:
    share: float | None = getattr(cell, "share", None)
    return share


def _css(names: str) -> Markup:
    return Markup(' class="%s"') % names if names else Markup("")
