"""A response read beside its passages: its sentences, how its words are backed, which facts hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.metrics.grounding.facts.check import Verdict, check_facts
from sgi.metrics.grounding.meta_statements import about_passages
from sgi.metrics.grounding.token_support import LONGEST_RUN, Backing
from sgi.metrics.grounding.words import wording
from sgi.text.sentences import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.metrics.grounding.facts.check import Check
    from sgi.metrics.grounding.meta_statements import Said
    from sgi.metrics.grounding.words import Wording


_KEPT = 1024  # responses


def _checked(sentence: str, about: Said, passages: Sequence[str], question: str) -> tuple[Check, ...]:
    """The facts of a sentence but for those that it names without claiming them."""
    return tuple(
        check
        for check in check_facts(sentence, passages, question)
        if not any(first <= check.fact.start and check.fact.end <= last for first, last in about.spans)
    )


class Sentence(NamedTuple):
    """A sentence of a response.

    Attributes:
        start: where it begins in the response, in characters.
        end: where it ends.
        words: its words, as places among the response's words.
        silent: it says that something does not stand in the passages.
        checks: its facts.
    """

    start: int
    end: int
    words: slice
    silent: bool
    checks: tuple[Check, ...]


@dataclass(frozen=True, eq=False)
class Reading:
    """A response beside its passages.

    Attributes:
        response: the text.
        passages: those that are not blank.
        question: what was asked; "" where nothing was.
        backing: how each word stands in them.
        claims: which words claim something about the world, shape (words,); others speak of the passages.
        sentences: the response's sentences, in order.

    >>> reading = Reading.of("Passage 1 says it is red. It weighs 5 kg.", ["It is red and weighs 7 kg."])
    >>> reading.claims.tolist()
    [False, False, False, True, True, True, True, True, True, True]
    >>> [check.verdict.value for check in reading.sentences[1].checks]
    ['contradicted']
    """

    response: str
    passages: tuple[str, ...]
    question: str
    backing: Backing
    claims: NDArray[np.bool_]
    sentences: tuple[Sentence, ...]

    @classmethod
    def of(cls, response: str, passages: Sequence[str], question: str = "") -> Reading:
        """Read a response."""
        stated = _stated(response)
        checks = [
            () if about.silent else _checked(response[start:end], about, passages, question)
            for (start, end), about in zip(stated.spans, stated.about, strict=True)
        ]
        found = tuple(
            Sentence(*span, words, about.silent, checked)
            for span, words, about, checked in zip(
                stated.spans, stated.slices, stated.about, checks, strict=True
            )
        )
        backing = Backing.of(stated.words, stated.slices, passages, stated.claims)
        return cls(response, tuple(passages), question, backing, stated.claims, found)

    @property
    def words(self) -> Wording:
        """The response's words."""
        return self.backing.words

    def claims_in(self, number: int) -> bool:
        """Whether a sentence claims anything."""
        return bool(self.claims[self.sentences[number].words].any())

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which words a place of their sentence has, or a fact that is borne out, shape (words,).

        "Two years" is in no passage that says "from 1887 to 1889", and is borne out by it.
        """
        known = self.backing.known.copy()
        for sentence in self.sentences:
            for check in sentence.checks:
                if check.verdict is Verdict.SUPPORTED:
                    start, end = sentence.start + check.fact.start, sentence.start + check.fact.end
                    known[slice(*np.searchsorted(self.words.starts, (start, end)).tolist())] = True
        return known

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """Which words the question has, shape (words,)."""
        vocabulary = wording(self.question).vocabulary
        return np.array([stem in vocabulary for stem in self.words.stems], dtype=np.bool_)

    @cached_property
    def copied(self) -> NDArray[np.float64]:
        """How long the copied run around each word is: 1 for one of eight words, or the whole response."""
        return np.minimum(self.backing.run / max(1, min(LONGEST_RUN, len(self.words))), 1.0)


class _Stated(NamedTuple):
    """What can be read of a response alone."""

    words: Wording
    spans: tuple[tuple[int, int], ...]
    slices: tuple[slice, ...]
    about: tuple[Said, ...]
    claims: NDArray[np.bool_]


@lru_cache(maxsize=_KEPT)
def _stated(response: str) -> _Stated:
    said = wording(response)
    spans = sentence_spans(response)
    slices = tuple(slice(*np.searchsorted(said.starts, span).tolist()) for span in spans)
    about = tuple(about_passages(response[start:end]) for start, end in spans)
    claims = np.ones(len(said), dtype=np.bool_)
    for (start, _), words, what in zip(spans, slices, about, strict=True):
        inside, starts = claims[words], said.starts[words] - start
        for first, last in what.spans:
            inside[(starts >= first) & (starts < last)] = False
        if what.silent:
            inside[:] = False
    claims.setflags(write=False)
    return _Stated(said, spans, slices, about, claims)


def claims_something(response: str) -> bool:
    """Whether a response says anything of the world that passages could support, in words that carry content.

    >>> [claims_something(text) for text in ("It is red.", "Yes.", "The passages do not say.", "…")]
    [True, False, False, False]
    """
    stated = _stated(response)
    return bool((stated.claims & stated.words.content).any())
