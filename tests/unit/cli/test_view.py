"""`sgi view`: the browser finds rows of a stored run with the keyboard."""

from __future__ import annotations

import asyncio
import sys

import pytest
from textual.widgets import DataTable, Static

from sgi.cli.browser.app import Browser
from sgi.cli.browser.listing import PAGE
from sgi.cli.browser.row import MAX_CHARACTERS, RowScreen
from sgi.cli.browser.rows import RowsScreen
from sgi.kernel.sample import Sample
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support.answers import TERMINAL_ATTACK
from support.runs import HOSTILE, add_run

ROWS = 120
WORST = 77
PASSAGE = f"The tower is 330 m tall. [bold]{TERMINAL_ATTACK}[/bold]"
NAME = f"[red]wild {TERMINAL_ATTACK}"


@pytest.fixture
def database(tmp_path):
    """Two runs: one with 120 rows, the worst of which is in the middle; one with a hostile and a long row."""
    samples = [
        Sample(id=f"q{k}", question=f"Question {k}?", contexts=(PASSAGE,), response=f"Answer {k}.")
        for k in range(ROWS)
    ]
    values = [None if k == 3 else abs(k - WORST) / 100 for k in range(ROWS)]
    wild = [
        Sample(id=HOSTILE, question=TERMINAL_ATTACK, response=NAME),
        Sample(id="long", response="word " * MAX_CHARACTERS),
    ]
    with open_database(tmp_path / "sgi.db") as store:
        add_run(store, "r1", name="nightly", samples=samples, scores={"semantic_similarity": values})
        add_run(store, "r2", name=NAME, samples=wild, scores={"sgi": (0.5, 1.5)})
        yield store


EQUAL_DRAWS = 5
"""A table takes its widths after it is drawn, later on a busy machine."""


def browse(database, keys, run=None, *, size=(80, 24), look=None):
    """Press the keys in turn; return what the last screen shows, or what ``look`` reads from it."""

    async def session():
        app = Browser(database, None if run is None else find_run(database, run))
        async with app.run_test(size=size) as pilot:
            await app.workers.wait_for_complete()
            for key in keys:
                await pilot.press(key)
                await app.workers.wait_for_complete()
            drawn: list[list[str]] = []
            while len(drawn) < EQUAL_DRAWS or any(one != drawn[-1] for one in drawn[-EQUAL_DRAWS:]):
                await pilot.pause(0.05)
                drawn.append(lines_of(app.screen))
            return (look or lines_of)(app.screen)

    return asyncio.run(session())


def lines_of(screen):
    return ["".join(part.text for part in strip) for strip in screen._compositor.render_strips()]


def test_the_worst_row_its_passage_and_the_next_row_are_found_with_keys(database):
    lines = browse(database, ["j", "enter"])
    assert "semantic_similarity, worst first" in lines[0]
    assert f"Answer {WORST}." in lines[2]
    assert f"{ROWS} rows, page 1 of 3" in lines[-1]
    lines = browse(database, ["j", "enter", "enter"])
    assert f"nightly  q{WORST}" in lines[0]
    assert f"row 1 of {ROWS}" in lines[-1]
    text = "\n".join(lines)
    for part in (f"Question {WORST}?", f"Answer {WORST}.", "The tower is 330 m tall. [bold]"):
        assert part in text
    assert text.index("response") < text.index("passages")
    lines = browse(database, ["j", "enter", "enter", "n"])
    assert "nightly  q76" in lines[0]
    assert f"row 2 of {ROWS}" in lines[-1]
    assert "Runs" in browse(database, ["j", "enter", "enter", "n", "u", "escape"])[0]


def test_rows_are_read_page_by_page_also_from_a_row(database):
    def state(screen):
        rows = screen if isinstance(screen, RowsScreen) else screen._rows
        return type(screen), rows.page.page, rows.position, rows.query_one(DataTable).row_count

    steps = ["enter", *["n"] * PAGE]
    assert browse(database, steps, "r1", look=state) == (RowScreen, 2, PAGE + 1, PAGE)
    assert browse(database, [*"nnnp"], "r1", look=state) == (RowsScreen, 2, PAGE + 1, PAGE)
    assert browse(database, [*"nk"], "r1", look=state) == (RowsScreen, 1, PAGE, PAGE)


def test_search_sort_and_status_select_rows(database):
    keys = [
        "slash",
        "quotation_mark",
        *("space" if sign == " " else sign for sign in "Answer 7"),
        "quotation_mark",
        "enter",
    ]
    lines = browse(database, keys, "r1")
    assert "with '\"Answer 7\"'" in lines[0]
    assert "11 rows" in lines[-1]
    lines = browse(database, ["s", "j", "j", "enter"], "r1")
    assert "semantic_similarity, best first" in lines[0]
    assert "Answer 0." in lines[2]
    lines = browse(database, ["f", "j", "j", "j", "enter"], "r1")
    assert "1 rows, page 1 of 1" in lines[-1]
    assert "missing" in lines[2]


@pytest.mark.parametrize("size", [(40, 12), (120, 40)])
def test_hostile_texts_are_text_in_every_window(database, size):
    for keys in ([], ["enter"], ["enter", "enter"], ["enter", "enter", "question_mark"], ["enter", "s"]):
        lines = browse(database, keys, size=size)
        assert not set("".join(lines)) & set("\x1b\x9b\u202e\x00")
        assert (len(lines), len(lines[0])) == (size[1], size[0])
    assert lines[0].startswith("[red]wild")


def test_the_end_of_a_very_long_row_is_left_out(database):
    keys = ["enter", "s", "enter", "j", "enter"]
    text = browse(database, keys, look=lambda screen: str(screen.query_one("#row", Static).content))
    assert text.endswith("sgi show r2 --sample long")
    assert len(text) < 2 * MAX_CHARACTERS


def test_the_extra_and_the_terminal_are_required(sgi, monkeypatch):
    result = sgi("view")
    assert (result.code, "`sgi view` needs a terminal" in result.err) == (2, True)
    monkeypatch.setitem(sys.modules, "sgi.cli.browser.app", None)
    result = sgi("view")
    assert (result.code, "`sgi view` needs the extra 'view'" in result.err) == (2, True)
    assert "[view]" in result.err
