"""What a restoration takes, in words, and whether there is memory for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import psutil

from napari_scsc.data.image import wrap_image
from napari_scsc.errors import UserError
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.preferences import Preferences
from napari_scsc.plugin.requests import RestoreRequest
from napari_scsc.restore import machine_speed
from napari_scsc.restore.cost import Cost, estimate_cost
from napari_scsc.restore.options import count_cores
from napari_scsc.restore.quality import Quality

_MAP_BYTES = 8  # of a value: its error and support


def result_bytes(source: Snapshot) -> int:
    """How large the result of a layer is."""
    return math.prod(source.shape) * wrap_image(source.data).dtype.itemsize


def find_cost(
    request: RestoreRequest,
    wishes: Preferences,
    quality: Quality | None = None,
    n_layers: float = 1,
) -> Cost:
    """What a restoration takes, with the layers that show it.

    Memory counts a result that is no file, and its maps.

    ``quality`` is another one than asked for, ``n_layers`` how many layers the viewer has.
    """
    source, threads = request.source, wishes.threads or count_cores()
    quality = quality or request.options["quality"]
    method = request.options.get("method", "scsc")
    cost = estimate_cost(source.shape, source.axes, request.task, quality, method, threads)
    size = result_bytes(source)
    kept = size + (_MAP_BYTES * math.prod(source.shape) if request.task == "denoise" else 0)
    layers = machine_speed.seconds_of_layer(n_layers) * max(1, len(request.members))
    memory = cost.memory + (0 if wishes.folder_for(size) else kept)
    return replace(cost, seconds=cost.seconds + layers, memory=memory)


def layers_half_way(viewer: Any, requests: Sequence[RestoreRequest]) -> float:
    """How many layers the viewer has when half of the results are shown."""
    return float(len(viewer.layers) + len(requests) / 2)


def check_memory(requests: Sequence[RestoreRequest], wishes: Preferences) -> None:
    """Refuse a restoration for which there is too little memory: all results are kept in it."""
    costs = [find_cost(request, wishes) for request in requests]
    kept = sum(
        result_bytes(request.source)
        for request in requests
        if wishes.folder_for(result_bytes(request.source)) is None
    )
    needed = max(kept, 0) + max(cost.memory for cost in costs)
    free = psutil.virtual_memory().available
    if needed > free:
        names = requests[0].source.name if len(requests) == 1 else f"{len(requests)} layers"
        raise UserError(
            f"{names} need {in_bytes(needed)} of memory, and {in_bytes(free)} are free",
            remedy="name a folder for large results in the preferences, restore a part of it, or "
            "use the tab Batch or the command line, which need little memory: napari-scsc denoise "
            "FILE --out clean.ome.zarr",
        )


def in_bytes(n: float) -> str:
    """So many bytes, in words."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 1000 or unit == "TB":
            return f"{n:.3g} {unit}"
        n /= 1000
    raise AssertionError


def duration(seconds: float) -> str:
    """About so many seconds, in words."""
    if seconds < 100:
        return f"~{max(round(seconds), 1)} s"
    return f"~{seconds / 60:.0f} min" if seconds < 6000 else f"~{seconds / 3600:.1f} h"
