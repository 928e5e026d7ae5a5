"""Analysis of a response with its passages: sentences, supported words, checked facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.metrics.grounding.check_facts import Verdict, check_facts
from sgi.metrics.grounding.language_tables import ENGLISH, AnalysedText, language_of
from sgi.metrics.grounding.meta_statements import find_meta_statements, is_lead_in, is_small_talk
from sgi.metrics.grounding.passage_index import PassageIndex
from sgi.metrics.grounding.token_support import TokenSupport
from sgi.metrics.grounding.words import split_words
from sgi.text.tokenizers import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.metrics.grounding.check_facts import Check
    from sgi.metrics.grounding.meta_statements import MetaStatements
    from sgi.metrics.grounding.words import Words

_MIN_CAPITALS_OF_TITLE = 2


def _check_sentence(
    response: ResponseText, number: int, passages: Sequence[str], question: str, *, denied: bool
) -> tuple[Check, ...]:
    """Check the facts of a sentence, except in statements about the passages.

    Of a denied sentence, only supported facts count: other values in the passages do not contradict a denial.
    """
    about, (start, end) = response.about[number], response.spans[number]
    if about.silent:
        return ()
    sentence = response.text.part(start, end)
    sentence.remember(split_words, response.words.part(response.slices[number], start))
    checks = check_facts(sentence, passages, question)
    if denied:
        return tuple(check for check in checks if check.verdict is Verdict.SUPPORTED)
    return tuple(
        check
        for check in checks
        if not any(first <= check.fact.start and check.fact.end <= last for first, last in about.spans)
    )


class Sentence(NamedTuple):
    """A sentence of a response.

    Attributes:
        start: start in the response, in characters.
        end: end in the response.
        words: slice of its words in the words of the response.
        silent: whether it only says that something is not in the passages.
        leads_in: whether it only leads in to a list. It has no score, but its words count for the response.
    """

    start: int
    end: int
    words: slice
    silent: bool
    leads_in: bool
    checks: tuple[Check, ...]

    @property
    def contradictions(self) -> tuple[Check, ...]:
        """The checked facts that a passage contradicts."""
        return tuple(check for check in self.checks if check.verdict is Verdict.CONTRADICTED)


@dataclass(frozen=True, eq=False)
class ResponseText:
    """Analysis of a response without its passages.

    Attributes:
        spans: start and end of each sentence, in characters.
        slices: slice of each sentence's words in ``words``.
        about: the parts of each sentence that are about the passages, such as "passage 1 says".
        claims: mask of the words that claim something about the world, shape (words,).
        lead_ins: whether each sentence only leads in to a list.
    """

    text: AnalysedText
    words: Words
    spans: tuple[tuple[int, int], ...]
    slices: tuple[slice, ...]
    about: tuple[MetaStatements, ...]
    claims: NDArray[np.bool_]
    lead_ins: tuple[bool, ...]

    @classmethod
    def of(cls, response: str, question: str = "", language: str = ENGLISH) -> ResponseText:
        """Split a response into sentences and words, by the rules of its language.

        The question helps to separate lead-ins from claims.
        """
        text = AnalysedText.of(response, language)
        words = split_words(text)
        spans = sentence_spans(text, text.language)
        slices = tuple(slice(*np.searchsorted(words.starts, span).tolist()) for span in spans)
        about = tuple(find_meta_statements(text.part(start, end)) for start, end in spans)
        claims = np.ones(len(words), dtype=np.bool_)
        asked = split_words(AnalysedText.of(question, text.language)).vocabulary
        lead_ins: list[bool] = []
        for (start, end), part, meta_spans in zip(spans, slices, about, strict=True):
            inside, starts = claims[part], words.starts[part] - start
            for first, last in meta_spans.spans:
                inside[(starts >= first) & (starts < last)] = False
            if meta_spans.silent or is_small_talk(text[start:end]):
                inside[:] = False
            content = compress(words.stems[part], (inside & words.content[part]).tolist())
            lead_ins.append(is_lead_in(text[start:end], content, asked))
        claims.setflags(write=False)
        return cls(text, words, spans, slices, about, claims, tuple(lead_ins))

    def without(self, question: str) -> ResponseText:
        """Return the text with claims only in words that the question lacks; a sentence of its words stays.

        >>> text = ResponseText.of("Ada was born in 1815. She was born.").without("When was Ada born?")
        >>> [word for word, claims in zip(text.words.stems, text.claims) if claims]
        ['in', '1815', 'she', 'was', 'born']
        """
        asked = split_words(AnalysedText.of(question, self.text.language)).vocabulary
        new = np.array([stem not in asked for stem in self.words.stems], dtype=np.bool_)
        claims = self.claims.copy()
        for part in self.slices:
            left = claims[part] & new[part]
            if (left & self.words.content[part]).any():
                claims[part] = left
        claims.setflags(write=False)
        return replace(self, claims=claims)

    @property
    def claims_something(self) -> bool:
        """Whether the response claims something about the world, with a content word or as a title.

        A title of function words has two capitals or more, such as "As You Like It".
        """
        if (self.claims & self.words.content).any():
            return True
        claimed = self.words.starts[self.claims].tolist()
        return sum(self.text[start].isupper() for start in claimed) >= _MIN_CAPITALS_OF_TITLE


class WordFlags(NamedTuple):
    """Flags of each word of a response; lists, which are faster than arrays for single sentences.

    Attributes:
        claims: whether it claims something about the world.
        content: whether it is not a function word.
        known: whether a passage window that matches its sentence has it, or it is in a supported fact: "from
            1887 to 1889" in a passage supports the words "two years".
        asked: whether it is in the question.
        paired: see `TokenSupport.paired`.
        run: see `TokenSupport.run`.
    """

    claims: list[bool]
    content: list[bool]
    known: list[bool]
    asked: list[bool]
    paired: list[bool]
    run: list[int]


@dataclass(frozen=True, eq=False)
class ResponseAnalysis:
    """Analysis of a response with its passages.

    Attributes:
        passages: the passages that are not blank.
        question: the question, or "".
        support: which words the passages support.
        claims: mask of the words that claim something about the world, not the passages, shape (words,).

    >>> response = "Passage 1 says it is red. It weighs 5 kg."
    >>> analysis = ResponseAnalysis.of(response, ["It is red and weighs 7 kg."])
    >>> analysis.claims.tolist()
    [False, False, False, True, True, True, True, True, True, True]
    >>> [check.verdict.value for check in analysis.sentences[1].checks]
    ['contradicted']
    """

    response: str
    passages: tuple[AnalysedText, ...]
    question: str
    support: TokenSupport
    claims: NDArray[np.bool_]
    sentences: tuple[Sentence, ...]

    @classmethod
    def of(
        cls,
        response: str | ResponseText,
        passages: Sequence[str] | PassageIndex,
        question: str = "",
        *,
        denied: bool = False,
    ) -> ResponseAnalysis:
        """Analyse a response with its non-blank passages; ``denied`` if it denies a statement."""
        response_text = (
            response if isinstance(response, ResponseText) else ResponseText.of(response, question)
        )
        index = passages if isinstance(passages, PassageIndex) else PassageIndex.of(passages)
        checks = [
            _check_sentence(response_text, number, index.texts, question, denied=denied)
            for number in range(len(response_text.spans))
        ]
        sentences = tuple(
            Sentence(*span, words, about.silent, leads_in, sentence_checks)
            for span, words, about, leads_in, sentence_checks in zip(
                response_text.spans,
                response_text.slices,
                response_text.about,
                response_text.lead_ins,
                checks,
                strict=True,
            )
        )
        support = TokenSupport.of(response_text.words, response_text.slices, index, response_text.claims)
        return cls(response_text.text, index.texts, question, support, response_text.claims, sentences)

    @property
    def words(self) -> Words:
        """The words of the response."""
        return self.support.words

    def claims_in(self, number: int) -> bool:
        """Return whether the sentence with this number claims anything about the world."""
        sentence = self.sentences[number]
        return not sentence.leads_in and bool(self.claims[sentence.words].any())

    @cached_property
    def flags(self) -> WordFlags:
        """Flags of each word."""
        known = self.support.known.copy()
        for sentence in self.sentences:
            for check in sentence.checks:
                if check.verdict is Verdict.SUPPORTED:
                    start, end = sentence.start + check.fact.start, sentence.start + check.fact.end
                    known[slice(*np.searchsorted(self.words.starts, (start, end)).tolist())] = True
        question = AnalysedText.of(self.question, language_of(self.response).code)
        vocabulary = split_words(question).vocabulary
        return WordFlags(
            self.claims.tolist(),
            self.words.content.tolist(),
            known.tolist(),
            [stem in vocabulary for stem in self.words.stems],
            self.support.paired.tolist(),
            self.support.run.tolist(),
        )
