"""Scores an answer sentence by sentence while it arrives; its passages are analysed once."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sgi.kernel.sample import Sample
from sgi.metrics.grounding.detector import row_log_odds, score_row
from sgi.metrics.grounding.grounding_model import sigmoid
from sgi.metrics.grounding.prepared_row import PreparedRow
from sgi.metrics.grounding.row_language import may_be_foreign
from sgi.text.citation_markers import is_reference
from sgi.text.tokenizers import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SENTENCE_MARGIN = 2.0
"""Added to the log odds of a sentence that is scored alone, before it is compared with a whole answer.

A sentence alone scores lower than the answer that it is part of. With this margin the lowest score ranks
answers as the score of the whole answer does (docs/internals/results/guard.md).
"""

MAX_SENTENCE = 2000
"""The maximum number of characters of a sentence; a longer one is cut between two words."""

_MAX_QUICK = 20_000  # characters of a sentence, the question and the passages

_FINISHED_WORD, _LAST_WORD = re.compile(r"(?<!\S)\S+(?=\s)"), re.compile(r"(?<!\S)\S+")
_GOES_ON = re.compile(r"[\w,]")


class Support(NamedTuple):
    """How well the passages support a text.

    Attributes:
        log_odds: of its score; infinite if it claims nothing, NaN with a ``problem``.
        row: the row that was scored; None without a score.
        problem: why it has no score.
    """

    log_odds: float
    row: PreparedRow | None = None
    problem: str = ""

    @property
    def evidence(self) -> Mapping[str, Any]:
        """The evidence map, computed at each call; empty without a score."""
        return {} if self.row is None else score_row(self.row, None)[1]


class SentenceReader:
    """Splits a text that arrives in pieces into sentences.

    A sentence is finished when the next word is. The sentences do not depend on how the text is cut into
    pieces, and together they are the text.

    >>> reader = SentenceReader()
    >>> [*reader.feed("It is r"), *reader.feed("ed. It weighs 5"), *reader.feed(" kg.", last=True)]
    ['It is red. ', 'It weighs 5 kg.']
    """

    def __init__(self, language: str = "en") -> None:
        self._language = language
        self._text, self._read = "", 0

    def feed(self, piece: str = "", *, last: bool = False) -> Iterator[str]:
        """Add a piece of the text, and yield the sentences that it finishes, with the space after them.

        The ``last`` piece finishes all.
        """
        self._text += piece
        pattern = _LAST_WORD if last else _FINISHED_WORD
        while True:
            word = pattern.search(self._text, self._read)
            if word is not None and word.end() <= MAX_SENTENCE:
                self._read = word.end()
                cut = self._end_before(word.start(), word.end())
            elif len(self._text) > MAX_SENTENCE:
                cut = self._read or MAX_SENTENCE
            else:
                break
            if cut:
                sentence, self._text = self._text[:cut], self._text[cut:]
                self._read = max(0, self._read - cut)
                yield sentence
        if last and self._text:
            yield self._text
            self._text, self._read = "", 0

    def _end_before(self, start: int, end: int) -> int:
        """Return where a sentence ends before the word from start to end; 0 if none does."""
        before = self._text[:start].rstrip()
        if not before or (_GOES_ON.search(before[-1]) and "\n" not in self._text[len(before) : start]):
            return 0
        spans = sentence_spans(self._text[:end], self._language)
        return spans[1][0] if len(spans) > 1 else 0


class StreamedAnswer:
    """An answer that arrives in pieces, with the lowest score so far.

    The score of an answer is that of the whole answer, or if one is lower, that of a sentence alone, with
    `SENTENCE_MARGIN`. It does not depend on how the answer is cut into pieces.

    Attributes:
        sentences: the sentences that were added.
        lowest: the lowest log odds so far, with the margin; infinite if nothing was claimed so far.
        problem: why a part of the answer has no score; "" if none lacks one.
        ended: the whole answer with its score, when it has ended; None before.

    >>> answer = StreamedAnswer("", ["It is red and weighs 7 kg."])
    >>> for sentence in answer.feed("It is red. It weighs 5 kg."):
    ...     answer.add(sentence, answer.support(sentence))
    >>> answer.sentences, answer.score > 0.9
    (['It is red. '], True)
    """

    def __init__(self, question: str, contexts: Sequence[str]) -> None:
        passages = (contexts,) if isinstance(contexts, str) else tuple(contexts)
        sample = Sample(id="answer", question=question, contexts=passages)
        self._empty = PreparedRow.of(sample)
        if self._empty.passages:
            self._empty.source.index  # noqa: B018 - computed here, once for all sentences
        self._size = len(question) + sum(map(len, passages))
        self._reader = SentenceReader(self._empty.language.code)
        self._first: Support | None = None
        self.sentences: list[str] = []
        self.lowest, self.problem = math.inf, ""
        self.ended: Support | None = None

    @property
    def words(self) -> int:
        """The number of words so far, separated by space."""
        return sum(len(sentence.split()) for sentence in self.sentences)

    @property
    def passage_words(self) -> int:
        """The number of words of all passages."""
        return sum(len(text.split()) for text in self._empty.sample.contexts)

    @property
    def text(self) -> str:
        """The sentences that were added, as one text."""
        return "".join(self.sentences)

    def feed(self, piece: str = "", *, last: bool = False) -> Iterator[str]:
        """Yield the sentences that a further piece of the answer finishes; the ``last`` one finishes all."""
        return self._reader.feed(piece, last=last)

    def support(self, sentence: str) -> Support:
        """Score a sentence alone, with the margin; changes nothing, so that it can run in a thread.

        A sentence in another language than the passages is scored with the end of the answer before it, so
        that a quotation is not an error. A list of references claims nothing.
        """
        if is_reference(sentence, self._end()):
            return Support(math.inf)
        row = self._row(sentence)
        if row.language.reason and self.sentences:
            row = self._row(self._end() + sentence)
        found = _score(row)
        return found._replace(log_odds=found.log_odds + SENTENCE_MARGIN)

    def is_quick(self, sentence: str) -> bool:
        """Whether `support` takes at most about 10 ms: short texts, and no model of languages."""
        return len(sentence) + self._size <= _MAX_QUICK and not may_be_foreign(sentence)

    def _end(self) -> str:
        """Return the last sentences, of at most `MAX_SENTENCE` characters: all would take quadratic time."""
        first, size = len(self.sentences), 0
        while first and (size := size + len(self.sentences[first - 1])) <= MAX_SENTENCE:
            first -= 1
        return "".join(self.sentences[first:])

    def add(self, sentence: str, support: Support) -> None:
        """Add a sentence and its score to the answer."""
        self._first = None if self.sentences else support
        self.sentences.append(sentence)
        self._note(support)

    def whole(self) -> Support:
        """Score the sentences so far as an answer; changes nothing."""
        if self._first is not None:  # the only sentence is the answer
            return self._first._replace(log_odds=self._first.log_odds - SENTENCE_MARGIN)
        return _score(self._row(self.text))

    def end(self, whole: Support) -> None:
        """Add the score of the whole answer."""
        self._note(whole)
        self.ended = whole

    @property
    def score(self) -> float | None:
        """The score, in [0, 1]; None if nothing was claimed or a part has no score."""
        return None if self.problem else score_of(self.lowest)

    def _note(self, support: Support) -> None:
        self.problem = self.problem or support.problem
        if not support.problem:
            self.lowest = min(self.lowest, support.log_odds)

    def _row(self, text: str) -> PreparedRow:
        return PreparedRow.of(self._empty.sample.model_copy(update={"response": text}), self._empty)


def score_of(log_odds: float) -> float | None:
    """Return the score, in [0, 1]; None if nothing was claimed, or for NaN."""
    return float(sigmoid(np.array(log_odds))) if math.isfinite(log_odds) else None


def read_answer(question: str, contexts: Sequence[str], response: str) -> StreamedAnswer:
    """Score an answer that is known as a whole.

    >>> answer = read_answer("", ["It is red and weighs 7 kg."], "It is red. It weighs 5 kg.")
    >>> answer.ended.evidence["finding"]
    'contradicted'
    """
    answer = StreamedAnswer(question, contexts)
    for sentence in answer.feed(response, last=True):
        answer.add(sentence, answer.support(sentence))
    answer.end(answer.whole())
    return answer


def _score(row: PreparedRow) -> Support:
    if not row.response_text.claims_something:
        return Support(math.inf)
    if row.reason:
        return Support(math.nan, problem=row.reason)
    return Support(row_log_odds(row), row)
