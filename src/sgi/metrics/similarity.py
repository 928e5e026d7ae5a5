"""Semantic similarity of a response and its reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from typing_extensions import TypedDict

from sgi.geometry.angles import angle, cosine, unit
from sgi.kernel.details import closed
from sgi.kernel.metric import Metric, MetricHelp, MetricSpec, Question, Scores, Status
from sgi.kernel.sample import REFERENCE, RESPONSE
from sgi.metrics.parameters import check_choice, check_share
from sgi.text.read_share import unread_by_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray
    from pydantic import JsonValue

    from sgi.kernel.sample import Batch
    from sgi.kernel.vectors import Features, VectorTable

Aggregate = Literal["mean", "median", "min", "max", "majority"]
"""How the values of several models are combined."""

Scale = Literal["cosine", "angular", "euclidean", "manhattan"]
"""The distance that a similarity is computed from."""

_BANDS = ((0.9, "nearly identical"), (0.7, "same core"), (0.5, "partial"), (0.0, "different"))
_TRUNCATED = "both truncated"
_BEGINNINGS = "the model truncated both texts: only their beginnings are compared"
_HALF = 0.5


def cosine_similarity(vec1: ArrayLike, vec2: ArrayLike) -> float:
    r"""Return the cosine of the angle between two vectors, or 0 if it is negative.

    .. math:: \max(0, u \cdot v / (\lVert u \rVert \, \lVert v \rVert))

    Args:
        vec1: a vector as list or array, not all 0, shape (d,).
        vec2: a vector of the same shape, not all 0.

    Returns:
        The similarity, in [0, 1]; 1 for vectors of the same direction.

    Raises:
        ValueError: a vector is empty, zero or not finite, or the dimensions differ.

    Difference from the source (document 003): a zero vector has no direction, so it is an error and not a
    similarity of 0. A blank text has the similarity 0, in the metric and in `RAGEvalService`.

    >>> round(cosine_similarity([3.0, 4.0], [4.0, 3.0]), 4)
    0.96
    """
    left, right = unit(vec1), unit(vec2)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(
            f"Two vectors of the same shape (d,) are required, not shapes {left.shape} and {right.shape}."
        )
    return max(0.0, float(cosine(left[None], right[None])[0]))


@closed
class SimilarityDetails(TypedDict, total=False):
    """The value of each model, and warnings.

    Attributes:
        models: the similarity by the name of the embedder, also with a threshold.
        reached: the embedders whose similarity reaches the threshold; only with a threshold.
        band: how similar the texts are, in words; only for cosines without a threshold.
        truncated: the texts of which a model read only the beginning: ``response``, ``reference`` or both.
        left_out: the reason for each embedder that returned no vectors, or whose vocabulary covers too few
            letters of the texts, by its name.
        warning: why the value may mislead.
    """

    models: dict[str, float]
    reached: list[str]
    band: str
    truncated: list[str]
    left_out: dict[str, str]
    warning: str


@dataclass(frozen=True)
class SemanticSimilarity(Metric["ComparedTexts"]):
    r"""Cosine similarity of the embeddings of response and reference.

    .. math:: \max(0, \cos\theta(r, g)), \quad g \text{ the best of the accepted answers}

    In [0, 1]. Bands of the cosine scale: from 0.9 nearly identical, from 0.7 the same core, from 0.5 partial,
    below that different. A blank response or reference scores 0 with a warning. The details hold the value of
    each model, and the models that failed; if all fail, the row fails. A text
    that exceeds the token limit of a model is read in windows. If a model read only the beginning of texts,
    the details name them; if of both, there is a warning and the band ``both truncated``.

    A model is left out if its vocabulary covers less than 80 % of the response or of every reference; if it
    is so for all models, the row is undefined.

    Limits: a contradiction scores high, because it is about the same things; texts of very different length
    score too low; both must be in the same language unless the model is multilingual.

    Attributes:
        models: names of embedding models; if empty, all models configured for the run.
        threshold: in [0, 1]; if given, the value of a model becomes 1 if it reaches the threshold, and 0
            otherwise.
        aggregate: mean, median, min or max over the models; or majority: 1 if more than half of the models
            reach the threshold.
        scale: cosine; angular, 1 − θ/π; euclidean, 1 − ‖r−g‖₂/2; or manhattan, 1 − ‖r−g‖₁/(2√d). All are 1
            for equal directions; the last three are 0 only for opposite directions.

    References: Reimers and Gurevych (2019), "Sentence-BERT", section 3.

    >>> from sgi.types import Batch, Features, Sample, VectorTable
    >>> pair = Batch.of([Sample(id="1", response="yes", reference="indeed")])
    >>> rows = np.array([[3, 4], [4, 3]], dtype=np.float32)
    >>> features = Features.of(VectorTable.of("demo", ["yes", "indeed"], rows))
    >>> metric = SemanticSimilarity()
    >>> scores = metric.score(metric.prepare(pair), features)
    >>> round(float(scores.values[0]), 4), scores.details[0]["band"]
    (0.96, 'nearly identical')
    """

    models: tuple[str, ...] = ()
    threshold: float | None = None
    aggregate: Aggregate = "mean"
    scale: Scale = "cosine"
    spec: ClassVar = MetricSpec(
        "semantic_similarity",
        3,
        needs=RESPONSE | REFERENCE,
        citation="Reimers and Gurevych (2019)",
        guide=MetricHelp(
            Question.RIGHT,
            "From 0.9: nearly the same text. From 0.7: the same core. Below 0.5: a different text.",
            "A wrong number or a missing “not” hardly changes it, because the text is about the same "
            "things. It also falls if the response is much longer than the reference.",
        ),
        category="band",
        classes=(*(band for _, band in _BANDS), _TRUNCATED),
        details=SimilarityDetails,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", _names(self.models))
        check_choice("aggregate", self.aggregate, Aggregate)
        check_choice("scale", self.scale, Scale)
        if self.threshold is not None:
            object.__setattr__(self, "threshold", check_share("threshold", self.threshold))
        elif self.aggregate == "majority":
            raise ValueError("aggregate=majority needs a threshold")

    def embedder_names(self, configured: tuple[str, ...], /) -> tuple[str, ...]:
        """Return the embedders in ``models``, or all configured embedders if it is empty."""
        return self.models or configured

    def prepare(self, rows: Batch, /) -> ComparedTexts:
        """Pair each response with each of its references."""
        return ComparedTexts.of(rows)

    def texts(self, pairs: ComparedTexts, /) -> Iterable[str]:
        """List the responses and references to compare, without blank texts."""
        return chain(pairs.responses, pairs.references)

    def score(self, pairs: ComparedTexts, features: Features, /) -> Scores:
        """Return the similarity to the most similar reference of each row."""
        batch = pairs.batch
        compared = np.unique(pairs.rows)
        blank = np.setdiff1d(np.arange(len(batch)), compared)
        parts = [(blank, _of_blank(batch, blank))]
        if len(compared):
            parts.append((compared, self._of_compared(pairs, compared, features)))
        return Scores.assemble(len(batch), parts)

    def _of_compared(self, pairs: ComparedTexts, rows: NDArray[np.int64], features: Features) -> Scores:
        """Score the rows; a model that does not read the texts of a row is left out there."""
        names = self.models or (*features.by_embedder, *features.failures)
        left_out = {name: features.failures[name] for name in names if name in features.failures}
        used = [name for name in names if name not in left_out]
        if not used:
            why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            reason = f"no model gave vectors: {why}" if why else "no embedding model is configured"
            return Scores.without_value(Status.FAILED, [reason] * len(rows))
        tables = [features.by_embedder[name] for name in used]
        if all(pairs.is_read(table).all() for table in tables):
            return self._of_read(pairs, rows, tables, left_out)
        reasons = [pairs.unread_reasons(table) for table in tables]
        groups: dict[tuple[str, ...], list[int]] = {}
        for position, row in enumerate(rows.tolist()):
            groups.setdefault(tuple(own.get(row, "") for own in reasons), []).append(position)
        parts = []
        for group, positions in groups.items():
            read = [table for table, reason in zip(tables, group, strict=True) if not reason]
            unread = {name: reason for name, reason in zip(used, group, strict=True) if reason}
            own = np.array(positions, dtype=np.int64)
            if read:
                parts.append((own, self._of_read(pairs, rows[own], read, left_out | unread)))
            else:
                reason = "; ".join(unread.values())
                parts.append((own, Scores.without_value(Status.UNDEFINED, [reason] * len(own))))
        return Scores.assemble(len(rows), parts)

    def _of_read(
        self,
        pairs: ComparedTexts,
        rows: NDArray[np.int64],
        tables: Sequence[VectorTable],
        left_out: Mapping[str, str],
    ) -> Scores:
        used = [table.model for table in tables]
        by_model = np.stack([pairs.nearest(table, self.scale)[rows] for table in tables])
        votes = by_model if self.threshold is None else (by_model >= self.threshold).astype(np.float64)
        values = _AGGREGATES[self.aggregate](votes)
        common: dict[str, JsonValue] = {"left_out": dict(left_out)} if left_out else {}
        truncated = pairs.truncated_texts(tables)
        details = [
            {"models": dict(zip(used, column.tolist(), strict=True))}
            | self._reached(used, column)
            | self._band_and_warnings(value, truncated.get(row, ()))
            | common
            for row, column, value in zip(rows.tolist(), by_model.T, values, strict=True)
        ]
        return Scores.of(values, details=details)

    def _reached(self, names: Sequence[str], values: NDArray[np.float64]) -> dict[str, JsonValue]:
        if self.threshold is None:
            return {}
        reached = values >= self.threshold
        return {"reached": [name for name, is_reached in zip(names, reached, strict=True) if is_reached]}

    def _band_and_warnings(self, value: float, truncated: Sequence[str]) -> dict[str, JsonValue]:
        """Return the band of a cosine, the truncated texts, and a warning if both are truncated."""
        details: dict[str, JsonValue] = {}
        both = len(truncated) > 1
        if self.threshold is None and self.scale == "cosine":
            details["band"] = _TRUNCATED if both else next(band for least, band in _BANDS if value >= least)
        if truncated:
            details["truncated"] = list(truncated)
        return details | ({"warning": _BEGINNINGS} if both else {})


class ComparedTexts(NamedTuple):
    """Pairs of a response and one of its references, for all rows of a batch, without blank texts."""

    batch: Batch

    rows: NDArray[np.int64]
    responses: tuple[str, ...]
    references: tuple[str, ...]

    @classmethod
    def of(cls, batch: Batch) -> ComparedTexts:
        """Pair each response of a batch with each of its references."""
        response, references = batch.response, batch.references
        complete = [
            (row, response[row], text)
            for row, text in zip(references.owners.tolist(), references.values, strict=True)
            if text.strip() and response[row].strip()
        ]
        rows = np.fromiter((row for row, _, _ in complete), dtype=np.int64, count=len(complete))
        return cls(batch, rows, tuple(r for _, r, _ in complete), tuple(t for _, _, t in complete))

    def nearest(self, table: VectorTable, scale: Scale) -> NDArray[np.float64]:
        """Return the similarity of each row to its nearest reference, shape (n,); 0 for blank rows."""
        u = table.rows(self.responses).astype(np.float64)
        v = table.rows(self.references).astype(np.float64)
        nearest = np.zeros(len(self.batch))  # a negative cosine stays at this 0
        read = self.is_read(table)
        np.maximum.at(nearest, self.rows[read], _SCALES[scale](u, v)[read])
        return nearest

    def is_read(self, table: VectorTable) -> NDArray[np.bool_]:
        """Return a mask of the pairs whose texts the model can read, shape (pairs,)."""
        unread = table.unread
        if not unread:
            return np.ones(len(self.rows), dtype=np.bool_)
        return np.array(
            [unread.isdisjoint(pair) for pair in zip(self.responses, self.references, strict=True)]
        )

    def unread_reasons(self, table: VectorTable) -> dict[int, str]:
        """Return the reason of each row whose response, or all of whose references, the model cannot read."""
        read_rows = set(self.rows[self.is_read(table)].tolist())
        return {
            row: unread_by_model(table.model, "response" if response in table.unread else "reference")
            for row, response in zip(self.rows.tolist(), self.responses, strict=True)
            if row not in read_rows
        }

    def truncated_texts(self, tables: Sequence[VectorTable]) -> dict[int, tuple[str, ...]]:
        """Return, for each row with truncated texts, which are truncated: response, reference or both."""
        texts = frozenset().union(*(table.truncated for table in tables))
        names_by_row: dict[int, dict[str, None]] = {}
        for row, *pair in zip(self.rows.tolist(), self.responses, self.references, strict=True):
            for name, text in zip(("response", "reference"), pair, strict=True):
                if text in texts:
                    names_by_row.setdefault(row, {})[name] = None
        return {row: tuple(names) for row, names in names_by_row.items()}


_SCALES: Mapping[str, Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]] = {
    "cosine": cosine,
    "angular": lambda u, v: 1.0 - angle(u, v) / math.pi,
    "euclidean": lambda u, v: np.asarray(1.0 - np.linalg.norm(u - v, axis=1) / 2.0),
    # ‖x‖₁ ≤ √d·‖x‖₂ and ‖u−v‖₂ ≤ 2
    "manhattan": lambda u, v: np.asarray(1.0 - np.abs(u - v).sum(axis=1) / (2.0 * math.sqrt(u.shape[1]))),
}

_AGGREGATES: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "mean": lambda values: np.mean(values, axis=0),
    "median": lambda values: np.median(values, axis=0),
    "min": lambda values: np.min(values, axis=0),
    "max": lambda values: np.max(values, axis=0),
    "majority": lambda votes: (np.mean(votes, axis=0) > _HALF).astype(np.float64),
}


def _of_blank(batch: Batch, rows: NDArray[np.int64]) -> Scores:
    """Return 0 with a warning for rows whose response or reference is blank."""
    details = []
    for row in rows.tolist():
        texts = {"response": batch.response[row], "reference": "".join(batch.references[row])}
        blank = [f"the {name} is blank" for name, text in texts.items() if not text.strip()]
        details.append({"warning": " and ".join(blank)})
    return Scores.of(np.zeros(len(rows)), details=details)


def _names(names: object) -> tuple[str, ...]:
    """Return names as a tuple; reject a single string."""
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"models must be a list of model names, not {names!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"models must not contain a name twice: {', '.join(names)}")
    return tuple(names)
