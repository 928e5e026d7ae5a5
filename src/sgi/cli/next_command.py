"""``sgi`` without a command: says what this folder has, and which command comes next."""

from __future__ import annotations

import os
import shlex
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sgi.cli.console import one_line, print_lines
from sgi.kernel.errors import SgiError
from sgi.kernel.short_text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.store.run_queries import RunRecord

_MAX_FILES = 10
"""The newest files of data that are opened."""
_MAX_BYTES = 64_000_000
_ROWS = 20
"""The rows that are read of each file."""


class _DataFile(NamedTuple):
    name: str
    fields: list[str]
    """The fields that at least one of the first rows has."""


def print_next_command(folder: Path) -> None:
    """Print the data files and the runs of a folder, and the commands that use them."""
    paths = _newest_files(folder)
    files = [file for file in map(_read, paths) if file is not None]
    lines = [*_runs_lines(), *_data_lines(files)]
    tables = [path for path in paths if ".json" not in path.suffixes]
    if not lines and tables:
        name = one_line(shlex.quote(tables[0].name))
        command = f"sgi run {name} --map response=COLUMN --map contexts=COLUMN"
        lines = [
            f"{one_line(tables[0].name)} has no column of answers or questions that SGI recognises.",
            *_commands((command, "name the columns")),
        ]
    if not lines:
        lines = [
            "No data that SGI can read is in this folder, and no runs.",
            *_commands(
                ("sgi demo", "score a bundled sample"),
                ("sgi check --q QUESTION --c PASSAGE --r ANSWER", "check one answer"),
                ("sgi run answers.csv", "score a file with the columns question, contexts and response"),
                ("sgi quiz docs/ -o quiz.jsonl", "make questions from your documents"),
            ),
        ]
    print_lines([*lines, "", "All commands: sgi --help"])


def _commands(*pairs: tuple[str, str]) -> list[str]:
    width = max(len(command) for command, _ in pairs)
    return [f"  {command:<{width}}  {what}" for command, what in pairs]


def _newest_files(folder: Path) -> list[Path]:
    from sgi.io.files import SUFFIXES, suffix

    paths = [path for path in folder.iterdir() if suffix(path) in SUFFIXES and path.is_file()]
    found = [(path.stat(), path) for path in paths if os.access(path, os.R_OK)]
    newest = sorted(found, key=lambda pair: pair[0].st_mtime, reverse=True)[:_MAX_FILES]
    return [path for stat, path in newest if 0 < stat.st_size <= _MAX_BYTES]


def _read(path: Path) -> _DataFile | None:
    """Return the fields that the first rows of a file have; None if it has no question and no response."""
    from sgi.io.dataset import open_dataset
    from sgi.kernel.sample import Field

    try:
        rows = open_dataset(path).samples(on_reject=lambda _: None)
        present = {name for row in islice(rows, _ROWS) for name in row.present}
    except SgiError:
        return None
    fields = [str(name) for name in Field if name in present and " or " not in name]
    return _DataFile(path.name, fields) if {"question", "response"}.intersection(fields) else None


def _data_lines(files: list[_DataFile]) -> Iterator[str]:
    if not files:
        return
    best = next((file for file in files if "response" in file.fields), files[0])
    yield f"{one_line(best.name)} has {', '.join(best.fields)}."
    others = [one_line(file.name) for file in files if file is not best]
    if others:
        yield f"Other data files: {', '.join(others)}"
    name = one_line(shlex.quote(best.name))
    if "response" in best.fields and {"contexts", "reference"}.isdisjoint(best.fields):
        yield from _commands(
            (f"sgi run {name} --map contexts=COLUMN", "if a column has the passages"),
            (f"sgi run {name} --map reference=COLUMN", "if a column has the expected answers"),
            (f"sgi run {name} -m answer_relevance --judge openai:NAME", "with a judge"),
        )
    elif "response" in best.fields:
        yield from _commands((f"sgi run {name}", "score the answers, and store the run"))
    else:
        yield from _commands(
            (f"sgi run {name} --target app:answer", "ask your function `answer` in app.py, and score"),
            (f"sgi run {name} --map response=COLUMN", "if a column has the answers"),
        )


def _runs_lines() -> Iterator[str]:
    from sgi.store.database import open_database
    from sgi.store.database_location import DEFAULT
    from sgi.store.run_queries import count_runs, list_runs

    if not (os.environ.get("SGI_DATABASE_URL") or Path(DEFAULT).exists()):
        return
    with open_database(None, create=False) as database:
        runs, count = list_runs(database, limit=2), count_runs(database)
        shown = database.shown
    if not runs:
        return
    newest = runs[0]
    state = "finished" if newest.finished else "not finished"
    yield f"{pluralize(count, 'run')} in {one_line(shown)}; the newest is {one_line(newest.label)} ({state})."
    yield from _commands(*_run_commands(runs))
    yield ""


def _run_commands(runs: list[RunRecord]) -> list[tuple[str, str]]:
    newest, *before = runs
    if not newest.finished:
        return [("sgi run --resume last", "finish it"), ("sgi show last", "see what it has so far")]
    commands = [
        ("sgi report last", "write a report"),
        ("sgi diagnose last", "find out what is wrong, row by row"),
    ]
    if before and before[0].finished and set(before[0].metrics) & set(newest.metrics):
        commands.append(("sgi compare last~1 last", "compare it with the run before it"))
    return commands
