"""Finds words that a sentence negates and its passages do not, or the reverse, in other languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sgi.metrics.grounding.analysed_text import once_per_text
from sgi.metrics.grounding.facts.check import Check, Verdict
from sgi.metrics.grounding.facts.fact import Negation
from sgi.metrics.grounding.languages.of_text import tables_of
from sgi.metrics.grounding.words import split_words
from sgi.text.sentences import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.metrics.grounding.languages.record import Language

_PUNCTUATION = re.compile(r"[,;:.!?()]")
_NEAR = 3  # content words on each side of a word
_NEAR_IN_PASSAGE = 4
_SHARED = 0.5  # share of the sentence's content words
_UNCLEAR_BEFORE = 3


class _Word(NamedTuple):
    """A content word; ``negated`` is None if unknown. The span of a negated word begins at the negation."""

    stem: str
    negated: bool | None
    start: int
    end: int


class _Clause(NamedTuple):
    """The content words of a sentence, their stems, and whether it has a negation."""

    words: tuple[_Word, ...]
    stems: frozenset[str]
    negates: bool


class _Occurrence(NamedTuple):
    """A word of a passage that is compared with a word of the sentence."""

    shared_near: int
    passage: int
    word: _Word


def negation_conflicts(sentence: str, passages: Sequence[str]) -> Iterator[Check]:
    """Yield the first word that the sentence negates and the passages assert, or the reverse.

    A negation applies to the next content word. Two occurrences of a word are compared if words around it are
    equal, and if the passage's sentence has half of the content words. If some occurrences agree, those with
    more equal words around decide. Conditions, questions, "not only" and "not all" are not
    compared. `claim_conflicts` does this for English.

    >>> from sgi.metrics.grounding.analysed_text import AnalysedText
    >>> passages = [AnalysedText.of("Die alten Wärter schwimmen im Winter nicht.", "de")]
    >>> claim = AnalysedText.of("Die Wärter schwimmen im Winter.", "de")
    >>> for check in negation_conflicts(claim, passages):
    ...     print(check.fact.text, check.verdict, check.how, sep=" | ")
    Winter | contradicted | negated
    """
    may_follow = _language_of(sentence).free_negation
    for clause in _clauses(sentence):
        for place, word in enumerate(clause.words):
            if word.negated is None or _is_ambiguous(word, clause):
                continue
            other = _opposite(clause, place, passages, may_follow=may_follow)
            if other is not None:
                fact = Negation(sentence[word.start : word.end], word.start, word.end)
                start, end = other.word.start, other.word.end
                found = passages[other.passage][start:end]
                how = "negated" if other.word.negated else "not negated"
                yield Check(fact, Verdict.CONTRADICTED, other.passage, found, start, end, how)
                return


def _is_ambiguous(word: _Word, clause: _Clause) -> bool:
    """Return whether the sentence itself both asserts and negates the word."""
    return any(other.stem == word.stem and other.negated != word.negated for other in clause.words)


def _opposite(
    clause: _Clause, place: int, passages: Sequence[str], *, may_follow: bool
) -> _Occurrence | None:
    """Find the occurrence of a word with the other polarity, if none with the same has as equal a context."""
    word, near = clause.words[place], _around(clause.words, place, _NEAR)
    best: _Occurrence | None = None
    same = -1
    for number, passage in enumerate(passages):
        for other in _with_stem(passage, word.stem):
            comparable = len(clause.stems & other.stems) >= _SHARED * len(clause.stems)
            for at, occurrence in enumerate(other.words):
                if occurrence.stem != word.stem:
                    continue
                shared = len(near & _around(other.words, at, _NEAR_IN_PASSAGE))
                both_negate = may_follow and clause.negates and other.negates
                if both_negate or occurrence.negated is None or occurrence.negated == word.negated:
                    same = max(same, shared)
                elif comparable and shared and (best is None or shared > best.shared_near):
                    best = _Occurrence(shared, number, occurrence)
    return best if best is not None and best.shared_near > same else None


def _around(words: Sequence[_Word], place: int, near: int) -> frozenset[str]:
    around = (*words[max(0, place - near) : place], *words[place + 1 : place + 1 + near])
    return frozenset([word.stem for word in around if word.stem != words[place].stem])


def _with_stem(passage: str, stem: str) -> Sequence[_Clause]:
    return _clauses_by_stem(passage).get(stem, ())


@once_per_text
def _clauses_by_stem(passage: str) -> dict[str, list[_Clause]]:
    """Return the sentences of a passage by the stems of their content words."""
    found: dict[str, list[_Clause]] = {}
    for clause in _clauses(passage):
        for stem in clause.stems:
            found.setdefault(stem, []).append(clause)
    return found


@once_per_text
def _clauses(text: str) -> tuple[_Clause, ...]:
    """Return the content words of each sentence with their polarity; questions have no known polarity."""
    words = split_words(text)
    language = _language_of(text)
    clauses = []
    for start, end in sentence_spans(text, language.code):
        reader = _Reader(language, asks=text[start:end].rstrip().endswith("?"))
        last = start
        for place in range(*words.starts.searchsorted((start, end)).tolist()):
            word_start, word_end = int(words.starts[place]), int(words.ends[place])
            if _PUNCTUATION.search(text, last, word_start):
                reader.end_clause()
            stem = words.stems[place]
            plain = stem if stem == "not" else text[word_start:word_end].casefold()
            reader.read(plain, stem, word_start, word_end, content=bool(words.content[place]))
            last = word_end
        reader.end_clause()
        content = tuple(reader.words)
        stems = frozenset([word.stem for word in content])
        clauses.append(_Clause(content, stems, reader.negates))
    return tuple(clauses)


def _language_of(text: str) -> Language:
    language = tables_of(text)
    if language is None:
        raise ValueError("English negations are read by sgi.metrics.grounding.claim_checks")
    return language


class _Reader:
    """Reads the words of a sentence in order, and notes which are negated."""

    def __init__(self, language: Language, *, asks: bool) -> None:
        self.negates = False
        self._language = language
        self._first_at: int | None = None  # number of words before the first part of a negation in two parts
        self._has_second = False
        self.words: list[_Word] = []
        self._asks, self._unclear = asks, asks
        self._negation_end = 0
        self._negation: int | None = None  # start of a negation whose content word is not read yet

    def end_clause(self) -> None:
        """End the scope of negations and conditions; a negation without a word denies words before it."""
        if self._first_at is not None and not self._has_second:
            self.words[self._first_at :] = [
                word._replace(negated=None) for word in self.words[self._first_at :]
            ]
        self._first_at, self._has_second = None, False
        if self._negation is not None and self._language.free_negation:
            self.words[-1:] = [
                word._replace(negated=True, end=max(word.end, self._negation_end)) for word in self.words[-1:]
            ]
        elif self._negation is not None:
            self.words[-_UNCLEAR_BEFORE:] = [
                word._replace(negated=None) for word in self.words[-_UNCLEAR_BEFORE:]
            ]
        self._negation, self._unclear = None, self._asks

    def read(self, plain: str, stem: str, start: int, end: int, *, content: bool) -> None:
        """Read the next word."""
        if plain in self._language.scope_ends:
            self._negation = None
        self._unclear = self._unclear or plain in self._language.unasserted
        if plain in self._language.first_negations:
            self._first_at = len(self.words)
        self._has_second = self._has_second or plain in self._language.second_negations
        follows_first = self._first_at is not None and plain in self._language.second_negations
        if follows_first:
            return
        if plain in self._language.negations or (plain == "any" and self.words and self.words[-1].negated):
            self.negates = True
            self._negation, self._negation_end = start, end
        elif self._negation is not None and plain in self._language.partly:
            self._negation, self._unclear = None, True
        elif content:
            negated = None if self._unclear else self._negation is not None
            begin = start if self._negation is None or negated is None else self._negation
            self.words.append(_Word(stem, negated, begin, end))
            if not plain.endswith(self._language.adverb_end):
                self._negation = None
