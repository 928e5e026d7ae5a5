"""The Fréchet mean of one set of points."""

import numpy as np

from sgi_lab.paper.geometry.sphere import karcher_means


def frechet_mean(points, weights=None):
    shares = np.ones(len(points)) if weights is None else np.asarray(weights)
    return karcher_means(np.asarray(points)[None], (shares / shares.sum())[None])[0]
