"""Displacement scores of all answers of a study, for each protocol of choosing the reference set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sgi.text.overlap import is_verbatim, token_precision
from sgi.text.tokenizers import sentences
from sgi_lab.paper.geometry import displacement, flat_displacement
from sgi_lab.paper.geometry.context_displacement import (
    context_displacement_consistency,
    context_local_grounding_index,
    context_tangent_residual,
    displacement_alignment,
)
from sgi_lab.paper.geometry.displacement import Neighbours
from sgi_lab.paper.geometry.near_duplicates import Pairs
from sgi_lab.paper.geometry.reference import ReferenceSet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sgi_lab.paper.paper_answers import Answers, AnswerVectors
    from sgi_lab.paper.workbench import Study

    Floats = NDArray[np.float64]
    Score = Callable[[NDArray[np.float32], NDArray[np.float32], "Neighbours"], Floats]

Protocol = Literal["leaky", "leave question out", "shuffled reference"]

NEIGHBOURS = 10
FLAT_TEMPERATURE = 0.1
"""The published k and τ."""

NEAR: Mapping[str, tuple[Score, int]] = {
    "displacement_consistency": (displacement.displacement_consistency, 1),
    "expected_response_deviation": (displacement.expected_response_deviation, -1),
    "displacement_magnitude_ratio": (displacement.displacement_magnitude_ratio, -1),
    "tangent_space_residual": (displacement.tangent_space_residual, -1),
    "local_grounding_index": (displacement.local_grounding_index, -1),
}
"""Scores on the sphere that look at neighbours, each with its sign: 1 if high means grounded."""

FLAT: Mapping[str, tuple[Score, int]] = {
    "flat_displacement_consistency": (flat_displacement.flat_displacement_consistency, 1),
    "flat_expected_response_deviation": (flat_displacement.flat_expected_response_deviation, -1),
    "flat_displacement_magnitude_ratio": (flat_displacement.flat_displacement_magnitude_ratio, -1),
    "flat_tangent_space_residual": (flat_displacement.flat_tangent_space_residual, -1),
    "flat_local_grounding_index": (flat_displacement.flat_local_grounding_index, -1),
    "flat_response_rank": (flat_displacement.flat_response_rank, -1),
    "flat_local_density_ratio": (flat_displacement.flat_local_density_ratio, 1),
}
"""The published forms, in the space around the sphere."""

DIRECTION = "directional_grounding_index"


@dataclass(frozen=True, eq=False)
class ReferenceScores:
    """Scores relative to the grounded answers of a study, embedded by a model."""

    study: Study
    model: str

    def of(self, protocol: Protocol, names: Sequence[str]) -> dict[str, Floats]:
        """Return the scores of all answers, higher = grounded, by name.

        * ``leaky``: the reference set contains every grounded answer, including the scored one.
        * ``leave question out``: skips reference answers to the same question or about the same context.
        * ``shuffled reference``: skips the same answers, and permutes reference answers among the questions.
        """
        reference = self._reference(shuffled=protocol == "shuffled reference")
        leaky = protocol == "leaky"
        everything = np.arange(len(self.study.answers.labels))
        pairs = self._pairs(everything, everything)
        exclude: Literal["group"] | None = None if leaky else "group"
        near = reference.neighbours(pairs, NEIGHBOURS, exclude=exclude, leaky=leaky)
        scores = {name: self._score(*NEAR[name], near) for name in names if name in NEAR}
        measured = self.study.of(self.model)
        if any(name in FLAT for name in names):
            rows = {"questions": near.questions, "responses": near.responses}
            flat = Neighbours.of(measured.question, near.indices, FLAT_TEMPERATURE, **rows)
            scores |= {name: self._score(*FLAT[name], flat) for name in names if name in FLAT}
        if DIRECTION in names:
            directions = reference.directions(pairs, exclude=exclude, leaky=leaky)
            scores[DIRECTION] = displacement.directional_grounding_index(
                measured.question, measured.response, directions
            )
        return scores

    def _reference(self, *, shuffled: bool) -> ReferenceSet:
        rows = np.flatnonzero(self.study.answers.labels)
        responses = np.random.default_rng(self.study.seed).permutation(rows) if shuffled else rows
        return ReferenceSet.fit(self._pairs(rows, responses), self.study.of(self.model).response[responses])

    def _pairs(self, rows: NDArray[np.int64], responses: NDArray[np.int64]) -> Pairs:
        """Return the questions of some rows, with the responses of the same or of other rows."""
        answers = self.study.answers
        return Pairs.of(
            [answers.samples[row].id for row in rows],
            [answers.contexts[row] for row in rows],
            [answers.questions[row] for row in rows],
            [answers.responses[row] for row in responses],
            self.study.of(self.model).question[rows],
        )

    def _score(self, score: Score, sign: int, near: Neighbours) -> Floats:
        measured = self.study.of(self.model)
        return sign * score(measured.question, measured.response, near)


def context_scores(study: Study, model: str) -> dict[str, Floats]:
    """Return the scores relative to the context, higher = grounded, by name; they need no reference set."""
    measured, answers = study.of(model), study.answers
    ours, ends = _embed(study, model, answers.responses)
    theirs, limits = _embed(study, model, answers.contexts)
    places, ways = (measured.question, measured.context), (measured.context, measured.response)
    return {
        "context_displacement_consistency": context_displacement_consistency(measured.context, ours, ends),
        "context_tangent_residual": -context_tangent_residual(*ways, theirs, limits),
        "context_local_grounding_index": context_local_grounding_index(*places, ours, ends),
        "displacement_alignment": displacement_alignment(*places, measured.response),
    }


def _embed(study: Study, model: str, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the vectors of the sentences of each text, and their offsets."""
    found = {text: sentences(text) for text in dict.fromkeys(texts)}
    offsets = np.concatenate([[0], np.cumsum([len(found[text]) for text in texts])])
    rows = study.embed_answers(model, [sentence for text in texts for sentence in found[text]])
    return rows, offsets.astype(np.int64)


def baseline_scores(answers: Answers, measured: AnswerVectors) -> dict[str, Floats]:
    """Return the baselines: length, copies, overlap, the two angles, and SGI; higher = grounded."""
    pairs = list(zip(answers.responses, answers.contexts, strict=True))
    return {
        "length (shorter)": -answers.lengths,
        "verbatim": np.array([float(is_verbatim(response, [context])) for response, context in pairs]),
        "overlap": np.array([token_precision(response, [context]) for response, context in pairs]),
        "θ(r,q)": measured.theta_rq,
        "θ(r,c) near": -measured.theta_rc,
        "sgi": measured.sgi,
    }
