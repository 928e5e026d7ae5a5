"""Hashes of the texts that identify the rows of a run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.kernel.signature import digest, placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

ABSENT = 0
"""Hash of a text that is absent or blank."""


@dataclass(frozen=True, eq=False)
class RowKeys:
    """Hashes of the texts that identify the rows of a run, shape (n,); 0 for an absent or blank text.

    ``fields`` returns the fields with these names of all rows; they are read when first needed.
    """

    fields: Callable[..., Iterable[tuple[Any, ...]]] = field(repr=False)

    @cached_property
    def _texts(self) -> NDArray[np.uint64]:
        rows = self.fields("question", "reference")
        keys = ((_key(question), _key(reference or "")) for question, reference in rows)
        pairs: NDArray[np.uint64] = np.fromiter(keys, dtype=np.dtype((np.uint64, 2)))
        return pairs.T

    @property
    def question(self) -> NDArray[np.uint64]:
        """Hash of the question of a row."""
        return np.asarray(self._texts[0])

    @property
    def reference(self) -> NDArray[np.uint64]:
        """Hash of the reference of a row."""
        return np.asarray(self._texts[1])

    @cached_property
    def contexts(self) -> NDArray[np.uint64]:
        """Hash of all passages of a row, in order."""
        return np.fromiter((_key(*contexts) for (contexts,) in self.fields("contexts")), dtype=np.uint64)

    @cached_property
    def responses(self) -> NDArray[np.uint64]:
        """Hash of the response of a row."""
        return np.fromiter((_key(response) for (response,) in self.fields("response")), dtype=np.uint64)

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


def are_numbers(ids: Sequence[str], stem: str = "") -> bool:
    """Return whether all ids are row numbers, which rows without an id get: increasing, from 1.

    A row with two answers has the ids ``STEM-NUMBER-right`` and ``STEM-NUMBER-hallucinated``; ``stem`` is the
    file name of the data without its suffix.

    >>> are_numbers(["1", "2", "4"]), are_numbers(["q1", "q2"]), are_numbers(["2", "1"])
    (True, False, False)
    """
    pattern = re.compile(rf"(?:{re.escape(stem)}-)?([1-9][0-9]*)(?:-right|-hallucinated)?")
    before = 0
    for name in ids:
        match = pattern.fullmatch(name)
        if match is None or int(match[1]) < before:
            return False
        before = int(match[1])
    return bool(ids)
