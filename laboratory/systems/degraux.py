"""OCDL-Degraux (Degraux et al. 2017): online, with its statistics in the spatial domain.

What is kept of the codes is how each two of them correlate at the lags that two points of a filter
can have, and how each correlates with the sample at the points of a filter:

    1/2 sum_kl <d_k, C_kl * d_l> - sum_k <d_k, b_k>,  every filter in the unit ball

is then the mean error of all samples as a function of the filters. It is lowered filter by filter
(block coordinates), each by a projected gradient step of its own length. The correlations are
computed by FFT and the code by the engine's proximal gradient; both are exact, and faster than
what the authors had.
"""

import time

import numpy as np
import scipy.fft

from laboratory.systems.interface import LearningStep, shared_coder, stream_samples
from napari_scsc.model.solver import code
from napari_scsc.model.solver.filter_step import project_filters
from napari_scsc.model.solver.problem import Geometry, Problem
from napari_scsc.model.threads import single_threaded

_LEARNING_ITERATIONS = 100
_SWEEPS = 50  # over all filters, at most
_TOLERANCE = 1e-3  # of the filters' size: a sweep that changes less is the last one


def learn(task):
    """Code a sample, add it to the correlations, and improve the filters."""
    geometry = Geometry(task.joint, task.shift, task.support)
    problem = Problem(geometry, task.n_filters, np.float32)
    filters = task.first_filters()
    memory = Correlations(geometry, task.n_filters)
    seconds = 0.0
    for passes, sample in stream_samples(task):
        begin = time.process_time()
        with single_threaded():
            problem.set_filters(filters)
            problem.set_sample(sample, None)
            code.solve(problem, None, beta=task.beta, max_iter=_LEARNING_ITERATIONS)
            maps, filled, _ = problem.statistics()
            memory.add(maps, filled)
            filters = improve(filters, memory)
        seconds += time.process_time() - begin
        kept_bytes = memory.codes.nbytes + memory.sample.nbytes + filters.nbytes
        yield LearningStep(seconds, passes, shared_coder(task, filters), kept_bytes)


class Correlations:
    """Means over the samples; C as the spectrum over its lags, (K, K, *half), b (K, C, *support).

    A box of 2 h - 1 lags an axis is enough for C * d to be right on the support of a filter.
    """

    def __init__(self, geometry, n_filters):
        self._geometry = geometry
        self._axes = tuple(range(-len(geometry.support), 0))
        self.lags = tuple(2 * h - 1 for h in geometry.support)
        half = (*self.lags[:-1], geometry.support[-1])
        self.codes = np.zeros((n_filters, n_filters, *half), np.complex64)
        self.sample = np.zeros((n_filters, geometry.n_joint, *geometry.support), np.float32)
        self._count = 0

    def add(self, maps, sample):
        """Take in the spectra of one code (K, F) and of its sample (C, F)."""
        self._count += 1
        share = np.float32(1 / self._count)
        for k, conjugate in enumerate(maps.conj()):
            pairs = self._correlate(conjugate, maps[k:], self.lags)
            spectrum = self.spectrum(np.fft.ifftshift(pairs, self._axes))
            self.codes[k, k:] += share * (spectrum - self.codes[k, k:])
            self.codes[k:, k] = self.codes[k, k:].conj()
            answer = self._correlate(conjugate, sample, self._geometry.support)
            self.sample[k] += share * (answer - self.sample[k])

    def _correlate(self, conjugate, others, lengths):
        """Correlation of one map with others, at the lags of a window around zero."""
        box = self._geometry.box
        product = (conjugate * others).reshape(-1, *box[:-1], box[-1] // 2 + 1)
        whole = scipy.fft.irfftn(product, box, self._axes, workers=1)
        window = [(np.arange(n) - n // 2) % size for n, size in zip(lengths, box, strict=True)]
        return whole[np.ix_(np.arange(len(whole)), *window)]

    def spectrum(self, values):
        """Of values in the support, or at the lags, zero elsewhere."""
        return scipy.fft.rfftn(values, self.lags, self._axes, workers=1)

    def gradient(self, k, spectra):
        """That of filter k, (C, *support), at filters with these spectra (K, C, *half)."""
        answer = np.einsum("l...,lc...->c...", self.codes[k], spectra)
        whole = scipy.fft.irfftn(answer, self.lags, self._axes, workers=1)
        support = tuple(slice(h) for h in self._geometry.support)
        return whole[(slice(None), *support)] - self.sample[k]


def improve(filters, memory, sweeps=_SWEEPS, tolerance=_TOLERANCE):
    """Lower the mean error by one projected gradient step a filter, in sweeps over all."""
    current = filters.reshape(memory.sample.shape).copy()
    spectra = memory.spectrum(current)
    # C_kk is part of a circulant matrix, whose eigenvalues these are.
    curvatures = [np.abs(memory.codes[k, k]).max() for k in range(len(current))]
    for _ in range(sweeps):
        before = current.copy()
        for k, curvature in enumerate(curvatures):
            if curvature > 0:  # else nothing used it
                free = current[k] - memory.gradient(k, spectra) / curvature
                current[k] = project_filters(free[None])[0]
                spectra[k] = memory.spectrum(current[k])
        if np.linalg.norm(current - before) <= tolerance * np.linalg.norm(current):
            break
    return current.reshape(filters.shape)
