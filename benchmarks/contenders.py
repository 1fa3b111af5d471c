"""SPORCO, as its documentation calls it, on one thread and in float32."""

import time

import numpy as np
import sporco.fft
from sporco.admm.cbpdn import ConvBPDN
from sporco.dictlrn.cbpdndl import ConvBPDNDictLearn
from sporco.dictlrn.onlinecdl import OnlineConvBPDNDictLearn

sporco.fft.pyfftw_threads = 1  # its default is all cores

LAMBDA = 0.1


def first_filters(n_filters, support, seed):
    """Random filters of unit length, (*support, K)."""
    filters = np.random.default_rng(seed).standard_normal((*support, n_filters))
    return (filters / np.linalg.norm(filters, axis=(0, 1))).astype(np.float32)


class OnlineLearner:
    """OCDL-Liu, one sample at a time."""

    def __init__(self, n_filters, support, iterations, seed):
        options = OnlineConvBPDNDictLearn.Options(
            {"DataType": np.float32, "CBPDN": {"MaxMainIter": iterations}}
        )
        start = first_filters(n_filters, support, seed)
        self._learner = OnlineConvBPDNDictLearn(start, LAMBDA, options)
        self.seconds = 0.0

    def learn(self, sample):
        start = time.perf_counter()
        self._learner.solve(sample, dimK=0)
        self.seconds += time.perf_counter() - start

    @property
    def filters(self):
        return self._learner.getdict().squeeze()


def learn_in_batch(samples, n_filters, support, iterations, seed):
    """Filters learned from all samples at once, and the seconds that it took."""
    options = ConvBPDNDictLearn.Options(
        {
            "MaxMainIter": iterations,
            "CBPDN": {"DataType": np.float32},
            "CCMOD": {"DataType": np.float32},
        }
    )
    start = time.perf_counter()
    learner = ConvBPDNDictLearn(
        first_filters(n_filters, support, seed), np.moveaxis(samples, 0, -1), LAMBDA, options
    )
    learner.solve()
    return learner.getdict().squeeze(), time.perf_counter() - start


def coder(filters, sample, iterations, tolerance=1e-3):
    """ConvBPDN with its default options; each ``solve()`` goes on for ``iterations``."""
    options = ConvBPDN.Options(
        {"DataType": np.float32, "MaxMainIter": iterations, "RelStopTol": tolerance}
    )
    return ConvBPDN(filters, sample, LAMBDA, options, dimK=0)


def code(filters, sample, iterations):
    """The reconstruction of a sample and the share of its code that is not zero."""
    solver = coder(filters, sample, iterations)
    codes = solver.solve()
    return solver.reconstruct().squeeze(), np.count_nonzero(codes) / codes.size
