"""What a restoration will take, known before it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from napari_scsc.data.axes import Axes
from napari_scsc.restore import machine_speed
from napari_scsc.restore.methods import METHODS, Task
from napari_scsc.restore.quality import Quality
from napari_scsc.restore.sample_cost import SampleCost


@dataclass(frozen=True, slots=True)
class Cost:
    """What an image takes, about.

    Attributes
    ----------
    tiles : int
        How many tiles there are in all samples.
    seconds : float
        Time with as many threads as were asked for.
    memory : int
        Bytes beside the image and the result: the blend of a sample, and the largest tile.
    """

    tiles: int
    seconds: float
    memory: int


def estimate_cost(
    shape: tuple[int, ...],
    axes: Axes,
    task: Task,
    quality: Quality,
    method: str = "scsc",
    n_threads: int = 1,
) -> Cost:
    """What restoring an image of that shape will take on this machine."""
    cost = estimate_reference_cost(shape, axes, task, quality, method, n_threads)
    factor = machine_speed.factor_of(machine_speed.name_job(axes, task, quality, method))
    return replace(cost, seconds=cost.seconds * factor)


def estimate_reference_cost(
    shape: tuple[int, ...], axes: Axes, task: Task, quality: Quality, method: str, n_threads: int
) -> Cost:
    """The same on the machine on which costs were measured."""
    lengths: dict[str, list[int]] = {"shift": [], "joint": [], "sample": []}
    for n, role in zip(shape, axes.roles, strict=True):
        lengths[role].append(n)
    shift, n_joint = tuple(lengths["shift"]), math.prod(lengths["joint"])
    n_samples = math.prod(lengths["sample"])
    sample: SampleCost = METHODS[method].load("cost")(shift, n_joint, task, quality)
    blend = 8 * math.prod(shift) * n_joint
    seconds = sample.seconds_before + n_samples * sample.seconds / n_threads
    return Cost(n_samples * sample.tiles, seconds, blend + sample.memory)
