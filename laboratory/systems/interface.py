"""What all systems of the paper have in common: how they are asked, and what they answer.

A system is a function that learns from samples and yields what it has so far, with the processor
seconds that learning alone took: what else the machine does is not counted. Filters that all
samples share are judged by one coder, that of the engine with identity weights, so that only what
was learned differs.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from napari_scsc import SCSC, Code, FilterBank

MAX_PASSES = 1000  # after which an online system gives up
MAX_BATCH_ITERATIONS = 500  # after which a batch system does


@dataclass(frozen=True)
class LearningTask:
    """What a system is asked to learn; all systems get the same.

    ``samples`` are (N, *joint, *shift) in float32; filters are (K, *joint, *support).
    """

    samples: np.ndarray
    n_filters: int
    support: tuple
    beta: float
    seed: int = 0
    n_joint: int = 0
    n_base: int = 10  # only for those that have base filters
    radius: float = 1.0  # of the ball for the weights, only for those that have weights

    @property
    def joint(self):
        return self.samples.shape[1 : 1 + self.n_joint]

    @property
    def shift(self):
        return self.samples.shape[1 + self.n_joint :]

    def first_filters(self):
        """Random filters of unit length, (K, *joint, *support): the same start for everybody."""
        rng = np.random.default_rng(self.seed)
        filters = rng.standard_normal((self.n_filters, *self.joint, *self.support))
        norms = np.sqrt((filters**2).sum(axis=tuple(range(1, filters.ndim)), keepdims=True))
        return (filters / norms).astype(np.float32)


class Coder(Protocol):
    """What codes test samples: an SCSC, or anything that is asked as it is."""

    def encode(
        self, x: np.ndarray, mask=None, max_iter: int | None = None, tol: float | None = None
    ) -> Code: ...


@dataclass(frozen=True)
class LearningStep:
    """What a system has after a while."""

    seconds: float  # of a processor, for learning; not what the caller does between two steps
    passes: float  # how many times it has seen the samples; an iteration of a batch method is one
    model: Coder  # codes test samples: ``model.encode(x, mask, max_iter)``
    kept_bytes: int  # what must be kept from one step to the next: history, or all codes


System = Callable[[LearningTask], Iterator[LearningStep]]


def shared_coder(task, filters):
    """The coder for filters (K, *joint, *support) that all samples share."""
    bank = FilterBank(np.ascontiguousarray(filters, np.float32), n_joint=task.n_joint)
    return SCSC.from_bank(bank, weights="identity", n_filters=len(filters), beta=task.beta)


def stream_samples(task):
    """The samples again and again, as online systems see them, each with the passes made so far."""
    for count in range(MAX_PASSES * len(task.samples)):
        yield (count + 1) / len(task.samples), task.samples[count % len(task.samples)]


def timed_batch_steps(task, iterations):
    """A step for each pair of filters and kept bytes; only the seconds of the learner count."""
    seconds = 0.0
    for passes in range(1, MAX_BATCH_ITERATIONS + 1):
        start = time.process_time()
        filters, kept_bytes = next(iterations)
        seconds += time.process_time() - start
        yield LearningStep(seconds, passes, shared_coder(task, filters), kept_bytes)
