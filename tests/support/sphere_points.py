"""Points on the sphere for tests of the geometry."""

import numpy as np

from sgi.geometry import unit
from sgi_lab.paper.geometry.displacement import Neighbours
from sgi_lab.paper.geometry.sphere import karcher_means


def rows(n, seed, d=24):
    """Return n random unit rows."""
    return unit(np.random.default_rng(seed).normal(size=(n, d)))


def scored_rows(temperature):
    """Return questions, responses and their neighbours among 12 reference pairs, 6 each."""
    generator = np.random.default_rng(0)
    indices = np.array([generator.permutation(12)[:6] for _ in range(7)])
    questions, known = rows(7, 1), {"questions": rows(12, 3), "responses": rows(12, 4)}
    return questions, rows(7, 2), Neighbours.of(questions, indices, temperature, **known)


def frechet_mean(points, weights=None):
    """Return the Fréchet mean of one set of points."""
    shares = np.ones(len(points)) if weights is None else np.asarray(weights)
    return karcher_means(np.asarray(points)[None], (shares / shares.sum())[None])[0]
