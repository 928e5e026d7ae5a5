"""How an embedder reads a text that exceeds the model's token limit: in windows, or only its beginning."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from sgi.models.windows import window_starts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sgi.models.windows import SpecialTokens

LongTexts = Literal["windows", "truncate"]

LONG_TEXTS: tuple[LongTexts, ...] = ("windows", "truncate")
"""What an embedder can do with a text that exceeds the token limit; the first is the default."""


_MIN_NORM = 1e-12


class Ends(NamedTuple):
    """The number of tokens that every window repeats: special tokens, and the prefix of the model."""

    before: int
    after: int

    @classmethod
    def of(cls, special: SpecialTokens, letter: int, prefixed: int) -> Ends:
        """Add the tokens of a prefix to the special tokens before a text.

        ``letter`` is the number of tokens of a text, ``prefixed`` that of the same text after the prefix.
        """
        return cls(special.before + prefixed - letter, special.after)


class WindowedTexts(NamedTuple):
    """The inputs of a model for texts of any length.

    Attributes:
        inputs: distinct token ids, each within the limit: a text that fits, or a window of a longer text.
        members: for each text the positions of its inputs.
        weights: for each text the share of its tokens that each of these inputs adds; they add up to 1.
    """

    inputs: list[NDArray[np.int64]]
    members: list[list[int]]
    weights: list[NDArray[np.float64]]

    @classmethod
    def of(cls, texts: Iterable[NDArray[np.int64]], limit: int, ends: Ends) -> WindowedTexts:
        """Split the token ids of each text that exceeds the limit into windows, which overlap by half.

        ``limit`` is the maximum number of tokens of an input, including those of ``ends``.

        >>> texts = WindowedTexts.of([np.array([1, 5, 6, 7, 8, 9, 2])], 6, Ends(1, 1))
        >>> [ids.tolist() for ids in texts.inputs], texts.weights[0].tolist()
        ([[1, 5, 6, 7, 8, 2], [1, 6, 7, 8, 9, 2]], [0.8, 0.2])
        """
        inputs: list[NDArray[np.int64]] = []
        index: dict[bytes, int] = {}
        members, weights = [], []
        for ids in texts:
            if len(ids) <= limit:
                inputs.append(ids)
                members.append([len(inputs) - 1])
                weights.append(np.ones(1))
                continue
            own: list[int] = []
            windows, added = _windows(ids, limit, ends)
            for window in windows:
                position = index.setdefault(window.tobytes(), len(inputs))
                if position == len(inputs):
                    inputs.append(window)
                own.append(position)
            members.append(own)
            weights.append(added / added.sum())
        return cls(inputs, members, weights)

    @property
    def windowed(self) -> NDArray[np.bool_]:
        """True if the text is read in windows, shape (texts,)."""
        return np.array([len(own) > 1 for own in self.members], dtype=np.bool_)

    @property
    def finished(self) -> NDArray[np.int64]:
        """The number of texts whose last window each input is, shape (inputs,)."""
        return np.bincount([own[-1] for own in self.members], minlength=len(self.inputs))

    def pool(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        r"""Return the unit vector of each text, shape (texts, d), from those of the inputs.

        The vector of a text with one input is that of the input, with the same bits. For a text with more,
        with the share :math:`w_i` of its tokens that window :math:`i` adds:

        .. math:: u = \sum_i w_i u_i / \lVert \sum_i w_i u_i \rVert
        """
        pooled = rows[[own[0] for own in self.members]]
        for text in np.flatnonzero(self.windowed).tolist():
            mean = self.weights[text] @ rows[self.members[text]].astype(np.float64)
            pooled[text] = mean / max(float(np.linalg.norm(mean)), _MIN_NORM)
        return pooled


def _windows(
    ids: NDArray[np.int64], limit: int, ends: Ends
) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """Return the windows of a text, and the number of tokens that each adds to those before it."""
    stop = len(ids) - ends.after
    width = max(1, limit - ends.before - ends.after)
    own = ids[ends.before : stop]
    starts = window_starts(len(own), width)
    head, tail = ids[: ends.before], ids[stop:]
    windows = [np.concatenate([head, own[start : start + width], tail]) for start in starts]
    added = [width, *(after - before for before, after in pairwise(starts))]
    return windows, np.array(added, dtype=np.float64)
