"""Similarity by embedding: of the sentence with the least support to a few sentences of passages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sgi.kernel.vectors import VectorTable
    from sgi.metrics.grounding.analysis import ResponseAnalysis

NO_QUESTION = 0.5
"""Cosine with the question that is assumed if there is none: the mean of the training sets' medians."""

MAX_COMPARED = 2
"""Maximum number of passage sentences that a sentence is compared with."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The texts that are compared: a sentence of a response, sentences of passages, and the question.

    Only the sentence with the smallest share of known words is compared. Words show the support of the
    others, and a vector costs more than all other work on a sentence.

    Attributes:
        number: number of the sentence in the response.
        sentence: its text.
        nearest: the passage sentences that it is compared with: the `MAX_COMPARED` closest ones.
        passages: the passage of each of them.
        question: the question, or "".
    """

    number: int
    sentence: str
    nearest: tuple[str, ...]
    passages: tuple[int, ...]
    question: str

    @classmethod
    def of(cls, analysis: ResponseAnalysis) -> Self | None:
        """Choose the texts; None if no sentence claims anything.

        >>> from sgi.metrics.grounding.analysis import ResponseAnalysis
        >>> passages = ["It is red.", "Iron. A red door."]
        >>> analysis = ResponseAnalysis.of("It is red. The iron was sold.", passages)
        >>> comparison = Comparison.of(analysis)
        >>> comparison.sentence, comparison.nearest
        ('The iron was sold.', ('Iron.', 'A red door.'))
        """
        shares = {number: share for number, share in enumerate(_known_shares(analysis)) if share is not None}
        if not shares:
            return None
        number = min(shares, key=lambda number: shares[number])
        sentence, support = analysis.sentences[number], analysis.support
        nearest = [support.sentences[at] for at in support.nearest_sentences(number)[:MAX_COMPARED]]
        return cls(
            number,
            analysis.response[sentence.start : sentence.end],
            tuple(other.text for other in nearest),
            tuple(other.passage for other in nearest),
            analysis.question,
        )

    @property
    def texts(self) -> Iterator[str]:
        """The texts to embed."""
        yield self.sentence
        yield from self.nearest
        if self.question:
            yield self.question


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
    """Similarity of one sentence of a response to passages and to the question.

    Attributes:
        number: number of the sentence in the response; None if none is compared.
        best: by passage, the greatest cosine with one of its sentences that the sentence is compared with.
        question: cosine with the question; `NO_QUESTION` if there is no question.
    """

    number: int | None = None
    best: Mapping[int, float] = field(default_factory=dict)
    question: float = NO_QUESTION

    @classmethod
    def of(cls, comparison: Comparison | None, vectors: VectorTable) -> Self:
        """Compare the vectors of the texts.

        >>> import numpy as np
        >>> from sgi.kernel.vectors import VectorTable
        >>> axes = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
        >>> vectors = VectorTable.of("demo", ["Red.", "Tall?"], axes)
        >>> comparison = Comparison(0, "Red.", ("Red.",), (2,), "Tall?")
        >>> similarity = PassageSimilarity.of(comparison, vectors)
        >>> similarity.best, round(similarity.least_margin([0]), 6)
        ({2: 1.0}, 0.4)
        """
        if comparison is None:
            return cls()
        texts = [*comparison.texts]
        own, *others = vectors.rows(texts)
        cosines = [float(own @ other) for other in others]
        best: dict[int, float] = {}
        for passage, cosine in zip(comparison.passages, cosines, strict=False):
            best[passage] = max(cosine, best.get(passage, cosine))
        return cls(comparison.number, best, cosines[-1] if comparison.question else NO_QUESTION)

    def least_margin(self, sentences: Iterable[int]) -> float:
        """Return the greatest cosine minus the cosine with the question; NaN if none of these is compared."""
        if self.number is None or self.number not in sentences:
            return float("nan")
        return max(self.best.values()) - self.question
