"""Angles between vectors, the grounding index made of them, and the sphere they live on: pure numpy.

`sgi.geometry.displacement`, `flat_displacement` and `context_displacement` hold the displacement scores.
"""

from sgi.geometry.angles import angle, angles_to, cosine, unit
from sgi.geometry.displacement import Neighbours
from sgi.geometry.reference import ReferenceSet
from sgi.geometry.sgi import (
    EPSILON,
    Grounding,
    bounded_grounding_index,
    bounds,
    compute_sgi,
    grounding_index,
)
from sgi.geometry.sphere import (
    exp_map,
    frechet_mean,
    log_map,
    mean_direction,
    parallel_transport,
    resultant_length,
)

__all__ = [
    "EPSILON",
    "Grounding",
    "Neighbours",
    "ReferenceSet",
    "angle",
    "angles_to",
    "bounded_grounding_index",
    "bounds",
    "compute_sgi",
    "cosine",
    "exp_map",
    "frechet_mean",
    "grounding_index",
    "log_map",
    "mean_direction",
    "parallel_transport",
    "resultant_length",
    "unit",
]
