"""Dialogs of the terminal browser: a list to choose from, and the list of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from sgi.reporting.formatting import one_line
from sgi.reporting.terminal_style import HEADING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

KEYS = (
    ("j k", "next, previous line"),
    ("Enter", "open the run or the row"),
    ("u Esc", "back"),
    ("n p", "next, previous page or row"),
    ("/", "search"),
    ("s", "sort the rows by a metric"),
    ("f", "filter the rows by status"),
    ("r", "read again"),
    ("?", "these keys"),
    ("q", "quit"),
)


class Choice(ModalScreen[int | None]):
    """A list of options; its result is the position of the chosen one, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "move(1)", "Down"),
        ("k", "move(-1)", "Up"),
        ("escape,u", "dismiss(None)", "Back"),
    ]

    def __init__(self, title: str, options: Sequence[str]) -> None:
        super().__init__()
        self._title, self._options = title, options

    def compose(self) -> ComposeResult:
        """Create the list."""
        with VerticalScroll(classes="dialog"):
            yield Static(Text(self._title, style=HEADING))
            yield OptionList(*(Text(one_line(option)) for option in self._options))

    def on_mount(self) -> None:
        """Move the focus to the list."""
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen option."""
        self.dismiss(event.option_index)

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()


class Help(ModalScreen[None]):
    """The keys of the browser."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,u,question_mark,enter", "dismiss(None)", "Back")]

    def compose(self) -> ComposeResult:
        """Create the list of keys."""
        lines = Text("Keys", style=HEADING)
        for key, meaning in KEYS:
            lines.append("\n").append_text(Text.assemble((f"{key:<6}", HEADING), (meaning, "not bold")))
        with VerticalScroll(classes="dialog"):
            yield Static(lines)

    def on_mount(self) -> None:
        """Move the focus to the text, so that arrow keys scroll it."""
        self.query_one(VerticalScroll).focus()
