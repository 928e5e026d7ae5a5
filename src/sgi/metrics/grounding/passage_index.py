"""Where in the passages the words of a sentence stand together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sgi.metrics.grounding.analysed_text import AnalysedText
from sgi.metrics.grounding.words import split_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.metrics.grounding.words import Words

WIDTH = 40
"""Words of a place: two sentences, so that what one says of the other's subject is together."""

_MOST_PLACES = 3
_FEWEST_FURTHER = 2  # words that a further place must add: one alone stands in some passage by chance
_BLOCK = 4096  # places whose words are counted at once


class Window(NamedTuple):
    """A stretch of `WIDTH` words of a passage, or fewer where it ends."""

    passage: int
    """Which passage, from 0."""
    start: int
    """The number of its first word."""


@dataclass(frozen=True, eq=False)
class PassageIndex:
    """The words of all passages of a row at positions so far apart that no window spans two passages.

    Attributes:
        texts: the passages.
        passages: the words of each.
        starts: where each begins on the line, ascending, shape (passages,).
        line: for each stem, where it stands on the line, ascending.
    """

    texts: tuple[AnalysedText, ...]
    passages: tuple[Words, ...]
    starts: NDArray[np.int64]
    line: Mapping[str, NDArray[np.int64]]
    _runs: dict[int, tuple[frozenset[tuple[str, ...]], ...]] = field(default_factory=dict)

    def runs(self, passage: int) -> tuple[frozenset[tuple[str, ...]], ...]:
        """All runs of one word of a passage, of two, and so on, as stems; found once.

        >>> shelf = PassageIndex.of(["A red tower."])
        >>> sorted(shelf.runs(0)[1])
        [('a', 'red'), ('red', 'tower')]
        """
        if passage not in self._runs:
            self._runs[passage] = tuple(map(frozenset, self.passages[passage].runs()))
        return self._runs[passage]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Index passages.

        >>> shelf = PassageIndex.of(["A red tower.", "Red paint."])
        >>> shelf.starts.tolist(), shelf.line["red"].tolist()
        ([0, 43], [1, 43])
        """
        analysed = tuple(map(AnalysedText.of, texts))
        read = tuple(map(split_words, analysed))
        starts = np.cumsum([0, *(len(words) + WIDTH for words in read[:-1])])[: len(read)]
        found: defaultdict[str, list[int]] = defaultdict(list)
        for start, words in zip(starts.tolist(), read, strict=True):
            for place, stem in enumerate(words.stems, start):
                found[stem].append(place)
        return cls(analysed, read, starts, {stem: np.array(where) for stem, where in found.items()})

    def forget(self) -> None:
        """Drop what the passages keep of their analysis."""
        for text in self.texts:
            text.results.clear()

    def coverage(self, stems: Sequence[str]) -> Coverage:
        """Which of these words each place has, of all places that begin with one of them."""
        lines = [self.line.get(stem, _NOWHERE) for stem in stems]
        starts = np.unique(np.concatenate([_NOWHERE, *lines]))
        if not starts.size:
            return Coverage(starts, starts, np.zeros((len(stems), 0), dtype=np.bool_))
        ends = starts + WIDTH
        has = [line.searchsorted(starts) < line.searchsorted(ends) for line in lines]
        passage = np.searchsorted(self.starts, starts, side="right") - 1
        return Coverage(passage, starts - self.starts[passage], np.array(has, dtype=np.bool_))


@dataclass(frozen=True, eq=False)
class Coverage:
    """Which of some words stand in which places.

    Attributes:
        passage: of each place, shape (places,).
        start: the number of its first word in the passage, shape (places,).
        has: whether a place has a word, shape (words, places).
    """

    passage: NDArray[np.int64]
    start: NDArray[np.int64]
    has: NDArray[np.bool_]

    def choose(self, wanted: NDArray[np.bool_]) -> tuple[list[tuple[Window, ...]], NDArray[np.bool_]]:
        """The places that have most of a sentence's words together, at most three, best first.

        The first has the most; each further one has the most of what is still missing, two words at least.
        So passages that have nothing to do with a sentence do not back it with a word here and there. Of
        equals it is the one in the passage that has most of all sentences' words, whatever the order of the
        passages.

        Args:
            wanted: which of the words each sentence has, shape (sentences, words).

        Returns:
            The places of each sentence, and which of its words they have, shape (sentences, words).

        >>> shelf = PassageIndex.of(["A red tower.", "Bees sleep. " * 30, "Painted in May in Paris."])
        >>> found = shelf.coverage(["red", "tower", "paint", "may", "pari", "sleep"])
        >>> places, has = found.choose(np.ones((1, 6), dtype=bool))
        >>> places, has.tolist()
        ([(Window(passage=2, start=0), Window(passage=0, start=1))], [[True, True, True, True, True, False]])
        """
        chosen: list[tuple[Window, ...]] = [() for _ in wanted]
        missing = wanted.astype(np.float32)
        if not self.has.shape[1]:
            return chosen, np.zeros_like(wanted)
        preferred = self._preferred()
        for fewest in (1, *[_FEWEST_FURTHER] * (_MOST_PLACES - 1)):
            gains = self._gains(missing) + preferred
            best = gains.argmax(axis=1)
            for sentence in np.flatnonzero(gains.max(axis=1) >= fewest).tolist():
                place = int(best[sentence])
                chosen[sentence] += (Window(int(self.passage[place]), int(self.start[place])),)
                missing[sentence][self.has[:, place]] = 0.0
        return chosen, wanted & (missing == 0)

    def _gains(self, missing: NDArray[np.float32]) -> NDArray[np.float32]:
        """How many of the words that are missing each place has, shape (sentences, places)."""
        blocks = range(0, self.has.shape[1], _BLOCK)
        return np.hstack([missing @ self.has[:, at : at + _BLOCK].astype(np.float32) for at in blocks])

    def _preferred(self) -> NDArray[np.float32]:
        """For each place less than one word, the more words its passage has."""
        first = np.flatnonzero(np.diff(self.passage, prepend=-1))
        words = np.add.reduceat(self.has, first, axis=1).astype(np.bool_).sum(axis=0)
        shares = words / (len(self.has) + 1)
        return np.asarray(np.repeat(shares, np.diff(first, append=len(self.passage))), dtype=np.float32)

    def nearest(self, wanted: NDArray[np.bool_], passages: int) -> tuple[int, ...]:
        """All passages, those first whose best place has most of a sentence's words.

        Args:
            wanted: which of the words it has, shape (words,).
            passages: how many passages there are.

        >>> shelf = PassageIndex.of(["Bees sleep.", "A red tower.", "The tower."])
        >>> shelf.coverage(["red", "tower"]).nearest(np.ones(2, dtype=bool), 3)
        (1, 2, 0)
        """
        most = np.zeros(passages, dtype=np.int64)
        np.maximum.at(most, self.passage, self.has[wanted].sum(axis=0))
        return tuple(np.argsort(-most, kind="stable").tolist())


_NOWHERE = np.zeros(0, dtype=np.int64)
