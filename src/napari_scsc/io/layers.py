"""Files as layers of napari: its reader, and its writer of filter banks.

Every layer has its axes named and in napari's order, so that nobody has to say what the data are. A
name is given only where it is certain; what can be read in two ways is left to the user.

``get_reader`` looks at names only. It offers what napari itself does not read, or not with all that
is in it, and nothing else, because napari asks whenever two readers offer the same:

- ``*.scsc``: a filter bank, as a layer of filters.
- What is marked ``in_napari`` in ``io.formats``. Of a .npz, .mat or HDF5 file these are all arrays
  of numbers with 2 to 5 axes, whose names may spell the axes, as in ``cloth_yxc.npz``.

``read_layers`` reads whatever ``io.formats`` knows, folders too: of zarr or OME-Zarr, of the bands
of one scene (``name_ms_01.png`` to ``name_ms_31.png``, ``band_1.tif``, ``scene_450nm.png``, or any
name with the numbers 1 to 31), of the views of a light field (``view_00_07.png`` with a full grid
of numbers, or ``input_Cam000.png`` with a square number of them). napari cannot be told which
folders are ours, and is offered none: the dock and a menu open them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_scsc._types import LayerData
from napari_scsc.data import axes as axes_of
from napari_scsc.data import rgb_pictures
from napari_scsc.errors import FileFormatError
from napari_scsc.io.channels import Channel, shown_colours
from napari_scsc.io.formats import find_format, is_zarr, open_all
from napari_scsc.io.formats.axis_labels import napari_order
from napari_scsc.io.formats.image_series import find_series

if TYPE_CHECKING:
    from napari_scsc.io.formats.opened_file import OpenedFile
    from napari_scsc.model.bank import FilterBank

BANK_SUFFIX = ".scsc"

# napari's own maps have names that its menus know; of other colours it makes one.
_COLORMAPS = {
    **{"FF0000": "red", "00FF00": "green", "0000FF": "blue", "FFFFFF": "gray"},
    **{"00FFFF": "cyan", "FF00FF": "magenta", "FFFF00": "yellow"},
}

# Kinds of containers from which learning goes on, and the class that reads each.
_CHECKPOINTS = {
    "napari-scsc checkpoint": "SCSC",
    "napari-scsc lattice checkpoint": "LatticeSCSC",
}

Reader = Callable[[Any], list[LayerData]]


def get_reader(path: str | os.PathLike[str] | Sequence[str]) -> Reader | None:
    """Return the function that reads ``path`` into layers, or None if it is not ours."""
    if not isinstance(path, str | os.PathLike):
        if len(path) != 1:
            return None
        path = path[0]
    place = Path(path)
    known = find_format(place)
    is_bank = place.suffix.lower() == BANK_SUFFIX
    is_offered = place.is_dir() or is_bank or (known is not None and known.in_napari)
    return (lambda _: read_layers(place)) if is_offered and can_read(place) else None


def can_read(path: Path) -> bool:
    """Whether ``read_layers`` reads a file or folder, as far as names tell."""
    if path.is_dir():
        return is_zarr(path) or find_series(path) is not None
    is_known = path.suffix.lower() == BANK_SUFFIX or find_format(path) is not None
    return is_known and path.is_file()


def read_layers(path: Path) -> list[LayerData]:
    """All layers of a file or folder of whatever kind; raises what ``open_all`` raises."""
    if path.suffix.lower() == BANK_SUFFIX and path.is_file():
        return [read_bank(path)]
    return [layer for opened in open_all(path) for layer in to_layers(opened)]


def to_layers(opened: OpenedFile) -> list[LayerData]:
    """An opened file as layers, with axes in napari's order where they are known.

    It is one layer; where the file tells of its channels, one for each of them, as napari users
    expect: each has its name, colour and window.
    """
    channels, axis = opened.channels, find_channel_axis(opened)
    if axis is None:
        layer = _to_layer(opened)
        if opened.recipe:  # so that the file that the layer is saved to has it too
            layer[1]["metadata"]["napari_scsc"]["recipe"] = dict(opened.recipe)
        if len(channels) == 1 and not opened.rgb:
            layer[1].update(_channel_looks(channels[0], shown_colours(channels)[0]))
        return [layer]
    layers = []
    for number, (channel, colour) in enumerate(zip(channels, shown_colours(channels), strict=True)):
        layer = _to_layer(_only_channel(opened, axis, number))
        blending = "additive" if number else "translucent_no_depth"  # as napari splits channels
        layer[1].update(_channel_looks(channel, colour), blending=blending)
        layer[1]["name"] = f"{opened.name}: {channel.name or number}"
        layer[1]["metadata"]["napari_scsc"]["channel"] = (axis, number, len(channels))
        layers.append(layer)
    return layers


def find_channel_axis(opened: OpenedFile) -> int | None:
    """The axis with a value for each channel that the file tells of; None if there is none."""
    letters = [axes_of.letter_of(label) for label in opened.labels or ()]
    if opened.rgb or letters.count("c") != 1:
        return None
    axis = letters.index("c")
    return axis if opened.array.shape[axis] == len(opened.channels) else None


def _only_channel(opened: OpenedFile, axis: int, number: int) -> OpenedFile:
    """One of the channels as an image without that axis; its arrays stay lazy."""
    place = (slice(None),) * axis + (number,)

    def without_axis(values: Any) -> Any:
        return None if values is None else values[:axis] + values[axis + 1 :]

    return replace(
        opened,
        array=opened.array[place],
        coarser=tuple(array[place] for array in opened.coarser),
        labels=without_axis(opened.labels),
        scale=without_axis(opened.scale),
        units=without_axis(opened.units),
        translation=without_axis(opened.translation),
        kind=None,
    )


def _channel_looks(channel: Channel, colour: str) -> dict[str, Any]:
    """How napari shows a channel; without a window, it looks at the values itself."""
    looks: dict[str, Any] = {"colormap": _COLORMAPS.get(colour, f"#{colour.lower()}")}
    if channel.window is not None and channel.window[0] < channel.window[1]:
        looks["contrast_limits"] = channel.window
    return looks


def _to_layer(opened: OpenedFile) -> LayerData:
    labels, n = opened.labels or (), opened.array.ndim
    order = napari_order(labels, opened.rgb) if opened.kind and labels else list(range(n))
    shown = order[: n - opened.rgb]
    levels = [array.transpose(order) for array in (opened.array, *opened.coarser)]
    layer = image_layer(
        levels if opened.coarser else levels[0],
        opened.name,
        [labels[i] for i in shown] if labels else None,
        opened.kind,
        opened.rgb,
        opened.facts,
    )
    layer[1]["multiscale"] = bool(opened.coarser)
    places = {"scale": opened.scale, "units": opened.units, "translate": opened.translation}
    for word, values in places.items():
        if values is not None:
            layer[1][word] = tuple(values[i] for i in shown)
    return layer


def image_layer(
    data: Any,
    name: str,
    labels: Sequence[str] | None,
    kind: str | None,
    rgb: bool = False,
    facts: dict[str, Any] | None = None,
) -> LayerData:
    """An image layer; its labels name the axes without that of the colours, as napari wants it."""
    arguments: dict[str, Any] = {"name": name, "rgb": rgb, "multiscale": False}
    arguments["metadata"] = {"napari_scsc": {"kind": kind, **(facts or {})}}
    if labels:
        arguments["axis_labels"] = tuple(labels)
    return data, arguments, "image"


def read_bank(path: Path) -> LayerData:
    """A filter bank as an image layer (filter, joint axes, shift axes) that can be saved again.

    Its metadata hold the bank, its id and its path. FileFormatError says what is wrong with a file
    that is not a bank.
    """
    from napari_scsc.model.bank import FilterBank
    from napari_scsc.model.container import read_kind

    try:
        bank = FilterBank.load(path)
    except FileFormatError:
        learner = _CHECKPOINTS.get(read_kind(path) or "")
        if learner is None:
            raise
        raise FileFormatError(
            "this is a checkpoint, from which learning goes on, and not a filter bank",
            remedy=f"in a script, {learner}.resume(path) reads it, and .bank.save(path) saves its "
            "filters",
            path=path,
        ) from None
    return bank_layer(bank, path.stem, str(path.resolve()))


def bank_layer(bank: FilterBank, name: str, path: str = "") -> LayerData:
    """A bank as an image layer, which can be saved as a bank and becomes that of the dock."""
    limit = float(np.abs(bank.filters).max()) or 1.0
    facts = {"bank": bank, "id": bank.id, "path": path, "n_joint": bank.n_joint}
    data, arguments, layer_type = image_layer(
        bank.filters, name, filter_labels(bank), "filter bank", facts=facts
    )
    ends = rgb_pictures.diverging(np.array([[-1.0, 0.0, 1.0]]))[0] / 255
    arguments["colormap"] = {"name": "blue white orange", "colors": ends}
    arguments["contrast_limits"] = (-limit, limit)
    arguments["interpolation2d"] = "nearest"
    return data, arguments, layer_type


def filter_labels(bank: FilterBank) -> tuple[str, ...]:
    """Labels of the axes of the filters of a bank: "filter", the joint axes, the shift axes."""
    n_shift = len(bank.support)
    preset = axes_of.PRESETS.get(str(bank.info.get("kind")))
    if preset and (preset.count("joint"), preset.count("shift")) == (bank.n_joint, n_shift):
        order = preset.order()[preset.count("sample") :]
        return ("filter", *(preset.labels[i] for i in order))
    joint = tuple(f"joint {i + 1}" for i in range(bank.n_joint))
    plane = ("y", "x")[-n_shift:]
    return ("filter", *joint, *(f"shift {i + 1}" for i in range(n_shift - len(plane))), *plane)


def write_bank(path: str | os.PathLike[str], data: Any, attributes: dict[str, Any]) -> list[str]:
    """Write the filter bank that an image layer shows to ``path``; complete, or not at all.

    The layer must come from a bank: its metadata hold it. Returns the paths that were written.
    """
    from napari_scsc.model.bank import FilterBank

    entry = dict(attributes.get("metadata") or {}).get("napari_scsc")
    bank = entry.get("bank") if isinstance(entry, dict) else None
    name = attributes.get("name", "this layer")
    # No UserError, which is a ValueError: napari takes that for "no writer", and reports nothing.
    if not isinstance(bank, FilterBank):
        raise TypeError(
            f"{name!r} is not a layer of filters: *{BANK_SUFFIX} files hold filter banks only. "
            "Learn filters from it first, or save it as an image, such as *.tif"
        )
    if np.shape(data) != bank.filters.shape or not np.array_equal(np.asarray(data), bank.filters):
        raise TypeError(
            f"{name!r} no longer shows the filters that it came with: save it as an image, such as "
            "*.tif, or open the filter bank again"
        )
    bank.save(path, overwrite=True)  # napari has asked
    return [os.fspath(path)]
