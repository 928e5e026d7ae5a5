"""Special tokens around a text, and overlapping windows over a long one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class SpecialTokens(NamedTuple):
    """The tokens that a tokenizer adds around a text, such as [CLS] and [SEP]."""

    before: int
    """The number of tokens before the text."""
    after: int
    """The number of tokens after it."""
    ids: tuple[int, ...]
    """Their distinct ids."""

    @classmethod
    def of(cls, ids: Sequence[int], mask: Sequence[int]) -> SpecialTokens:
        """The special tokens of a tokenized text that has at least one token of its own.

        ``mask`` is 1 for a special token, else 0.
        """
        own = [position for position, special in enumerate(mask) if not special]
        distinct = tuple(dict.fromkeys(token for token, special in zip(ids, mask, strict=True) if special))
        return cls(own[0], len(ids) - 1 - own[-1], distinct)


def window_starts(length: int, width: int) -> list[int]:
    """The starts of windows over a text: neighbours overlap by at least half, the last window ends the text.

    ``length`` is the number of tokens of the text, more than the ``width`` of a window.

    >>> window_starts(11, 4)
    [0, 2, 4, 6, 7]
    """
    step = max(1, width // 2)
    return [*range(0, length - width, step), length - width]


def window_seams(starts: Sequence[int], width: int) -> list[int]:
    """For each window but the first, the first token whose vector it provides.

    A token's vector comes from the window whose nearer end is farther from the token; ties go to the earlier
    window. Source: Devlin et al. (2018), `run_squad`, "max context".

    >>> window_seams([0, 2, 4], 4)
    [3, 5]
    """
    return [(start + width - 1 + after) // 2 + 1 for start, after in pairwise(starts)]
