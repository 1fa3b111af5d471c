"""One restoration under way: where its values go, and the layer that shows them."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from napari.layers import Image

from napari_scsc import arrays
from napari_scsc.__about__ import __version__
from napari_scsc.bank import FilterBank
from napari_scsc.plugin import layers
from napari_scsc.plugin.layers import Snapshot
from napari_scsc.plugin.preferences import Preferences
from napari_scsc.plugin.recipes import Restore


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
            self.layer.data, self.layer.metadata = self._before
        else:
            partial = "" if how == "done" or self.preview else ", partial"
            self.layer.name = arguments["name"] + partial
            self.layer.metadata = arguments["metadata"]
        self.layer.refresh()

    def _find_or_make(self, viewer: Any) -> Image:
        arguments = self._arguments(self.request.bank)
        found = layers.find_result(viewer.layers, self.source.layer_id, self.task)
        if found is not None and found.data.shape == self.out.shape:
            self._before = found.data, dict(found.metadata)
            found.data, found.metadata = self.out, arguments["metadata"]
            found.translate = arguments["translate"]  # a preview may be of another place
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


def make_room(source: Snapshot, task: str, wishes: Preferences) -> Any:
    """An array for the result: in memory, or if it is large, in the folder for large results."""
    image = arrays.view(source.data)
    size = int(np.prod(image.shape)) * image.dtype.itemsize
    if wishes.results_folder is None or size < wishes.large_result:
        return np.zeros(image.shape, image.dtype)
    import zarr  # which takes long to load, and few results are large

    name = re.sub(r"[^\w.-]+", "-", f"{source.name}-{task}").strip("-")
    path = wishes.results_folder / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.zarr"
    wishes.results_folder.mkdir(parents=True, exist_ok=True)
    return zarr.create_array(
        str(path),
        shape=image.shape,
        dtype=image.dtype,
    )
