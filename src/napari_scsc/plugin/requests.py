"""What the dock is set to, as requests: how to run them, and the script that does the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from napari.utils.transforms import Affine

from napari_scsc.choices import Quality
from napari_scsc.data.axes import PRESETS, Axes
from napari_scsc.data.image import wrap_image
from napari_scsc.learn.api import iter_learn
from napari_scsc.model.bank import FilterBank
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.restore.api import iter_denoise, iter_inpaint
from napari_scsc.restore.quality import work as estimate_work
from napari_scsc.run.updates import Updates

_VIEWED = 384  # pixels along a side of a preview
_ROUNDS = 5  # what inpainting takes, in times that denoising takes: more with more holes
_SLAB = 9  # planes of a preview along an axis that is not in view
# What a script may have to import, and from where.
_NAMES = {
    "napari_scsc": (
        "Axes",
        "FilterBank",
        "denoise",
        "inpaint",
        "iter_denoise",
        "iter_inpaint",
        "learn",
    ),
    "napari_scsc.plugin.layers": ("missing_from", "saturated"),
}

_WHERE = '# For the console of napari, or a script in which "viewer" has these layers.'

Tick = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Learn:
    """Learn filters from images.

    ``options`` are the arguments of ``iter_learn`` that the dock is set to, None left out.
    """

    axes: Axes
    options: dict[str, Any]
    go_on: FilterBank | None = None

    def updates(self, images: list[Any], tick: Tick | None) -> Updates:
        """Run it."""
        return iter_learn(images, axes=self.axes, bank=self.go_on, tick=tick, **self.options)

    def lines(self, names: list[str]) -> list[str]:
        """What does the same with the layers of these names; leaves ``bank``."""
        images = ", ".join(f"viewer.layers[{name!r}].data" for name in names)
        go_on = {} if self.go_on is None else {"bank": "bank"}
        return [f"bank = learn({_call(f'[{images}]', self.axes, go_on, self.options)})"]


@dataclass(frozen=True, slots=True)
class Restore:
    """Denoise or inpaint one image.

    ``options`` are the arguments of ``iter_denoise`` or ``iter_inpaint`` that the dock is set to.
    """

    task: str
    axes: Axes
    options: dict[str, Any]
    bank: FilterBank | None = None
    threads: int | None = None

    def updates(self, image: Any, missing: Any, out: Any, tick: Tick | None) -> Updates:
        """Run it. What is restored goes to ``out``, first estimates too if that is in memory."""
        common = {"axes": self.axes, "bank": self.bank, "n_jobs": self.threads, **self.options}
        if self.task == "denoised":
            updates = iter_denoise(image, out=out, tick=tick, **common)
        else:
            updates = iter_inpaint(image, missing, out=out, tick=tick, **common)
        for update in updates:
            if update.region is not None and isinstance(out, np.ndarray):
                out[update.region] = update.values
            yield update

    def lines(self, name: str, masks: list[str]) -> list[str]:
        """What does the same with the layer of that name; leaves ``result``."""
        return [
            self._image(name),
            f"result = {self._function}({self._arguments(masks)})",
            f"# viewer.add_image(result, scale=viewer.layers[{name!r}].scale)",
        ]

    def bank_lines(self, name: str, masks: list[str]) -> list[str]:
        """What learns the same filters on the way; leaves ``bank``."""
        return [
            "# The filters, as they were learned on the way:",
            self._image(name),
            f"*_, last = iter_{self._function}({self._arguments(masks)})",
            "bank = last.bank",
        ]

    @property
    def _function(self) -> str:
        return "denoise" if self.task == "denoised" else "inpaint"

    @staticmethod
    def _image(name: str) -> str:
        return f"image = viewer.layers[{name!r}].data"

    def _arguments(self, masks: list[str]) -> str:
        first = "image"
        if self.task != "denoised":
            first += ", " + (" | ".join(f"({m})" for m in masks) or "None")
        bank = {} if self.bank is None else {"bank": "bank"}
        return _call(first, self.axes, bank, self.options)


def script(lines: list[str]) -> str:
    """The lines as a script for napari's console, with the imports they need."""
    text = "\n".join(lines)
    imports = []
    for module, names in _NAMES.items():
        used = [n for n in names if re.search(rf"(?<![\w.]){n}\b", text)]
        if used:
            imports.append(f"from {module} import {', '.join(used)}")
    return "\n".join([_WHERE, *imports, "", text, ""])


def _call(first: str, axes: Axes, names: dict[str, str], options: dict[str, Any]) -> str:
    known = axes.kind in PRESETS and PRESETS[axes.kind] == axes
    meaning = (
        f"kind={axes.kind!r}"
        if known
        else f"axes=Axes({axes.kind!r}, {axes.labels!r}, {axes.roles!r})"
    )
    given = [f"{k}={v}" for k, v in names.items()]
    return ", ".join([first, meaning, *given, *(f"{k}={v!r}" for k, v in options.items())])


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


@dataclass(frozen=True, slots=True)
class Cost:
    """What a restoration takes: bytes of memory beside the image, seconds, tiles."""

    memory: int
    seconds: float
    tiles: int

    @property
    def words(self) -> str:
        """The same in words."""
        tiles = f"{self.tiles} tile{'s' if self.tiles > 1 else ''}"
        return f"{tiles} · needs {in_bytes(self.memory)}, {_time(self.seconds)}"


def describe(data: Any, axes: Axes) -> str:
    """What the data are, in a line."""
    image = wrap_image(data)
    size = math.prod(image.shape) * image.dtype.itemsize
    return f"{' x '.join(map(str, image.shape))} {image.dtype} · {in_bytes(size)} · {axes.kind}"


def cost(
    data: Any, axes: Axes, task: str, quality: Quality, threads: int, on_disk: bool = False
) -> Cost:
    """What restoring the data will take; ``on_disk``: the result is not in memory."""
    image = wrap_image(data)
    lengths: dict[str, list[int]] = {"shift": [], "joint": [], "sample": []}
    for n, role in zip(image.shape, axes.roles, strict=True):
        lengths[role].append(n)
    work = estimate_work(tuple(lengths["shift"]), math.prod(lengths["joint"]), quality)
    samples = math.prod(lengths["sample"])
    one = math.prod(lengths["shift"]) * math.prod(lengths["joint"])
    # The result, the blend of one sample with its weights, and the arrays of one tile.
    result = 0 if on_disk else one * samples * image.dtype.itemsize
    memory = result + 8 * one + work.memory
    rounds = 1 if task == "denoised" else _ROUNDS
    return Cost(memory, rounds * samples * work.seconds / threads, samples * work.tiles)


def in_bytes(n: float) -> str:
    """So many bytes, in words."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 1000 or unit == "TB":
            return f"{n:.3g} {unit}"
        n /= 1000
    raise AssertionError


def _time(seconds: float) -> str:
    if seconds < 3:
        return "a few seconds"
    if seconds < 100:
        return f"about {round(seconds)} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def region_in_view(source: Snapshot, layer: Any, dims: Any) -> tuple[slice, ...]:
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
            length = min(max(int(corners[1, axis] - corners[0, axis]) + 1, 1), _VIEWED, n)
            middle = int(corners[:, axis].sum() + 1) // 2
        else:
            length = 1 if role == "sample" else min(_SLAB, n)
            middle = int(here[axis])
        start = int(np.clip(middle - length // 2, 0, n - length))
        region.append(slice(start, start + length))
    return tuple(region)


def part_of(source: Snapshot, region: tuple[slice, ...], ndim: int) -> Snapshot:
    """That part of a layer with ``ndim`` axes, as a source of its own, at its place."""
    looks = dict(source.looks)
    placed = {name: looks[name] for name in ("scale", "translate", "rotate", "shear")}
    looks["translate"] = Affine(**placed)([s.start for s in region[:ndim]])
    return replace(source, data=wrap_image(source.data).part(region), looks=looks)
