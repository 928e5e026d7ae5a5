"""Rules for texts that exceed the token limit of an embedder: in windows, or only its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sgi.models.tokenizer import SpecialTokens

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

        ``letter`` is the number of tokens of a text, ``prefixed`` the number for the same text after the
        prefix.
        """
        return cls(special.before + prefixed - letter, special.after)


class WindowedTexts(NamedTuple):
    """The inputs of a model for texts of any length.

    Attributes:
        inputs: distinct token ids, each within the limit: a text that fits, or a window of a longer text.
        members: for each text the positions of its inputs, in order.
    """

    inputs: list[NDArray[np.int64]]
    members: list[list[int]]

    @classmethod
    def of(cls, texts: Iterable[NDArray[np.int64]], limit: int, ends: Ends) -> WindowedTexts:
        """Split the token ids of each text that exceeds the limit into windows.

        They are the fewest that cover the text, and evenly spaced, so they overlap. ``limit`` is the maximum
        number of tokens of an input, including the tokens of ``ends``.

        >>> texts = WindowedTexts.of([np.array([1, 5, 6, 7, 8, 9, 2])], 6, Ends(1, 1))
        >>> [ids.tolist() for ids in texts.inputs]
        [[1, 5, 6, 7, 8, 2], [1, 6, 7, 8, 9, 2]]
        """
        inputs: list[NDArray[np.int64]] = []
        members: list[list[int]] = []
        index: dict[bytes, int] = {}
        for ids in texts:
            if len(ids) <= limit:
                members.append([len(inputs)])
                inputs.append(ids)
                continue
            own: list[int] = []
            for window in _windows(ids, limit, ends):
                position = index.setdefault(window.tobytes(), len(inputs))
                if position == len(inputs):
                    inputs.append(window)
                own.append(position)
            members.append(own)
        return cls(inputs, members)

    @property
    def windowed(self) -> NDArray[np.bool_]:
        """True if the text is read in windows, shape (texts,)."""
        return np.array([len(own) > 1 for own in self.members], dtype=np.bool_)

    @property
    def finished(self) -> NDArray[np.int64]:
        """For each input, the number of texts of which it is the last window, shape (inputs,)."""
        return np.bincount([own[-1] for own in self.members], minlength=len(self.inputs))

    def pool(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        r"""Return the unit vector of each text, shape (texts, d), from the vectors of its inputs.

        The vector of a text with one input is the vector of the input, unchanged. For a text with the
        windows :math:`u_1, ..., u_k`:

        .. math:: u = \sum_i u_i / \lVert \sum_i u_i \rVert
        """
        pooled = rows[[own[0] for own in self.members]]
        for text in np.flatnonzero(self.windowed).tolist():
            mean = rows[self.members[text]].mean(axis=0, dtype=np.float64)
            pooled[text] = mean / max(float(np.linalg.norm(mean)), _MIN_NORM)
        return pooled


def _windows(ids: NDArray[np.int64], limit: int, ends: Ends) -> list[NDArray[np.int64]]:
    stop = len(ids) - ends.after
    width = max(1, limit - ends.before - ends.after)
    own, head, tail = ids[ends.before : stop], ids[: ends.before], ids[stop:]
    count = -(-len(own) // width)
    starts = [(len(own) - width) * place // (count - 1) for place in range(count)]
    return [np.concatenate([head, own[start : start + width], tail]) for start in starts]
