"""Compares a response with each of its references; the best comparison counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.metric import Scores
from sgi.text.read_share import ascii_suffices, unread_by_tokenizer
from sgi.text.token_columns import TokenColumn

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sgi.kernel.sample import Batch
    from sgi.text.token_columns import Match

    Words = Callable[[str], str]

BLANK = "the reference is blank"
UNREAD_RESPONSE, UNREAD_REFERENCE = map(unread_by_tokenizer, ("response", "reference"))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a reference and the response of its row, one for each reference of a batch, as tokens.

    Attributes:
        tokens: all responses in row order, followed by all references.
        responses: index of each pair's response in ``tokens``, shape (pairs,).
        references: index of each pair's reference in ``tokens``, shape (pairs,).
    """

    tokens: TokenColumn
    responses: NDArray[np.int64]
    references: NDArray[np.int64]

    @cached_property
    def in_order(self) -> Match:
        """Precision and recall of each pair, from common tokens in the same order."""
        return self.tokens.in_order(self.responses, self.references)

    @cached_property
    def in_bags(self) -> Match:
        """Precision and recall of each pair, from common tokens in any order."""
        return self.tokens.in_bags(self.responses, self.references)

    @property
    def have_tokens(self) -> NDArray[np.bool_]:
        """Mask of the references that have tokens, shape (pairs,)."""
        return self.tokens.lengths[self.references] > 0


def pairs_of(batch: Batch, words: Words) -> Pairs:
    """Return the pairs of a batch, cached; ``words`` returns the tokens of a text, separated by spaces."""
    return batch.compute_once(_pairs, words)


def _pairs(batch: Batch, words: Words) -> Pairs:
    references = batch.references
    tokens = TokenColumn.of((*batch.response, *references.values), words)
    indices = np.arange(len(batch), len(batch) + len(references.values))
    return Pairs(tokens, references.owners, indices)


def best_reference(
    batch: Batch,
    numbers: NDArray[np.float64],
    *,
    comparable: NDArray[np.bool_],
    empty: str = BLANK,
    ascii_only: bool = False,
) -> Scores:
    """Return, for each row, the best number over its comparable references; a row without one has no value.

    Args:
        batch: rows with responses and references.
        numbers: a number from 0 to 1 for each reference.
        comparable: mask of the references that are not empty after normalisation.
        empty: reason for a row that has a reference with text, but none that is comparable.
        ascii_only: whether the tokenizer reads only a to z and digits. A row whose response it does not read
            has no value, and a reference that it does not read is not comparable.
    """
    owners = batch.references.owners
    undefined: dict[str, NDArray[np.bool_]] = {}
    if ascii_only:
        unread_response, unread_references = batch.compute_once(_unread)
        comparable = comparable & ~unread_references
        some_unread = np.zeros(len(batch), dtype=np.bool_)
        some_unread[owners[unread_references]] = True
        undefined[UNREAD_RESPONSE] = unread_response
    values = np.zeros(len(batch))
    np.maximum.at(values, owners[comparable], numbers[comparable])
    no_reference = np.ones(len(batch), dtype=np.bool_)
    no_reference[owners[comparable]] = False
    blank = no_reference.copy()
    for index in np.flatnonzero(no_reference[owners]).tolist():
        blank[owners[index]] &= not batch.references.values[index].strip()
    if ascii_only:
        undefined[UNREAD_REFERENCE] = no_reference & some_unread
    return Scores.of(values, undefined={BLANK: blank, **undefined, empty: no_reference})


def _unread(batch: Batch) -> tuple[NDArray[np.bool_], ...]:
    """Return masks of the responses, and of the references, whose letters are too seldom a to z."""
    columns = (batch.response, batch.references.values)
    return tuple(np.array([not ascii_suffices(text) for text in texts], np.bool_) for texts in columns)


def not_blank(batch: Batch) -> NDArray[np.bool_]:
    """Return the mask of the references that are not blank."""
    texts = batch.references.values
    return np.fromiter((bool(text.strip()) for text in texts), np.bool_, len(texts))
