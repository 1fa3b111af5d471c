"""FFCSC: fast and flexible convolutional sparse coding (Heide, Heidrich and Wetzstein, CVPR 2015).

Codes and filters are two convex problems that are solved in turn, each by a few iterations of ADMM
from where it stopped last. Both have the form

    min_v  1/2 |M (x - A v)|^2 + g(v)     split by   y = A v,  q = v

with a mask M that leaves the padding free, so that nothing wraps around. A is the convolution with
the filters, and g the l1 norm of the codes; or A is the convolution with the codes, and g holds the
filters to their support and to unit balls. Then y and q are proximal steps, and v a small linear
system for each frequency.
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

INNER_ITERATIONS = 10
# Penalties of y and q, chosen by laboratory.systems.choose_constants. Those of the authors'
# published program are 60 beta / max(x) for q, and for y 500 (codes) or 5000 (filters) times less.
RHO_CODES = (0.03, 0.3)
RHO_FILTERS = (6e-5, 3.0)


def learn(task):
    return timed_batch_steps(task, _iterations(task))


def _iterations(task):
    domain = domain_of(task.samples, task.support)
    samples = domain.embed(task.samples)
    codes = _code_problem(domain, samples, task.n_filters, task.beta)
    filters = _filter_problem(domain, samples, domain.embed(task.first_filters()))
    while True:
        codes.improve(_transposed(domain.fft(filters.q)), INNER_ITERATIONS)
        filters.improve(_transposed(domain.fft(codes.q)), INNER_ITERATIONS)
        learned = domain.crop(_transposed(filters.q))
        yield as_filters(learned, task.joint), codes.kept_bytes + filters.kept_bytes


def code(filters, samples, beta, iterations, n_joint=0):
    """Codes (N, K, *space) of samples (N, *joint, *shift) by filters (K, *joint, *support)."""
    domain = domain_of(samples, filters.shape[1 + n_joint :])
    codes = _code_problem(domain, domain.embed(samples), len(filters), beta)
    codes.improve(domain.fft(domain.embed(filters)), iterations)
    return as_codes(codes.q)


def _code_problem(domain, samples, n_filters, beta):
    """A is (C, K), v (K, N) and x (C, N) for each frequency."""
    start = np.zeros((*domain.shape, n_filters, samples.shape[-1]), np.float32)

    def prox(codes):
        return soft_threshold(codes, beta / RHO_CODES[1])

    return SplitProblem(domain, samples, start, prox, RHO_CODES)


def _filter_problem(domain, samples, filters):
    """A is (N, K), v (K, C) and x (N, C) for each frequency: all of them transposed."""

    def prox(filters):
        small = project_to_unit_balls(domain.crop(_transposed(filters)))
        return _transposed(domain.pad(small))

    return SplitProblem(domain, _transposed(samples), _transposed(filters), prox, RHO_FILTERS)


def _transposed(matrices):
    return matrices.swapaxes(-1, -2)


class SplitProblem:
    """One of the two problems, with all that its ADMM goes on from."""

    def __init__(self, domain, samples, start, prox, penalties):
        self._domain, self._samples, self._prox = domain, samples, prox
        self._rho_y, self._rho_q = penalties
        self._mask = domain.mask()
        self.q, self._dual_q = start, np.zeros_like(start)
        self._y, self._dual_y = samples, np.zeros_like(samples)

    def improve(self, operator, iterations):
        """Go on with A as it is now; ``operator`` holds its matrices, one for each frequency."""
        domain = self._domain
        ridge = RidgeSolver(operator, self._rho_q / self._rho_y)
        for _ in range(iterations):
            target = domain.fft(self._y - self._dual_y)
            spectra = ridge.solve(target, domain.fft(self.q - self._dual_q))
            self._dual_y += domain.ifft(operator @ spectra)
            self._y = self._nearest_fit(self._dual_y)
            self._dual_y -= self._y
            self._dual_q += domain.ifft(spectra)
            self.q = self._prox(self._dual_q)
            self._dual_q -= self.q

    def _nearest_fit(self, y):
        """Between the sample and y, where there is a sample; y itself in the padding."""
        return (self._samples + self._rho_y * y) / (self._mask + self._rho_y)

    @property
    def kept_bytes(self):
        return sum(array.nbytes for array in (self.q, self._dual_q, self._y, self._dual_y))
