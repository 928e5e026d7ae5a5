"""Computes the signals: numbers that measure how well the passages support a response or a sentence."""

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
"""Number of words of a stretch (words in a row): about the content words of one or two sentences."""

_NARROW, _COPY = 10, 8
_MEASURES, _NAMES = frozenset({FactKind.NUMBER, FactKind.DATE}), frozenset({FactKind.NAME})
_NEGATIONS = frozenset({FactKind.NEGATION})
MOST_COUNTED = -2.0
"""Lower limit of ``numbers``, ``names`` and ``negation``, reached with many unsupported facts."""

_MOST_STRETCHES = 3.0


class Signals(NamedTuple):
    """Signals of a response or a sentence; higher means better supported, NaN means not applicable.

    Each of the first five is the lowest mean over a number of words in a row, because one invented sentence
    hardly changes the mean of a long answer. A word is searched for only in the windows of passages that
    match its sentence (`TokenSupport`).

    Attributes:
        known: share of the words that a window has, of 20 content words.
        known_narrow: the same, of 10 words of any kind.
        known_wide: the same, of 20 words of any kind.
        paired: share of the words that a passage has next to the same content word, of 20 content words that
            are not in the question.
        copied: mean of `ResponseAnalysis.copy_lengths` of 8 content words.
        numbers: 0 if passages support all numbers and dates, -1 if one is unsupported, -1.5 for two; at
            least -2.
        names: the same for names.
        nearness: lowest margin of a sentence: cosine with the passages minus cosine with the question.
        stretches: logarithm of the number of stretches (20 content words), from 0 for one to log 3. It
            corrects for chance: the lowest mean of a longer response is lower.
        negation: the same as ``numbers``, for words that the response negates and the passages assert, or the
            reverse.
    """

    known: float
    known_narrow: float
    known_wide: float
    paired: float
    copied: float
    numbers: float
    names: float
    nearness: float
    stretches: float
    negation: float


MEASURED = Signals._fields[:-2]
"""Names of the signals of support with trained weights. ``stretches`` measures length; the weight of
``negation`` is chosen."""


def signals_of(
    analysis: ResponseAnalysis, similarity: PassageSimilarity, number: int | None = None
) -> Signals:
    """Compute the signals of a whole response, or of the sentence with this number.

    >>> from sgi.metrics.grounding.passage_similarity import PassageSimilarity
    >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
    >>> axis = np.eye(2, dtype=np.float32)
    >>> near = PassageSimilarity.of(axis[:1], [axis], axis[1])
    >>> signals = signals_of(ResponseAnalysis.of("It weighs 5 kg.", ["It is red and weighs 7 kg."]), near)
    >>> signals.known, signals.numbers, signals.nearness
    (0.6666666666666666, -1.0, 1.0)
    """
    numbers = range(len(analysis.sentences)) if number is None else (number,)
    chosen = [analysis.sentences[at] for at in numbers]
    part = slice(None) if number is None else analysis.sentences[number].words
    words, in_passages = analysis.claims[part], analysis.known_words[part]
    content = words & analysis.words.content[part]
    content = content if content.any() else words
    new = content & ~analysis.in_question[part]
    new = new if new.any() else content
    return Signals(
        worst_window(in_passages[content], STRETCH),
        worst_window(in_passages[words], _NARROW),
        worst_window(in_passages[words], STRETCH),
        worst_window(analysis.support.paired[part][new], STRETCH),
        worst_window(analysis.copy_lengths[part][content], _COPY),
        _fact_signal(chosen, _MEASURES),
        _fact_signal(chosen, _NAMES),
        similarity.least_margin([at for at in numbers if analysis.claims_in(at)]),
        stretches(int(np.count_nonzero(content))),
        _fact_signal(chosen, _NEGATIONS),
    )


def stretches(words: int) -> float:
    """Return the signal ``stretches`` of a text with this number of content words."""
    return math.log(min(max(words / STRETCH, 1.0), _MOST_STRETCHES))


def _fact_signal(sentences: Iterable[Sentence], kinds: frozenset[FactKind]) -> float:
    """Return 0 if all facts are supported; each unsupported one lowers it, half as much as the one before."""
    count = sum(
        check.verdict is not Verdict.SUPPORTED
        for sentence in sentences
        for check in sentence.checks
        if check.fact.kind in kinds
    )
    return MOST_COUNTED * (1 - 0.5**count) + 0.0


def table(rows: Iterable[Signals]) -> NDArray[np.float64]:
    """Return signals as rows of a table, shape (n, signals)."""
    return np.array([tuple(row) for row in rows], dtype=np.float64).reshape(-1, len(Signals._fields))
