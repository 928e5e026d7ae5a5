"""How each word of a response stands in its passages, at the places that back its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress, pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sgi.metrics.grounding.passage_index import WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.metrics.grounding.passage_index import Coverage, PassageIndex, Window
    from sgi.metrics.grounding.words import Words

_AROUND = 20  # words on both sides of a place, among which function words count as its own


@dataclass(frozen=True, eq=False)
class TokenSupport:
    """For every word of a response, what the places that back its sentence have of it.

    A word counts only where it stands among others of its sentence. Passages about something else have many
    of its words too, here and there, and change nothing.

    Attributes:
        words: the response's words, n of them.
        places: of each sentence, where its words stand together in the passages, best first; none where no
            passage has any.
        known: a place of its sentence has the word, shape (n,).
        paired: a passage of such a place has the content word next to the same content word, before or
            behind; function words lie between as they like; for a function word, the content words around it;
            shape (n,).
        run: how many words long the longest run is that such a passage shares and that covers the word, in
            [0, 8], shape (n,).

    >>> from sgi.metrics.grounding.passage_index import PassageIndex
    >>> from sgi.metrics.grounding.words import split_words
    >>> said = split_words("It was built in Paris")
    >>> passages = PassageIndex.of(["Paris is old", "built in 1889 in Paris"])
    >>> found = TokenSupport.of(said, [slice(0, 5)], passages)
    >>> found.places, found.known.tolist(), found.run.tolist()
    (((Window(passage=1, start=0),),), [False, False, True, True, True], [0, 0, 2, 2, 2])
    >>> found.nearest(0)
    (1, 0)
    """

    words: Words
    places: tuple[tuple[Window, ...], ...]
    known: NDArray[np.bool_]
    paired: NDArray[np.bool_]
    run: NDArray[np.int64]
    _wanted: _Wanted

    @classmethod
    def of(
        cls,
        said: Words,
        sentences: Sequence[slice],
        on: PassageIndex,
        claims: NDArray[np.bool_] | None = None,
    ) -> Self:
        """The backing of a response; each distinct passage is read once.

        Args:
            said: the response.
            sentences: its sentences, as places among its words.
            on: the passages.
            claims: which words to look for, shape (n,); None takes all.
        """
        claims = np.ones(len(said), dtype=np.bool_) if claims is None else claims
        wanted = _Wanted.of(said, sentences, claims, on)
        places, has = wanted.coverage.choose(wanted.words)
        has = np.pad(has, ((0, 0), (0, 1)))  # the last is of words that are not looked for
        known = np.zeros(len(said), dtype=np.bool_)
        paired, run = known.copy(), np.zeros(len(said), dtype=np.int64)
        pairs, runs = _Pairs.of(said), said.runs()
        shared: dict[int, tuple[NDArray[np.bool_], NDArray[np.int64]]] = {}
        for number, words in enumerate(sentences):
            around = _around(places[number], on)
            known[words] = has[number, wanted.row[words]]
            for place in np.flatnonzero(~said.content[words] & ~known[words]).tolist():
                known[words.start + place] = said.stems[words.start + place] in around
            for passage in {place.passage for place in places[number]}:
                if passage not in shared:
                    within = pairs.within(on.passages[passage])
                    shared[passage] = within, _covering(runs, on.runs(passage))
                paired[words] |= shared[passage][0][words]
                np.maximum(run[words], shared[passage][1][words], out=run[words])
        return cls(said, tuple(places), known, paired, run, wanted)

    def nearest(self, number: int) -> tuple[int, ...]:
        """All passages, those first that have most of a sentence's words together."""
        return self._wanted.coverage.nearest(self._wanted.words[number], self._wanted.passages)


class _Wanted(NamedTuple):
    """The distinct words that sentences look for, and where they stand.

    ``row`` says for each word of the text which of them it is, -1 for none; ``words`` which of them each
    sentence has, shape (sentences, words).
    """

    row: NDArray[np.int64]
    words: NDArray[np.bool_]
    coverage: Coverage
    passages: int

    @classmethod
    def of(cls, said: Words, sentences: Sequence[slice], claims: NDArray[np.bool_], on: PassageIndex) -> Self:
        """Sentences look for their content words, or for all of their words where they have none."""
        rows: dict[str, int] = {}
        found = []
        for words in sentences:
            claimed = claims[words]
            chosen = claimed & said.content[words]
            chosen = chosen if chosen.any() else claimed
            stems = compress(said.stems[words], chosen.tolist())
            found.append([rows.setdefault(stem, len(rows)) for stem in stems])
        has = np.zeros((len(found), len(rows)), dtype=np.bool_)
        for number, places in enumerate(found):
            has[number, places] = True
        row = np.array([rows.get(stem, -1) for stem in said.stems], dtype=np.int64)
        return cls(row, has, on.coverage(list(rows)), len(on.passages))


def _around(places: Sequence[Window], on: PassageIndex) -> set[str]:
    """What stands in some places and close to them."""
    return set().union(
        *(
            on.passages[place.passage].stems[max(0, place.start - _AROUND) : place.start + WIDTH + _AROUND]
            for place in places
        )
    )


class _Pairs(NamedTuple):
    """The content words of a text that follow one another.

    ``before`` and ``behind`` say for each word which pairs it is in, or for a function word, between which
    two it stands; the pair past the last is none.
    """

    pairs: tuple[tuple[str, str], ...]
    before: NDArray[np.int64]
    behind: NDArray[np.int64]

    @classmethod
    def of(cls, said: Words) -> Self:
        stems = tuple(compress(said.stems, said.content.tolist()))
        last = np.cumsum(said.content) - 1
        none = max(len(stems) - 1, 0)
        behind = np.where((last >= 0) & (last < none), last, none)
        before = np.where(said.content, last - 1, behind)
        return cls(tuple(pairwise(stems)), np.where(before < 0, none, before), behind)

    def within(self, passage: Words) -> NDArray[np.bool_]:
        """Which words the passage has in one of their pairs."""
        has = np.array([pair in passage.pairs for pair in self.pairs] + [False], dtype=np.bool_)
        return np.asarray(has[self.before] | has[self.behind])


def _covering(
    said: Sequence[Sequence[tuple[str, ...]]], passage: Sequence[frozenset[tuple[str, ...]]]
) -> NDArray[np.int64]:
    """How long the longest run is that both texts have and that covers each word, up to `LONGEST_RUN`."""
    cover = np.zeros(len(said[0]), dtype=np.int64)
    starts = [*range(len(cover))]
    for length, (ours, theirs) in enumerate(zip(said, passage, strict=True), start=1):
        # Only where a shorter run begins can a longer one.
        starts = [at for at in starts if at < len(ours) and ours[at] in theirs]
        if not starts:
            break
        for place in range(length):
            cover[np.add(starts, place)] = length
    return cover


def worst_window(values: NDArray[np.float64] | NDArray[np.bool_], size: int) -> float:
    """The least mean of ``size`` values in a row, or of all where there are fewer; NaN of none.

    An answer is no better than its weakest stretch: one that is invented does not show in the mean of a long
    text.

    >>> worst_window(np.array([1.0, 0.0, 0.0, 1.0, 1.0]), 3), worst_window(np.array([1.0, 0.5]), 9)
    (0.3333333333333333, 0.75)
    """
    if not values.size:
        return float("nan")
    if len(values) <= size:
        return float(values.sum()) / len(values)
    sums = np.zeros(len(values) + 1)
    values.cumsum(out=sums[1:])
    return float((sums[size:] - sums[:-size]).min()) / size
