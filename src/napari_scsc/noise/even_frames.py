"""Images whose frames differ in their noise, made even: what is learned and measured from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.data.image import ImageArray
from napari_scsc.data.samples import ImageSamples
from napari_scsc.noise.model import Noise


class _EvenImage(ImageArray):
    """An image whose frames are divided by the levels of their noise, about a value."""

    def __init__(self, image: ImageArray, relative: Array, centre: float, axis: int) -> None:
        self.__dict__.update(image.__dict__)
        self.dtype = np.dtype(np.float32)
        self._image, self._relative, self._centre, self._axis = image, relative, centre, axis

    def read(self, region: Region) -> Array:
        """The values of a region."""
        values = self._image.read(region).astype(np.float64)
        shape = [1] * values.ndim
        shape[self._axis] = -1
        relative = self._relative[region[self._axis]].reshape(shape)
        return np.asarray((values - self._centre) / relative + self._centre, np.float32)


def even_frames(source: ImageSamples, levels: Array, centre: float) -> ImageSamples:
    """An image whose frames have noise of one level, of the mean square of ``levels`` (frames,)."""
    relative = levels / np.sqrt(np.mean(np.square(levels)))
    axis = source.axes.roles.index("shift")
    return replace(source, image=_EvenImage(source.image, relative, centre, axis), _last={})


def with_even_frames(source: ImageSamples, noise: Noise) -> tuple[ImageSamples, Noise]:
    """The same image and noise with even frames, if they are not."""
    if not noise.frame_levels:
        return source, noise
    even = even_frames(source, np.array(noise.frame_levels), noise.mean)
    return even, noise.without_frame_levels()
