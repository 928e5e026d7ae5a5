"""Computes the signals: numbers that measure how well the passages support a response or a sentence."""

from __future__ import annotations

import math
import re
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.metrics.grounding.check_facts import Verdict
from sgi.metrics.grounding.facts import FactKind
from sgi.metrics.grounding.language_tables import ENGLISH, language_of
from sgi.metrics.grounding.token_support import worst_window
from sgi.metrics.grounding.words import LONGEST_RUN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from sgi.metrics.grounding.analysis import ResponseAnalysis, Sentence
    from sgi.metrics.grounding.facts import Fact
    from sgi.metrics.grounding.words import Words

STRETCH = 20
"""Number of words of a stretch (words in a row): about the content words of one or two sentences."""

_NARROW, _COPY = 10, 8
_SHORT = 4  # content words
_NAMES = frozenset({FactKind.NAME})
_NAME_PART = 3
_MEASURES = frozenset({FactKind.NUMBER, FactKind.DATE, FactKind.IDENTIFIER})
_MAX_WORDS_BEFORE_SUBJECT = 2  # "In 1986, Ada Byron"
_MAX_CLOSEST = 3
_PRONOUN = re.compile(r"\b(?:he|she|it|they|his|her|its|their)\b", re.IGNORECASE)
_LOWEST_COUNT = -2.0  # lower limit of the signals that count facts, approached with many facts


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
            are not in the question; NaN if there is only one content word.
        copied: mean length of the sequences copied from a passage around 8 content words, from 0 to 1; 1
            means eight words, or the whole response if it is shorter.
        numbers: 0 if passages support all numbers and dates, -1 if one is unsupported, -1.5 for two; at
            least -2.
        names: the same for names. A name at the beginning of a sentence counts only if a passage contradicts
            it, or if the closest sentences of the passages have no pronoun that may stand for it.
        contradicted: the same as ``numbers``, for facts of all kinds that a passage contradicts, divided by
            the number of sentences that claim something.
        absent: the same for facts that no passage has; a name counts a third.
    """

    known: float
    known_narrow: float
    known_wide: float
    paired: float
    copied: float
    numbers: float
    names: float
    contradicted: float
    absent: float


TRAINED = Signals._fields[:-2]
"""Names of the signals with trained weights; the weights of ``contradicted`` and ``absent`` are chosen."""


def signals_of(analysis: ResponseAnalysis, number: int | None = None) -> Signals:
    """Compute the signals of a whole response, or of the sentence with this number.

    >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
    >>> signals = signals_of(ResponseAnalysis.of("It weighs 5 kg.", ["It is red and weighs 7 kg."]))
    >>> signals.known, signals.numbers, signals.contradicted
    (0.6666666666666666, -1.0, -1.0)
    """
    numbers = range(len(analysis.sentences)) if number is None else (number,)
    chosen = [analysis.sentences[at] for at in numbers]
    part = slice(None) if number is None else analysis.sentences[number].words
    flags = analysis.flags
    words = list(compress(range(len(analysis.words))[part], flags.claims[part]))
    content = [word for word in words if flags.content[word]] or words
    new = [word for word in content if not flags.asked[word]] or content
    is_short = len(content) < _SHORT
    if is_short:  # "It was 1945": the question has the rest
        words = content = new
    longest = max(1, min(LONGEST_RUN, len(content) if is_short else len(analysis.words)))
    known_words = [flags.known[word] for word in words]
    claims = max(1, sum(map(analysis.claims_in, numbers)))
    return Signals(
        worst_window([flags.known[word] for word in content], STRETCH),
        worst_window(known_words, _NARROW),
        worst_window(known_words, STRETCH),
        math.nan if len(content) <= 1 else worst_window([flags.paired[word] for word in new], STRETCH),
        worst_window([min(flags.run[word] / longest, 1.0) for word in content], _COPY),
        count_signal(_count(chosen, _MEASURES, Verdict.ABSENT, Verdict.CONTRADICTED)),
        count_signal(sum(_count_unsupported_names(analysis, at) for at in numbers)),
        count_signal(sum(len(sentence.contradictions) for sentence in chosen)) / claims,
        (
            count_signal(_count(chosen, _MEASURES, Verdict.ABSENT))
            + count_signal(_count(chosen, _NAMES, Verdict.ABSENT)) / _NAME_PART
        )
        / claims,
    )


def _count(sentences: Iterable[Sentence], kinds: Collection[FactKind], *verdicts: Verdict) -> int:
    return sum(
        check.fact.kind in kinds and check.verdict in verdicts
        for sentence in sentences
        for check in sentence.checks
    )


def sentence_signals(analysis: ResponseAnalysis) -> list[Signals | None]:
    """Compute the signals of each sentence; None if it claims nothing."""
    return [
        signals_of(analysis, number) if analysis.claims_in(number) else None
        for number in range(len(analysis.sentences))
    ]


def _count_unsupported_names(analysis: ResponseAnalysis, number: int) -> int:
    """Count the unsupported names of a sentence, except subjects that a pronoun may stand for."""
    sentence = analysis.sentences[number]
    return sum(
        check.verdict is Verdict.CONTRADICTED
        or (
            check.verdict is Verdict.ABSENT
            and not (_is_subject(check.fact, sentence, analysis.words) and _has_pronoun(analysis, number))
        )
        for check in sentence.checks
        if check.fact.kind is FactKind.NAME
    )


def _is_subject(fact: Fact, sentence: Sentence, words: Words) -> bool:
    """Return whether a name is at the beginning of its sentence, and words follow it."""
    starts = words.starts[sentence.words] - sentence.start
    before, until_end = np.searchsorted(starts, (fact.start, fact.end))
    return bool(before <= _MAX_WORDS_BEFORE_SUBJECT and until_end < len(starts))


def _has_pronoun(analysis: ResponseAnalysis, number: int) -> bool:
    """Return whether a pronoun in the closest sentences of the passages may stand for the subject.

    In languages other than English a verb may do without one, so the answer is always yes.
    """
    if language_of(analysis.response).code != ENGLISH:
        return True
    closest = analysis.support.nearest_sentences(number)[:_MAX_CLOSEST]
    return any(_PRONOUN.search(sentence.text) for sentence in closest)


def count_signal(count: int) -> float:
    """Return a signal of a number of facts: 0 for none; each fact lowers it by half as much as the last.

    >>> [count_signal(count) for count in (0, 1, 2)]
    [0.0, -1.0, -1.5]
    """
    return _LOWEST_COUNT * (1 - 0.5**count) + 0.0


def table(rows: Iterable[Signals]) -> NDArray[np.float64]:
    """Return signals as rows of a table, shape (n, signals)."""
    return np.array([tuple(row) for row in rows], dtype=np.float64).reshape(-1, len(Signals._fields))
