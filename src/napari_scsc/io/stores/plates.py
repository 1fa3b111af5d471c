"""Plates of wells: the images of a plate that were restored become a plate again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from napari_scsc.io.formats.ome_zarr import ome_attributes


def write_plate(source: Path, target: Path, fields: Iterable[str], zarr_format: str | None) -> None:
    """Describe a folder of images as the plate that they come from.

    The images lie in it as in the source, each under its path. That it is a plate is written last:
    until then it is a folder of images. Doing it again does no harm.

    Parameters
    ----------
    source, target : Path
        The plate that the images come from, and the folder.
    fields : iterable of str
        The paths of the images, as "A/1/0".
    zarr_format : {"0.4", "0.5"} or None
        The version of OME-Zarr, which is that of the images; None for that of the source.
    """
    import zarr

    root = zarr.open_group(store=source, mode="r")
    version = zarr_format or ("0.4" if root.metadata.zarr_format == 2 else "0.5")
    wells = dict.fromkeys(str(PurePosixPath(field).parent) for field in fields)
    rows = dict.fromkeys(str(PurePosixPath(well).parent) for well in wells)
    for row in rows:
        _make_group(target, row, {}, version)
    for well in wells:
        described = {"well": ome_attributes(root[well])["well"]}
        _make_group(target, well, described, version)
    plate = dict(ome_attributes(root)["plate"])
    plate["wells"] = [well for well in plate["wells"] if str(well["path"]) in wells]
    _make_group(target, "", {"plate": plate}, version)


def _make_group(target: Path, path: str, described: dict[str, Any], version: str) -> None:
    import zarr

    attributes: dict[str, Any] = {
        name: {**entry, "version": version} for name, entry in described.items()
    }
    if attributes and version != "0.4":
        attributes = {"ome": {"version": version, **attributes}}
    group = zarr.open_group(
        store=target, path=path or None, mode="a", zarr_format=2 if version == "0.4" else 3
    )
    group.attrs.update(attributes)
