"""What File > Open Sample shows of us: data made on the spot, with their axes named."""

from __future__ import annotations

from typing import Any

from napari_scsc._types import LayerData


def noisy_tissue() -> list[LayerData]:
    """A micrograph in dim light, (y, x)."""
    from napari_scsc import samples

    return [_image(samples.noisy_tissue(), "noisy tissue", "image")]


def rgb() -> list[LayerData]:
    """A stained section, (y, x) in colours."""
    from napari_scsc import samples

    data, arguments, layer_type = _image(samples.rgb(), "stained section", "rgb")
    return [(data, {**arguments, "rgb": True, "axis_labels": ("y", "x")}, layer_type)]


def video() -> list[LayerData]:
    """Moving cells in dim light, (t, y, x)."""
    from napari_scsc import samples

    return [_image(samples.video(), "moving cells", "video")]


def stack() -> list[LayerData]:
    """Nuclei in dim light, (z, y, x), with the size of their voxels."""
    from napari_scsc import samples

    data, arguments, kind = _image(samples.stack(), "nuclei", "stack")
    micrometers = {"scale": (0.5, 0.2, 0.2), "units": ("micrometer",) * 3}
    return [(data, {**arguments, **micrometers}, kind)]


def time_lapse() -> list[LayerData]:
    """Cells that creep, in two channels, (t, c, z, y, x), with the size of their voxels."""
    from napari_scsc import samples

    arguments = {
        "name": "creeping cells",
        "axis_labels": ("t", "c", "z", "y", "x"),
        "scale": (60.0, 1.0, 0.5, 0.2, 0.2),
        "units": ("second", "pixel", "micrometer", "micrometer", "micrometer"),
    }
    return [(samples.time_lapse(), arguments, "image")]


def multispectral() -> list[LayerData]:
    """Stains that mix, in 31 bands, (c, y, x)."""
    from napari_scsc import samples

    nanometres = samples.wavelengths().tolist()
    return [_image(samples.multispectral(), "stains", "multispectral", wavelengths=nanometres)]


def light_field() -> list[LayerData]:
    """Discs before a wall, seen from 7 x 7 places, (u, v, y, x)."""
    from napari_scsc import samples

    return [_image(samples.light_field(), "discs", "light-field")]


def with_holes() -> list[LayerData]:
    """A micrograph with scratches, dead columns and a lost block, and a layer that marks them."""
    from napari_scsc import samples

    image, missing = samples.with_holes()
    labels = {
        "name": "missing",
        "axis_labels": ("y", "x"),
        "opacity": 0.7,
        "colormap": {1: "orange", None: "transparent"},
    }
    return [
        _image(image, "tissue with holes", "image"),
        (missing.astype("uint8"), labels, "labels"),
    ]


def _image(data: Any, name: str, kind: str, **known: Any) -> LayerData:
    from napari_scsc.data.axes import PRESETS

    arguments = {
        "name": name,
        "rgb": False,
        "multiscale": False,
        "axis_labels": PRESETS[kind].labels,
        "metadata": {"napari_scsc": {"kind": kind, **known}},
    }
    return data, arguments, "image"
