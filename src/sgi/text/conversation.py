"""The turns of a conversation: what the last answer replies to, and what came before."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sgi.kernel.sample import Field, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.kernel.sample_parts import Turn

USER = "user"
ASSISTANT = "assistant"
SESSION = "session_id"
"""The metadata column with the id of the conversation; traces use the same name."""
TURN = "turn"
"""The metadata column with the number of the turn, from 1; traces use the same name."""


@dataclass(frozen=True)
class Exchange:
    """A question of the user with its answer.

    Attributes:
        question: the messages of the user since the last answer.
        answer: the messages of the assistant; None if there is none.
        contexts: the passages of all these messages, without repeats.
        start: index of its first message.
        end: index after its last message.
    """

    question: str
    answer: str | None
    contexts: tuple[str, ...]
    start: int
    end: int


def exchanges(turns: Sequence[Turn]) -> list[Exchange]:
    """Split the messages of a conversation; messages before the first one of the user are left out.

    >>> from sgi.kernel.sample_parts import Turn
    >>> pairs = [("user", "Who?"), ("assistant", "Ada."), ("user", "When?")]
    >>> turns = [Turn(role=role, text=text) for role, text in pairs]
    >>> [(exchange.question, exchange.answer) for exchange in exchanges(turns)]
    [('Who?', 'Ada.'), ('When?', None)]
    """
    starts = []
    is_open = False  # whether the user wrote since the last answer
    for at, turn in enumerate(turns):
        if turn.role == USER and not is_open:
            starts.append(at)
        if turn.role in {USER, ASSISTANT}:
            is_open = turn.role == USER
    return [_exchange(turns, start, end) for start, end in pairwise([*starts, len(turns)])]


def _exchange(turns: Sequence[Turn], start: int, end: int) -> Exchange:
    messages = turns[start:end]
    questions = [turn.text for turn in messages if turn.role == USER]
    answers = [turn.text for turn in messages if turn.role == ASSISTANT and turn.text.strip()]
    passages = dict.fromkeys(passage for turn in messages for passage in turn.contexts)
    return Exchange(
        "\n\n".join(questions), "\n\n".join(answers) if answers else None, (*passages,), start, end
    )


def with_last_exchange(sample: Sample) -> Sample:
    """Fill absent fields from the last exchange: question, response and contexts.

    A question or response that the row has stays, so a row may have its answer in a column and only the
    earlier messages in ``turns``. In such a row, only a last exchange without an answer is used.
    """
    parts = exchanges(sample.turns)
    if not parts or (sample.has(Field.RESPONSE) and parts[-1].answer is not None):
        return sample
    last = parts[-1]
    values: dict[str, object] = {"question": last.question, "response": last.answer}
    if any(turn.contexts for turn in sample.turns):  # otherwise the passages are unknown
        values["contexts"] = last.contexts
    absent = {
        name: value for name, value in values.items() if value is not None and not sample.has(Field(name))
    }
    return _copy(sample, absent) if absent else sample


def history(sample: Sample) -> tuple[Turn, ...]:
    """Return the messages before the question that the response answers.

    The last exchange is left out if it contains the question or the response of the row.

    >>> from sgi.kernel.sample_parts import Turn
    >>> pairs = [("user", "Who?"), ("assistant", "Ada."), ("user", "When?")]
    >>> turns = [Turn(role=role, text=text) for role, text in pairs]
    >>> [turn.text for turn in history(Sample(id="1", question="When?", response="1815.", turns=turns))]
    ['Who?', 'Ada.']
    """
    parts = exchanges(sample.turns)
    if not parts:
        return sample.turns
    last = parts[-1]
    answers = last.answer is not None and last.answer.strip() == sample.response.strip()
    asks = last.answer is None and last.question.strip() == sample.question.strip()
    return sample.turns[: last.start] if answers or asks else sample.turns


def with_earlier_passages(sample: Sample) -> Sample:
    """Return a copy with the passages of the earlier messages after its own, without repeats."""
    earlier = dict.fromkeys(passage for turn in history(sample) for passage in turn.contexts)
    added = tuple(passage for passage in earlier if passage not in sample.contexts)
    return Sample(
        id=sample.id,
        question=sample.question,
        contexts=(*sample.contexts, *added),
        response=sample.response,
    )


def turn_rows(sample: Sample) -> Iterator[Sample]:
    """Yield a row for each answered question of a conversation, or the row itself if it has no turns.

    Rows get the metadata ``session_id``, the id of the row unless it has one, and ``turn``. Their ids are the
    id of the row with the number of the turn. Fields about the answer, such as reference and label, stay with
    the last row.
    """
    parts = exchanges(sample.turns)
    if not parts:
        yield sample
        return
    first_passages = next((at for at, turn in enumerate(sample.turns) if turn.contexts), len(sample.turns))
    for number, part in enumerate(parts, 1):
        metadata = {**sample.metadata, TURN: number}
        metadata.setdefault(SESSION, sample.id)
        common = {"id": f"{sample.id}-{number}", "turns": sample.turns[: part.end], "metadata": metadata}
        if number == len(parts):
            yield _copy(sample, common)
        elif part.answer is not None:
            known = {"contexts": part.contexts} if first_passages < part.end else {}
            yield Sample(**common, question=part.question, response=part.answer, **known)


def _copy(sample: Sample, changes: dict[str, Any]) -> Sample:
    """Return a copy with changed fields, which is validated again."""
    values = {name: getattr(sample, name) for name in sample.model_fields_set}
    return Sample(**values | changes)
