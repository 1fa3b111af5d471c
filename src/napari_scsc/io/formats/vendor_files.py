"""Files of microscopes (CZI, ND2, LIF), read by the packages of bioio where these are installed."""

from __future__ import annotations

import importlib
import math
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from napari_scsc._types import Array
from napari_scsc.errors import Message, MissingPackageError, Remedy, UserError
from napari_scsc.io import tiff_notes
from napari_scsc.io.channels import Channel
from napari_scsc.io.filenames import shorten_list
from napari_scsc.io.formats.file_arrays import (
    FileArray,
    check_shape,
    open_once,
    unreadable,
)
from napari_scsc.io.formats.opened_file import OpenedFile, describe


class _Package(NamedTuple):
    """The package that reads a kind of file: as it is imported, and as it is installed."""

    module: str
    name: str


# A further kind is a line here and its ending in the list of formats.
_PACKAGES = {
    ".czi": _Package("bioio_czi", "bioio-czi"),
    ".nd2": _Package("bioio_nd2", "bioio-nd2"),
    ".lif": _Package("bioio_lif", "bioio-lif"),
}
_LABELS = dict(zip("TCZYXS", "tczyxc", strict=True))
_UNITS = {"T": "s", "Z": "µm", "Y": "µm", "X": "µm"}  # that bioio gives sizes in


@dataclass(frozen=True)
class VendorArray(FileArray):
    """A scene of such a file, without its axes of length 1."""

    scene: int

    title = "file of a microscope"

    def _read(self, index: tuple[Any, ...]) -> Array:
        part = open_once(self, self._open)[index]
        return np.asarray(part.compute(scheduler="synchronous"))

    def _open(self) -> Any:
        reader = _make_reader(self.path)
        reader.set_scene(self.scene)
        array, _ = _squeeze(reader.xarray_dask_data)
        check_shape(self, array.shape)
        return array


def open_file(path: Path, key: str | int | None) -> OpenedFile:
    """Open a scene; the key is its name or its number."""
    try:
        reader = _make_reader(path)
        scenes = tuple(map(str, reader.scenes))
        number = _find_scene(path, scenes, key)
        reader.set_scene(number)
        array, letters = _squeeze(reader.xarray_dask_data)
        sizes = _find_sizes(reader)
        channels = _find_channels(reader, number, letters, array.shape)
    except (UserError, PermissionError):
        raise
    except Exception as error:  # the packages raise many kinds on a damaged file
        raise unreadable(path, f"{path.suffix} file", error) from error
    labels: list[str] | None = [_LABELS.get(letter, "") for letter in letters]
    if not all(labels or ()) or len(set(labels or ())) < len(letters):
        labels = None  # axes of angles, phases and the like
    dtype = np.dtype(array.dtype).newbyteorder("=")
    lazy = VendorArray(path, tuple(array.shape), dtype, tuple(array.chunksize), number)
    scale = [sizes.get(letter, (1.0, "pixel"))[0] for letter in letters] if sizes else None
    units = [sizes.get(letter, (1.0, "pixel"))[1] for letter in letters] if sizes else None
    name = "" if key is None else scenes[number]
    opened = describe(path, lazy, name, labels, scale, units, remarks=_describe_next(scenes, key))
    return replace(opened, channels=channels)


def _make_reader(path: Path) -> Any:
    package = _PACKAGES[path.suffix.lower()]
    try:
        module = importlib.import_module(package.module)
    except ImportError as error:
        raise MissingPackageError(
            f"{path.suffix} files are read by {package.name}, which is not installed",
            remedy=f'pip install {package.name}, or "napari-scsc[vendors]" for all such files',
            path=path,
        ) from error
    return module.Reader(path)


def _find_scene(path: Path, scenes: tuple[str, ...], key: str | int | None) -> int:
    if key is None:
        return 0
    if isinstance(key, str) and key in scenes:
        return scenes.index(key)
    if str(key).isdecimal() and int(key) < len(scenes):
        return int(key)
    names = shorten_list([repr(scene) for scene in scenes])
    raise UserError(f"no scene {key!r}; there are {names}, or their numbers from 0", path=path)


def _describe_next(scenes: tuple[str, ...], key: str | int | None) -> tuple[Message, ...]:
    if key is not None or len(scenes) < 2:
        return ()
    text = f"holds {len(scenes)} scenes, this is {scenes[0]!r} and {scenes[1]!r} the next"
    return (Message(text, remedy=Remedy.SAY_KEY),)


def _squeeze(image: Any) -> tuple[Any, str]:
    """The dask array of a scene without axes of length 1 that are not y and x, and its axes."""
    letters = tuple(map(str, image.dims))
    kept = [i for i, letter in enumerate(letters) if letter in ("Y", "X") or image.shape[i] > 1]
    array = image.data[tuple(slice(None) if i in kept else 0 for i in range(len(letters)))]
    return array, "".join(letters[i] if len(letters[i]) == 1 else "?" for i in kept)


def _find_sizes(reader: Any) -> dict[str, tuple[float, str]]:
    """Of the axes of which the file says it, the size of a pixel and its unit."""
    found = {}
    for letter, usual in _UNITS.items():
        size = getattr(reader.scale, letter, None)
        if size is None or not math.isfinite(size) or size <= 0:
            continue
        known = getattr(getattr(reader, "dimension_properties", None), letter, None)
        unit = getattr(known, "unit", None) if letter != "T" else None  # time is in seconds
        found[letter] = float(size), str(unit or usual)
    return found


def _find_channels(
    reader: Any, scene: int, letters: str, shape: tuple[int, ...]
) -> tuple[Channel, ...]:
    n_channels = shape[letters.index("C")] if "C" in letters else 1
    names = [str(name) for name in reader.channel_names or ()]
    if "S" in letters or len(names) != n_channels:
        return ()
    colours = _find_colours(reader, scene)
    if len(colours) != n_channels:
        colours = [""] * n_channels
    found = zip(names, colours, strict=True)
    return tiff_notes.known_channels(Channel(name, colour) for name, colour in found)


def _find_colours(reader: Any, scene: int) -> list[str]:
    """Colours of the channels, where the package can tell them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what else is in the metadata
            if hasattr(reader.metadata, "findall"):  # CZI: #AARRGGBB
                found = reader.metadata.findall(".//DisplaySetting/Channels/Channel")
                return [tiff_notes.colour_of((c.findtext("Color") or "")[-6:]) for c in found]
            channels = reader.ome_metadata.images[scene].pixels.channels
            return [tiff_notes.from_ome_colour(str(int(channel.color))) for channel in channels]
    except Exception:  # not all packages have it, and not of all files
        return []
