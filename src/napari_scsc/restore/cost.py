"""What a restoration will take, known before it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from napari_scsc.data.axes import Axes
from napari_scsc.restore.methods import METHODS, Task
from napari_scsc.restore.quality import Quality


@dataclass(frozen=True, slots=True)
class SampleCost:
    """What one sample takes, about: tiles, seconds of one thread, bytes for the largest tile."""

    tiles: int
    seconds: float
    memory: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What an image takes, about.

    Attributes
    ----------
    tiles : int
        How many tiles there are in all samples.
    seconds : float
        Time of one thread.
    memory : int
        Bytes beside the image and the result: the blend of a sample, and the largest tile.
    """

    tiles: int
    seconds: float
    memory: int


def estimate_cost(
    shape: tuple[int, ...], axes: Axes, task: Task, quality: Quality, method: str = "scsc"
) -> Cost:
    """What restoring an image of that shape will take."""
    lengths: dict[str, list[int]] = {"shift": [], "joint": [], "sample": []}
    for n, role in zip(shape, axes.roles, strict=True):
        lengths[role].append(n)
    shift, n_joint = tuple(lengths["shift"]), math.prod(lengths["joint"])
    n_samples = math.prod(lengths["sample"])
    sample: SampleCost = METHODS[method].load("cost")(shift, n_joint, task, quality)
    blend = 8 * math.prod(shift) * n_joint
    return Cost(n_samples * sample.tiles, n_samples * sample.seconds, blend + sample.memory)


def count_tiles_of(shift: tuple[int, ...], size: tuple[int, ...], overlap: tuple[int, ...]) -> int:
    """How many tiles of that size and overlap cover a sample."""
    return math.prod(
        math.ceil(max(n - o, 1) / max(s - o, 1))
        for n, s, o in zip(shift, size, overlap, strict=True)
    )
