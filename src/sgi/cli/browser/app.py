"""The terminal browser of ``sgi view``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import App

from sgi.cli.browser.rows import RowsScreen
from sgi.cli.browser.runs import RunsScreen

if TYPE_CHECKING:
    from textual.binding import BindingType

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord


class Browser(App[None]):
    """Runs, the rows of a run, and one row; it begins with the rows of ``record`` if there is one."""

    TITLE = "sgi view"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [("q", "quit", "Quit")]
    CSS = """
    #head { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #foot { height: 1; text-wrap: nowrap; text-overflow: ellipsis; color: $text-muted; }
    DataTable, VerticalScroll, OptionList { scrollbar-size: 1 1; }
    DataTable { height: 1fr; }
    Screen > VerticalScroll { height: 1fr; }
    #search { height: 3; }
    ModalScreen { align: center middle; }
    .dialog { width: auto; min-width: 30; max-width: 90%; height: auto; max-height: 90%; padding: 0 1;
              background: $surface; border: round $primary; }
    .dialog Static, .dialog OptionList { width: auto; max-width: 100%; height: auto; border: none; }
    """

    def __init__(self, database: Database, record: RunRecord | None = None) -> None:
        super().__init__()
        self._database, self._record = database, record

    def on_mount(self) -> None:
        """Open the first screen."""
        self.push_screen(RunsScreen(self._database))
        if self._record is not None:
            self.push_screen(RowsScreen(self._database, self._record))
