"""Angles between vectors and the semantic grounding index (SGI)."""

from sgi.geometry.angles import angle, angles_to, cosine, unit
from sgi.geometry.sgi_ratio import (
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
    "angles_to",
    "bounded_grounding_index",
    "bounds",
    "compute_sgi",
    "cosine",
    "grounding_index",
    "unit",
]
