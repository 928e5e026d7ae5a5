"""What is measured of a response, or of one of its sentences: numbers that fall when support is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.text.backing import worst_window
from sgi.text.facts.check import Verdict
from sgi.text.facts.fact import FactKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sgi.metrics.support.evidence import Nearness
    from sgi.metrics.support.reading import Reading, Sentence

_WIDE, _NARROW, _PLAIN = 20, 8, 10
_MOST_FACTS = 2


class Signals(NamedTuple):
    """The signals of a stretch of a response; NaN where it has nothing of the kind. More is better supported.

    Each of the first six is the mean over the weakest stretch of so many words in a row, or over all words
    where there are fewer. A long answer with one invented sentence has a weak stretch, and a good mean.
    """

    known: float
    """Share of 20 content words that some passage has."""
    known_plain: float
    """Share of 10 words of any kind that some passage has."""
    paired: float
    """Share of 20 content words, those of the question left out, that stand beside the same content word."""
    copied_narrow: float
    """Length of the copied runs around 8 content words, as a share of the longest that counts."""
    copied_wide: float
    """The same, of 20 words of any kind."""
    numbers: float
    """Numbers and dates that no passage bears out, counted below zero, at least -2."""
    names: float
    """Names that no passage has, counted below zero, at least -2."""
    nearness: float
    """Cosine with the nearest passage sentence less that with the question, of the sentence with the least."""


def signals_of(reading: Reading, nearness: Nearness, which: Sequence[int] | None = None) -> Signals:
    """The signals of a whole response, or of some of its sentences, by their numbers.

    >>> from sgi.metrics.support.evidence import Nearness
    >>> from sgi.metrics.support.reading import Reading
    >>> axis = np.eye(2, dtype=np.float32)
    >>> beside = Nearness.of(axis[:1], [axis], axis[1])
    >>> found = signals_of(Reading.of("It weighs 5 kg.", ["It is red and weighs 7 kg."]), beside)
    >>> found.known, found.numbers, found.nearness
    (0.6666666666666666, -1.0, 1.0)
    """
    numbers = range(len(reading.sentences)) if which is None else which
    chosen = [reading.sentences[number] for number in numbers]
    words = np.zeros(len(reading.claims), dtype=np.bool_)
    for sentence in chosen:
        words[sentence.words] = True
    words &= reading.claims
    content = words & reading.backing.words.content
    if not content.any():
        content = words
    new = content & ~reading.backing.asked
    if not new.any():
        new = content
    return Signals(
        worst_window(reading.known[content], _WIDE),
        worst_window(reading.known[words], _PLAIN),
        worst_window(reading.paired[new], _WIDE),
        worst_window(reading.copied[content], _NARROW),
        worst_window(reading.copied[words], _WIDE),
        _unsupported(chosen, {FactKind.NUMBER, FactKind.DATE}),
        _unsupported(chosen, {FactKind.NAME}),
        nearness.apart([number for number in numbers if reading.claims[reading.sentences[number].words].any()]),
    )


def _unsupported(sentences: Iterable[Sentence], kinds: set[FactKind]) -> float:
    count = sum(
        check.verdict is not Verdict.SUPPORTED
        for sentence in sentences
        for check in sentence.checks
        if check.fact.kind in kinds
    )
    return -float(min(count, _MOST_FACTS))


def table(rows: Iterable[Signals]) -> NDArray[np.float64]:
    """Signals as rows of a table, shape (n, signals).

    >>> table([Signals(1, 1, 1, 1, 1, 0, 0, 0.1)]).shape
    (1, 8)
    """
    return np.array([tuple(row) for row in rows], dtype=np.float64).reshape(-1, len(Signals._fields))
