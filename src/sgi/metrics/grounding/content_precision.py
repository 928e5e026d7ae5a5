"""Content-word precision: the baseline that a detector of unsupported answers must exceed."""

from __future__ import annotations

import math
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING

from sgi.metrics.grounding.words import distinct_stems, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable


def content_word_precision(response: str, passages: Iterable[str]) -> float:
    """Return the share of the response's content words whose stem is in a passage; NaN without such words.

    Each occurrence of a word counts.

    >>> content_word_precision("The towers are old and tall.", ["A tall tower."]).__round__(3)
    0.667
    """
    return content_word_precisions([(response, passages)])[0]


def content_word_precisions(rows: Iterable[tuple[str, Iterable[str]]]) -> list[float]:
    """Return the `content_word_precision` of each (response, passages) row; equal texts are split once."""
    words_of, stems_of = cache(split_words), cache(distinct_stems)
    shares = []
    for response, passages in rows:
        words = words_of(response)
        stems = list(compress(words.stems, words.content.tolist()))
        known = [stems_of(passage) for passage in passages]
        shares.append(
            sum(any(stem in each for each in known) for stem in stems) / len(stems) if stems else math.nan
        )
    return shares
