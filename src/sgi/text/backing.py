"""How each word of a response stands in its passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sgi.text.wording import LONGEST_RUN, Wording, wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Backing:
    """For every word of a response, what each passage has of it.

    Attributes:
        words: the response's words, n of them.
        known: the passage has the word, shape (passages, n).
        paired: it has the content word next to the same content word, before or behind; function words lie
            between as they like; for a function word, the content words around it; shape (passages, n).
        run: how many words long the longest run is that the passage shares and that covers the word, in
            [0, 8], shape (passages, n).
        asked: the question has the word, shape (n,).

    >>> found = Backing.of("It was built in Paris", ["Paris is old", "built in 1889"], "When was it built?")
    >>> found.known.any(axis=0).tolist(), found.run.max(axis=0).tolist()
    ([False, False, True, True, True], [0, 0, 2, 2, 1])
    """

    words: Wording
    known: NDArray[np.bool_]
    paired: NDArray[np.bool_]
    run: NDArray[np.int64]
    asked: NDArray[np.bool_]

    @classmethod
    def of(cls, response: str, passages: Sequence[str], question: str = "") -> Self:
        """The backing of a response; each distinct text is read once."""
        said = wording(response)
        read = [wording(passage) for passage in passages]
        shape = (len(read), len(said))
        known = [_has(said, passage.vocabulary) for passage in read]
        around = _neighbours(said)
        paired = [[any(pair in passage.pairs for pair in pairs) for pairs in around] for passage in read]
        run = [_covering(said, passage) for passage in read]
        return cls(
            said,
            np.array(known, dtype=np.bool_).reshape(shape),
            np.array(paired, dtype=np.bool_).reshape(shape),
            np.array(run, dtype=np.int64).reshape(shape),
            np.array(_has(said, wording(question).vocabulary), dtype=np.bool_),
        )


def _has(said: Wording, vocabulary: frozenset[str]) -> list[bool]:
    return [stem in vocabulary for stem in said.stems]


def _neighbours(said: Wording) -> list[list[tuple[str, str]]]:
    """For each word, the pairs of content words that it is in, or for a function word, stands between."""
    places = np.flatnonzero(said.content).tolist()
    pairs: list[list[tuple[str, str]]] = [[] for _ in range(len(said))]
    for first, second in zip(places, places[1:], strict=False):
        pair = said.stems[first], said.stems[second]
        for place in range(first, second + 1):
            pairs[place].append(pair)
    return pairs


def _covering(said: Wording, passage: Wording) -> NDArray[np.int64]:
    """How long the longest run is that both texts have and that covers each word, up to `LONGEST_RUN`."""
    n = len(said)
    cover = np.zeros(n, dtype=np.int64)
    for length, theirs in enumerate(passage.runs, start=1):
        runs = zip(*(said.stems[start:] for start in range(length)), strict=False)
        starts = np.flatnonzero(np.fromiter((run in theirs for run in runs), np.bool_))
        if not starts.size:
            break
        for place in range(length):
            cover[starts + place] = length
    return cover


def worst_window(values: NDArray[np.float64], size: int) -> float:
    """The least mean of ``size`` values in a row, or of all where there are fewer; NaN of none.

    An answer is no better than its weakest stretch: one that is invented does not show in the mean of a long
    text.

    >>> worst_window(np.array([1.0, 0.0, 0.0, 1.0, 1.0]), 3), worst_window(np.array([1.0, 0.5]), 9)
    (0.3333333333333333, 0.75)
    """
    if not values.size:
        return float("nan")
    width = min(size, len(values))
    sums = np.cumsum(np.concatenate([np.zeros(1), values]))
    return float(((sums[width:] - sums[:-width]) / width).min())


__all__ = ["LONGEST_RUN", "Backing", "worst_window"]
