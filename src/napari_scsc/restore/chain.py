"""Denoising by groups: a thresholding pass, then a Wiener pass that takes its result as pilot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.restore import groups
from napari_scsc.restore.patches import PatchGrid
from napari_scsc.solver.threads import single_threaded

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """How thorough the passes are.

    Attributes
    ----------
    step : int
        Places between two reference patches.
    reach : int
        How far from a reference similar patches are looked for.
    first_size, second_size : int
        Patches of a group in the thresholding and in the Wiener pass; 0 leaves a pass out.
    strength : float
        Noise level that the thresholding pass assumes, relative to sigma.
    """

    step: int = 4
    reach: int = 15
    first_size: int = 32
    second_size: int = 64
    strength: float = 0.9


def denoise_sample(
    sample: Array,
    sigma: float,
    patch: tuple[int, ...],
    basis: Array,
    settings: ChainSettings | None = None,
) -> Array:
    """Denoise a sample (C, *shift), one to three shift axes, white noise of level ``sigma``.

    ``basis`` (R, M) is an orthonormal basis of the base filters, the constant first: the result
    lies in its span, patch by patch.
    """
    settings = settings or ChainSettings()
    grid = PatchGrid(len(sample), sample.shape[1:], patch)
    passes = groups.get()
    places = (1,) * (3 - len(grid.places)) + grid.places
    # Patches of neighbouring references overlap or touch: every point is in one of them.
    lengths = (1,) * (3 - len(patch)) + patch
    step = np.array([min(settings.step, p) for p in lengths])
    reach = np.array([min(settings.reach, n - 1) for n in places])
    most = int(np.prod([min(r + 1, n) for r, n in zip(reach, places, strict=True)]))

    def average(fill: Any) -> Array:
        total = np.zeros((int(np.prod(places)), len(basis)), sample.dtype)
        weights = np.zeros(len(total), sample.dtype)
        fill(total, weights)
        return grid.assemble(total, weights, basis)

    with single_threaded():
        noisy = grid.express(sample, basis)
        found = passes.match(noisy, places, step, reach, min(settings.first_size, most))
        estimate = average(
            lambda *out: passes.threshold(noisy, found, sigma, settings.strength, *out)
        )
        if settings.second_size:
            pilot = grid.express(estimate, basis)
            again = passes.match(pilot, places, step, reach, min(settings.second_size, most))
            estimate = average(lambda *out: passes.wiener(noisy, pilot, again, sigma, *out))
    return estimate
