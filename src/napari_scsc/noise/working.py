"""The values that are computed with: noise of one level everywhere, about unit range."""

from __future__ import annotations

from numpy.typing import DTypeLike

from napari_scsc._types import Array
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.scaling import Scale
from napari_scsc.noise.anscombe import Anscombe
from napari_scsc.noise.model import Noise

_FAINTEST_NOISE = 1e-8  # of the range of values: noise that single precision can still tell


def check_sigma(sigma: float | None, source: ImageSamples) -> None:
    """Refuse a noise level that is nothing beside the values: one of them must be wrong."""
    width = source.range.scale().width
    if sigma is not None and sigma < _FAINTEST_NOISE * width:
        raise ValueError(
            f"sigma is {sigma:.3g}, but the values of the image span {width:.3g}: sigma is in the "
            "units of the image; if single values are far off, mark them as missing and inpaint"
        )


class WorkingValues:
    """The values that are computed with: white noise of one level everywhere, about unit range."""

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
        # From here on nothing is left anyway, and single precision would not hold more.
        self.sigma = 1.0 if self._stabiliser else min(level, 1e3)

    def to_work(self, values: Array) -> Array:
        """float32 values in which the noise has the level ``sigma`` everywhere."""
        work = self._scale.to_work(values)
        return self._stabiliser.forward(work) if self._stabiliser else work

    def from_work(self, work: Array, dtype: DTypeLike) -> Array:
        """Values of the type asked for: integers are rounded and clipped."""
        values = self._stabiliser.inverse(work) if self._stabiliser else work
        return self._scale.from_work(values, dtype)
