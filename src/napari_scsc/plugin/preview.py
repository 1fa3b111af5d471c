"""Which part of a layer is in view, and that part as a source of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from napari.utils.transforms import Affine

from napari_scsc._types import Region
from napari_scsc.data.image import wrap_image
from napari_scsc.plugin.layers import Snapshot

_MAX_SIDE = 384  # pixels along an axis that is in view
_MAX_PLANES = 9  # along an axis that is not


def region_in_view(source: Snapshot, layer: Any, dims: Any) -> Region:
    """Which part of a layer is on the screen, with some planes around the one that is shown."""
    ahead = dims.ndim - layer.ndim  # axes of the viewer that the layer does not have
    shown = {axis - ahead for axis in dims.displayed}
    here = np.round(layer.world_to_data(dims.point)).astype(int)
    corners = np.asarray(layer.corner_pixels)
    region = []
    for axis, (n, role) in enumerate(zip(source.shape, source.axes.roles, strict=True)):
        if role == "joint":
            region.append(slice(0, n))
            continue
        if axis in shown:
            length = min(max(int(corners[1, axis] - corners[0, axis]) + 1, 1), _MAX_SIDE, n)
            middle = int(corners[:, axis].sum() + 1) // 2
        else:
            length = 1 if role == "sample" else min(_MAX_PLANES, n)
            middle = int(here[axis])
        start = int(np.clip(middle - length // 2, 0, n - length))
        region.append(slice(start, start + length))
    return tuple(region)


def crop(source: Snapshot, region: Region, ndim: int) -> Snapshot:
    """A region of a layer that has ``ndim`` axes in napari, at its place in the world."""
    looks = dict(source.looks)
    placed = {name: looks[name] for name in ("scale", "translate", "rotate", "shear")}
    looks["translate"] = Affine(**placed)([s.start for s in region[:ndim]])
    return replace(source, data=wrap_image(source.data).part(region), looks=looks)
