"""Hashes of the texts that identify the rows of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.placeholders import placeholder
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

ABSENT = 0
"""Hash of a text that is absent or blank."""


@dataclass(frozen=True, eq=False)
class RowKeys:
    """Hashes of the texts that identify the rows of a run, shape (n,); 0 for an absent or blank text.

    ``read_contexts`` returns the passages of all rows, ``read_responses`` their responses.
    """

    question: NDArray[np.uint64]
    reference: NDArray[np.uint64]
    read_contexts: Callable[[], Iterable[tuple[tuple[str, ...]]]] = field(repr=False)
    read_responses: Callable[[], Iterable[tuple[str]]] = field(repr=False)

    @classmethod
    def of(
        cls,
        texts: Iterable[tuple[str, str | None]],
        read_contexts: Callable[[], Iterable[tuple[tuple[str, ...]]]],
        read_responses: Callable[[], Iterable[tuple[str]]],
    ) -> RowKeys:
        """Return the keys of rows, from the question and the reference of each."""
        keys = ((_key(question), _key(reference or "")) for question, reference in texts)
        question, reference = np.fromiter(keys, dtype=np.dtype((np.uint64, 2))).T
        return cls(question, reference, read_contexts, read_responses)

    @cached_property
    def contexts(self) -> NDArray[np.uint64]:
        """Hash of all passages of a row, in order; the passages are read when first needed."""
        keys = (_key(*contexts) for (contexts,) in self.read_contexts())
        return np.fromiter(keys, dtype=np.uint64, count=len(self.question))

    @cached_property
    def responses(self) -> NDArray[np.uint64]:
        """Hash of the response of a row; the responses are read when first needed."""
        keys = (_key(response) for (response,) in self.read_responses())
        return np.fromiter(keys, dtype=np.uint64, count=len(self.question))

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Whether a row has one of the texts of `identity`, shape (n,); other rows are not comparable."""
        texts = np.stack([*self._identifying.values()])
        return np.asarray((texts != ABSENT).any(axis=0), dtype=np.bool_)

    @property
    def identity(self) -> list[tuple[str, int]]:
        """Kind and key of the first text that a row has: question, contexts or reference."""
        columns = self._identifying
        present = [column != ABSENT for column in columns.values()]
        names = np.select(present, [*columns], "")
        values = np.select(present, [*columns.values()], ABSENT)
        return list(zip(names.tolist(), values.tolist(), strict=True))

    @property
    def _identifying(self) -> dict[str, NDArray[np.uint64]]:
        """Keys by kind, the most important first; without contexts if all rows have a question."""
        if (self.question != ABSENT).all():
            return {"q": self.question}
        return {"q": self.question, "c": self.contexts, "r": self.reference}


def _key(*texts: str) -> int:
    """Return a hash of texts that ignores the amount of white space, also for their placeholders."""
    if not any(text.strip() for text in texts):
        return ABSENT
    parts = (placeholder(text).strip().encode() for text in texts)
    return int.from_bytes(digest(*parts, size=8), "big") or 1
