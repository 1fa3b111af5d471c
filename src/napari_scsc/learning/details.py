"""What convolutional filters are learned from: the details of tiles, most of their noise gone.

Filters that are learned from noisy tiles themselves have noise in them, or are few, where the price
of a code keeps noise out. A tile that was denoised in one pass over groups has hardly any noise,
and all that filters show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from napari_scsc._types import Array
from napari_scsc.groups.denoiser import GroupDenoiser
from napari_scsc.groups.passes import GroupPass, Passes
from napari_scsc.model.basis import Basis
from napari_scsc.model.threads import single_threaded

_SMOOTH_WIDTH = 3.0  # pixels: what is smoother than that is not coded
_REACH = {1: (60,), 2: (20, 20), 3: (16, 6, 6)}  # by the number of shift axes
_STEP_SHARE, _GROUP_SIZE = 0.65, 24  # of the pass; a second one takes away what filters show


def split_smooth(values: Array, known: Array | None) -> tuple[Array, Array, Array | None]:
    """The smooth part, which the model has no filters for, the rest, and what is known."""
    width = (0.0, *(_SMOOTH_WIDTH,) * (values.ndim - 1))
    if known is None:
        smooth = ndimage.gaussian_filter(values, width)
        return smooth, values - smooth, None
    weight = ndimage.gaussian_filter(known.astype(np.float32), width)
    smooth = ndimage.gaussian_filter(values * known, width) / np.maximum(weight, 1e-6)
    return smooth, (values - smooth) * known, known


@dataclass(frozen=True, slots=True)
class Pilot:
    """Denoises tiles (C, *shift), in which the noise has the level ``sigma``."""

    basis: Basis
    sigma: float

    def __call__(self, values: Array, known: Array | None) -> Array:
        """Most of the noise taken away; what is not known is filled smoothly first."""
        if any(n < p for n, p in zip(values.shape[1:], self.basis.patch, strict=True)):
            return values
        if known is not None:
            values = np.where(known, values, split_smooth(values, known)[0])
        basis, reach = self.basis, _REACH[len(self.basis.patch)]
        step = tuple(max(1, round(_STEP_SHARE * p)) for p in basis.patch)
        passes = Passes(GroupPass(step, reach, _GROUP_SIZE))
        with single_threaded():
            return basis.back(
                GroupDenoiser(basis, passes).denoise(basis.project(values), self.sigma)
            )

    def arrays(self) -> dict[str, Array]:
        """All of it, for a file."""
        basis = self.basis
        return {
            "mixtures": basis.mixtures,
            "vectors": basis.vectors.reshape(len(basis.vectors), basis.n_flat, *basis.patch),
            "sigma": np.array([self.sigma]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> Pilot:
        """As a file has it; ValueError for what does not fit together."""
        mixtures, vectors, (sigma,) = (arrays[n] for n in ("mixtures", "vectors", "sigma"))
        if vectors.ndim < 3 or vectors.shape[1] != len(mixtures):
            raise ValueError(f"vectors of the shape {vectors.shape} for {len(mixtures)} mixtures")
        flat = vectors.reshape(len(vectors), -1)
        return cls(Basis(mixtures, vectors.shape[2:], flat), float(sigma))
