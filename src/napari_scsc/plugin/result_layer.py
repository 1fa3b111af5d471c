"""The layer of a result: where its values go, when it is shown, and what it is called."""

from __future__ import annotations

import itertools
import os
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from napari.layers import Image

from napari_scsc.__about__ import __version__
from napari_scsc._types import Array, Region
from napari_scsc.data.image import wrap_image
from napari_scsc.errors import UserError
from napari_scsc.io.filenames import partial_of
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.model import Noise
from napari_scsc.plugin import layers
from napari_scsc.plugin.cost import result_bytes
from napari_scsc.plugin.preferences import Preferences
from napari_scsc.plugin.requests import RESULT_WORDS, RestoreRequest
from napari_scsc.restore.bank_fit import BankFit
from napari_scsc.restore.recipe import Recipe
from napari_scsc.run.origin import Origin
from napari_scsc.run.partial import Output
from napari_scsc.run.updates import Finished

_DRAWN = 1.3  # times what it takes to add a layer: napari draws all of them again


@dataclass
class ResultLayer:
    """The layer that shows what a request restores.

    Made by the dock when it starts a restoration; Compare and Explain use it later. A result in
    memory is shown while it is computed. One that goes to a file is shown when that is whole. Every
    restoration makes a layer of its own: what is there already is never overwritten.

    Attributes
    ----------
    request : RestoreRequest
        What is restored, and how. Of channels that are restored together, it is about one of them.
    out : array or Output
        Where the values go.
    origin : Origin
        Where the image comes from, and the lines that do the same.
    channel : int, optional
        Which of the channels it is that are restored together.
    layer : Image, optional
        The layer, once it was made; it may have left the viewer since.
    noise : Noise, optional
        The noise that was taken away, once it is done.
    error, support : array, optional
        What is known of each value, if the run has found it; see ``Finished``.
    bank : FilterBank, optional
        The filters that restored it, once it is done.
    fit : BankFit, optional
        How well filters fit that were not learned from this image.
    recipe : Recipe, optional
        How the values came about, once it is done.
    restored : list of Region
        Regions that have their final values.
    seconds_to_show : float
        What the viewer took to add the layer, and takes to draw it.
    """

    request: RestoreRequest
    out: Array | Output
    origin: Origin = field(default_factory=Origin)
    channel: int | None = None
    layer: Image | None = None
    noise: Noise | None = None
    error: Array | None = None
    support: Array | None = None
    bank: FilterBank | None = None
    fit: BankFit | None = None
    recipe: Recipe | None = None
    restored: list[Region] = field(default_factory=list, repr=False)
    seconds_to_show: float = 0.0

    def show(self, viewer: Any) -> None:
        """Show what is there of a result in memory."""
        if isinstance(self.out, Output):
            return
        if self.layer is None:
            self.layer = self._add(viewer, self.out)
        elif self.layer in viewer.layers:
            self.layer.refresh(thumbnail=False, extent=False)

    def take(self, viewer: Any, finished: Finished) -> None:
        """Show the result when it is whole, and say in the layer how it was made."""
        noise = finished.noise
        if noise is not None and noise.joint and self.channel is not None:
            noise = noise.joint[self.channel]
        self.noise, self.bank, self.recipe = noise, finished.bank, finished.recipe
        self.error, self.support = (
            self._channel_of(finished.error),
            self._channel_of(finished.support),
        )
        if isinstance(self.out, Output):
            self.layer = self._add(viewer, self._channel_of(finished.result))
        self._finish(viewer, finished.bank)

    def break_off(self, viewer: Any, bank: FilterBank | None) -> None:
        """Say in the layer that it is partial, and mark what has not its final values."""
        if self.layer is None or self.layer not in viewer.layers:
            return
        arguments = self._arguments(bank)
        if self.layer.metadata[layers.OURS].get("name") == self.layer.name:
            self.layer.name = f"{arguments['name']}, partial"
        self._finish(viewer, bank)
        self._mark_rest(viewer)

    def _finish(self, viewer: Any, bank: FilterBank | None) -> None:
        """Say how it was made; the user may have removed the layer meanwhile, or renamed it."""
        if self.layer is None or self.layer not in viewer.layers:
            return
        self.layer.metadata = self._arguments(bank)["metadata"]
        layers.sign(self.layer)
        self.layer.refresh()

    def _mark_rest(self, viewer: Any) -> None:
        """Add a layer of labels where the values are not final: a first look, or nothing yet."""
        assert self.layer is not None
        source = self.request.source
        rest = np.ones(source.shape, np.uint8)
        for region in self.restored:
            rest[region if self.channel is None else region[1:]] = 0
        if source.looks["rgb"]:
            rest = rest.max(axis=-1)
        if rest.any():
            place = {name: source.looks[name] for name in layers.PLACE}
            viewer.add_labels(
                rest,
                name=f"{self.layer.name}: not restored",
                opacity=0.3,
                metadata={layers.OURS: {"mark": "not restored"}},
                **place,
            )

    def is_shown(self, viewer: Any) -> bool:
        """Whether its layer is in the viewer."""
        return self.layer is not None and self.layer in viewer.layers

    def describe_kept(self, viewer: Any) -> str:
        """What there is of a result that was stopped; empty if there is nothing."""
        if not isinstance(self.out, Output):
            return "what was done so far is kept" if self.is_shown(viewer) else ""
        path = Path(self.out.path)
        partial = partial_of(path)
        kept = f"; what was done is kept in {partial.name}" if partial.exists() else ""
        return f"{path.name} was not written{kept}"

    def _channel_of(self, values: Any) -> Any:
        """The values of this channel, of all that are restored together."""
        if values is None or self.channel is None:
            return values
        if not isinstance(values, np.ndarray):  # of a file: not read yet
            import dask.array

            values = dask.array.asarray(values)
        return values[self.channel]

    def _arguments(self, bank: FilterBank | None) -> dict[str, Any]:
        if self.recipe is not None:
            origin = replace(self.origin, digest=self.recipe.origin.digest)
            recipe = replace(self.recipe, origin=origin).to_json()
        else:  # until it is whole, and if it never is: no recipe that can be followed
            recipe = {
                "script": self.origin.script,
                "options": self.request.options,
                "version": __version__,
                "bank": None if bank is None else bank.id,
            }
        return layers.result_arguments(self.request.source, RESULT_WORDS[self.request.task], recipe)

    def _add(self, viewer: Any, values: Any) -> Image:
        arguments = self._arguments(self.request.bank)
        arguments["name"] = _free_name(arguments["name"], viewer)
        start = time.perf_counter()
        made = viewer.add_image(values, **arguments)
        self.seconds_to_show = _DRAWN * (time.perf_counter() - start)
        assert isinstance(made, Image)
        layers.sign(made)
        return made


def _free_name(name: str, viewer: Any) -> str:
    """The name, with a number behind it if a layer is called so already."""
    taken = {layer.name for layer in viewer.layers}
    names = (name if i == 1 else f"{name} {i}" for i in itertools.count(1))
    return next(free for free in names if free not in taken)


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
    return Output(path, *_place_of(request))


def _place_of(
    request: RestoreRequest,
) -> tuple[tuple[float, ...], tuple[str, ...], tuple[float, ...]]:
    """Size and unit of a pixel along each axis of the data, and where the first one lies.

    Colours and channels have none.
    """
    looks = request.source.looks
    joined = 1 if request.members else 0
    colours = len(request.source.shape) - len(looks["scale"]) - joined
    scale = (*(1.0,) * joined, *map(float, looks["scale"]), *(1.0,) * colours)
    units = (*("pixel",) * joined, *map(str, looks["units"]), *("pixel",) * colours)
    translation = (*(0.0,) * joined, *map(float, looks["translate"]), *(0.0,) * colours)
    return scale, units, translation
