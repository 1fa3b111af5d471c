"""SPORCO's coder, as its documentation calls it, on one thread and in float32."""

import numpy as np
import sporco.fft
from sporco.admm.cbpdn import ConvBPDN

sporco.fft.pyfftw_threads = 1  # its default is all cores

LAMBDA = 0.1


def first_filters(n_filters, support, seed):
    """Random filters of unit length, (*support, K)."""
    filters = np.random.default_rng(seed).standard_normal((*support, n_filters))
    return (filters / np.linalg.norm(filters, axis=(0, 1))).astype(np.float32)


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
