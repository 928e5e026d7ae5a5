"""Angles between vectors, and the grounding index made of them: pure numpy on your own vectors."""

from sgi.geometry.angles import angle, cosine, unit
from sgi.geometry.grounding import (
    EPSILON,
    Grounding,
    bounded_grounding_index,
    bounds,
    compute_sgi,
    grounding_index,
)

__all__ = [
    "EPSILON",
    "Grounding",
    "angle",
    "bounded_grounding_index",
    "bounds",
    "compute_sgi",
    "cosine",
    "grounding_index",
    "unit",
]
