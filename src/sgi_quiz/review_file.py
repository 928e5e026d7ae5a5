"""What a person decided about the questions of a quiz: stored in the quiz file, one question at a time."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sgi.io.jsonl import json_lines
from sgi.io.text_file import numbered_lines, open_bytes
from sgi.io.write import json_line, write_chunks
from sgi.kernel.errors import DataError, UsageError
from sgi.reporting.safe_text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

Decision = Literal["kept", "edited", "dropped"]


class QuizRow(BaseModel):
    """A row of a quiz file; columns that are not listed stay as they are.

    Attributes:
        review: the decision of a person; None without one.
        checked_by: the name of the judge that has checked the row; None without one.
        generated_question: the question that the rules made, if a person or the judge changed the row.
        generated_reference: the reference that the rules made, if a person changed the row.
        stale: True if a gold passage is no longer in the documents; False if a person has decided since.
        stale_reason: which passage is missing.
        position: the place of a dropped row in the quiz, from 0.
    """

    model_config = ConfigDict(extra="allow")

    id: str
    question: str
    reference: str | None = None
    gold_passages: list[str] = []
    gold_ids: list[str] | None = None
    answerable: bool = True
    kind: str = ""
    asks_for: str = ""
    difficulty: str = ""
    why: str = ""
    sentence: str = ""
    sources: list[str] = []
    same_as: str | None = None
    turns: list[dict[str, str]] | None = None
    review: Decision | None = None
    checked_by: str | None = None
    generated_question: str | None = None
    generated_reference: str | None = None
    stale: bool | None = None
    stale_reason: str | None = None
    position: int = 0

    def passages(self) -> list[list[tuple[str, bool]]]:
        """Return each gold passage in parts; a part is true if it is a sentence of the question."""
        return [list(_marked(passage, self.sentence.split("\n"))) for passage in self.gold_passages]

    def decided(self, decision: Decision, **changes: object) -> QuizRow:
        """Return the row with a decision; a person has then seen that it is stale."""
        seen = {} if self.stale is None else {"stale": False, "stale_reason": None}
        return self.model_copy(update={"review": decision} | seen | changes)

    def edited(self, question: str, reference: str) -> QuizRow:
        """Return the row with other texts and the first ones beside them; the row itself if they are equal.

        Raises:
            UsageError: the question is empty, or the reference is added or removed.
        """
        question, reference = plain(question).strip(), plain(reference).strip()
        if [question, reference] == [plain(text or "").strip() for text in (self.question, self.reference)]:
            return self
        if not question:
            raise UsageError("A question cannot be empty.", hint="Drop the row instead.")
        if bool(reference) != bool(self.reference):
            message = "A reference can be changed, but not added or removed."
            raise UsageError(message, hint="Drop the row instead: its gold passages would be wrong.")
        changes: dict[str, object] = {"reference": reference or None}
        if self.review != "edited":
            generated = self.generated_question or self.question
            changes |= {"generated_question": generated, "generated_reference": self.reference}
        return self.with_question(question).model_copy(update=changes)

    def with_question(self, question: str) -> QuizRow:
        """Return the row with another question, also in its last turn."""
        changes: dict[str, object] = {"question": question}
        if self.turns:
            changes["turns"] = [*self.turns[:-1], self.turns[-1] | {"text": question}]
        return self.model_copy(update=changes)


@dataclass
class QuizRows:
    """The rows of a quiz file, and the dropped ones of the file beside it."""

    rows: list[QuizRow]
    dropped: list[QuizRow]

    @property
    def number(self) -> int:
        """The number of rows, with the dropped ones."""
        return len(self.rows) + len(self.dropped)

    @property
    def decided(self) -> list[QuizRow]:
        """The kept and edited rows."""
        return [row for row in self.rows if row.review is not None]

    @property
    def pending(self) -> list[QuizRow]:
        """The rows to decide: first those that are stale since a person decided, then those without one."""
        return sorted(
            (row for row in self.rows if row.review is None or row.stale), key=lambda row: not row.stale
        )

    def counts(self) -> dict[str, int]:
        """Return the number of rows with each decision, and of those that are pending."""
        counts = Counter(row.review for row in chain(self.rows, self.dropped))
        return {name: counts[name] for name in ("kept", "edited", "dropped")} | {"pending": len(self.pending)}

    def place_of(self, row_id: str) -> int | None:
        """Return the position of a row; None if it is not in the quiz."""
        return next((at for at, row in enumerate(self.rows) if row.id == row_id), None)


def dropped_path(path: Path) -> Path:
    """Return the path of the dropped rows; its suffix is not one of data, so that no run scores them."""
    return path.with_name(f"{path.name}.dropped")


def read_quiz(path: Path) -> QuizRows:
    """Read a quiz file. A row that is also in the file of dropped rows is dropped.

    Raises:
        UsageError: the file is not JSON Lines.
        DataError: it cannot be read, or a row is not one of a quiz.
    """
    if path.suffix.casefold() != ".jsonl":
        hint = "Make it again with `sgi quiz DOCUMENTS -o quiz.jsonl`."
        raise UsageError(f"{path}: only a .jsonl quiz can be reviewed and updated.", hint=hint)
    beside = dropped_path(path)
    dropped = _read_rows(beside) if beside.exists() else []
    gone = {row.id for row in dropped}
    rows = _read_rows(path) if path.exists() or not dropped else []
    return QuizRows([row for row in rows if row.id not in gone], dropped)


def write_rows(path: Path, rows: Iterable[QuizRow]) -> None:
    """Write or replace a file of rows atomically."""
    write_chunks(path, [json_line(row.model_dump(exclude_unset=True)) for row in rows])


class Review:
    """A review of one quiz file. Each decision is on the disk when the method returns.

    Dropped rows move to a file beside the quiz, so that a run does not score them. They are written there
    before they leave the quiz: a kill between the two loses nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._before: dict[str, list[QuizRow]] = defaultdict(list)

    def read(self) -> QuizRows:
        """Read the rows."""
        return read_quiz(self.path)

    def keep(self, row_id: str, question: str, reference: str, author: str = "") -> None:
        """Keep a row with these texts; it is edited if a person has changed one of them."""
        with self._lock:
            quiz, at = self._find(row_id)
            before = quiz.rows[at]
            row = before.edited(question, reference)
            is_edited = row is not before or before.review == "edited"
            decision: Decision = "edited" if is_edited else "kept"
            self._before[author].append(before)
            quiz.rows[at] = row.decided(decision)
            write_rows(self.path, quiz.rows)

    def drop(self, row_id: str, author: str = "") -> None:
        """Move a row to the file of dropped rows."""
        with self._lock:
            quiz, at = self._find(row_id)
            row = quiz.rows.pop(at)
            self._before[author].append(row)
            write_rows(dropped_path(self.path), [*quiz.dropped, row.decided("dropped", position=at)])
            write_rows(self.path, quiz.rows)

    def undo(self, author: str = "") -> str | None:
        """Take back the last decision of this person since the start; return the id of the row."""
        with self._lock:
            if not self._before[author]:
                return None
            row = self._before[author].pop()
            quiz = self.read()
            at = quiz.place_of(row.id)
            dropped = next((one for one in quiz.dropped if one.id == row.id), None)
            if at is not None:
                quiz.rows[at] = row
            elif dropped is not None:
                quiz.rows.insert(dropped.position, row)
                quiz.dropped.remove(dropped)
            write_rows(self.path, quiz.rows)
            if dropped is not None:
                write_rows(dropped_path(self.path), quiz.dropped)
            return row.id

    def _find(self, row_id: str) -> tuple[QuizRows, int]:
        quiz = self.read()
        at = quiz.place_of(row_id)
        if at is None:
            raise UsageError(f"{row_id} is no longer in the quiz.", hint="Review the next question.")
        return quiz, at


def _read_rows(path: Path) -> list[QuizRow]:
    if path.is_file() and not path.stat().st_size:
        return []
    rows: dict[str, QuizRow] = {}
    with open_bytes(path) as stream:
        for line, values, *_ in json_lines(numbered_lines(stream, str(path))):
            try:
                if isinstance(values, DataError):
                    raise values
                row = QuizRow.model_validate(values)
            except DataError as error:
                raise DataError(error.message, file=str(path), line=line, hint=error.hint) from None
            except ValidationError as error:
                first = error.errors()[0]
                message = f"is not a row of a quiz: {'.'.join(map(str, first['loc']))}: {first['msg']}"
                hint = "Name a file that `sgi quiz` wrote, or a new one."
                raise DataError(message, file=str(path), line=line, hint=hint) from None
            if row.id in rows:
                raise DataError(f"the id {row.id} is used twice", file=str(path), line=line)
            rows[row.id] = row
    return list(rows.values())


def _marked(passage: str, sentences: Sequence[str]) -> Iterator[tuple[str, bool]]:
    r"""Split a passage at the sentences, whose words can have markup between them.

    >>> list(_marked("One. The [Berta]\n is **red**. Two.", ["The Berta is red."]))
    [('One. ', False), ('The [Berta]\n is **red**.', True), (' Two.', False)]
    """
    # Possessive, so that no text takes exponential time.
    patterns = [r"(?:<[^<>]*>|\W)++".join(re.findall(r"\w+", sentence)) for sentence in sentences]
    found = "|".join(f"\\b{pattern}\\b[^\\w\\s]*" for pattern in patterns if pattern)
    at = 0
    for match in re.finditer(found, passage) if found else ():
        if match.start() > at:
            yield passage[at : match.start()], False
        yield match[0], True
        at = match.end()
    if passage[at:] or not at:
        yield passage[at:], False
