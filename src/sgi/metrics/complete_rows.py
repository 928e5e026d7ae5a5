"""Selects the rows of a batch that have a question, a response and a passage, as columns of texts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from sgi.geometry.passages import LEAST_SEPARATION, PassageAngles
from sgi.kernel.metric import Scores
from sgi.kernel.sample_parts import Ragged
from sgi.text.read_share import unread_by_model
from sgi.text.tokenizers import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import JsonValue

    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import VectorTable

Passages = Literal["max", "mean", "joined"]
"""How to use several passages: the one nearest to the response, the mean over all, or all as one text."""

SEPARATOR = "\n\n"
"""Separates joined passages."""

_NOTHING: Mapping[str, JsonValue] = {}
_SAME_POINT = f"every passage equals the question (θ(q,c) < {LEAST_SEPARATION} rad)"


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """The rows of a batch with a question, a response and a passage that are not blank.

    Attributes:
        batch: all rows of the batch.
        indices: indices of the complete rows in the batch, shape (n,).
        passages: the passages of each complete row that are not blank, or one text that joins them.
        positions: index of each of these passages in the contexts of its row.
        unread: for each reason a mask of the rows that are left out: a model does not read their texts.
    """

    batch: Batch
    indices: NDArray[np.int64]
    passages: Ragged[str]
    positions: NDArray[np.int64]
    unread: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: Batch, passages: Passages) -> CompleteRows:
        """Select the complete rows of a batch; the result is cached with the batch."""
        return batch.compute_once(cls._of, passages)

    @classmethod
    def _of(cls, batch: Batch, passages: Passages) -> Self:
        contexts = [[(at, text) for at, text in enumerate(row) if text.strip()] for row in batch.contexts]
        rows = question_and_response(batch.question, batch.response).tolist()
        indices = [row for row in rows if contexts[row]]
        chosen = [contexts[row] for row in indices]
        if passages == "joined":
            chosen = [[(0, SEPARATOR.join(text for _, text in row))] for row in chosen]
        positions = np.array([at for row in chosen for at, _ in row], dtype=np.int64)
        texts = Ragged.from_rows([text for _, text in row] for row in chosen)
        return cls(batch, np.array(indices, dtype=np.int64), texts, positions)

    def read_by(self, vectors: VectorTable) -> Self:
        """Leave out passages that a model cannot read, and rows that then lack a text."""
        if not vectors.unread:
            return self
        rows, batch = self.indices.tolist(), self.batch
        read = [
            [place for place in range(start, stop) if self.passages.values[place] not in vectors.unread]
            for start, stop in pairwise(self.passages.offsets.tolist())
        ]
        unread = unread_reasons(vectors, question=batch.question, response=batch.response)
        none = np.zeros(len(batch), dtype=np.bool_)
        none[[row for row, own in zip(rows, read, strict=True) if not own]] = True
        unread[unread_by_model(vectors.model, "passages")] = none
        left_out = np.logical_or.reduce([*unread.values()])
        kept = [number for number, row in enumerate(rows) if not left_out[row]]
        places = [read[number] for number in kept]
        return replace(
            self,
            indices=self.indices[kept],
            passages=Ragged.from_rows([self.passages.values[place] for place in row] for row in places),
            positions=self.positions[[*chain.from_iterable(places)]],
            unread=unread,
        )

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The question of each complete row."""
        return tuple(self.batch.question[row] for row in self.indices)

    @cached_property
    def responses(self) -> tuple[str, ...]:
        """The response of each complete row."""
        return tuple(self.batch.response[row] for row in self.indices)

    @cached_property
    def sentences(self) -> Ragged[str]:
        """The sentences of each response; empty for a response of one sentence."""
        splits = (sentences(response) for response in self.responses)
        return Ragged.from_rows(row if len(row) > 1 else () for row in splits)

    @property
    def texts(self) -> Iterable[str]:
        """All questions, passages and responses of the complete rows."""
        return chain(self.questions, self.passages.values, self.responses)

    def angles(self, statements: Ragged[str], vectors: VectorTable) -> PassageAngles:
        """Compute the angles of statements to questions and passages; a row has any number of statements."""
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
        """Return the scores of all rows of the batch from values and details of the complete rows."""
        n = len(self.batch)
        column, same = np.full(n, np.nan), np.zeros(n, dtype=np.bool_)
        column[self.indices], same[self.indices] = values, ~defined
        all_details = [_NOTHING] * n
        for row, detail in zip(self.indices, details, strict=True):
            all_details[row] = detail
        lengths = self.batch.contexts.lengths
        reasons = blank_reasons(self.batch.question, self.batch.response) | {
            "there are no passages": lengths == 0,
            "all passages are blank": _column(not any(map(str.strip, row)) for row in self.batch.contexts),
            **self.unread,
            _SAME_POINT: same,
        }
        return Scores.of(column, undefined=reasons, details=all_details)


def question_and_response(questions: Sequence[str], responses: Sequence[str]) -> NDArray[np.int64]:
    """Return the indices of rows whose question and response are not blank."""
    pairs = zip(questions, responses, strict=True)
    return np.flatnonzero(
        _column(bool(question.strip() and response.strip()) for question, response in pairs)
    )


def blank_reasons(questions: Sequence[str], responses: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
    """Return, for each reason, a mask of the rows: the question is blank, or the response is blank."""
    return {
        "the question is blank": _column(not question.strip() for question in questions),
        "the response is blank": _column(not response.strip() for response in responses),
    }


def unread_reasons(vectors: VectorTable, **texts: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
    """Return, for each kind of text, the reason and a mask of the rows whose text the model does not read."""
    unread = vectors.unread
    return {
        unread_by_model(vectors.model, kind): _column(text in unread for text in column)
        for kind, column in texts.items()
        if unread
    }


def unread_passages(vectors: VectorTable, contexts: Iterable[Sequence[str]]) -> dict[str, NDArray[np.bool_]]:
    """Return the reason and a mask of the rows that have passages, none of which the model can read."""
    if not vectors.unread:
        return {}
    texts = [[text for text in row if text.strip()] for row in contexts]
    mask = _column(bool(row) and vectors.unread.issuperset(row) for row in texts)
    return {unread_by_model(vectors.model, "passages"): mask}


def _column(flags: Iterable[bool]) -> NDArray[np.bool_]:
    return np.fromiter(flags, dtype=np.bool_)
