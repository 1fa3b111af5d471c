"""Systems that are in SPORCO, as its documentation calls them, on one thread and in float32.

All of them take a sample to be periodic. Joint axes are its channels.
"""

import time

import numpy as np
import sporco.fft
from sporco.dictlrn.cbpdndl import ConvBPDNDictLearn
from sporco.dictlrn.onlinecdl import OnlineConvBPDNDictLearn

from laboratory.systems.interface import LearningStep, shared_coder, stream_samples

sporco.fft.pyfftw_threads = 1  # its default is all cores

_CODE_ITERATIONS = 100  # of a sample, online
_MAX_ITERATIONS = 500  # of a batch
# Chosen by laboratory.systems.choose_constants; SPORCO\'s default is "pgm".
CBPDN_FILTER_STEP = "ism"


def ocdl_liu(task):
    """OCDL-Liu: the first-order method of Liu et al. (2018), which keeps nothing but filters."""
    options = OnlineConvBPDNDictLearn.Options(
        {"DataType": np.float32, "CBPDN": {"MaxMainIter": _CODE_ITERATIONS}}
    )
    begin = time.process_time()
    learner = OnlineConvBPDNDictLearn(
        _filters_for_sporco(task), task.beta, options, dimK=0, dimN=len(task.support)
    )
    seconds = time.process_time() - begin
    for passes, sample in stream_samples(task):
        begin = time.process_time()
        filters = learner.solve(_channels_last(sample[None], task)[..., 0])
        seconds += time.process_time() - begin
        model = shared_coder(task, _filters_from_sporco(filters, task))
        yield LearningStep(seconds, passes, model, filters.nbytes)


def cbpdn(task):
    """CBPDN (Wohlberg 2016): the filters by ADMM with iterated Sherman-Morrison."""
    return _learn_in_batch(task, CBPDN_FILTER_STEP)


def consensus(task):
    """CONSENSUS (Sorel and Sroubek 2016): the filters by ADMM, with a copy of them a sample."""
    return _learn_in_batch(task, "cns")


def _learn_in_batch(task, method):
    options = ConvBPDNDictLearn.Options(
        {
            "MaxMainIter": 1,  # each solve() goes on by one
            "CBPDN": {"DataType": np.float32},
            "CCMOD": {"DataType": np.float32},
        },
        dmethod=method,
    )
    begin = time.process_time()
    learner = ConvBPDNDictLearn(
        _filters_for_sporco(task),
        _channels_last(task.samples, task),
        task.beta,
        options,
        dmethod=method,
        dimN=len(task.support),
    )
    seconds = time.process_time() - begin
    for iteration in range(1, _MAX_ITERATIONS + 1):
        begin = time.process_time()
        learner.solve()
        seconds += time.process_time() - begin
        model = shared_coder(task, _filters_from_sporco(learner.getdict(), task))
        yield LearningStep(seconds, iteration, model, _bytes_of(learner.xstep, learner.dstep))


def _filters_for_sporco(task):
    """(K, *joint, *support) -> (*support, [C,] K)."""
    return _channels_last(task.first_filters(), task)


def _channels_last(values, task):
    """(N, *joint, *shift) -> (*shift, [C,] N), without C where there are no joint axes."""
    if task.n_joint == 0:
        return np.moveaxis(values, 0, -1)
    shift = values.shape[1 + task.n_joint :]
    return np.moveaxis(values.reshape(len(values), -1, *shift), (1, 0), (-2, -1))


def _filters_from_sporco(filters, task):
    """(*support, C, ..., K) -> (K, *joint, *support)."""
    flat = filters.reshape(*task.support, -1, task.n_filters)
    return np.moveaxis(flat, (-1, -2), (0, 1)).reshape(-1, *task.joint, *task.support)


def _bytes_of(*solvers):
    """All arrays that the solvers hold, each once, though they share some."""
    arrays = [a for solver in solvers for a in vars(solver).values() if isinstance(a, np.ndarray)]
    return sum({a.__array_interface__["data"][0]: a.nbytes for a in arrays}.values())
