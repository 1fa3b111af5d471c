"""Working values: those of an image with noise of one level everywhere, and white ones."""

from __future__ import annotations

import math
from copy import copy

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc._types import Array, Region
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.scaling import Scale
from napari_scsc.errors import UserError
from napari_scsc.noise import joint
from napari_scsc.noise.anscombe import Anscombe
from napari_scsc.noise.model import Noise
from napari_scsc.noise.outliers import SET_ASIDE, find_outliers
from napari_scsc.noise.whitening import Whitening

_MIN_RELATIVE_SIGMA = 1e-8  # of the range of values: what single precision can still tell
_MAX_WORKING_SIGMA = 1e3  # more leaves nothing to restore, and single precision would not hold it
_MAX_LEVEL_STEP = 3.0  # from one frame to the next noisier one that help each other


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

    def __init__(
        self,
        source: ImageSamples,
        noise: Noise,
        *,
        in_levels: bool = False,
        is_clean: bool = False,
    ) -> None:
        """``in_levels``: the level is 1, so that several of these go together.

        ``is_clean``: there is no noise, and the level is one to compute with.
        """
        self._of_samples = _of_samples(source, noise)
        self._sample_counts = noise.sample_counts
        self._sample_lengths = source.sample_lengths
        in_levels = in_levels or bool(noise.joint or noise.samples)
        parts = tuple(joint.raise_levels(noise.joint)) or (noise,)
        self._maps = tuple(
            _EvenValues(source, part, noise.limits, in_levels=in_levels, is_joint=bool(noise.joint))
            for part in parts
        )
        self._is_clean = is_clean
        self._clean_joint = tuple(c for c, part in enumerate(noise.joint) if part.sigma == 0)
        self._limits = noise.limits
        self._frames = None
        if noise.frame_levels:
            _check_frames(source, noise)
            mean = np.full((source.n_joint, 1), noise.mean)
            relative = np.array(noise.frame_levels, np.float32) / np.float32(noise.sigma)
            self._frames = _FrameLevels(relative, float(np.nan_to_num(self.to_work(mean)).mean()))
        self.sigma = self._maps[0].sigma
        self._whitening = Whitening.of(noise, source.n_joint) if noise.sigma else None
        self._outlier_limit = noise.outlier_limit if noise.sigma else 0.0
        self._is_noisy = noise.sigma > 0 and not is_clean

    def at(self, index: tuple[int, ...], part: Region | None = None) -> WorkingValues:
        """Those of the sample of that index, or of a part of it."""
        if not self._of_samples:
            return self._within(part)
        lengths = zip(index, self._sample_counts, self._sample_lengths, strict=True)
        number = np.ravel_multi_index([i * c // n for i, c, n in lengths], self._sample_counts)
        return self._of_samples[number]._within(part)

    def _within(self, part: Region | None) -> WorkingValues:
        if not self._frames or part is None:
            return self
        found = copy(self)
        found._frames = self._frames.within(part[0])
        return found

    def to_work(self, values: Array) -> Array:
        """float32 values (C, ...) in which the noise has the level ``sigma`` everywhere."""
        if len(self._maps) == 1:
            work = self._maps[0].to_work(values)
        else:
            work = np.stack([one.to_work(v) for one, v in zip(self._maps, values, strict=True)])
        return self._frames.divide(work) if self._frames else work

    def from_work(self, work: Array, dtype: DTypeLike) -> Array:
        """Values of the type asked for: integers are rounded and clipped."""
        work = self._frames.multiply(work) if self._frames else work
        if len(self._maps) == 1:
            return self._maps[0].from_work(work, dtype)
        pairs = zip(self._maps, work, strict=True)
        return np.stack([one.from_work(w, dtype) for one, w in pairs])

    def put_back(self, values: Array, source: Array, missing: Array) -> Array:
        """Restored values (C, ...), and those of the image where nothing was to be restored.

        Joint values without noise, and values far beyond all others, stay as they are, to the bit,
        unless they are missing, or outliers are to be filled.
        """
        stays = np.zeros(source.shape, bool)
        stays[list(self._clean_joint)] = True
        if self._limits and not self._outlier_limit:
            stays |= (source < self._limits[0]) | (source > self._limits[1])
        return np.where((stays | self._is_clean) & ~missing, source, values)

    @property
    def frame_classes(self) -> tuple[Array, ...]:
        """Numbers of the frames that help each other; empty if all do."""
        return self._frames.classes() if self._frames else ()

    @property
    def may_have_frame_classes(self) -> bool:
        """Whether the frames of some part may not all help each other."""
        own = self._frames is not None and self._frames.may_have_classes
        return own or any(part.may_have_frame_classes for part in self._of_samples)

    @property
    def keeps_values(self) -> bool:
        """Whether ``put_back`` has anything to put back."""
        of_all = self._is_clean or self._clean_joint or self._limits
        return bool(of_all) or any(part.keeps_values for part in self._of_samples)

    @property
    def is_white(self) -> bool:
        """Whether working values are white values."""
        return self._whitening is None and all(part.is_white for part in self._of_samples)

    def whiten(self, work: Array) -> Array:
        """White values of working ones (C, *shift), of which none is missing, without outliers."""
        if self._has_outliers(work):
            work = find_outliers(work, self.sigma, self._outlier_limit or SET_ASIDE)[1]
        return self._whitening.whiten(work, self.sigma) if self._whitening else work

    def kept_outliers(self, work: Array) -> Array:
        """Where working values are outliers that ``whiten`` sets aside, and that are to stay."""
        if self._outlier_limit or not self._has_outliers(work):
            return np.zeros(work.shape, bool)
        return find_outliers(work, self.sigma, SET_ASIDE)[0]

    def _has_outliers(self, work: Array) -> bool:
        """Whether single pixels can stand out of noise."""
        return work.ndim > 2 and self._is_noisy

    def colour(self, white: Array) -> Array:
        """Working values of white ones."""
        return self._whitening.colour(white) if self._whitening else white

    def colour_error(self, error: Array) -> Array:
        """Standard errors of working values, of those (C, *shift) of white ones."""
        return self._whitening.colour_error(error, self.sigma) if self._whitening else error

    def error_from_work(self, work: Array, error: Array) -> Array:
        """Standard errors in the units of the image of working values with these errors."""
        if self._frames:
            work, error = self._frames.multiply(work), self._frames.multiply_error(error)
        if len(self._maps) == 1:
            return self._maps[0].error_from_work(work, error)
        parts = zip(self._maps, work, error, strict=True)
        return np.stack([one.error_from_work(w, e) for one, w, e in parts])


def _of_samples(source: ImageSamples, noise: Noise) -> tuple[WorkingValues, ...]:
    """Those of samples that differ in their noise: one for each noise, however many share it."""
    known: dict[int, WorkingValues] = {}
    for part, raised in zip(noise.samples, joint.raise_levels(noise.samples), strict=True):
        if id(part) not in known:
            is_clean = part.sigma == 0
            known[id(part)] = WorkingValues(source, raised, in_levels=True, is_clean=is_clean)
    return tuple(known[id(part)] for part in noise.samples)


class _FrameLevels:
    """Levels of the noise of frames, which are made alike around the middle of the values.

    Noise of one level makes what is sure of a frame weigh more than what is not. Beside frames with
    far less noise, what a frame shows is so faint that no group keeps it: these are no help.
    """

    def __init__(self, levels: Array, centre: float) -> None:
        self._levels, self._centre = levels, np.float32(centre)

    def within(self, part: slice) -> _FrameLevels:
        """Those of a part of the frames."""
        return _FrameLevels(self._levels[part], float(self._centre))

    @property
    def may_have_classes(self) -> bool:
        """Whether there are classes in these frames, or in a part of them."""
        return bool(self._levels.max() > _MAX_LEVEL_STEP * self._levels.min())

    def classes(self) -> tuple[Array, ...]:
        """Numbers of the frames of each class of about one level; empty for one class."""
        order = np.argsort(self._levels, kind="stable")
        steps = self._levels[order[1:]] / self._levels[order[:-1]]
        classes = np.split(order, np.flatnonzero(steps > _MAX_LEVEL_STEP) + 1)
        return tuple(map(np.sort, classes)) if len(classes) > 1 else ()

    def divide(self, work: Array) -> Array:
        """Working values (C, t, y, x) whose frames have noise of one level."""
        return np.asarray((work - self._centre) / self._levels[:, None, None] + self._centre)

    def multiply(self, work: Array) -> Array:
        """What ``divide`` was given."""
        return np.asarray((work - self._centre) * self._levels[:, None, None] + self._centre)

    def multiply_error(self, error: Array) -> Array:
        """Standard errors of the same."""
        return np.asarray(error * self._levels[:, None, None])


def _check_frames(source: ImageSamples, noise: Noise) -> None:
    """Refuse a noise that knows another number of frames than the image has."""
    count = source.shift[0] if len(source.shift) == 3 else 0
    if len(noise.frame_levels) != count:
        raise UserError(
            f"knows the levels of {len(noise.frame_levels)} frames, but the image has {count}",
            argument="noise",
        )


def _scale_of(source: ImageSamples, limits: tuple[float, ...]) -> Scale:
    """The scale of an image, or that of its values without those far beyond all others."""
    return Scale(*limits) if limits else source.range.scale()


class _EvenValues:
    """One map for all joint values, or for one of them: noise of one level, ``sigma``."""

    def __init__(
        self,
        source: ImageSamples,
        noise: Noise,
        limits: tuple[float, ...],
        *,
        in_levels: bool,
        is_joint: bool,
    ) -> None:
        # Photons are counted from the lowest value on: beside a high pedestal they would be lost.
        self._limits = limits
        whole = _scale_of(source, limits)
        low = whole.low
        self._stabiliser = (
            Anscombe(noise.gain, noise.offset + noise.gain * float(low), noise.floor**2)
            if noise.depends_on_signal
            else None
        )
        self._scale = Scale(low, low + 1) if self._stabiliser else whole
        if in_levels and not self._stabiliser and noise.sigma > 0:
            # Mixtures of joint values are found about zero: what all of one share is no content.
            start = type(low)(noise.mean) if is_joint and math.isfinite(noise.mean) else low
            self._scale = Scale(start, start + noise.sigma)
        level = noise.sigma / self._scale.width
        self.sigma = 1.0 if self._stabiliser else min(level, _MAX_WORKING_SIGMA)

    def to_work(self, values: Array) -> Array:
        if self._limits:
            values = np.clip(values, self._limits[0], self._limits[1])
        work = self._scale.to_work(values)
        return self._stabiliser.forward(work) if self._stabiliser else work

    def from_work(self, work: Array, dtype: DTypeLike) -> Array:
        values = self._stabiliser.inverse(work) if self._stabiliser else work
        return self._scale.from_work(values, dtype)

    def error_from_work(self, work: Array, error: Array) -> Array:
        slope = self._stabiliser.inverse_slope(work) if self._stabiliser else 1.0
        return np.asarray(self._scale.width * slope * error, np.float32)
