"""Finds the windows (40 consecutive words) of passages that have the most words of a sentence."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sgi.metrics.grounding.language_tables import AnalysedText
from sgi.metrics.grounding.words import split_words
from sgi.text.tokenizers import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.metrics.grounding.words import Words

WIDTH = 40
"""Number of words of a window: about two sentences, so that a pronoun and its subject are together."""

_MAX_WINDOWS = 3
_MIN_FURTHER = 2  # words that a further window must add: a single word is in some passage by chance
_MOST_OCCURRENCES = 4_000_000
_BLOCK = 4096  # windows whose words are counted at once


class Window(NamedTuple):
    """`WIDTH` consecutive words of a passage (fewer at its end), from word ``start``."""

    passage: int
    start: int


class PassageSentence(NamedTuple):
    """A sentence of a passage, from character ``start``.

    ``first_word`` is the position of its first word in the `PassageIndex`.
    """

    passage: int
    text: str
    start: int
    first_word: int

    @property
    def span(self) -> tuple[int, int]:
        """Start and end in the passage."""
        return self.start, self.start + len(self.text)


@dataclass(frozen=True, eq=False)
class PassageIndex:
    """The words of all passages of a row, at positions such that no window spans two passages.

    Attributes:
        starts: the position of the first word of each passage, ascending, shape (passages,).
        line: the positions of each stem in all passages, ascending.
    """

    texts: tuple[AnalysedText, ...]
    passages: tuple[Words, ...]
    starts: NDArray[np.int64]
    line: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Build the index of these passages.

        >>> index = PassageIndex.of(["A red tower.", "Red paint."])
        >>> index.starts.tolist(), index.line["red"]
        ([0, 43], [1, 43])
        """
        analysed = tuple(map(AnalysedText.of, texts))
        passages = tuple(map(split_words, analysed))
        starts = np.cumsum([0, *(len(words) + WIDTH for words in passages[:-1])])[: len(passages)]
        positions: defaultdict[str, list[int]] = defaultdict(list)
        for start, words in zip(starts.tolist(), passages, strict=True):
            for position, stem in enumerate(words.stems, start):
                positions[stem].append(position)
        return cls(analysed, passages, starts, positions)

    @cached_property
    def sentences(self) -> tuple[PassageSentence, ...]:
        """The sentences of all passages, in order."""
        found = []
        for passage, text in enumerate(self.texts):
            spans = sentence_spans(text, text.language)
            first_words = self.passages[passage].starts.searchsorted([start for start, _ in spans])
            first_words = first_words + self.starts[passage]
            found += [
                PassageSentence(passage, text[start:end], start, first_word)
                for (start, end), first_word in zip(spans, first_words.tolist(), strict=True)
            ]
        return tuple(found)

    @cached_property
    def _first_words(self) -> NDArray[np.int64]:
        return np.array([sentence.first_word for sentence in self.sentences], dtype=np.int64)

    def occurrences(self, stems: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all occurrences of these stems: the index of the stem, ascending, and the position.

        Of texts that repeat a few words very often, only the first occurrences of each stem are returned, so
        that the memory is bounded.

        >>> [column.tolist() for column in PassageIndex.of(["Red bees, red"]).occurrences(["bee", "red"])]
        [[0, 1, 1], [1, 0, 2]]
        """
        lines = [self.line.get(stem, ()) for stem in stems]
        if sum(map(len, lines)) > _MOST_OCCURRENCES:
            lines = [line[: _MOST_OCCURRENCES // len(stems) or 1] for line in lines]
        rows = np.repeat(np.arange(len(stems)), [len(line) for line in lines])
        return rows, np.fromiter(chain.from_iterable(lines), dtype=np.int64, count=len(rows))

    def in_sentences(self, stems: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of these stems each sentence of the passages has, shape (stems, sentences).

        >>> PassageIndex.of(["It is red. It is tall.", "Tall."]).in_sentences(["red", "tall"]).tolist()
        [[True, False, False], [False, True, True]]
        """
        rows, positions = self.occurrences(stems)
        has = np.zeros((len(stems), len(self.sentences)), dtype=np.bool_)
        has[rows, self._first_words.searchsorted(positions, side="right") - 1] = True
        return has

    def sentences_in(self, window: Window) -> slice:
        """Return the sentences of the passages that have a word in a window.

        >>> index = PassageIndex.of(["It is red. It is old. It is tall.", "It is blue."])
        >>> index.sentences_in(Window(passage=0, start=5))
        slice(1, 3, None)
        """
        start = self.starts[window.passage] + window.start
        end = min(start + WIDTH, self.starts[window.passage] + len(self.passages[window.passage]))
        first, last = self._first_words.searchsorted((start, end - 1), side="right").tolist()
        return slice(first - 1, last)

    def forget(self) -> None:
        """Drop the cached analysis of the passages."""
        for text in self.texts:
            text.results.clear()

    def coverage(self, stems: Sequence[str]) -> Coverage:
        """Return which of these stems occur in each window that begins with one of them."""
        rows, positions = self.occurrences(stems)
        starts, windows = np.unique(positions, return_inverse=True)
        # The number of occurrences before each window, modulo 256: a window has at most `WIDTH` of them.
        before = np.zeros((len(stems), len(starts) + 1), dtype=np.uint8)
        before[rows, windows + 1] = 1
        before.cumsum(axis=1, dtype=np.uint8, out=before)
        has = before[:, starts.searchsorted(starts + WIDTH)] != before[:, :-1]
        passage = self.starts.searchsorted(starts, side="right") - 1
        return Coverage(passage, starts - self.starts[passage], has)


@dataclass(frozen=True, eq=False)
class Coverage:
    """Table of the words that occur in each window.

    Attributes:
        passage: index of each window's passage, shape (windows,).
        start: index of each window's first word in the passage, shape (windows,).
        has: whether a window has a word, shape (words, windows).
    """

    passage: NDArray[np.int64]
    start: NDArray[np.int64]
    has: NDArray[np.bool_]

    def choose(self, sought: NDArray[np.bool_]) -> tuple[list[tuple[Window, ...]], NDArray[np.bool_]]:
        """Choose at most three windows for each sentence, best first.

        The first has the most words of the sentence; each further one has the most of the missing words, at
        least two, so that unrelated passages do not count. Ties go to the passage that has the most words of
        all sentences.

        Args:
            sought: the words of each sentence, shape (sentences, words).

        Returns:
            The windows of each sentence, and which of its words they have, shape (sentences, words).

        >>> index = PassageIndex.of(["A red tower.", "Bees sleep. " * 30, "Painted in May in Paris."])
        >>> coverage = index.coverage(["red", "tower", "paint", "may", "pari", "sleep"])
        >>> windows, has = coverage.choose(np.ones((1, 6), dtype=bool))
        >>> windows, has.tolist()
        ([(Window(passage=2, start=0), Window(passage=0, start=1))], [[True, True, True, True, True, False]])
        """
        chosen: list[tuple[Window, ...]] = [() for _ in sought]
        missing = sought.astype(np.float32)
        if not self.has.shape[1]:
            return chosen, np.zeros_like(sought)
        tie_breakers = self._tie_breakers()
        for fewest in (1, *[_MIN_FURTHER] * (_MAX_WINDOWS - 1)):
            if missing.sum(axis=1).max(initial=0.0) < fewest:
                break
            gains = self._gains(missing) + tie_breakers
            best = gains.argmax(axis=1)
            for sentence in np.flatnonzero(gains.max(axis=1) >= fewest).tolist():
                window = int(best[sentence])
                chosen[sentence] += (Window(int(self.passage[window]), int(self.start[window])),)
                missing[sentence][self.has[:, window]] = 0.0
        return chosen, sought & (missing == 0)

    def _gains(self, missing: NDArray[np.float32]) -> NDArray[np.float32]:
        """Count the missing words that each window has, shape (sentences, windows)."""
        blocks = range(0, self.has.shape[1], _BLOCK)
        if len(blocks) == 1:
            return missing @ self.has.astype(np.float32)
        return np.hstack([missing @ self.has[:, at : at + _BLOCK].astype(np.float32) for at in blocks])

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """The index of the first window of each passage that has one."""
        return np.flatnonzero(np.append(True, self.passage[1:] != self.passage[:-1]))

    def _tie_breakers(self) -> NDArray[np.float32]:
        """Return a fraction below one for each window, larger for passages with more of the words."""
        if self.passage[0] == self.passage[-1]:  # all are of one passage, so there are no ties
            return np.zeros(len(self.passage), dtype=np.float32)
        words = np.logical_or.reduceat(self.has, self._first, axis=1).sum(axis=0)
        shares = np.zeros(self.passage[-1] + 1, dtype=np.float32)
        shares[self.passage[self._first]] = words / (len(self.has) + 1)
        return shares[self.passage]

    def most(self, sought: NDArray[np.bool_], passages: int) -> NDArray[np.int64]:
        """Count the words of sentences in the best window of each passage, shape (sentences, passages)."""
        most = np.zeros((len(sought), passages), dtype=np.int64)
        if len(self.passage):
            counts = self._gains(sought.astype(np.float32))
            most[:, self.passage[self._first]] = np.maximum.reduceat(counts, self._first, axis=1)
        return most
