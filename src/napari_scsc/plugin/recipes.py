"""What the dock is set to, as requests: how to run them, and the script that does the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from napari.utils.transforms import Affine

from napari_scsc import arrays
from napari_scsc.axes import PRESETS, Axes
from napari_scsc.bank import FilterBank
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.restore import plan
from napari_scsc.restore.denoise import iter_denoise
from napari_scsc.restore.inpaint import iter_inpaint
from napari_scsc.restore.job import Updates
from napari_scsc.restore.learning import iter_learn

_VIEWED = 384  # pixels along a side of a preview
_SLAB = 9  # planes of a preview along an axis that is not in view
# Seconds a million values with one thread, measured; what a layer costs is a promise of its order.
_SECONDS = {"fast": 8.0, "balanced": 45.0, "best": 90.0}

Tick = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Learn:
    """Learn filters from images."""

    axes: Axes
    n_base: int | None
    filter_size: int | None
    tiles: int
    seed: int
    go_on: FilterBank | None

    def updates(self, images: list[Any], tick: Tick | None) -> Updates:
        """Run it."""
        return iter_learn(images, axes=self.axes, bank=self.go_on, tick=tick, **self._options())

    def script(self, names: list[str]) -> str:
        """The lines that do the same."""
        images = ", ".join(f"viewer.layers[{name!r}].data" for name in names)
        go_on = "bank=bank, " if self.go_on is not None else ""
        options = "".join(f", {k}={v!r}" for k, v in self._options().items())
        return (
            f"from napari_scsc import Axes, learn\n\n"
            f"bank = learn([{images}], {go_on}{_axes_words(self.axes)}{options})\n"
        )

    def _options(self) -> dict[str, Any]:
        size = self.filter_size
        shape = None if size is None else (size,) * self.axes.count("shift")
        return {
            "n_base": self.n_base,
            "filter_shape": shape,
            "tiles": self.tiles,
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True)
class Restore:
    """Denoise or inpaint one image."""

    task: str
    axes: Axes
    bank: FilterBank | None
    sigma: float | None
    strength: float
    quality: Any
    seed: int
    preview: bool = False

    def updates(self, image: Any, missing: Any, tick: Tick | None) -> Updates:
        """Run it."""
        if self.task == "denoised":
            return iter_denoise(image, axes=self.axes, bank=self.bank, tick=tick, **self._options())
        return iter_inpaint(
            image, missing, axes=self.axes, bank=self.bank, tick=tick, **self._options()
        )

    def script(self, name: str, masks: list[str]) -> str:
        """The lines that do the same."""
        options = "".join(f", {k}={v!r}" for k, v in self._options().items())
        bank = "" if self.bank is None else ", bank=bank"
        lines = [f"image = viewer.layers[{name!r}].data"]
        if self.bank is not None:
            lines.append("# bank: the filters as they were in the dock, FilterBank.load(...)")
        if self.task == "denoised":
            call = f"denoise(image, {_axes_words(self.axes)}{bank}{options})"
        else:
            missing = " | ".join(f"({m})" for m in masks) or "None"
            call = f"inpaint(image, {missing}, {_axes_words(self.axes)}{bank}{options})"
        function = call.partition("(")[0]
        return "\n".join(
            [
                f"from napari_scsc import Axes, FilterBank, {function}",
                "",
                *lines,
                f"result = {call}",
                "",
            ]
        )

    def _options(self) -> dict[str, Any]:
        return {
            "sigma": self.sigma,
            "strength": self.strength,
            "quality": self.quality,
            "seed": self.seed,
        }


def _axes_words(axes: Axes) -> str:
    if axes.kind in PRESETS and PRESETS[axes.kind] == axes:
        return f"kind={axes.kind!r}"
    return f"axes=Axes({axes.kind!r}, {axes.labels!r}, {axes.roles!r})"


def fits(bank: FilterBank, source: Snapshot) -> bool:
    """Whether filters are for that kind of data."""
    pairs = list(zip(source.shape, source.axes.roles, strict=True))
    joint = tuple(n for n, role in pairs if role == "joint")
    shift = tuple(n for n, role in pairs if role == "shift")
    return (
        bank.joint == joint
        and len(bank.support) == len(shift)
        and all(s <= n for s, n in zip(bank.support, shift, strict=True))
    )


def cost(data: Any, axes: Axes) -> str:
    """What a restoration will take, in a line."""
    image = arrays.view(data)
    values = math.prod(image.shape)
    size = values * image.dtype.itemsize
    # The result, its float copy and weights, and the coefficients of one tile.
    memory = values * (image.dtype.itemsize + 8) + 5 * 4 * plan.TILE_COEFFICIENTS
    seconds = _SECONDS["balanced"] * values / 1e6
    return (
        f"{' x '.join(map(str, image.shape))} {image.dtype} · {_bytes(size)} · "
        f"needs about {_bytes(memory)}, {_time(seconds)} with one core ({axes.kind})"
    )


def _bytes(n: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 1000 or unit == "TB":
            return f"{n:.3g} {unit}"
        n /= 1000
    raise AssertionError


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True, slots=True)
class View:
    """Which part of a whole is previewed."""

    whole: Snapshot
    region: tuple[slice, ...]


def in_view(source: Snapshot, layer: Any, dims: Any) -> tuple[Snapshot, View]:
    """The part of a layer that is on the screen, as a source of its own."""
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
            length = min(max(int(corners[1, axis] - corners[0, axis]) + 1, 1), _VIEWED, n)
            middle = int(corners[:, axis].sum() + 1) // 2
        else:
            length = 1 if role == "sample" else min(_SLAB, n)
            middle = int(here[axis])
        start = int(np.clip(middle - length // 2, 0, n - length))
        region.append(slice(start, start + length))
    part = tuple(region)
    looks = dict(source.looks)
    placed = {name: looks[name] for name in ("scale", "translate", "rotate", "shear")}
    looks["translate"] = Affine(**placed)([s.start for s in part[: layer.ndim]])
    data = arrays.view(source.data).read(part)
    return replace(source, data=data, looks=looks), View(source, part)
