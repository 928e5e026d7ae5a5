"""Parts of a sample: citations and turns, and the checks of passage ids, retrieval scores and relevance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, Strict, model_validator

from sgi.kernel.short_text import short_repr
from sgi.kernel.signature import placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

RetrievalScore = Annotated[FiniteFloat, Strict()]
"""The score of a retrieved passage: any finite number."""

Grade = Annotated[int, Strict(), Field(ge=-(2**31), lt=2**31)]
"""The relevance of a passage to the question; it is relevant if the grade is above 0."""

Amount = Annotated[FiniteFloat, Strict(), Field(ge=0)]
"""Milliseconds or US dollars: a finite number from 0."""

TokenCount = Annotated[int, Strict(), Field(ge=0, lt=2**31)]
"""A number of tokens."""

Role = Literal["user", "assistant", "system", "tool"]
"""Who wrote a message."""

_Offset = Annotated[int, Strict(), Field(ge=0, lt=2**31)]
_SHOWN = 60


def _check_passage(value: object) -> object:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31:
        return value
    raise ValueError("it must be an id, or a position from 1")


class Citation(BaseModel):
    """A citation of a passage by a response.

    Attributes:
        passage: the id of the passage, or its position in the contexts, from 1.
        start: where the cited statement begins in the response, in characters; None if unknown.
        end: where it ends (exclusive); None if unknown.

    >>> Citation(passage=1, start=0, end=12).passage
    1
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    passage: Annotated[int | str, BeforeValidator(_check_passage)]
    start: _Offset | None = None
    end: _Offset | None = None

    @model_validator(mode="after")
    def _check_span(self) -> Self:
        if (self.start is None) != (self.end is None):
            raise ValueError("start and end must be given together")
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError(f"start {self.start} is not before end {self.end}")
        return self

    def with_placeholder(self) -> Citation:
        """Return a copy whose passage id is replaced by its placeholder."""
        if isinstance(self.passage, int):
            return self
        return self.model_copy(update={"passage": placeholder(self.passage)})


class AnswerCosts(NamedTuple):
    """Costs of an answer; None if unknown. They are named as the fields of a sample."""

    latency_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None


NO_COSTS = AnswerCosts()
"""The costs of an answer of which none is known."""


class Ranking(NamedTuple):
    """Ids and scores of an answer's passages; None if unknown. They are named as the fields of a sample."""

    context_ids: tuple[str, ...] | None = None
    context_scores: tuple[float, ...] | None = None


NO_RANKING = Ranking()
"""The ranking of passages whose ids and scores are unknown."""


class Turn(BaseModel):
    """A message of a conversation.

    Attributes:
        role: who wrote it.
        text: the message.
        contexts: the passages that were retrieved for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    text: str
    contexts: tuple[str, ...] = ()

    def with_texts(self, change: Callable[[str], str]) -> Turn:
        """Return a copy with a function applied to every text."""
        contexts = tuple(map(change, self.contexts))
        return self.model_copy(update={"text": change(self.text), "contexts": contexts})


def check_unique(field: str, ids: Sequence[str]) -> None:
    """Raise a ValueError if an id of a field is blank or occurs twice.

    >>> check_unique("context_ids", ["d1", "d2", "d1"])
    Traceback (most recent call last):
    ValueError: context_ids: the id 'd1' occurs twice
    """
    seen: set[str] = set()
    for name in ids:
        if not name.strip():
            raise ValueError(f"{field}: an id is blank")
        if name in seen:
            raise ValueError(f"{field}: the id {name[:_SHOWN]!r} occurs twice")
        seen.add(name)


def check_lengths(fields: Mapping[str, Sequence[object]]) -> None:
    """Raise a ValueError if the fields have different numbers of values."""
    (first, values), *others = fields.items()
    for name, other in others:
        if len(values) != len(other):
            raise ValueError(f"{name}: it has {len(other)} values, but {first} has {len(values)}")


def check_spans(citations: Sequence[Citation], length: int | None) -> None:
    """Raise a ValueError if a cited statement ends after the response; ``length`` None: there is none."""
    for number, citation in enumerate(citations, 1):
        if citation.end is not None and (length is None or citation.end > length):
            have = "there is no response" if length is None else f"the response has {length} characters"
            raise ValueError(f"citations: citation {number} ends at {citation.end}, but {have}")


def relevance_of(
    gold_ids: Sequence[str] | None, relevance: Mapping[str, object] | Sequence[object] | None
) -> Mapping[str, object]:
    """Return the grade of each gold passage by its id.

    Args:
        gold_ids: ids of gold passages; each has grade 1 unless ``relevance`` has a list of grades.
        relevance: grades by id, or a list of grades beside ``gold_ids``.

    Raises:
        ValueError: an id is blank or occurs twice, or the two do not fit; the message begins with the field.

    >>> relevance_of(["d1", "d2"], [2, 1])
    {'d1': 2, 'd2': 1}
    """
    if isinstance(relevance, dict):
        if gold_ids is not None:
            raise ValueError("relevance: gold_ids has ids too; give one of them, or a list of grades")
        check_unique("relevance", tuple(relevance))
        return relevance
    if gold_ids is None:
        raise ValueError("relevance: a list of grades needs gold_ids; an object {id: grade} does not")
    grades = [1] * len(gold_ids) if relevance is None else list(relevance)
    if len(grades) != len(gold_ids):
        raise ValueError(f"relevance: it has {len(grades)} grades, but gold_ids has {len(gold_ids)} ids")
    check_unique("gold_ids", gold_ids)
    return dict(zip(gold_ids, grades, strict=True))


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Ragged(Generic[T]):
    """A list of rows of different lengths; row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    >>> passages = Ragged.from_rows([("a", "b"), (), ("c",)])
    >>> passages[0], passages[1], len(passages)
    (('a', 'b'), (), 3)
    >>> passages.lengths.tolist(), passages.owners.tolist()
    ([2, 0, 1], [0, 0, 2])
    """

    values: tuple[T, ...]
    offsets: NDArray[np.int64]

    __repr__ = short_repr

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[T]]) -> Ragged[T]:
        """Make a `Ragged` from rows of any lengths."""
        tuples = [tuple(row) for row in rows]
        offsets = np.zeros(len(tuples) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in tuples], out=offsets[1:])
        return cls(tuple(chain.from_iterable(tuples)), offsets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of values of each row, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The row number of each value, shape (len(values),)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int | np.integer) -> tuple[T, ...]:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} does not exist; there are {len(self)} rows")
        row = int(row) % len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[tuple[T, ...]]:
        return (self[row] for row in range(len(self)))
