"""A response read beside its passages: its sentences, how its words are backed, which facts hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sgi.text.about_passages import about_passages
from sgi.text.backing import Backing
from sgi.text.facts.check import check_facts
from sgi.text.sentences import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.text.facts.check import Check


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
    backing: Backing
    claims: NDArray[np.bool_]
    sentences: tuple[Sentence, ...]

    @classmethod
    def of(cls, response: str, passages: Sequence[str], question: str = "") -> Reading:
        """Read a response."""
        backing = Backing.of(response, passages, question)
        claims = np.ones(len(backing.words), dtype=np.bool_)
        found = []
        for start, end in sentence_spans(response):
            text = response[start:end]
            said = about_passages(text)
            words = slice(*np.searchsorted(backing.words.starts, (start, end)).tolist())
            inside = claims[words]
            starts = backing.words.starts[words] - start
            for first, last in said.spans:
                inside[(starts >= first) & (starts < last)] = False
            if said.silent:
                inside[:] = False
            checks = () if said.silent else check_facts(text, passages, question)
            found.append(Sentence(start, end, words, said.silent, checks))
        return cls(response, tuple(passages), backing, claims, tuple(found))

    @cached_property
    def known(self) -> NDArray[np.float64]:
        """For each word, whether some passage has it."""
        return self.backing.known.any(axis=0).astype(np.float64)

    @cached_property
    def paired(self) -> NDArray[np.float64]:
        """For each word, whether some passage has it beside the same content word."""
        return self.backing.paired.any(axis=0).astype(np.float64)

    @cached_property
    def copied(self) -> NDArray[np.float64]:
        """For each word, how long the copied run around it is, 1 for one of eight words or the whole response."""
        from sgi.text.backing import LONGEST_RUN

        whole = max(1, min(LONGEST_RUN, len(self.backing.words)))
        return np.minimum(self.backing.run.max(axis=0, initial=0) / whole, 1.0)
