"""Review a quiz in the terminal, one key for each question."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sgi.cli.console import is_styled, one_line, plain, print_lines, print_message, styled
from sgi.kernel.errors import UsageError
from sgi.reporting.terminal_style import HEADING
from sgi_quiz.review_file import Review, dropped_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from sgi_quiz.review_file import QuizRow, QuizRows

_KEYS = "k keep   d drop   e edit   u undo   q quit"
_QUESTION, _REFERENCE = "--- Question ---", "--- Reference ---"
_INDENT = "\n" + " " * 12
_SEQUENCE = re.compile(r"\x1b(?:[\[O][0-9;]*)?.?")
"""What an arrow or a function key sends."""


def review_quiz(path: Path) -> None:
    """Show one question after the other, and store a decision for each key.

    Raises:
        UsageError: there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = f"Review it in the browser with `sgi serve --quiz {path}`, or see the counts with --json."
        raise UsageError("A review needs a terminal.", hint=hint)
    review = Review(path)
    row: QuizRow | None = None
    for key in _keys():
        wanted = _act(review, row, key) if key else None
        if key == "q":
            break
        quiz, before = review.read(), row
        row = next((one for one in quiz.pending if one.id == wanted), next(iter(quiz.pending), None))
        if row is None:
            print_lines(["", "No question is left.", "u undo   q quit"])
        elif before is None or row.id != before.id:
            print_lines(_question_lines(quiz, row))
    print_lines(["", *summary_lines(path, review.read())])


def summary_lines(path: Path, quiz: QuizRows) -> Iterator[str]:
    """Yield how many questions a person has decided."""
    counts = quiz.counts()
    decided = ", ".join(f"{counts[name]:,} {name}" for name in ("kept", "edited", "dropped"))
    yield f"{quiz.number - counts['pending']:,} of {quiz.number:,} questions reviewed: {decided}."
    if quiz.dropped:
        yield f"Dropped questions are in {dropped_path(path)}."


def _keys() -> Iterator[str]:
    """Yield an empty text at first, then keys as they are pressed; ``q`` also at the end of the input."""
    yield ""
    while True:
        try:
            pressed = typer.getchar()
        except (EOFError, KeyboardInterrupt):
            pressed = "q"
        yield from _SEQUENCE.sub("", pressed).casefold()


def _act(review: Review, row: QuizRow | None, key: str) -> str | None:
    """Do what a key says; return the id of the row to show next, None for the first that is pending."""
    try:
        if key == "u":
            return review.undo() or (row.id if row else None)
        if row is None:
            return None
        if key == "d":
            review.drop(row.id)
        elif key == "k":
            review.keep(row.id, row.question, row.reference or "")
        elif key == "e":
            review.keep(row.id, *_edited(row))
    except UsageError as error:
        print_message(str(error))
    return row.id if row else None


def _edited(row: QuizRow) -> tuple[str, str]:
    """Return the texts that a person has changed in an editor. Raises UsageError if nothing was changed."""
    before = f"{_QUESTION}\n{plain(row.question)}\n{_REFERENCE}\n{plain(row.reference or '')}\n"
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "question.txt")
        path.write_text(before, "utf-8")
        try:
            subprocess.run([*shlex.split(command), str(path)], check=True)  # noqa: S603 - what the person has chosen
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise UsageError(f"The editor {command!r} failed.", hint="Set EDITOR.") from error
        after = path.read_text("utf-8", "replace")
    head, _, rest = after.partition(_QUESTION)
    question, mark, reference = rest.partition(_REFERENCE)
    if after == before or head.strip() or not mark:
        raise UsageError("Nothing was changed.", hint="Keep the two lines that begin with ---.")
    return question, reference


def _question_lines(quiz: QuizRows, row: QuizRow) -> Iterator[str | Text]:
    facts = filter(None, (row.kind, row.asks_for, row.difficulty))
    done = quiz.number - len(quiz.pending)
    yield ""
    yield styled((f"{done + 1:,} of {quiz.number:,}", HEADING), f"  {one_line(', '.join(facts))}")
    if row.stale:
        yield _field("Stale", row.stale_reason or "")
    for turn in (row.turns or [])[:-1]:
        yield _field(one_line(turn.get("role", ""), longest=11).capitalize(), turn.get("text", ""))
    yield _field("Question", (row.question, HEADING))
    yield _field("Reference", row.reference or "(none: the system should refuse)")
    for number, parts in enumerate(row.passages()):
        source = row.sources[number] if number < len(row.sources) else ""
        yield _field("Passage", *map(_part, parts))
        yield _field("", f"({source})")
    if row.sentence and not any(is_marked for parts in row.passages() for _, is_marked in parts):
        yield _field("Sentence", row.sentence)
    yield _field("Why", row.why)
    yield _KEYS


def _field(name: str, *parts: str | tuple[str, str]) -> Text:
    """Return a line with a name; further lines are indented, so that a text cannot look like a field."""
    shown = [
        (part.replace("\n", _INDENT), "")
        if isinstance(part, str)
        else (part[0].replace("\n", _INDENT), part[1])
        for part in parts
    ]
    return styled(f"{name:<12}", *shown)


def _part(part: tuple[str, bool]) -> str | tuple[str, str]:
    """Return a part of a passage: a marked one is underlined, or between arrows without styles."""
    from rich.console import Console

    text, is_marked = part
    if not is_marked:
        return text
    return (text, "bold underline") if is_styled(Console()) else f"»{text}«"
