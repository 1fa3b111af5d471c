"""Working values: those of an image with noise of one level everywhere, and white ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc._types import Array
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.scaling import Scale
from napari_scsc.errors import UserError
from napari_scsc.noise.anscombe import Anscombe
from napari_scsc.noise.model import Noise
from napari_scsc.noise.outliers import without_outliers
from napari_scsc.noise.whitening import Whitening

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

    Working values have noise of the level ``sigma`` everywhere: they are scaled linearly to about
    unit range, or by the transform of Anscombe where the noise grows with the signal, or joint
    values that differ in their noise each by itself. White values have white noise of that level;
    they are the working values, unless the noise is correlated.

    Attributes
    ----------
    sigma : float
        Standard deviation of the noise of working and of white values.
    """

    def __init__(self, source: ImageSamples, noise: Noise, *, in_levels: bool = False) -> None:
        """``in_levels``: the level is 1, so that several of these go together."""
        self._of_samples = tuple(WorkingValues(source, p, in_levels=True) for p in noise.samples)
        self._sample_counts = noise.sample_counts
        self._sample_lengths = source.sample_lengths
        in_levels = in_levels or bool(noise.joint or noise.samples)
        parts = noise.joint or (noise,)
        self._maps = tuple(_EvenValues(source, part, in_levels) for part in parts)
        self.sigma = self._maps[0].sigma
        self._whitening = Whitening.of(noise, source.n_joint) if noise.sigma else None
        self._outlier_limit = noise.outlier_limit if noise.sigma else 0.0

    def at(self, index: tuple[int, ...]) -> WorkingValues:
        """Those of the sample of that index."""
        if not self._of_samples:
            return self
        lengths = zip(index, self._sample_counts, self._sample_lengths, strict=True)
        number = np.ravel_multi_index([i * c // n for i, c, n in lengths], self._sample_counts)
        return self._of_samples[number]

    def to_work(self, values: Array) -> Array:
        """float32 values (C, ...) in which the noise has the level ``sigma`` everywhere."""
        if len(self._maps) == 1:
            return self._maps[0].to_work(values)
        return np.stack([one.to_work(v) for one, v in zip(self._maps, values, strict=True)])

    def from_work(self, work: Array, dtype: DTypeLike) -> Array:
        """Values of the type asked for: integers are rounded and clipped."""
        if len(self._maps) == 1:
            return self._maps[0].from_work(work, dtype)
        pairs = zip(self._maps, work, strict=True)
        return np.stack([one.from_work(w, dtype) for one, w in pairs])

    @property
    def is_white(self) -> bool:
        """Whether working values are white values."""
        return self._whitening is None and all(part.is_white for part in self._of_samples)

    def whiten(self, work: Array) -> Array:
        """White values of working ones (C, *shift), of which none is missing, without outliers."""
        if self._outlier_limit and work.ndim > 2:
            work = without_outliers(work, self.sigma, self._outlier_limit)
        return self._whitening.whiten(work, self.sigma) if self._whitening else work

    def colour(self, white: Array) -> Array:
        """Working values of white ones."""
        return self._whitening.colour(white) if self._whitening else white

    def colour_error(self, error: Array) -> Array:
        """Standard errors of working values, of those (C, *shift) of white ones."""
        return self._whitening.colour_error(error, self.sigma) if self._whitening else error

    def error_from_work(self, work: Array, error: Array) -> Array:
        """Standard errors in the units of the image of working values with these errors."""
        if len(self._maps) == 1:
            return self._maps[0].error_from_work(work, error)
        parts = zip(self._maps, work, error, strict=True)
        return np.stack([one.error_from_work(w, e) for one, w, e in parts])


class _EvenValues:
    """One map for all joint values, or for one of them: noise of one level, ``sigma``."""

    def __init__(self, source: ImageSamples, noise: Noise, in_levels: bool) -> None:
        # Photons are counted from the lowest value on: beside a high pedestal they would be lost.
        low = source.range.low
        self._stabiliser = (
            Anscombe(noise.gain, noise.offset + noise.gain * float(low))
            if noise.depends_on_signal
            else None
        )
        self._scale = Scale(low, low + 1) if self._stabiliser else source.range.scale()
        if in_levels and not self._stabiliser and noise.sigma > 0:
            self._scale = Scale(low, low + noise.sigma)
        level = noise.sigma / self._scale.width
        self.sigma = 1.0 if self._stabiliser else min(level, _MAX_WORKING_SIGMA)

    def to_work(self, values: Array) -> Array:
        work = self._scale.to_work(values)
        return self._stabiliser.forward(work) if self._stabiliser else work

    def from_work(self, work: Array, dtype: DTypeLike) -> Array:
        values = self._stabiliser.inverse(work) if self._stabiliser else work
        return self._scale.from_work(values, dtype)

    def error_from_work(self, work: Array, error: Array) -> Array:
        slope = self._stabiliser.inverse_slope(work) if self._stabiliser else 1.0
        return np.asarray(self._scale.width * slope * error, np.float32)
