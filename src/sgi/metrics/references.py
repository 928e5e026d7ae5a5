"""A response against several accepted answers: the best comparison counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sgi.kernel.metric import Scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sgi.kernel.sample import Batch

BLANK = "the reference is blank"

Prepared = TypeVar("Prepared", bound="Sequence[str]")


def best_reference(
    batch: Batch,
    prepare: Callable[[str], Prepared],
    compare: Callable[[Prepared, Prepared], float],
    *,
    empty: str,
) -> Scores:
    """The best of ``compare(response, reference)`` over the references of each row.

    A response of which nothing is left once prepared scores 0. A reference of which nothing is left is passed
    over; a row where that holds of all of them has no value.

    Args:
        batch: rows with responses and references.
        prepare: makes of a text what is compared: a string or a list of tokens.
        compare: a number from 0 to 1 for two prepared texts, neither empty.
        empty: why a row has no value whose references are not blank but empty once prepared.

    >>> from sgi.kernel.sample import Batch, Sample
    >>> rows = Batch.of(
    ...     [Sample(id="1", response="b", reference=["a", "b"]), Sample(id="2", response="b", reference=" ")]
    ... )
    >>> scores = best_reference(rows, str.strip, lambda a, b: float(a == b), empty="nothing left")
    >>> scores.values.tolist(), scores.reasons
    ([1.0, nan], ('', 'the reference is blank'))
    """
    responses = [prepare(text) for text in batch.response]
    values = np.zeros(len(batch))
    comparable = np.zeros(len(batch), dtype=np.bool_)
    blank = np.ones(len(batch), dtype=np.bool_)
    for row, text in zip(batch.references.owners, batch.references.values, strict=True):
        reference = prepare(text)
        blank[row] &= not text.strip()
        comparable[row] |= bool(reference)
        if reference and responses[row]:
            values[row] = max(values[row], compare(responses[row], reference))
    return Scores.of(values, undefined={BLANK: blank, empty: ~comparable})
