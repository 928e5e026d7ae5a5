"""Finds the words of a response that its passages support."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from itertools import accumulate, compress, pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sgi.metrics.grounding.passage_index import WIDTH
from sgi.metrics.grounding.words import LONGEST_RUN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.metrics.grounding.passage_index import PassageIndex, PassageSentence, Window
    from sgi.metrics.grounding.words import Words

_FIRST, _LEAST = 1000.0, 1e-6  # closeness: more and less than any difference of the other parts
_AROUND = 20  # words on both sides of a window that are searched for function words of the sentence


@dataclass(frozen=True, eq=False)
class TokenSupport:
    """The words of a response that occur in the windows of passages that match its sentences.

    A word counts only if it occurs near other words of its sentence: a passage on another subject may also
    contain the words of a sentence, but in separate places.

    Attributes:
        words: the words of the response, n of them.
        places: windows that match each sentence, best first; empty if no passage has any of its words.
        known: whether a window of its sentence has the word, shape (n,).
        paired: whether a passage with such a window has the word next to the same content word, ignoring
            function words; for a function word, whether it has the two words around it; shape (n,).
        run: length of the longest sequence of words around this word that such a passage contains, in
            [0, 8], shape (n,).
        sentences: the sentences of the passages.
        inside: whether each of these sentences has a word in a window of each sentence of the response, shape
            (sentences, sentences of passages).
        closeness: how close they are to it, by words (see `_closeness`), same shape.

    >>> from sgi.metrics.grounding.passage_index import PassageIndex
    >>> from sgi.metrics.grounding.words import split_words
    >>> response_words = split_words("It was built in Paris")
    >>> passages = PassageIndex.of(["Paris is old", "built in 1889 in Paris"])
    >>> support = TokenSupport.of(response_words, [slice(0, 5)], passages)
    >>> support.places, support.known.tolist(), support.run.tolist()
    (((Window(passage=1, start=0),),), [False, False, True, True, True], [0, 0, 2, 2, 2])
    >>> support.nearest(0)
    (1, 0)
    """

    words: Words
    places: tuple[tuple[Window, ...], ...]
    known: NDArray[np.bool_]
    paired: NDArray[np.bool_]
    run: NDArray[np.int64]
    sentences: tuple[PassageSentence, ...]
    inside: NDArray[np.bool_]
    closeness: NDArray[np.float64]
    _most: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        response_words: Words,
        sentences: Sequence[slice],
        on: PassageIndex,
        claims: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Match the words of a response (or only the words in ``claims``) with its passages."""
        claims = np.ones(len(response_words), dtype=np.bool_) if claims is None else claims
        sought = _SoughtWords.of(response_words, sentences, claims)
        coverage = on.coverage(sought.stems)
        places, has = coverage.choose(sought.words)
        unsought = np.zeros((len(has), 1), dtype=np.bool_)
        has = np.concatenate([has, unsought], axis=1)  # the last column is for words that are not looked for
        number = np.repeat(np.arange(len(sentences)), [words.stop - words.start for words in sentences])
        in_passages = has[number, sought.row]
        around: dict[int, set[str]] = {}
        for place in np.flatnonzero(~response_words.content & ~in_passages).tolist():
            sentence = int(number[place])
            if sentence not in around:
                around[sentence] = _around(places[sentence], on)
            in_passages[place] = response_words.stems[place] in around[sentence]
        matched = np.zeros((len(on.passages), len(sentences)), dtype=np.bool_)
        for sentence, windows in enumerate(places):
            for window in windows:
                matched[window.passage, sentence] = True
        matched = matched[:, number]
        pairs = _Pairs.of(response_words)
        paired = np.zeros(len(response_words), dtype=np.bool_)
        for passage in np.flatnonzero(matched.any(axis=1)).tolist():
            paired |= matched[passage] & pairs.within(on.passages[passage])
        run = np.where(matched, _longest_runs(response_words.stems, on), 0).max(axis=0, initial=0)
        inside = _inside(places, on)
        closeness = _closeness(sought, inside, on)
        most = coverage.most(sought.words, len(on.passages))
        support = (tuple(places), in_passages, paired, run)
        return cls(response_words, *support, on.sentences, inside, closeness, most)

    def nearest(self, number: int) -> tuple[int, ...]:
        """Return the indices of all passages, sorted by how many words their best window shares."""
        return tuple(np.argsort(-self._most[number], kind="stable").tolist())

    def nearest_sentences(self, number: int) -> list[PassageSentence]:
        """Return all sentences of passages, the closest first."""
        order = np.argsort(-self.closeness[number], kind="stable").tolist()
        return [self.sentences[at] for at in order]

    def nearest_in(self, passage: int, number: int) -> PassageSentence:
        """Return the closest sentence of a passage."""
        own = (sentence for sentence in self.nearest_sentences(number) if sentence.passage == passage)
        return next(own)


class _SoughtWords(NamedTuple):
    """The distinct words of a response that are looked for in the passages.

    ``row`` holds, for each word of the response, its index among these words, or -1; ``words`` is the mask of
    the words of each sentence, shape (sentences, words).
    """

    row: NDArray[np.int64]
    words: NDArray[np.bool_]
    stems: list[str]

    @classmethod
    def of(cls, response_words: Words, sentences: Sequence[slice], claims: NDArray[np.bool_]) -> Self:
        """Look for the content words of each sentence, or for all its words if it has no content words."""
        rows: dict[str, int] = {}
        sentence_rows = []
        for words in sentences:
            claimed = claims[words]
            chosen = claimed & response_words.content[words]
            chosen = chosen if chosen.any() else claimed
            stems = compress(response_words.stems[words], chosen.tolist())
            sentence_rows.append([rows.setdefault(stem, len(rows)) for stem in stems])
        has = np.zeros((len(sentence_rows), len(rows)), dtype=np.bool_)
        for number, places in enumerate(sentence_rows):
            has[number, places] = True
        row = np.array([rows.get(stem, -1) for stem in response_words.stems], dtype=np.int64)
        return cls(row, has, list(rows))


def _inside(places: Sequence[Sequence[Window]], on: PassageIndex) -> NDArray[np.bool_]:
    """Return which sentences of the passages have a word in a window of each sentence of a response."""
    inside = np.zeros((len(places), len(on.sentences)), dtype=np.bool_)
    for number, windows in enumerate(places):
        for window in windows:
            inside[number, on.sentences_in(window)] = True
    return inside


def _closeness(sought: _SoughtWords, inside: NDArray[np.bool_], on: PassageIndex) -> NDArray[np.float64]:
    """Measure how close each sentence of the passages is to each sentence of a response.

    Sentences that share a word, in a window of the response's sentence, come first; then those with more
    distinct words in common, divided by the square root of their characters; then the windows of the passage
    that has most words of the response, so that the order of the passages and irrelevant passages hardly
    matter.
    """
    has = on.in_sentences(sought.stems)
    shared = sought.words.astype(np.float32) @ has.astype(np.float32)
    passages = np.array([sentence.passage for sentence in on.sentences], dtype=np.int64)
    words = np.zeros(len(on.passages))
    if passages.size:
        first = np.flatnonzero(np.append(True, passages[1:] != passages[:-1]))
        words[passages[first]] = np.logical_or.reduceat(has, first, axis=1).sum(axis=0)
    lengths = np.sqrt([len(sentence.text) for sentence in on.sentences])
    tie_breakers = _LEAST * words[passages]
    return np.where(inside & (shared > 0), _FIRST, 0.0) + shared / lengths + tie_breakers


def _around(places: Sequence[Window], on: PassageIndex) -> set[str]:
    return set().union(
        *(
            on.passages[place.passage].stems[max(0, place.start - _AROUND) : place.start + WIDTH + _AROUND]
            for place in places
        )
    )


class _Pairs(NamedTuple):
    """The pairs of consecutive content words of a text.

    For each word, ``before`` is the index of the pair that ends with it, ``after`` of the pair that begins
    with it; for a function word, both are the pair around it. The index after the last pair means no pair.
    """

    pairs: tuple[tuple[str, str], ...]
    before: NDArray[np.int64]
    after: NDArray[np.int64]

    @classmethod
    def of(cls, response_words: Words) -> Self:
        stems = tuple(compress(response_words.stems, response_words.content.tolist()))
        last = np.cumsum(response_words.content) - 1
        none = max(len(stems) - 1, 0)
        after = np.where((last >= 0) & (last < none), last, none)
        before = np.where(response_words.content, last - 1, after)
        return cls(tuple(pairwise(stems)), np.where(before < 0, none, before), after)

    def within(self, passage: Words) -> NDArray[np.bool_]:
        """Return which words belong to a word pair that also occurs in the passage."""
        has = np.array([pair in passage.pairs for pair in self.pairs] + [False], dtype=np.bool_)
        return np.asarray(has[self.before] | has[self.after])


def _longest_runs(stems: Sequence[str], on: PassageIndex) -> NDArray[np.int64]:
    """Return the length of the longest run that covers each word and that a passage has, up to `LONGEST_RUN`.

    The shape is (passages, words). A run is a diagonal of equal words: word i + k of the response is at
    position j + k of the passages. Positions of different passages are never next to each other.
    """
    words, positions = on.occurrences(stems)
    step = (
        int(positions.max(initial=0)) + 2
    )  # so that the last position of a word is not next to the next word
    cells = words * step + positions  # ascending
    passages = on.starts.searchsorted(positions, side="right") - 1
    longest = np.zeros((len(on.passages), len(stems)), dtype=np.int64)
    starts = np.arange(len(cells))
    for length in range(1, LONGEST_RUN + 1):
        longest[passages[starts], words[starts]] = length
        after = cells[starts] + length * (step + 1)
        found = cells.searchsorted(after)
        found[found == len(cells)] = 0
        starts = starts[cells[found] == after]
        if not starts.size:
            break
    cover = longest.copy()
    for place in range(1, min(LONGEST_RUN, len(stems))):
        before = longest[:, :-place]
        np.maximum(cover[:, place:], np.where(before > place, before, 0), out=cover[:, place:])
    return cover


def worst_window(values: Sequence[float], size: int) -> float:
    """Return the lowest mean of ``size`` values in a row, or of all if there are fewer; NaN for no values."""
    if not values:
        return math.nan
    if len(values) <= size:
        return sum(values) / len(values)
    sums = list(accumulate(values, initial=0))
    lowest: float = min(map(operator.sub, sums[size:], sums))
    return lowest / size
