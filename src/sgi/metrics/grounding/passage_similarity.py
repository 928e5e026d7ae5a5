"""Similarity by embedding: of the sentences with the least support to a few sentences of passages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sgi.kernel.vectors import VectorTable
    from sgi.metrics.grounding.analysis import ResponseAnalysis

NO_QUESTION = 0.5
"""Cosine with the question that is assumed if there is none: the mean of the training sets' medians."""

MAX_SENTENCES = 3
"""Maximum number of sentences of a response that are compared."""

MAX_NEAREST = 1
"""Maximum number of passage sentences that each of them is compared with."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The texts that are compared: a sentence of a response, sentences of passages, and the question.

    Only the `MAX_SENTENCES` sentences with the smallest share of known words are compared. Words show the
    support of the others, and a vector costs more than all other work on a sentence.

    Attributes:
        number: number of the sentence in the response.
        sentence: its text.
        nearest: the passage sentences that it is compared with: the `MAX_NEAREST` closest ones by words.
        passages: the passage of each of them.
        question: the question, or "".
    """

    number: int
    sentence: str
    nearest: tuple[str, ...]
    passages: tuple[int, ...]
    question: str

    @property
    def texts(self) -> Iterator[str]:
        """The texts to embed."""
        yield self.sentence
        yield from self.nearest
        if self.question:
            yield self.question


def comparisons_of(analysis: ResponseAnalysis) -> tuple[Comparison, ...]:
    """Choose the sentences to compare, those with the smallest share of known words first.

    >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
    >>> passages = ["It is red.", "Iron. A door."]
    >>> analysis = ResponseAnalysis.of("It is red. The iron was sold.", passages)
    >>> [(one.sentence, one.nearest[0]) for one in comparisons_of(analysis)]
    [('The iron was sold.', 'Iron.'), ('It is red.', 'It is red.')]
    """
    shares = {number: share for number, share in enumerate(_known_shares(analysis)) if share is not None}
    weakest = sorted(shares, key=lambda number: shares[number])[:MAX_SENTENCES]
    return tuple(_comparison(analysis, number) for number in weakest)


def _comparison(analysis: ResponseAnalysis, number: int) -> Comparison:
    sentence = analysis.sentences[number]
    nearest = analysis.support.nearest_sentences(number)[:MAX_NEAREST]
    return Comparison(
        number,
        analysis.response[sentence.start : sentence.end],
        tuple(other.text for other in nearest),
        tuple(other.passage for other in nearest),
        analysis.question,
    )


def _known_shares(analysis: ResponseAnalysis) -> Iterator[float | None]:
    """Yield the share of the content words of each sentence that are known; None if it claims nothing."""
    for number, sentence in enumerate(analysis.sentences):
        if not analysis.claims_in(number):
            yield None
            continue
        claims = analysis.claims[sentence.words]
        content = claims & analysis.words.content[sentence.words]
        content = content if content.any() else claims
        known = analysis.known_words[sentence.words][content]
        yield float(known.sum()) / len(known)


@dataclass(frozen=True, eq=False)
class PassageSimilarity:
    """Similarity of sentences of a response to passages and to the question.

    Attributes:
        best: for each compared sentence, by its number: by passage, the greatest cosine with one of its
            sentences that it is compared with.
        question: cosine of each compared sentence with the question; `NO_QUESTION` if there is none.
    """

    best: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    question: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, comparisons: Iterable[Comparison], vectors: VectorTable) -> Self:
        """Compare the vectors of the texts.

        >>> import numpy as np
        >>> from sgi.kernel.vectors import VectorTable
        >>> axes = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
        >>> vectors = VectorTable.of("demo", ["Red.", "Tall?"], axes)
        >>> similarity = PassageSimilarity.of([Comparison(0, "Red.", ("Red.",), (2,), "Tall?")], vectors)
        >>> similarity.best, round(similarity.least_margin([0]), 6)
        ({0: {2: 1.0}}, 0.4)
        """
        best: dict[int, dict[int, float]] = {}
        question: dict[int, float] = {}
        for comparison in comparisons:
            own, *others = vectors.rows([*comparison.texts])
            cosines = [float(own @ other) for other in others]
            by_passage = best.setdefault(comparison.number, {})
            for passage, cosine in zip(comparison.passages, cosines, strict=False):
                by_passage[passage] = max(cosine, by_passage.get(passage, cosine))
            question[comparison.number] = cosines[-1] if comparison.question else NO_QUESTION
        return cls(best, question)

    def least_margin(self, sentences: Iterable[int]) -> float:
        """Return the lowest margin of these sentences; NaN if none of them is compared.

        The margin is the greatest cosine with a passage minus the cosine with the question.
        """
        compared = [number for number in sentences if number in self.best]
        margins = (max(self.best[number].values()) - self.question[number] for number in compared)
        return min(margins, default=float("nan"))
