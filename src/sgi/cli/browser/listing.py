"""A screen of the terminal browser with one page of a long list. Only this page is in memory."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import work
from textual.screen import Screen
from textual.widgets import DataTable, Input, Static
from textual.worker import get_current_worker

from sgi.cli.browser.dialogs import Help
from sgi.kernel.errors import SgiError
from sgi.reporting.formatting import one_line
from sgi.reporting.terminal_style import BAD, FAINT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

PAGE = 50
"""Number of lines on a page."""
_LONGEST = 400
Place = Literal["first", "same", "last"]


@dataclass(frozen=True)
class Page:
    """A page of a list: ``keys`` identify its lines, ``total`` counts the lines of all pages."""

    columns: Sequence[str]
    lines: Sequence[Sequence[Text]]
    keys: Sequence[str]
    page: int
    pages: int
    total: int


class ListScreen(Screen[None]):
    """A list with search, in pages that are read in a thread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "move(1)", "Down"),
        ("k", "move(-1)", "Up"),
        ("n", "turn(1)", "Next page"),
        ("p", "turn(-1)", "Previous page"),
        ("slash", "search", "Search"),
        ("r", "reload", "Read again"),
        ("escape,u", "back", "Back"),
        ("question_mark", "help", "Keys"),
    ]
    NOUN = "lines"

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.page = Page((), (), (), 1, 1, 0)

    @abstractmethod
    def read_page(self, page: int) -> Page:
        """Read a page of the list; this runs in a thread."""

    @abstractmethod
    def head(self) -> Text:
        """Return the line above the list."""

    @abstractmethod
    def open_line(self, key: str) -> None:
        """Open a line of the list."""

    def compose(self) -> ComposeResult:
        """Create the heading, the table, the search field and the status line."""
        yield Static(id="head")
        yield DataTable[Text](cursor_type="row")
        yield Input(placeholder="Text to search for; Enter searches, Esc closes", id="search")
        yield Static(id="foot")

    def on_mount(self) -> None:
        """Read the first page."""
        self.query_one(Input).display = False
        self._table.focus()
        self.load()

    @property
    def _table(self) -> DataTable[Text]:
        return self.query_one(DataTable)

    def load(self, page: int = 1, place: Place = "first", then: Callable[[str], None] | None = None) -> None:
        """Read a page, show it, move the cursor, and call ``then`` with the key of the line there."""
        self.query_one("#head", Static).update(self.head())
        self._foot(Text("Reading …", style=FAINT))
        self._read(page, place, then)

    @work(thread=True, exclusive=True)
    def _read(self, number: int, place: Place, then: Callable[[str], None] | None) -> None:
        worker = get_current_worker()
        try:
            page = self.read_page(number)
        except SgiError as error:
            message = Text(one_line(f"Error: {error}", longest=_LONGEST), style=BAD)
            self.app.call_from_thread(self._foot, message)
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, page, place, then)

    def _show(self, page: Page, place: Place, then: Callable[[str], None] | None) -> None:
        table, before = self._table, self._table.cursor_row
        self.page = page
        table.clear(columns=True)
        table.add_columns(*map(Text, page.columns))
        table.add_rows(page.lines)
        last = max(0, len(page.lines) - 1)
        table.move_cursor(row={"first": 0, "same": min(before, last), "last": last}[place])
        self._foot(Text(f"{page.total:,} {self.NOUN}, page {page.page:,} of {page.pages:,}. ? keys."))
        if then is not None and page.keys:
            then(page.keys[table.cursor_row])

    def _foot(self, line: Text) -> None:
        self.query_one("#foot", Static).update(line)

    def step(self, step: int, then: Callable[[str], None] | None = None) -> bool:
        """Move to the next or previous line, also to another page; return whether there is one."""
        row, page = self._table.cursor_row + step, self.page
        if 0 <= row < len(page.keys):
            self._table.move_cursor(row=row)
            if then is not None:
                then(page.keys[row])
            return True
        if 1 <= page.page + step <= page.pages:
            self.load(page.page + step, "first" if step > 0 else "last", then)
            return True
        return False

    @property
    def position(self) -> int:
        """The number of the current line in the whole list, from 1."""
        return (self.page.page - 1) * PAGE + self._table.cursor_row + 1

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the line."""
        if event.cursor_row < len(self.page.keys):
            self.open_line(self.page.keys[event.cursor_row])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search for the text."""
        self.text = event.value
        self._close_search()
        self.load()

    def _close_search(self) -> None:
        self.query_one(Input).display = False
        self._table.focus()

    def action_move(self, step: int) -> None:
        """Move the cursor by one line."""
        self.step(step)

    def action_turn(self, step: int) -> None:
        """Go to the next or previous page."""
        if 1 <= self.page.page + step <= self.page.pages:
            self.load(self.page.page + step)

    def action_search(self) -> None:
        """Open the search field."""
        field = self.query_one(Input)
        field.display = True
        field.focus()

    def action_reload(self) -> None:
        """Read the page again."""
        self.load(self.page.page, "same")

    def action_back(self) -> None:
        """Close the search field, or else go back."""
        if self.query_one(Input).display:
            self._close_search()
        else:
            self.leave()

    def leave(self) -> None:
        """Go back to the screen before."""
        self.app.pop_screen()

    def action_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(Help())
