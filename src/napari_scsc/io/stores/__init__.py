"""Where results of any size go: zarr, OME-Zarr, TIFF and .npy, written region by region.

A store is a description and holds nothing open: the same small object works in every thread and
process. Whoever writes a region owns its chunks, so that no two writers ever touch the same bytes,
and one that is killed harms nothing but the region it was writing.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from napari_scsc.checks import check_choice
from napari_scsc.choices import ZARR_FORMATS
from napari_scsc.errors import UserError, UserTypeError
from napari_scsc.io.channels import Channel
from napari_scsc.io.filenames import stem_of
from napari_scsc.io.stores import shards
from napari_scsc.io.stores.base import Store, final_path_of
from napari_scsc.io.stores.flat import NpyStore
from napari_scsc.io.stores.tiff_store import TiffStore
from napari_scsc.io.stores.zarr_stores import OmeZarrStore, ZarrStore
from napari_scsc.io.units import unit_word

__all__ = ["Store", "store_for", "suffix_of"]

_STORES: dict[str, type[Store]] = {
    ".ome.zarr": OmeZarrStore,
    ".ome.tif": TiffStore,
    ".ome.tiff": TiffStore,
    ".zarr": ZarrStore,
    ".tif": TiffStore,
    ".tiff": TiffStore,
    ".npy": NpyStore,
}


def store_for(
    path: str | os.PathLike[str],
    shape: Sequence[int],
    dtype: DTypeLike,
    chunks: Sequence[int],
    *,
    labels: Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
    units: Sequence[Any] | None = None,
    compressed: bool = True,
    name: str | None = None,
    translation: Sequence[float] | None = None,
    channels: Sequence[Channel] = (),
    recipe: Mapping[str, Any] | None = None,
    zarr_format: str | None = None,
) -> Store:
    """Describe the store that suits a path; nothing is made before ``create``.

    Parameters
    ----------
    path : path
        Its end says the format, see ``suffix_of``. A TIFF file that does not promise OME is made
        for ImageJ where that can read it.
    shape : sequence of int
        Lengths of the axes; OME-Zarr holds 2 to 5.
    dtype : dtype
        An integer or float type.
    chunks : sequence of int
        Lengths of the chunks; regions that are written consist of whole ones.
    labels : sequence of str, optional
        Names of the axes. napari's names that are only numbers count as none.
    scale : sequence of float, optional
        Size of a pixel along each axis.
    units : sequence, optional
        Units of the scale: words or symbols such as "um", or units of pint; "pixel" is none.
    compressed : bool
        Whether zarr compresses its chunks; TIFF and .npy never do.
    name : str, optional
        Name of the image for OME; without it, that of the file.
    translation : sequence of float, optional
        Where the first pixel lies along each axis.
    channels : sequence of Channel
        One for each value of the axis of channels.
    recipe : mapping, optional
        How the values came about, as JSON has it; kept where the format has a place for it.
    zarr_format : {"0.4", "0.5"}, optional
        The version of OME-Zarr, and with it of zarr: 2 or 3. Others take no notice of it.

    Raises
    ------
    UserError
        If the path ends with nothing known, lengths do not fit, or the format has no place for
        such axes.
    UserTypeError
        If the type is neither integer nor float.
    """
    if zarr_format is not None:
        check_choice("zarr_format", zarr_format, ZARR_FORMATS)
    lengths = tuple(int(n) for n in shape)
    place = Path(path).absolute()  # other processes may work in other folders
    native = np.dtype(dtype).newbyteorder("=")
    try:
        _check_values(lengths, native)
        _check_axes(len(lengths), {"chunks": chunks, "labels": labels, "units": units}, scale)
    except UserError as error:
        raise error.about(path=str(final_path_of(place))) from None
    names = None if labels is None else tuple(map(str, labels))
    if names and all(re.fullmatch(r"-?\d+", label) for label in names):
        names = None
    kind = _STORES[suffix_of(place)]
    more: dict[str, Any] = {}
    if issubclass(kind, ZarrStore):
        version = zarr_format or ZARR_FORMATS[-1]
        is_large = math.prod(lengths) * native.itemsize > shards.SHARD_BYTES
        has_shards = is_large and version != "0.4"  # zarr 2 knows none
        more = {"zarr_format": version, "shard_bytes": shards.SHARD_BYTES if has_shards else 0}
    return kind(
        place,
        lengths,
        native,
        tuple(min(int(c), n) for c, n in zip(chunks, lengths, strict=True)),
        names,
        None if scale is None else tuple(map(float, scale)),
        None if units is None else tuple(unit_word(unit) or "pixel" for unit in units),
        compressed,
        stem_of(place) if name is None else name,
        None if translation is None else tuple(map(float, translation)),
        tuple(channels),
        dict(recipe or {}),
        **more,
    )


def _check_values(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not shape or min(shape) < 1:
        raise UserError(f"an array of the shape {shape} holds nothing")
    if dtype.kind not in "fiu" or dtype.itemsize > 8:
        raise UserTypeError(f"holds integers or floats of up to 64 bits, not {dtype}")


def _check_axes(
    n_axes: int, entries: Mapping[str, Sequence[Any] | None], scale: Sequence[float] | None
) -> None:
    """Refuse what does not have one entry an axis, and lengths and sizes that cannot be."""
    for name, values in {**entries, "scale": scale}.items():
        if values is not None and len(values) != n_axes:
            raise UserError(f"has {len(values)} entries for {n_axes} axes", argument=name)
    chunks = entries["chunks"] or ()
    if min(chunks) < 1:
        raise UserError(f"must be at least 1 long, but are {tuple(chunks)}", argument="chunks")
    if scale is not None and not all(math.isfinite(s) and s for s in scale):
        raise UserError(f"must be finite and not 0, but is {tuple(scale)}", argument="scale")


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The end of a path that says its format; UserError names those that can be written.

    Without an end, an image in a folder of OME-Zarr, such as a plate, is OME-Zarr too.
    """
    name = Path(path).name.lower()
    for suffix in _STORES:
        if name.endswith(suffix) and name != suffix:
            return suffix
    is_inside = any(folder.name.lower().endswith(".ome.zarr") for folder in Path(path).parents)
    if is_inside and name and "." not in name:
        return ".ome.zarr"
    known = ", ".join(_STORES)
    raise UserError(f"the name must end with one of {known}", path=path)
