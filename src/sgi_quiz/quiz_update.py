"""Make a quiz again from changed documents, and keep what a person decided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sgi_quiz.document_files import Documents
    from sgi_quiz.review_file import QuizRow, QuizRows


@dataclass
class UpdatedQuiz:
    """A quiz that was made again.

    Attributes:
        rows: the rows that a person has decided, as they were, and then new rows.
        unchecked: the decided questions without a gold passage, which the documents may answer now.
    """

    rows: list[QuizRow]
    unchecked: int

    @property
    def stale(self) -> list[QuizRow]:
        """The decided rows whose passage is no longer in the documents."""
        return [row for row in self.rows if row.stale]


def update_quiz(old: QuizRows, made: Sequence[QuizRow], documents: Documents, number: int) -> UpdatedQuiz:
    """Join the rows that a person has decided with new rows, to ``number`` rows if there are as many.

    A new row is left out if it has the id or the question of a decided one, or if it repeats a dropped or
    edited question in other words.
    """
    decided = [*old.decided, *old.dropped]
    ids = {row.id for row in decided}
    questions = {question for row in decided for question in questions_of(row)}
    changed = {row.id for row in decided if row.review != "kept"}
    fresh = [
        row
        for row in made
        if row.id not in ids and row.same_as not in changed and questions.isdisjoint(questions_of(row))
    ]
    room = max(0, number - len(old.decided))
    kept = list(_checked(old.decided, documents))
    return UpdatedQuiz([*kept, *fresh[:room]], sum(not row.gold_passages for row in kept))


def questions_of(row: QuizRow) -> set[str]:
    """Return the question as it is and as it was made, each with the turns before it, in small letters."""
    before = [turn.get("text", "") for turn in row.turns or ()][:-1]
    asked = {row.question, row.generated_question or row.question}
    return {" ".join(" ".join([*before, text]).casefold().split()) for text in asked}


def _checked(rows: Sequence[QuizRow], documents: Documents) -> Iterable[QuizRow]:
    """Yield the rows, with a mark if a passage is missing; passages of skipped files are not missing."""
    needed = {text for row in rows for text in row.gold_passages}
    found = {passage.text for passage in documents.passages() if passage.text in needed} if needed else set()
    skipped = {PurePosixPath(name).name for name in documents.skipped}
    for row in rows:
        places = [*row.sources, *[""] * len(row.gold_passages)]
        missing = [place for text, place in zip(row.gold_passages, places, strict=False) if text not in found]
        gone = [place for place in missing if not any(f"/{name} > " in f"/{place} > " for name in skipped)]
        if gone and row.stale is None:
            source = gone[0].partition(" > ")[0] or "the documents"
            reason = f"its passage is no longer in {source}"
            yield row.model_copy(update={"stale": True, "stale_reason": reason})
        elif not missing and row.stale is not None:
            yield row.model_copy(update={"stale": None, "stale_reason": None})
        else:
            yield row
