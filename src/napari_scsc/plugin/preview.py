"""Which part of a layer is in view, and that part as a source of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from napari.utils.transforms import Affine

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import Cancellation
from napari_scsc.data.image import ImageArray, read_masked, wrap_image
from napari_scsc.plugin.layers import Snapshot

_MAX_SIDE = 384  # pixels along an axis that is in view
_MAX_SIDE_OF_A_PICTURE = 512  # the same, where no planes are needed around it
_MIN_SIDE = 64  # with less, neither noise nor structure can be found
_MAX_PLANES = 9  # along an axis that is not in view
_MAX_PLANES_OF_SEVERAL = 5  # the same, where several axes are not


def preview_region(source: Snapshot, layer: Any, viewer: Any) -> Region:
    """The part of a layer that a preview is made of: the middle of the view, as much as is quick.

    Along shift axes that are not displayed it has some planes around the one that is shown. So it
    has along the first axis of the 3-D view: what napari takes for the corners of that view lies in
    one plane.
    """
    axes = _Displayed(layer, viewer)
    depth = [
        axis
        for axis, role in enumerate(source.axes.roles)
        if role == "shift" and axis not in axes.in_plane
    ]
    most = _MAX_SIDE if depth else _MAX_SIDE_OF_A_PICTURE
    planes = _MAX_PLANES if len(depth) <= 1 else _MAX_PLANES_OF_SEVERAL
    region = []
    for axis, (n, role) in enumerate(zip(source.shape, source.axes.roles, strict=True)):
        is_colour = axis >= layer.ndim
        if role == "joint" or is_colour:
            region.append(slice(0, n))
            continue
        if axis in axes.in_plane:
            low, high = axes.span(axis, n)
            length = min(max(high - low, _MIN_SIDE), most, n)
            middle = (low + high) // 2
        else:
            is_single = role == "sample" and axis != axes.depth
            length = 1 if is_single else min(planes, n)
            middle = int(axes.centre[axis])
        start = int(np.clip(middle - length // 2, 0, n - length))
        region.append(slice(start, start + length))
    return tuple(region)


def span_in_view(layer: Any, axis: int, length: int) -> tuple[int, int]:
    """First pixel, and the one after the last, that the 2-D view shows along an axis."""
    low, high = (int(corner) for corner in np.asarray(layer.corner_pixels)[:, axis])
    # Those of a multiscale layer are pixels of the level that is drawn.
    pixel = float(layer.downsample_factors[layer.data_level][axis]) if layer.multiscale else 1.0
    return max(int(low * pixel), 0), min(round((high + 1) * pixel), length)


def is_part_of_view(region: Region, layer: Any, viewer: Any) -> bool:
    """Whether more of the layer is in view than the region."""
    axes = _Displayed(layer, viewer)
    return any(
        region[axis].stop - region[axis].start < high - low
        for axis in axes.in_plane
        for low, high in [axes.span(axis, layer.data.shape[axis])]
    )


class _Displayed:
    """Which axes of a layer are displayed, and what of them is in view.

    Attributes
    ----------
    in_plane : tuple of int
        The last two axes that are displayed, as far as the layer has them.
    depth : int or None
        The first axis of the 3-D view.
    centre : array of int
        The pixel in the middle of the view, in the plane that the sliders choose.
    """

    def __init__(self, layer: Any, viewer: Any) -> None:
        dims = viewer.dims
        ahead = dims.ndim - layer.ndim  # axes of the viewer that the layer does not have
        shown = [axis - ahead for axis in dims.displayed]
        self.in_plane = tuple(axis for axis in shown[-2:] if axis >= 0)
        self.depth = shown[0] if len(shown) == 3 and shown[0] >= 0 else None
        self._is_flat = dims.ndisplay == 2
        point = np.array(dims.point, float)
        if not self._is_flat:
            # The camera has three axes, and images in the 3-D view may all have two.
            displayed = list(dims.displayed)
            point[displayed] = viewer.scene.camera.center[-len(displayed) :]
        self.centre = np.round(layer.world_to_data(point)[-layer.ndim :]).astype(int)
        self._layer = layer

    def span(self, axis: int, length: int) -> tuple[int, int]:
        """First pixel, and the one after the last, that are in view along an axis."""
        if not self._is_flat:
            here = int(self.centre[axis])
            return max(here - _MAX_SIDE // 2, 0), min(here + _MAX_SIDE // 2, length)
        return span_in_view(self._layer, axis, length)


def move_looks(looks: dict[str, Any], region: Region, ndim: int) -> dict[str, Any]:
    """The looks of a layer with ``ndim`` axes for a region of it, at its place in the world."""
    placed = {name: looks[name] for name in ("scale", "translate", "rotate", "shear")}
    return {**looks, "translate": Affine(**placed)([s.start for s in region[:ndim]])}


def read_part(data: Any, region: Region, cancellation: Cancellation) -> Array:
    """Read a region of an image; between its chunks it can be cancelled."""
    image = wrap_image(data)
    if image.is_in_memory or image.missing is not None:
        return read_masked(image, region)
    out = np.empty([s.stop - s.start for s in region], image.dtype)
    for piece in _chunks_of(image, region):
        cancellation.check()
        there = tuple(
            slice(p.start - s.start, p.stop - s.start) for p, s in zip(piece, region, strict=True)
        )
        out[there] = image.read(piece)
    return out


def _chunks_of(image: ImageArray, region: Region) -> Iterator[Region]:
    """The parts of a region that lie in one chunk each."""
    chunks = image.chunks or image.shape
    spans = []
    for part, chunk, n in zip(region, chunks, image.shape, strict=True):
        ends = range(chunk, n, chunk) if isinstance(chunk, int) else itertools.accumulate(chunk)
        cuts = [part.start, *(end for end in ends if part.start < end < part.stop), part.stop]
        spans.append([slice(a, b) for a, b in itertools.pairwise(cuts)])
    yield from itertools.product(*spans)
