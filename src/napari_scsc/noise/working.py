"""Working values: those of an image with white noise of one level everywhere, about unit range."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc._types import Array
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.scaling import Scale
from napari_scsc.errors import UserError
from napari_scsc.noise.anscombe import Anscombe
from napari_scsc.noise.model import Noise

_MIN_RELATIVE_SIGMA = 1e-8  # of the range of values: what single precision can still tell
_MAX_WORKING_SIGMA = 1e3  # more leaves nothing to restore, and single precision would not hold it


def check_sigma(sigma: float | None, source: ImageSamples) -> None:
    """Refuse a noise level that is nothing beside the values: one of them must be wrong."""
    width = source.range.scale().width
    if sigma is not None and sigma < _MIN_RELATIVE_SIGMA * width:
        raise UserError(
            f"is {sigma:.3g}, but the values of the image span {width:.3g}: it is in the units of "
            "the image",
            argument="sigma",
            remedy="if single values are far off, mark them as missing and inpaint",
        )


class WorkingValues:
    """The map from the values of an image to those that are computed with, and back.

    Working values have white noise of the level ``sigma`` everywhere and about unit range: they
    are scaled linearly, or by the transform of Anscombe where the noise grows with the signal.

    Attributes
    ----------
    sigma : float
        Standard deviation of the noise of working values.
    """

    def __init__(self, source: ImageSamples, noise: Noise) -> None:
        # Photons are counted from the lowest value on: beside a high pedestal they would be lost.
        low = source.range.low
        self._stabiliser = (
            Anscombe(noise.gain, noise.offset + noise.gain * float(low))
            if noise.depends_on_signal
            else None
        )
        self._scale = Scale(low, low + 1) if self._stabiliser else source.range.scale()
        level = noise.sigma / self._scale.width
        self.sigma = 1.0 if self._stabiliser else min(level, _MAX_WORKING_SIGMA)

    def to_work(self, values: Array) -> Array:
        """float32 values in which the noise has the level ``sigma`` everywhere."""
        work = self._scale.to_work(values)
        return self._stabiliser.forward(work) if self._stabiliser else work

    def from_work(self, work: Array, dtype: DTypeLike) -> Array:
        """Values of the type asked for: integers are rounded and clipped."""
        values = self._stabiliser.inverse(work) if self._stabiliser else work
        return self._scale.from_work(values, dtype)

    def error_from_work(self, work: Array, error: Array) -> Array:
        """Standard errors in the units of the image of working values with these errors."""
        slope = self._stabiliser.inverse_slope(work) if self._stabiliser else 1.0
        return np.asarray(self._scale.width * slope * error, np.float32)
