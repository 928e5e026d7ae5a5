"""Content-word precision: the baseline that a detector of unsupported answers must exceed."""

from __future__ import annotations

import math
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING

from sgi.metrics.grounding.words import distinct_stems, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable


def content_word_precisions(rows: Iterable[tuple[str, Iterable[str]]]) -> list[float]:
    """Return the share of content words whose stem is in a passage, for each (response, passages) row.

    Each occurrence of a word counts; NaN for a response without such words. Equal texts are split once.

    >>> content_word_precisions([("The towers are old and tall.", ["A tall tower."])])[0].__round__(3)
    0.667
    """
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
