"""SBCSC: slice-based convolutional sparse coding (Papyan, Romano, Sulam and Elad, ICCV 2017).

A sample is the sum of slices s_i = D a_i, one at each point i, where D holds the filters as columns
and a_i is what all codes have at i. With R_i, which takes the patch at i, ADMM works on

    1/2 |x - sum_i R_i' s_i|^2 + sum_i beta |a_i|_1 + rho/2 |s_i - D a_i + u_i|^2

In each iteration the codes are one lasso for each point (here by a few warm iterations of FISTA),
the slices have a closed form, and the filters are refitted to slices and codes, one after the
other. Patches wrap around, on samples that are padded with zeros.
"""

import itertools
import math

import numpy as np

from laboratory.systems.circular_convolution import domain_of, soft_threshold
from laboratory.systems.interface import timed_batch_steps

# Both chosen by laboratory.systems.choose_constants.
RHO = 3.0
CODE_ITERATIONS = 1  # before the filters move
LASSO_ITERATIONS = 5
_POINTS_AT_ONCE = 2048  # so that a batch of lassos stays in the cache


def learn(task):
    return timed_batch_steps(task, _iterations(task))


def _iterations(task):
    first = task.first_filters()
    dictionary = _columns(first)
    slices = Slices(task.samples, task.support, task.n_filters)
    while True:
        for _ in range(CODE_ITERATIONS):
            slices.code(dictionary, task.beta)
            slices.share(dictionary)
        dictionary = _refit(dictionary, slices.wanted(), slices.codes)
        yield dictionary.T.reshape(first.shape), slices.kept_bytes


def code(filters, samples, beta, iterations, n_joint=0):
    """Codes (N, K, *space) of samples (N, *joint, *shift) by filters (K, *joint, *support)."""
    dictionary = _columns(filters)
    slices = Slices(samples, filters.shape[1 + n_joint :], len(filters))
    for _ in range(iterations):
        slices.code(dictionary, beta)
        slices.share(dictionary)
    maps = slices.codes.reshape(len(filters), len(samples), *slices.space)
    return np.ascontiguousarray(maps.swapaxes(0, 1))


def _columns(filters):
    """Filters (K, *joint, *support) as the columns of a matrix (C M, K)."""
    return np.ascontiguousarray(filters.reshape(len(filters), -1).T)


class Slices:
    """Slices and duals (C M, points), and codes (K, points), at all points of all samples."""

    def __init__(self, samples, support, n_filters):
        domain = domain_of(samples, support)
        self.space, self._support = domain.shape, domain.support
        placed = domain.embed(samples)
        self._samples = np.ascontiguousarray(np.moveaxis(placed, (-2, -1), (0, 1)))
        self._patches = self._cut(self._samples)
        self._sharing = math.prod(self._support)  # slices that each point of a sample is shared by
        self._slices = self._patches / self._sharing
        self._duals = np.zeros_like(self._slices)
        self.codes = np.zeros((n_filters, self._patches.shape[1]), np.float32)

    def wanted(self):
        """What the codes should make of the filters: s + u."""
        return self._slices + self._duals

    def code(self, dictionary, beta):
        self.codes = lasso(dictionary, self.wanted(), self.codes, beta / RHO)

    def share(self, dictionary):
        """New slices that add up to the sample, and their duals."""
        made = dictionary @ self.codes
        separate = self._patches / RHO + made - self._duals
        overlap = self._cut(self._add_up(separate)) / (RHO + self._sharing)
        self._slices = separate - overlap
        self._duals += self._slices - made

    def _offsets(self):
        return itertools.product(*(range(m) for m in self._support))

    def _cut(self, images):
        """Images (C, N, *space) as patches (C M, points): R_i of each point."""
        axes = tuple(range(2, images.ndim))
        shifted = [np.roll(images, [-m for m in offset], axes) for offset in self._offsets()]
        return np.stack(shifted, axis=1).reshape(-1, images[0].size)

    def _add_up(self, patches):
        """The images (C, N, *space) that overlapping patches add up to: the sum of R_i'."""
        images = np.zeros_like(self._samples)
        axes = tuple(range(2, images.ndim))
        stacks = patches.reshape(len(images), -1, *images.shape[1:])
        for number, offset in enumerate(self._offsets()):
            images += np.roll(stacks[:, number], offset, axes)
        return images

    @property
    def kept_bytes(self):
        return self._slices.nbytes + self._duals.nbytes + self.codes.nbytes


def lasso(dictionary, targets, codes, threshold):
    """FISTA for each column: 1/2 |target - D a|^2 + threshold |a|_1, from ``codes`` on."""
    gram = dictionary.T @ dictionary
    step = 1 / np.linalg.norm(gram, 2)
    improved = np.empty_like(codes)
    for first in range(0, codes.shape[1], _POINTS_AT_ONCE):
        points = slice(first, first + _POINTS_AT_ONCE)
        matched = dictionary.T @ targets[:, points]
        improved[:, points] = _fista(gram, matched, codes[:, points], threshold, step)
    return improved


def _fista(gram, matched, codes, threshold, step):
    ahead, momentum = codes, 1.0
    for _ in range(LASSO_ITERATIONS):
        previous = codes
        codes = soft_threshold(ahead - step * (gram @ ahead - matched), step * threshold)
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = codes + np.float32((momentum - 1) / grown) * (codes - previous)
        momentum = grown
    return codes


def _refit(dictionary, targets, codes):
    """One pass of least squares over the filters, each with the others fixed; then of unit length.

    Slices that do not yet add up to the sample are too small, and must not shrink the filters.
    """
    gram, matched = codes @ codes.T, targets @ codes.T
    dictionary = dictionary.copy()
    for k in np.flatnonzero(gram.diagonal()):
        column = dictionary[:, k] + (matched[:, k] - dictionary @ gram[:, k]) / gram[k, k]
        dictionary[:, k] = column / np.linalg.norm(column)
    return dictionary
