"""What a restoration takes, in words, and whether there is memory for it."""

from __future__ import annotations

import math
from dataclasses import replace

import psutil

from napari_scsc.data.image import wrap_image
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import format_shape
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.preferences import Preferences
from napari_scsc.plugin.requests import RestoreRequest
from napari_scsc.restore.cost import Cost, estimate_cost
from napari_scsc.restore.methods import Task as RestoreTask
from napari_scsc.restore.options import count_cores
from napari_scsc.restore.quality import Quality

_MAP_BYTES = 8  # of a value: its error and support


def describe(source: Snapshot) -> str:
    """What a layer is, in a line."""
    lengths = format_shape(source.shape)
    dtype = wrap_image(source.data).dtype
    return f"{lengths} {dtype} · {in_bytes(result_bytes(source))} · {source.axes.kind}"


def result_bytes(source: Snapshot) -> int:
    """How large the result of a layer is."""
    return math.prod(source.shape) * wrap_image(source.data).dtype.itemsize


def find_cost(
    source: Snapshot, task: RestoreTask, quality: Quality, method: str, wishes: Preferences
) -> Cost:
    """What a restoration takes; memory counts a result that is no file, and its maps."""
    threads = wishes.threads or count_cores()
    cost = estimate_cost(source.shape, source.axes, task, quality, method, threads)
    size = result_bytes(source)
    kept = size + (_MAP_BYTES * math.prod(source.shape) if task == "denoise" else 0)
    return replace(cost, memory=cost.memory + (0 if wishes.folder_for(size) else kept))


def cost_words(cost: Cost) -> str:
    """The same in words."""
    tiles = f"{cost.tiles} tile{'s' if cost.tiles > 1 else ''}"
    return f"{tiles} · needs {in_bytes(cost.memory)}, {duration_in_words(cost.seconds)}"


def check_memory(request: RestoreRequest, wishes: Preferences) -> None:
    """Refuse a restoration for which there is too little memory."""
    quality, method = request.options["quality"], request.options.get("method", "scsc")
    needed = find_cost(request.source, request.task, quality, method, wishes).memory
    free = psutil.virtual_memory().available
    if needed > free:
        raise UserError(
            f"{request.source.name} needs {in_bytes(needed)} of memory, and {in_bytes(free)} are "
            "free",
            remedy="name a folder for large results in the preferences, restore a part of it, or "
            "use the command line, which needs little memory: napari-scsc denoise FILE --out "
            "clean.ome.zarr",
        )


def in_bytes(n: float) -> str:
    """So many bytes, in words."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 1000 or unit == "TB":
            return f"{n:.3g} {unit}"
        n /= 1000
    raise AssertionError


def duration_in_words(seconds: float) -> str:
    """So many seconds, about."""
    if seconds < 3:
        return "a few seconds"
    if seconds < 100:
        return f"about {round(seconds)} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"
