"""One restoration under way: where its values go, and the layer that shows them."""

from __future__ import annotations

import itertools
import math
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from napari.layers import Image

from napari_scsc.__about__ import __version__
from napari_scsc.choices import Quality
from napari_scsc.data.image import wrap_image
from napari_scsc.model.bank import FilterBank
from napari_scsc.plugin import layers
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.preferences import Preferences
from napari_scsc.plugin.recipes import Restore, cost, in_bytes

# What a result takes over from its source at every run; its colours may have been changed.
_PLACE = ("scale", "translate", "rotate", "shear", "affine", "units", "axis_labels")


@dataclass
class Restoring:
    """A request, the image it was made for, and the layer that fills while it is worked on."""

    source: Snapshot
    request: Restore
    task: str
    out: Any
    script: str
    layer: Image | None = None
    _before: Any = field(default=None, repr=False)

    @property
    def preview(self) -> bool:
        """Whether it is only about what is in view."""
        return self.task == "preview"

    @property
    def words(self) -> str:
        """Where the result is, as the end of a sentence."""
        if not self.preview:
            return "" if self.layer is None else f": layer '{_short(self.layer.name)}'"
        lengths = " x ".join(map(str, wrap_image(self.source.data).shape))
        return f": a preview of {lengths}"

    def show(self, viewer: Any) -> None:
        """Show what is there of the result; the first time, in the layer that is meant for it."""
        if self.layer is None:
            self.layer = self._find_or_make(viewer)
        elif self.layer in viewer.layers:
            self.layer.refresh(thumbnail=False, extent=False)

    def finish(self, how: str, bank: FilterBank | None) -> None:
        """Name the layer by how it ended; after an error, what was there before comes back."""
        if self.layer is None:
            return
        arguments = self._arguments(bank)
        if how == "failed" and self._before is not None:
            for name, value in self._before.items():
                setattr(self.layer, name, value)
        else:
            partial = "" if how == "done" or self.preview else ", partial"
            self.layer.name = arguments["name"] + partial
            self.layer.metadata = arguments["metadata"]
        self.layer.refresh()

    def _find_or_make(self, viewer: Any) -> Image:
        arguments = self._arguments(self.request.bank)
        found = layers.find_result(viewer.layers, self.source.layer_id, self.task)
        if found is not None and found.data.shape == self.out.shape:
            self._before = {name: getattr(found, name) for name in ("data", *_PLACE)}
            self._before["metadata"] = dict(found.metadata)
            found.data, found.metadata = self.out, arguments["metadata"]
            for name in _PLACE:  # the source may have been moved, or the view
                setattr(found, name, arguments[name])
            return found
        if found is not None:
            viewer.layers.remove(found)
        made = viewer.add_image(self.out, **arguments)
        assert isinstance(made, Image)
        return made

    def _arguments(self, bank: FilterBank | None) -> dict[str, Any]:
        recipe = {
            "script": self.script,
            **self.request.options,
            "version": __version__,
            "bank": None if bank is None else bank.id,
        }
        return layers.result_arguments(self.source, self.task, recipe)


def _short(name: str) -> str:
    """A name of which a long middle is left out: a line of the dock has no more room."""
    return name if len(name) <= 34 else f"{name[:16]}…{name[-17:]}"


def folder_for(data: Any, wishes: Preferences) -> Path | None:
    """The folder that a result of that size goes to; None: it stays in memory."""
    image = wrap_image(data)
    size = math.prod(image.shape) * image.dtype.itemsize
    return wishes.results_folder if size >= wishes.large_result else None


def refuse_what_cannot_fit(
    source: Snapshot, task: str, quality: Quality, wishes: Preferences
) -> None:
    """Refuse a restoration for which there is too little memory."""
    on_disk = folder_for(source.data, wishes) is not None
    needed = cost(source.data, source.axes, task, quality, wishes.threads or 1, on_disk).memory
    free = psutil.virtual_memory().available
    if needed > free:
        raise ValueError(
            f"{source.name} needs {in_bytes(needed)} of memory, and {in_bytes(free)} are free: "
            "name a folder for large results in the preferences, restore a part of it, or use the "
            "command line, which needs little memory: napari-scsc denoise FILE --out "
            "clean.ome.zarr"
        )


def make_room(source: Snapshot, task: str, wishes: Preferences) -> Any:
    """An array for the result: in memory, or if it is large, in the folder for large results."""
    image = wrap_image(source.data)
    folder = folder_for(source.data, wishes)
    if folder is None:
        return np.zeros(image.shape, image.dtype)
    import zarr  # which takes long to load, and few results are large

    name = re.sub(r"[^\w.-]+", "-", f"{source.name}-{task}").strip("-")
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = (f"{stem}{'' if i == 1 else f'-{i}'}.zarr" for i in itertools.count(1))
        path = next(p for n in names if not (p := folder / n).exists())
        return zarr.create_array(str(path), shape=image.shape, dtype=image.dtype)
    except OSError as error:
        raise ValueError(
            f"the folder for large results, {folder}, cannot be written to "
            f"({error.strerror or error}): choose another one in the preferences"
        ) from error
