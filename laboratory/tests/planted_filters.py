"""Tasks whose samples are sparse sums of known filters, and what is asked of learned ones."""

from dataclasses import dataclass
from itertools import islice

import numpy as np
import pytest
from scipy.signal import fftconvolve

from laboratory.systems import SYSTEMS
from laboratory.systems.interface import LearningTask


def unit_filters(filters):
    norms = np.linalg.norm(filters.reshape(len(filters), -1), axis=1)
    return filters / norms.reshape(-1, *[1] * (filters.ndim - 1))


@dataclass(frozen=True)
class PlantedTask(LearningTask):
    """The filters that made the samples are known, and learning starts not too far from them."""

    planted: np.ndarray | None = None
    noise: float = 0.15

    def first_filters(self):
        filters = self.planted[: self.n_filters]
        noise = np.random.default_rng(self.seed).standard_normal(filters.shape)
        return unit_filters(filters + self.noise * noise).astype(np.float32)


def planted_task(n=8, shift=(20, 20), joint=(), support=(5, 5), n_filters=3, density=0.01):
    """Samples that are sparse sums of a few filters."""
    rng = np.random.default_rng(0)
    filters = unit_filters(rng.standard_normal((n_filters, *joint, *support)))
    reach = tuple(m + h - 1 for m, h in zip(shift, support, strict=True))
    values = rng.standard_normal((n, n_filters, *reach))
    codes = values * (rng.random(values.shape) < density)
    samples = 2 * np.stack([convolved(filters, z, len(joint)) for z in codes])
    return PlantedTask(
        samples=samples.astype(np.float32),
        n_filters=n_filters,
        support=support,
        beta=0.05,
        seed=1,
        n_joint=len(joint),
        n_base=n_filters,
        planted=filters,
    )


def convolved(filters, maps, n_joint):
    """sum_k d_k * z_k at the points of the sample."""
    maps = maps.reshape(len(maps), *[1] * n_joint, *maps.shape[1:])
    axes = tuple(range(1 + n_joint, filters.ndim))
    return fftconvolve(maps, filters, "valid", axes=axes).sum(axis=0)


def require_system(name):
    if SYSTEMS[name].module == "sporco_systems":
        pytest.importorskip("sporco")
    return SYSTEMS[name]


def total_objective(model, samples):
    return sum(model.encode(x, max_iter=300).objective[-1] for x in samples)


def model_filters(model):
    return getattr(model, "model", model).bank.filters


def take_steps(name, task, n):
    return list(islice(require_system(name)(task), n))


def learned_filters(steps):
    return model_filters(steps[-1].model)
