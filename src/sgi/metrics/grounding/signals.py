"""The signals of a response or a sentence; lower values mean less support."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.metrics.grounding.facts.check import Verdict
from sgi.metrics.grounding.facts.fact import FactKind
from sgi.metrics.grounding.token_support import worst_window

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sgi.metrics.grounding.analysis import ResponseAnalysis, Sentence
    from sgi.metrics.grounding.passage_similarity import PassageSimilarity

STRETCH = 20
"""Words of a stretch: about a sentence's content words, two sentences' at most."""

_NARROW, _COPY = 10, 8
_MEASURES, _NAMES = frozenset({FactKind.NUMBER, FactKind.DATE}), frozenset({FactKind.NAME})
MOST_COUNTED = -2.0
"""What `counted` tends to."""

_MOST_STRETCHES = 3.0


class Signals(NamedTuple):
    """Signals of a part of a response; higher means better supported, NaN means not applicable.

    The first five are means over the weakest run of words, because one invented sentence changes the mean of
    a long answer little. Passages count only where they match the sentence (`token_support.TokenSupport`).
    """

    known: float
    """Share of 20 content words that some passage has."""
    known_narrow: float
    """Share of 10 words of any kind that some passage has."""
    known_wide: float
    """The same, of 20 words."""
    paired: float
    """Share of 20 content words, those of the question left out, that stand beside the same content word."""
    copied: float
    """Length of the copied runs around 8 content words, as a share of the longest that counts."""
    numbers: float
    """Numbers and dates that no passage bears out, below zero: -1 for one, -1.5 for two, towards -2."""
    names: float
    """Names that no passage has, in the same way."""
    nearness: float
    """Cosine with the nearest passage sentence less that with the question, the least of a sentence."""
    stretches: float
    """Logarithm of how many stretches of 20 content words the response is long, from 0 (one) to log 3. The
    weakest of several stretches is weaker by chance; this makes up for it."""


MEASURED = Signals._fields[:-1]
"""The signals that speak of support; the last is about length."""


def signals_of(
    analysis: ResponseAnalysis, similarity: PassageSimilarity, number: int | None = None
) -> Signals:
    """Compute the signals of a whole response, or of the sentence with this number.

    >>> from sgi.metrics.grounding.passage_similarity import PassageSimilarity
    >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
    >>> axis = np.eye(2, dtype=np.float32)
    >>> beside = PassageSimilarity.of(axis[:1], [axis], axis[1])
    >>> signals = signals_of(ResponseAnalysis.of("It weighs 5 kg.", ["It is red and weighs 7 kg."]), beside)
    >>> signals.known, signals.numbers, signals.nearness
    (0.6666666666666666, -1.0, 1.0)
    """
    numbers = range(len(analysis.sentences)) if number is None else (number,)
    chosen = [analysis.sentences[at] for at in numbers]
    part = slice(None) if number is None else analysis.sentences[number].words
    words, in_passages, copied = analysis.claims[part], analysis.known[part], analysis.copied[part]
    content = words & analysis.words.content[part]
    content = content if content.any() else words
    new = content & ~analysis.in_question[part]
    new = new if new.any() else content
    counted_words = int(np.count_nonzero(content))
    known_words = in_passages[words]
    return Signals(
        worst_window(in_passages[content], STRETCH),
        worst_window(known_words, _NARROW),
        worst_window(known_words, STRETCH),
        worst_window(analysis.support.paired[part][new], STRETCH),
        worst_window(copied[content], _COPY),
        _unsupported(chosen, _MEASURES),
        _unsupported(chosen, _NAMES),
        similarity.least_margin([at for at in numbers if analysis.claims_in(at)]),
        stretches(counted_words),
    )


def stretches(words: int) -> float:
    """The signal `Signals.stretches` of so many content words.

    >>> stretches(12), round(stretches(40), 3), round(stretches(900), 3)
    (0.0, 0.693, 1.099)
    """
    return math.log(min(max(words / STRETCH, 1.0), _MOST_STRETCHES))


def _unsupported(sentences: Iterable[Sentence], kinds: frozenset[FactKind]) -> float:
    count = sum(
        check.verdict is not Verdict.SUPPORTED
        for sentence in sentences
        for check in sentence.checks
        if check.fact.kind in kinds
    )
    return counted(count)


def counted(facts: int) -> float:
    """Return the signal of failed facts: each further one counts half as much as the one before.

    >>> counted(0), counted(1), counted(2)
    (0.0, -1.0, -1.5)
    """
    return MOST_COUNTED * (1 - 0.5**facts) + 0.0


def table(rows: Iterable[Signals]) -> NDArray[np.float64]:
    """Signals as rows of a table, shape (n, signals).

    >>> table([Signals(1, 1, 1, 1, 1, 0, 0, 0.1, 0)]).shape
    (1, 9)
    """
    return np.array([tuple(row) for row in rows], dtype=np.float64).reshape(-1, len(Signals._fields))
