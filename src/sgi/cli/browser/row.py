"""One row in the terminal browser: its scores, texts, reasons and evidence map."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import get_current_worker

from sgi.cli.browser.dialogs import Help
from sgi.cli.row_details import sample_lines
from sgi.kernel.errors import SgiError
from sgi.kernel.names import metric_label
from sgi.reporting.formatting import number, one_line
from sgi.reporting.metric_format import share_of_range
from sgi.reporting.terminal_style import BAD, FAINT, HEADING, bar, style_of
from sgi.store.evaluations import sample_evaluation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sgi.cli.browser.listing import ListScreen
    from sgi.store.database import Database
    from sgi.store.evaluations import StoredEvaluation
    from sgi.store.run_queries import RunRecord

MAX_CHARACTERS = 100_000
"""A longer row is cut: its end takes long to draw."""
_MARGIN = 2


class RowScreen(Screen[None]):
    """A row in full, with keys to the next and the previous row of the list that opened it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("j", "scroll(1)", "Down"),
        ("k", "scroll(-1)", "Up"),
        ("n", "step(1)", "Next row"),
        ("p", "step(-1)", "Previous row"),
        ("escape,u", "app.pop_screen", "Back"),
        ("question_mark", "help", "Keys"),
    ]

    def __init__(self, database: Database, record: RunRecord, sample: str, rows: ListScreen) -> None:
        super().__init__()
        self._database, self._record, self._sample, self._rows = database, record, sample, rows

    def compose(self) -> ComposeResult:
        """Create the heading, the text and the status line."""
        yield Static(id="head")
        with VerticalScroll():
            yield Static(id="row")
        yield Static(id="foot")

    def on_mount(self) -> None:
        """Read the row."""
        self._body.focus()
        self.show_row(self._sample)

    @property
    def _body(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def show_row(self, sample: str) -> None:
        """Read a row and show it."""
        self._sample = sample
        self.query_one("#head", Static).update(
            Text(one_line(f"{self._record.label}  {sample}"), style=HEADING)
        )
        place = f"row {self._rows.position:,} of {self._rows.page.total:,}"
        self.query_one("#foot", Static).update(Text(f"{place}. n next, p previous, u back, ? keys."))
        self._read(sample, max(20, self.size.width - _MARGIN))

    @work(thread=True, exclusive=True)
    def _read(self, sample: str, width: int) -> None:
        worker = get_current_worker()
        try:
            evaluation = sample_evaluation(self._database, self._record, sample)
            text = _cut(
                _lines(evaluation, width), f"sgi show {self._record.id} --sample {shlex.quote(sample)}"
            )
        except SgiError as error:
            text = Text(one_line(f"Error: {error}", longest=1000), style=BAD)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, text)

    def _show(self, text: Text) -> None:
        self.query_one("#row", Static).update(text)
        self._body.scroll_home(animate=False)

    def action_scroll(self, step: int) -> None:
        """Scroll by one line."""
        self._body.scroll_relative(y=step, animate=False)

    def action_step(self, step: int) -> None:
        """Show the next or the previous row."""
        if not self._rows.step(step, self.show_row):
            self.notify("This is the last row." if step > 0 else "This is the first row.", markup=False)

    def action_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(Help())


def _lines(evaluation: StoredEvaluation, width: int) -> Iterator[Text]:
    labels = {metric: one_line(metric_label(metric)) for metric in evaluation.scores}
    longest = max(map(len, labels.values()), default=0)
    for metric, score in evaluation.scores.items():
        line = Text(f"{labels[metric]:<{longest}}  ")
        if score.value is None:
            yield line.append(
                f"{score.status.value}: {one_line(score.reason, longest=400)}", style_of(score.status.value)
            )
            continue
        line.append(number(score.value), style=HEADING)
        share = share_of_range(metric, score.value)
        yield line if share is None else line.append(" ").append_text(bar(share))
    yield Text()
    yield from sample_lines(evaluation, width=width, answer_first=True)


def _cut(lines: Iterable[Text], command: str) -> Text:
    """Join the lines; the end of a text that is too long is replaced by the command that prints it."""
    shown, left = Text(), MAX_CHARACTERS
    for line in lines:
        if len(line) > left:
            shown.append_text(line[:left])
            hint = f"\n… The row is longer. All of it: {one_line(command, longest=400)}"
            return shown.append(hint, style=FAINT)
        shown.append_text(line).append("\n")
        left -= len(line) + 1
    return shown
