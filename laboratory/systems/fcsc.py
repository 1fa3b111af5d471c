"""FCSC: fast convolutional sparse coding (Bristow, Eriksson and Lucey, CVPR 2013).

One augmented Lagrangian holds codes Z and filters D, both as spectra, the sparse copies T of the
codes and the copies S of the filters that have small support:

    1/2 |x - D * Z|^2 + beta |T|_1 + rho_z/2 |Z - T + U|^2 + rho_d/2 |D - S + V|^2,  |S_k| <= 1

An iteration takes one step on each in turn: Z, T, U, D, S, V. Convolution is circular, on samples
that are padded with zeros.
"""

import numpy as np

from laboratory.systems.circular_convolution import (
    RidgeSolver,
    as_codes,
    as_filters,
    domain_of,
    project_to_unit_balls,
    soft_threshold,
)
from laboratory.systems.interface import timed_batch_steps

# Penalties: chosen by laboratory.systems.choose_constants.
RHO_CODES = 10.0
RHO_FILTERS = 0.001  # for each point of all samples: so grows what the data say of the filters


def learn(task):
    return timed_batch_steps(task, _iterations(task))


def _iterations(task):
    domain = domain_of(task.samples, task.support)
    spectra = domain.fft(domain.embed(task.samples))
    filters = Filters(domain, domain.embed(task.first_filters()))
    codes = Codes(domain, task.n_filters, len(task.samples), task.beta)
    while True:
        codes.step(filters.spectra, spectra)
        filters.step(codes.spectra, spectra)
        kept_bytes = codes.kept_bytes + filters.kept_bytes
        yield as_filters(domain.crop(filters.small), task.joint), kept_bytes


def code(filters, samples, beta, iterations, n_joint=0):
    """Codes (N, K, *space) of samples (N, *joint, *shift) by filters (K, *joint, *support)."""
    domain = domain_of(samples, filters.shape[1 + n_joint :])
    filter_spectra = domain.fft(domain.embed(filters))
    spectra = domain.fft(domain.embed(samples))
    codes = Codes(domain, len(filters), len(samples), beta)
    for _ in range(iterations):
        codes.step(filter_spectra, spectra)
    return as_codes(codes.sparse)


class Codes:
    """Z, T and U of all samples, (*space, K, N)."""

    def __init__(self, domain, n_filters, n_samples, beta):
        self._domain, self._beta = domain, beta
        self.sparse = np.zeros((*domain.shape, n_filters, n_samples), np.float32)
        self._dual = np.zeros_like(self.sparse)
        self.spectra = None

    def step(self, filter_spectra, spectra):
        target = self._domain.fft(self.sparse - self._dual)
        self.spectra = RidgeSolver(filter_spectra, RHO_CODES).solve(spectra, target)
        self._dual += self._domain.ifft(self.spectra)
        self.sparse = soft_threshold(self._dual, self._beta / RHO_CODES)
        self._dual -= self.sparse

    @property
    def kept_bytes(self):
        return self.sparse.nbytes + self._dual.nbytes


class Filters:
    """D, S and V, (*space, C, K)."""

    def __init__(self, domain, small):
        self._domain = domain
        self.small = small
        self.spectra = domain.fft(small)
        self._dual = np.zeros_like(small)

    def step(self, code_spectra, spectra):
        target = self._domain.fft(self.small - self._dual)
        # x = D Z for each frequency; transposed, the filters are what is solved for.
        points = np.prod(self._domain.shape) * spectra.shape[-1]
        ridge = RidgeSolver(code_spectra.swapaxes(-1, -2), RHO_FILTERS * points)
        solved = ridge.solve(spectra.swapaxes(-1, -2), target.swapaxes(-1, -2))
        self.spectra = solved.swapaxes(-1, -2)
        self._dual += self._domain.ifft(self.spectra)
        self.small = self._domain.pad(project_to_unit_balls(self._domain.crop(self._dual)))
        self._dual -= self.small

    @property
    def kept_bytes(self):
        return self.small.nbytes + self._dual.nbytes + self.spectra.nbytes
