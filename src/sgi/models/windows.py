"""Special tokens around a text, and windows: overlapping parts of a text that exceeds the token limit."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class SpecialTokens(NamedTuple):
    """The tokens that a tokenizer adds around a text, such as [CLS] and [SEP]."""

    before: int
    """The number of special tokens before the text."""
    after: int
    """The number of special tokens after the text."""
    ids: tuple[int, ...]
    """The distinct ids of the special tokens."""

    @classmethod
    def of(cls, ids: Sequence[int], mask: Sequence[int]) -> SpecialTokens:
        """Find the special tokens in a tokenized text that also has at least one other token.

        ``mask`` is 1 for a special token and 0 for every other token.
        """
        own = [position for position, special in enumerate(mask) if not special]
        distinct = tuple(dict.fromkeys(token for token, special in zip(ids, mask, strict=True) if special))
        return cls(own[0], len(ids) - 1 - own[-1], distinct)


def window_starts(length: int, width: int) -> list[int]:
    """Return the first positions of windows over a text; adjacent windows overlap by at least half.

    ``length`` is the number of tokens of the text, which is greater than ``width``, the number of tokens of a
    window. The last window ends at the end of the text.

    >>> window_starts(11, 4)
    [0, 2, 4, 6, 7]
    """
    step = max(1, width // 2)
    return [*range(0, length - width, step), length - width]


def window_seams(starts: Sequence[int], width: int) -> list[int]:
    """Return for each window, except the first, the position of the first token whose vector it provides.

    A token's vector comes from the window in which the token is farther from the nearer end; in a tie, from
    the earlier window. Source: Devlin et al. (2018), `run_squad`, "max context".

    >>> window_seams([0, 2, 4], 4)
    [3, 5]
    """
    return [(start + width - 1 + after) // 2 + 1 for start, after in pairwise(starts)]
