"""The rows of a batch that have a question, a response and a passage, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from sgi.geometry.passages import LEAST_SEPARATION, PassageAngles
from sgi.kernel.metric import Scores
from sgi.kernel.ragged import Ragged
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import VectorTable

Passages = Literal["max", "mean", "joined"]
"""How several passages become one: the nearest to the response, the mean of them, or one text of all."""

SEPARATOR = "\n\n"
"""What stands between passages that are joined to one text."""

_NOTHING: Mapping[str, JsonValue] = {}
_SAME_POINT = f"every passage is the question again (θ(q,c) < {LEAST_SEPARATION} rad)"


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """The rows of a batch with a question, a response and a passage that are not blank, as columns.

    Attributes:
        batch: all rows.
        kept: which of them, shape (n,).
        passages: of each kept row, those that are not blank, or the one text of them all.
        positions: where each of these passages stands among its row's contexts.
    """

    batch: Batch
    kept: NDArray[np.int64]
    passages: Ragged[str]
    positions: NDArray[np.int64]

    @classmethod
    def of(cls, batch: Batch, passages: Passages) -> CompleteRows:
        """Select the rows of a batch, with passages apart or joined to one text; once for each batch."""
        return batch.shared(cls._of, passages)

    @classmethod
    def _of(cls, batch: Batch, passages: Passages) -> Self:
        contexts = [[(at, text) for at, text in enumerate(row) if text.strip()] for row in batch.contexts]
        complete = [
            row for row in question_and_response(batch.question, batch.response).tolist() if contexts[row]
        ]
        if passages == "joined":
            numbered = [[(0, SEPARATOR.join(text for _, text in contexts[row]))] for row in complete]
        else:
            numbered = [contexts[row] for row in complete]
        positions = np.array([at for row in numbered for at, _ in row], dtype=np.int64)
        texts = Ragged.from_rows([text for _, text in row] for row in numbered)
        return cls(batch, np.array(complete, dtype=np.int64), texts, positions)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The question of each row."""
        return tuple(self.batch.question[row] for row in self.kept)

    @cached_property
    def responses(self) -> tuple[str, ...]:
        """The response of each row."""
        return tuple(self.batch.response[row] for row in self.kept)

    @cached_property
    def sentences(self) -> Ragged[str]:
        """The sentences of each response that has more than one; none for the others."""
        splits = (sentences(response) for response in self.responses)
        return Ragged.from_rows(row if len(row) > 1 else () for row in splits)

    @property
    def texts(self) -> Iterable[str]:
        """Questions, passages and responses."""
        return chain(self.questions, self.passages.values, self.responses)

    def angles(self, statements: Ragged[str], vectors: VectorTable) -> PassageAngles:
        """The angles of statements, any number of them a row."""
        return PassageAngles.of(
            vectors.rows(statements.values),
            vectors.rows(self.questions),
            vectors.rows(self.passages.values),
            owners=statements.owners,
            offsets=self.passages.offsets,
        )

    def scores(
        self,
        values: NDArray[np.float64],
        details: Sequence[Mapping[str, JsonValue]],
        *,
        defined: NDArray[np.bool_],
    ) -> Scores:
        """Scores of all rows of the batch from those of the kept ones."""
        n = len(self.batch)
        column, same = np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
        column[self.kept], same[self.kept] = values, ~defined
        spread = [_NOTHING] * n
        for row, detail in zip(self.kept, details, strict=True):
            spread[row] = detail
        lengths = self.batch.contexts.lengths
        reasons = blank_reasons(self.batch.question, self.batch.response) | {
            "there are no passages": lengths == 0,
            "all passages are blank": _column(not any(map(str.strip, row)) for row in self.batch.contexts),
            _SAME_POINT: same,
        }
        return Scores.of(column, undefined=reasons, details=spread)


def question_and_response(questions: Sequence[str], responses: Sequence[str]) -> NDArray[np.int64]:
    """The rows whose question and response are not blank.

    >>> question_and_response(["Who?", " "], ["Ida.", "Ida."]).tolist()
    [0]
    """
    pairs = zip(questions, responses, strict=True)
    return np.flatnonzero(
        _column(bool(question.strip() and response.strip()) for question, response in pairs)
    )


def blank_reasons(questions: Sequence[str], responses: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
    """Reasons why a row has no value, each with the rows whose question or response is blank.

    >>> blank_reasons(["Who?"], [" "])["the response is blank"].tolist()
    [True]
    """
    return {
        "the question is blank": _column(not question.strip() for question in questions),
        "the response is blank": _column(not response.strip() for response in responses),
    }


def _column(flags: Iterable[bool]) -> NDArray[np.bool_]:
    return np.fromiter(flags, dtype=np.bool_)
