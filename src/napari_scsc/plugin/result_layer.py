"""The layer of a result: where its values go, when it is shown, and what it is called."""

from __future__ import annotations

import itertools
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from napari.layers import Image

from napari_scsc.__about__ import __version__
from napari_scsc._types import Array
from napari_scsc.data.image import wrap_image
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import format_shape, partial_of
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.model import Noise
from napari_scsc.plugin import layers
from napari_scsc.plugin.controller import Ending
from napari_scsc.plugin.cost import result_bytes
from napari_scsc.plugin.jobs import Outcome
from napari_scsc.plugin.preferences import Preferences
from napari_scsc.plugin.requests import RESULT_WORDS, RestoreRequest
from napari_scsc.run.partial import Output
from napari_scsc.run.updates import Finished

# What a preview that is made again takes over from its source; its colours may have been changed.
_PLACE = ("scale", "translate", "rotate", "shear", "affine", "units", "axis_labels")


@dataclass
class ResultLayer:
    """The layer that shows what a request restores.

    Made by the dock when it starts a restoration or a preview; Compare and Explain use it later.
    A result in memory is shown while it is computed. One that goes to a file is shown when that is
    whole. Every restoration makes a layer of its own: what is there already is never overwritten.
    Only a preview takes the place of the one before, unless that was renamed.

    Attributes
    ----------
    request : RestoreRequest
        What is restored, and how.
    out : array or Output
        Where the values go.
    script : str
        What does the same.
    is_preview : bool
        Whether it is only about what is in view.
    layer : Image, optional
        The layer, once it was made; it may have left the viewer since.
    noise : Noise, optional
        The noise that was taken away, once it is done.
    error, support : array, optional
        What is known of each value, if the run has found it; see ``Finished``.
    """

    request: RestoreRequest
    out: Array | Output
    script: str = ""
    is_preview: bool = False
    layer: Image | None = None
    noise: Noise | None = None
    error: Array | None = None
    support: Array | None = None
    _before: dict[str, Any] = field(default_factory=dict, repr=False)

    def show(self, viewer: Any) -> None:
        """Show what is there of a result in memory."""
        if isinstance(self.out, Output):
            return
        if self.layer is None:
            self.layer = self._replace_preview(viewer, self.out) or self._add(viewer, self.out)
        elif self.layer in viewer.layers:
            self.layer.refresh(thumbnail=False, extent=False)

    def finish(self, viewer: Any, outcome: Outcome) -> None:
        """Show the result of a file, and say in the layer how it was made and how it ended.

        After an error, what a preview had replaced comes back.
        """
        is_done = outcome.ending is Ending.DONE
        if isinstance(outcome.last, Finished):
            self.noise = outcome.last.noise
            self.error, self.support = outcome.last.error, outcome.last.support
        if is_done and isinstance(self.out, Output) and isinstance(outcome.last, Finished):
            self.layer = self._add(viewer, outcome.last.result)
        if self.layer is None:
            return
        if outcome.ending is Ending.FAILED and self._before:
            for name, value in self._before.items():
                setattr(self.layer, name, value)
        else:
            self._sign(outcome.bank, is_partial=not (is_done or self.is_preview))
        self.layer.refresh()

    @property
    def description(self) -> str:
        """Where the result is, as the end of a sentence."""
        if self.is_preview:
            return f": a preview of {format_shape(self.request.source.shape)}"
        return "" if self.layer is None else f": layer '{_shorten(self.layer.name)}'"

    @property
    def description_of_rest(self) -> str:
        """What there is of a result that was stopped."""
        if not isinstance(self.out, Output):
            return "what was done so far is kept"
        path = Path(self.out.path)
        partial = partial_of(path)
        kept = f"; what was done is kept in {partial.name}" if partial.exists() else ""
        return f"{path.name} was not written{kept}"

    @property
    def _task(self) -> str:
        return layers.PREVIEW if self.is_preview else RESULT_WORDS[self.request.task]

    def _arguments(self, bank: FilterBank | None) -> dict[str, Any]:
        recipe = {
            "script": self.script,
            **self.request.options,
            "version": __version__,
            "bank": None if bank is None else bank.id,
        }
        return layers.result_arguments(self.request.source, self._task, recipe)

    def _add(self, viewer: Any, values: Any) -> Image:
        made = viewer.add_image(values, **self._arguments(self.request.bank))
        assert isinstance(made, Image)
        layers.sign(made)
        return made

    def _replace_preview(self, viewer: Any, values: Array) -> Image | None:
        """The preview before with new values; None if there is none, or of another shape."""
        source_id = self.request.source.layer_id
        found = layers.find_preview(viewer.layers, source_id) if self.is_preview else None
        if found is None or found.data.shape != values.shape:
            if found is not None:
                viewer.layers.remove(found)
            return None
        self._before = {name: getattr(found, name) for name in ("data", *_PLACE)}
        arguments = self._arguments(self.request.bank)
        found.data = values
        for name in _PLACE:  # the source may have been moved, or the view
            setattr(found, name, arguments[name])
        return found

    def _sign(self, bank: FilterBank | None, is_partial: bool) -> None:
        """Say how it was made; the user may have given it a name meanwhile, which it keeps."""
        assert self.layer is not None
        arguments = self._arguments(bank)
        keeps_our_name = self.layer.metadata[layers.OURS].get("name") == self.layer.name
        self.layer.metadata = arguments["metadata"]
        if is_partial and keeps_our_name:
            self.layer.name = f"{arguments['name']}, partial"
        if keeps_our_name:
            layers.sign(self.layer)


def make_output(request: RestoreRequest, wishes: Preferences) -> Array | Output:
    """Where a result goes: into memory, or if it is large, into the folder for large results."""
    source = request.source
    folder = wishes.folder_for(result_bytes(source))
    if folder is None:
        return np.zeros(source.shape, wrap_image(source.data).dtype)
    name = re.sub(r"[^\w.-]+", "-", f"{source.name}-{RESULT_WORDS[request.task]}").strip("-")
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError("not allowed")
    except OSError as error:
        raise UserError(
            f"the folder for large results, {folder}, cannot be written to "
            f"({error.strerror or error})",
            remedy="choose another one in the preferences",
        ) from error
    names = (f"{stem}{'' if i == 1 else f'-{i}'}.zarr" for i in itertools.count(1))
    paths = (folder / name for name in names)
    path = next(p for p in paths if not p.exists() and not partial_of(p).exists())
    return Output(path, *_scale_and_units(source))


def _scale_and_units(source: layers.Snapshot) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Size and unit of a pixel along each axis of the data; colours have none."""
    colours = len(source.shape) - len(source.looks["scale"])
    scale = (*map(float, source.looks["scale"]), *(1.0,) * colours)
    return scale, (*map(str, source.looks["units"]), *("pixel",) * colours)


def _shorten(name: str) -> str:
    """A name of which a long middle is left out: a line of the dock has no more room."""
    return name if len(name) <= 34 else f"{name[:16]}…{name[-17:]}"
