"""The list of runs in the terminal browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from sgi.cli.browser.listing import PAGE, ListScreen, Page
from sgi.cli.browser.rows import RowsScreen
from sgi.cli.tables import progress_of
from sgi.kernel.names import metric_label
from sgi.reporting.formatting import moment, one_line
from sgi.reporting.metric_format import MetricFormat
from sgi.reporting.overview import importance
from sgi.reporting.terminal_style import HEADING, style_of
from sgi.reporting.views.run_header import run_header, state_of
from sgi.store.run_queries import page_of_runs

if TYPE_CHECKING:
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


class RunsScreen(ListScreen):
    """The stored runs, the newest first."""

    NOUN = "runs"

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._records: dict[str, RunRecord] = {}

    def read_page(self, page: int) -> Page:
        """Read a page of runs."""
        found = page_of_runs(self._database, search=self.text, page=page, size=PAGE)
        self._records = {record.id: record for record in found.records}
        columns = ("run", "main metric", "rows", "data", "state", "created")
        lines = [_line(record) for record in found.records]
        return Page(columns, lines, [*self._records], found.page, found.pages, found.total)

    def head(self) -> Text:
        """Return the title, with the text of the search."""
        search = f" with {self.text!r}" if self.text else ""
        return Text(one_line(f"Runs{search}"), style=HEADING)

    def open_line(self, key: str) -> None:
        """Show the rows of a run."""
        self.app.push_screen(RowsScreen(self._database, self._records[key]))

    def leave(self) -> None:
        """End the search; this is the first screen."""
        if self.text:
            self.text = ""
            self.load()


def _line(record: RunRecord) -> list[Text]:
    state = state_of(record)
    texts = (progress_of(record), one_line(record.dataset_name, longest=40))
    return [
        Text(one_line(record.label, longest=40)),
        Text(_main_mean(record)),
        *map(Text, texts),
        Text(state, style=style_of(state)),
        Text(moment(record.created_at)),
    ]


def _main_mean(record: RunRecord) -> str:
    header = run_header(record)
    means = {name: mean for name, mean in header.means.items() if mean is not None}
    main = min(means, key=importance, default=None)
    if main is None:
        return ""
    form = MetricFormat.of(main, main in header.shares)
    return f"{one_line(metric_label(main), longest=24)} {form.value(means[main])}"
