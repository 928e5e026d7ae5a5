"""A question of the quiz, and the row that is written for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING

from sgi_quiz.parsing import content_stems

if TYPE_CHECKING:
    from pydantic import JsonValue

    from sgi_quiz.passages import Passage


class Kind(StrEnum):
    """What a question tests."""

    FACT = "fact"
    FAQ = "faq"
    COMPARISON = "comparison"
    TWO_HOP = "two_hop"
    YES_NO = "yes_no"
    UNANSWERABLE = "unanswerable"
    FALSE_PREMISE = "false_premise"
    PARAPHRASE = "paraphrase"
    TYPOS = "typos"
    FOLLOW_UP = "follow_up"


@dataclass(frozen=True, eq=False)
class Question:
    """A question with everything that is known about it.

    Attributes:
        kind: what it tests.
        asks_for: the type of its answer, such as date or definition.
        text: the question.
        reference: the right answer; None if there is none.
        passages: the passages that answer it, or that its premise contradicts.
        sentence: the sentence that it was made from.
        why: why the row is in the quiz.
        topic: the thing that it is about.
        turns: the question and the answer before it.
        same_as: the question that it repeats in other words.
        parents: the questions that must have one answer, so that this one has.
    """

    kind: Kind
    asks_for: str
    text: str
    reference: str | None
    passages: tuple[Passage, ...]
    sentence: str
    why: str
    topic: str
    turns: tuple[tuple[str, str], ...] = ()
    same_as: Question | None = None
    parents: tuple[Question, ...] = ()

    @property
    def id(self) -> str:
        """Return an id that depends on the question and its passages alone."""
        parts = [self.text, *(text for _, text in self.turns), *(passage.source for passage in self.passages)]
        return f"{self.kind}-{blake2b(chr(0).join(parts).encode(), digest_size=5).hexdigest()}"

    def difficulty(self) -> str:
        """Return easy, medium or hard: by the kind, and by how many of its words are in the sentence.

        Two hops, a false premise or no answer are hard. Other questions are easy if at least 80 % of their
        content words are in the sentence that answers them, and they are not rewritten.
        """
        if self.kind in {Kind.TWO_HOP, Kind.UNANSWERABLE, Kind.FALSE_PREMISE}:
            return "hard"
        stems = content_stems(self.text)
        shared = len(stems & content_stems(self.sentence)) / max(len(stems), 1)
        is_plain = self.kind in {Kind.FACT, Kind.YES_NO, Kind.FAQ}
        return "easy" if is_plain and shared >= 0.8 else "medium"

    def row(self) -> dict[str, JsonValue]:
        """Return the row of the quiz."""
        ids = [passage.id for passage in self.passages]
        row: dict[str, JsonValue] = {
            "id": self.id,
            "question": self.text,
            "reference": self.reference,
            "gold_passages": [passage.text for passage in self.passages],
            "gold_ids": [one for one in ids if one] if ids and all(ids) else None,
            "answerable": self.reference is not None,
            "kind": str(self.kind),
            "asks_for": self.asks_for,
            "difficulty": self.difficulty(),
            "why": self.why,
            "sentence": self.sentence,
            "sources": [passage.place for passage in self.passages],
        }
        if self.same_as is not None:
            row["same_as"] = self.same_as.id
        if self.turns:
            turns = (*self.turns, ("user", self.text))
            row["turns"] = [{"role": role, "text": text} for role, text in turns]
        return row
