"""The rows of a run in the terminal browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text

from sgi.cli.browser.dialogs import Choice
from sgi.cli.browser.listing import PAGE, ListScreen, Page
from sgi.cli.browser.row import RowScreen
from sgi.kernel.metric import Status
from sgi.kernel.names import metric_label
from sgi.reporting.formatting import beginning, one_line
from sgi.reporting.metric_format import MetricFormat, is_higher_better, share_of_range
from sgi.reporting.overview import importance
from sgi.reporting.terminal_style import HEADING, bar, style_of
from sgi.reporting.views.run_header import run_header
from sgi.store.row_filters import RowQuery, Sort, worst_first
from sgi.store.row_pages import row_page

if TYPE_CHECKING:
    from textual.binding import BindingType

    from sgi.store.database import Database
    from sgi.store.row_pages import Cell, RowLine
    from sgi.store.run_queries import RunRecord

_ID = 24
_MIN_TEXT, _OTHER_COLUMNS = 20, 40
"""Least length of a text in the list, and the space for the value and the margins beside the two texts."""
_WIDE = 80
"""Narrower windows have no bars."""


class RowsScreen(ListScreen):
    """The rows of a run, at first with the worst values of its main metric."""

    BINDINGS: ClassVar[list[BindingType]] = [("s", "sort", "Sort"), ("f", "filter", "Filter")]
    NOUN = "rows"

    def __init__(self, database: Database, record: RunRecord) -> None:
        super().__init__()
        self._database, self._record = database, record
        self._shares = run_header(record).shares
        self._metric = min(record.metrics, key=importance, default=None)
        self._sort: Sort = "position" if self._metric is None else _worst_first(self._metric)
        self._status: str | None = None

    def read_page(self, page: int) -> Page:
        """Read a page of rows."""
        query = RowQuery(
            text=self.text, metric=self._metric, status=self._status, sort=self._sort, page=page, size=PAGE
        )
        found = row_page(self._database, self._record, query)
        metrics = sorted(found.metrics, key=lambda metric: metric != self._metric)
        names = [one_line(metric_label(metric), longest=24) for metric in metrics]
        columns = (*names[:1], "question", "response", "id", *names[1:])
        lines = [self._line(row, metrics) for row in found.rows]
        return Page(
            columns, lines, [row.id for row in found.rows], found.query.page, found.pages, found.total
        )

    def _line(self, row: RowLine, metrics: list[str]) -> list[Text]:
        longest = max(_MIN_TEXT, (self.size.width - _OTHER_COLUMNS) // 2)
        texts = [one_line(beginning(text, longest), longest=longest) for text in (row.question, row.response)]
        values = [self._value(metric, row.cells[metric]) for metric in metrics]
        return [*values[:1], *map(Text, (*texts, one_line(row.id, longest=_ID))), *values[1:]]

    def _value(self, metric: str, cell: Cell) -> Text:
        if cell.value is None:
            return Text(cell.status, style=style_of(cell.status))
        shown = Text(MetricFormat.of(metric, metric in self._shares).value(cell.value), justify="right")
        barred = metric == self._metric and self.size.width >= _WIDE
        share = share_of_range(metric, cell.value) if barred else None
        return shown if share is None else shown.append(" ").append_text(bar(share))

    def head(self) -> Text:
        """Return the name of the run, the order and the filters."""
        parts = ["order of the data"]
        if self._metric is not None and self._sort != "position":
            end = "worst" if self._sort == _worst_first(self._metric) else "best"
            parts = [f"{metric_label(self._metric)}, {end} first"]
        parts += [f"with {self.text!r}"] if self.text else []
        parts += [f"{metric_label(self._metric)} is {self._status}"] if self._metric and self._status else []
        line = Text(one_line(self._record.label), style=HEADING)
        return line.append(f"  {one_line('; '.join(parts), longest=200)}", style="not bold")

    def open_line(self, key: str) -> None:
        """Show a row in full."""
        self.app.push_screen(RowScreen(self._database, self._record, key, self))

    def action_sort(self) -> None:
        """Choose the order of the rows."""
        orders: list[tuple[str | None, Sort]] = [(self._metric, "position")]
        names = ["order of the data"]
        for metric in self._record.metrics:
            worst = _worst_first(metric)
            best: Sort = "highest" if worst == "lowest" else "lowest"
            orders += [(metric, worst), (metric, best)]
            names += [f"{metric_label(metric)}, {end} first" for end in ("worst", "best")]

        def choose(place: int | None) -> None:
            if place is not None:
                metric, self._sort = orders[place]
                self._status = self._status if metric == self._metric else None
                self._metric = metric
                self.load()

        self.app.push_screen(Choice("Sort by", names), choose)

    def action_filter(self) -> None:
        """Choose the status of the rows."""
        if self._metric is None:
            return
        statuses = [status.value for status in Status]

        def choose(place: int | None) -> None:
            if place is not None:
                self._status = None if place == 0 else statuses[place - 1]
                self.load()

        self.app.push_screen(
            Choice(f"Status of {metric_label(self._metric)}", ["all rows", *statuses]), choose
        )


def _worst_first(metric: str) -> Sort:
    return worst_first(higher_is_better=is_higher_better(metric))
