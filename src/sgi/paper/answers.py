"""Answers of a benchmark as columns, and the angles that an embedding model gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Self

import numpy as np

from sgi.engine.progress import Advanced, Finished, Started, silent
from sgi.geometry.angles import angle
from sgi.geometry.sgi import grounding_index
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
    """Labelled answers; all columns are parallel to ``samples``.

    Attributes:
        name: name of the data.
        samples: the rows.
        labels: True = grounded or correct, shape (n,).
        clusters: answers with the same value share a question (see `Sample.cluster`), shape (n,).
    """

    name: str
    samples: tuple[Sample, ...]
    labels: NDArray[np.bool_]
    clusters: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, samples: Iterable[Sample]) -> Self:
        """The labelled samples.

        Raises:
            DataError: no sample has a label, or all have the same.
        """
        kept = tuple(sample for sample in samples if sample.label is not None)
        labels = np.array([bool(sample.label) for sample in kept], dtype=np.bool_)
        if not kept or labels.all() or not labels.any():
            raise DataError(
                "holds no two classes of labelled answers, so nothing can be told apart", file=name
            )
        codes: dict[int, int] = {}
        numbers = [codes.setdefault(sample.cluster(n), len(codes)) for n, sample in enumerate(kept)]
        clusters = np.array(numbers, dtype=np.int64)
        return cls(name, kept, labels, clusters)

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
        return _lengths(self.responses)

    @cached_property
    def question_lengths(self) -> Floats:
        """Question lengths in characters."""
        return _lengths(self.questions)

    @cached_property
    def context_lengths(self) -> Floats:
        """Passage lengths in characters."""
        return _lengths(self.contexts)

    @cached_property
    def digest(self) -> str:
        """A hash of everything that a number can depend on."""
        parts = (
            part.encode("utf-8", "surrogatepass")
            for sample, *texts in zip(
                self.samples, self.questions, self.contexts, self.responses, strict=True
            )
            for part in (sample.id, *texts, str(sample.label))
        )
        return digest(*parts, size=6).hex()


def _lengths(texts: Sequence[str]) -> Floats:
    return np.array([len(text) for text in texts], dtype=np.float64)


def embed_answers(
    model: str, embedder: Embedder, texts: Sequence[str], listener: Listener = silent
) -> Embeddings:
    """Unit rows in the order of the texts, and which texts were truncated.

    Each distinct text is embedded once, in batches by length, so that an interrupted run keeps finished
    batches.
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
    rows, truncated = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Embeddings(rows[order], truncated[order])


@dataclass(frozen=True, eq=False)
class AnswerVectors:
    """Embeddings of the answers by one model.

    Attributes:
        model: name as given.
        fingerprint: everything that can change a vector.
        question: unit rows, one per answer, shape (n, d).
        context: likewise.
        response: likewise.
        cut: answers whose joined context exceeds the model's limit.
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
        made = embed_answers(model, embedder, list(chain(*columns)), listener)
        question, context, response = np.split(made.rows, len(columns))
        cut = int(np.split(made.truncated, len(columns))[1].sum())
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
