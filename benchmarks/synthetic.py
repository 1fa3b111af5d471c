"""Samples that look like images to a solver: texture and edges, of unit local variance."""

import numpy as np
from scipy import ndimage

from napari_scsc.model.solver.problem import Geometry, Problem


def sample(shift, joint=(), seed=0):
    """(*joint, *shift) float32; what is joint sees the same scene in other mixtures."""
    rng = np.random.default_rng(seed)
    texture = ndimage.gaussian_filter(rng.standard_normal(shift), 1.0)
    regions = ndimage.gaussian_filter(rng.standard_normal(shift), 4.0) > 0
    texture, edges = texture / texture.std(), regions / regions.std()
    mixture = rng.uniform(0.5, 1.5, (2, *joint, *[1] * len(shift)))
    image = mixture[0] * texture + mixture[1] * edges
    sigma = [0] * len(joint) + [4.0] * len(shift)
    image = image - ndimage.gaussian_filter(image, sigma)
    deviation = np.sqrt(ndimage.gaussian_filter(image**2, sigma))
    return (image / np.maximum(deviation, np.median(deviation))).astype(np.float32)


def problem_and_weights(n_filters, n_base, shift, support, joint=(), seed=0):
    """A problem with a synthetic sample and random filters, and random weights (R, K)."""
    rng = np.random.default_rng(seed)
    geometry = Geometry(joint, shift, support)
    filters = rng.standard_normal((n_base, *joint, *support)).astype(np.float32)
    filters /= np.linalg.norm(filters.reshape(n_base, -1), axis=1).reshape(
        -1, *[1] * (filters.ndim - 1)
    )
    weights = rng.standard_normal((n_base, n_filters)).astype(np.float32)
    problem = Problem(geometry, n_base, np.float32)
    problem.set_filters(filters)
    problem.set_sample(sample(shift, joint, seed), None)
    return problem, weights / np.linalg.norm(weights, axis=0)
