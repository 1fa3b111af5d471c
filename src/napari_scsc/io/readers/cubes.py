"""Arrays of numbers as layers, with their axes named and in napari's order."""

from __future__ import annotations

import os
from pathlib import Path

from napari_scsc.data import axes as axes_of
from napari_scsc.io.filenames import some
from napari_scsc.io.readers.cube_axes import are_colours, letters_of
from napari_scsc.io.readers.cube_files import ARRAYS, Found, native
from napari_scsc.io.readers.layer import LayerData, image_layer


def read_cube(path: str | os.PathLike[str]) -> list[LayerData]:
    """All arrays of numbers with 2 to 5 axes in a .npy, .npz, .mat or HDF5 file.

    Large .npy files are mapped and HDF5 files read region by region. Axes are named, and brought
    into napari's order, where the file or a name tells them: attributes ``axes`` or dimension
    labels in HDF5, a string ``axes`` in a .npz, names that end with them (``cloth_yxc``), or a word
    such as "video" with a shape that can be read in one way only.
    """
    place = Path(path)
    skipped: list[str] = []
    found = list(ARRAYS[place.suffix.lower()](place, skipped))
    if not found:
        inside = f"it holds {some(skipped)}" if skipped else "it is empty"
        raise ValueError(f"{place}: no array of numbers with 2 to 5 axes: {inside}")
    layers = []
    for one in found:
        name = place.stem if len(found) == 1 else f"{place.stem} {one.key}"
        layers.append(_cube(one, place.stem, name))
    return layers


def _cube(found: Found, stem: str, name: str) -> LayerData:
    array = native(found.array)
    shape = tuple(array.shape)
    letters, word_kind = letters_of(shape, (found.key, stem), found.spelled)
    rgb = bool(letters) and "c" in letters and are_colours(array, letters.index("c"))
    if letters == ("y", "x", "c") and shape[2] in (3, 4) and not rgb and word_kind == "rgb":
        letters = ()  # guessed to be colours from the shape, but the values say otherwise
    if not letters:
        return image_layer(array, name, None, None)
    wanted = [letter for letter in "ntzcuvyx" if letter in letters and not (rgb and letter == "c")]
    order = [letters.index(letter) for letter in wanted + (["c"] if rgb else [])]
    array = array.transpose(order)
    labels = wanted + (["c"] if rgb else [])
    kind = axes_of.resolve(array.shape, axes=labels, rgb=rgb).kind
    if word_kind == "time-lapse" and kind == "video":
        kind = word_kind
    return image_layer(array, name, wanted, kind, rgb, {"axes_in_file": "".join(letters)})
