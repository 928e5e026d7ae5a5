"""Answers of a benchmark as columns, and the angles that an embedding model gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Self

import numpy as np

from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.geometry.angles import angle
from sgi.geometry.sgi_ratio import grounding_index
from sgi.kernel.errors import DataError
from sgi.kernel.protocols import Embeddings, encode
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sgi.engine.progress import Listener
    from sgi.kernel.protocols import Embedder
    from sgi.kernel.sample import Sample

    Floats = NDArray[np.float64]
    Rows = NDArray[np.float32]


_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class Answers:
    """Labelled answers; ``labels`` (True = grounded or correct) and ``clusters`` have shape (n,).

    Answers with the same cluster share a question (see `Sample.cluster`).
    """

    name: str
    samples: tuple[Sample, ...]
    labels: NDArray[np.bool_]
    clusters: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, samples: Iterable[Sample]) -> Self:
        """Select the labelled samples.

        Raises:
            DataError: no sample has a label, or all have the same.
        """
        rows = tuple(sample for sample in samples if sample.label is not None)
        labels = np.array([bool(sample.label) for sample in rows], dtype=np.bool_)
        if not rows or labels.all() or not labels.any():
            raise DataError(
                "has no labelled answers of both classes, so their scores cannot be compared", file=name
            )
        codes: dict[int, int] = {}
        numbers = [codes.setdefault(sample.cluster(n), len(codes)) for n, sample in enumerate(rows)]
        return cls(name, rows, labels, np.array(numbers, dtype=np.int64))

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The questions."""
        return tuple(sample.question for sample in self.samples)

    @cached_property
    def contexts(self) -> tuple[str, ...]:
        """The passages of each row joined to one text, as in the paper; the question if there are none."""
        return tuple("\n".join(sample.contexts) or sample.question for sample in self.samples)

    @cached_property
    def responses(self) -> tuple[str, ...]:
        """The answers."""
        return tuple(sample.response for sample in self.samples)

    @cached_property
    def lengths(self) -> Floats:
        """Answer lengths in characters."""
        return text_lengths(self.responses)

    @cached_property
    def digest(self) -> str:
        """A hash of the samples, on which all numbers depend."""
        parts = (
            part.encode("utf-8", "surrogatepass")
            for sample, *texts in zip(
                self.samples, self.questions, self.contexts, self.responses, strict=True
            )
            for part in (sample.id, *texts, str(sample.label))
        )
        return digest(*parts, size=6).hex()


def text_lengths(texts: Sequence[str]) -> Floats:
    """Return the lengths in characters, shape (n,)."""
    return np.array([len(text) for text in texts], dtype=np.float64)


def embed_answers(
    model: str, embedder: Embedder, texts: Sequence[str], listener: Listener = silent
) -> Embeddings:
    """Return vectors of length 1 in the order of the texts, and which texts were truncated.

    Each distinct text is embedded once, in batches, so that an interrupted run keeps finished batches.
    """
    unique = sorted(dict.fromkeys(texts), key=len)
    listener(Started(f"embedding, {model}", len(unique)))
    parts = []
    for start in range(0, len(unique), _AT_ONCE):
        parts.append(encode(embedder, unique[start : start + _AT_ONCE]))
        listener(Advanced(len(parts[-1].rows)))
    listener(Finished(f"embedding, {model}"))
    places = {text: place for place, text in enumerate(unique)}
    order = [places[text] for text in texts]
    return Embeddings(*(np.concatenate(column)[order] for column in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class AnswerVectors:
    """Embeddings of the answers by one model.

    ``question``, ``context`` and ``response`` are unit vectors, shape (n, d). ``cut`` counts the answers
    whose joined context exceeds the model's limit.
    """

    model: str
    fingerprint: str
    question: Rows
    context: Rows
    response: Rows
    cut: int = 0

    @classmethod
    def of(cls, model: str, embedder: Embedder, answers: Answers, listener: Listener = silent) -> Self:
        """Embed the answers."""
        columns = (answers.questions, answers.contexts, answers.responses)
        embedded = embed_answers(model, embedder, list(chain(*columns)), listener)
        question, context, response = np.split(embedded.rows, len(columns))
        cut = int(np.split(embedded.truncated, len(columns))[1].sum())
        return cls(model, embedder.fingerprint, question, context, response, cut)

    @cached_property
    def theta_rq(self) -> Floats:
        """θ(r,q), in radians."""
        return angle(self.response, self.question)

    @cached_property
    def theta_rc(self) -> Floats:
        """θ(r,c), in radians."""
        return angle(self.response, self.context)

    @cached_property
    def theta_qc(self) -> Floats:
        """θ(q,c), in radians."""
        return angle(self.question, self.context)

    @cached_property
    def sgi(self) -> Floats:
        """SGI, the paper's ratio."""
        return grounding_index(self.theta_rq, self.theta_rc)
