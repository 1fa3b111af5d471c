"""DeconvNet, one layer: deconvolutional networks (Zeiler, Krishnan, Taylor and Fergus, CVPR 2010).

The codes Z get sparse copies T that a rising weight pulls together (half-quadratic splitting):

    1/2 |x - D * Z|^2 + beta |T|_1 + weight/2 |Z - T|^2

For each weight T is a soft threshold, and Z takes a few steps of conjugate gradient. Then the
filters take a few such steps on 1/2 |x - D * T|^2 and are normalised. Samples are coded one after
the other. Convolution is circular, on samples that are padded with zeros.
"""

import numpy as np

from laboratory.systems.circular_convolution import (
    adjoint,
    as_codes,
    as_filters,
    conjugate_gradient,
    domain_of,
    filter_norms,
    soft_threshold,
)
from laboratory.systems.interface import timed_batch_steps

# The weight rises by a constant factor from the first to the last, both in units of beta, both
# chosen by laboratory.systems.choose_constants.
FIRST_WEIGHT, LAST_WEIGHT = 3, 1000
WEIGHTS = 6
CODE_STEPS = 2
FILTER_STEPS = 2


def learn(task):
    return timed_batch_steps(task, _iterations(task))


def _iterations(task):
    domain = domain_of(task.samples, task.support)
    spectra = domain.fft(domain.embed(task.samples))
    filters = domain.crop(domain.embed(task.first_filters()))
    codes = np.zeros((*domain.shape, task.n_filters, len(task.samples)), np.float32)
    while True:
        filter_spectra = domain.fft(domain.pad(filters))
        codes = _infer_all(domain, filter_spectra, spectra, codes, task.beta, WEIGHTS)
        filters = _normalised(_refit(domain, filters, domain.fft(codes), spectra))
        yield as_filters(filters, task.joint), codes.nbytes + filters.nbytes


def code(filters, samples, beta, iterations, n_joint=0):
    """Codes (N, K, *space) of samples (N, *joint, *shift) by filters (K, *joint, *support).

    There is one weight for each iteration: the more of them, the slower it rises.
    """
    domain = domain_of(samples, filters.shape[1 + n_joint :])
    filter_spectra = domain.fft(domain.embed(filters))
    spectra = domain.fft(domain.embed(samples))
    codes = np.zeros((*domain.shape, len(filters), len(samples)), np.float32)
    return as_codes(_infer_all(domain, filter_spectra, spectra, codes, beta, iterations))


def _infer_all(domain, filter_spectra, spectra, codes, beta, n_weights):
    """Better codes (*space, K, N)."""
    one_by_one = (slice(n, n + 1) for n in range(codes.shape[-1]))
    better = [
        _infer(domain, filter_spectra, spectra[..., n], codes[..., n], beta, n_weights)
        for n in one_by_one
    ]
    return np.concatenate(better, axis=-1)


def _infer(domain, filter_spectra, spectra, codes, beta, n_weights):
    matched = adjoint(filter_spectra) @ spectra
    code_spectra = domain.fft(codes)
    sparse = codes
    for weight in beta * np.geomspace(FIRST_WEIGHT, LAST_WEIGHT, n_weights, dtype=np.float32):

        def normal(z, weight=weight):
            return adjoint(filter_spectra) @ (filter_spectra @ z) + weight * z

        wanted = matched + weight * domain.fft(sparse)
        code_spectra = conjugate_gradient(normal, wanted, code_spectra, CODE_STEPS)
        sparse = soft_threshold(domain.ifft(code_spectra), beta / weight)
    return sparse


def _refit(domain, filters, code_spectra, spectra):
    """Filters (*support, C, K) that fit the samples better with these codes."""

    def back(fit):
        return domain.crop(domain.ifft(fit @ adjoint(code_spectra)))

    def normal(d):
        return back(domain.fft(domain.pad(d)) @ code_spectra)

    return conjugate_gradient(normal, back(spectra), filters, FILTER_STEPS)


def _normalised(filters):
    """Filters of unit length; one that is zero stays so."""
    norms = filter_norms(filters)
    return filters / np.where(norms > 0, norms, 1)
