"""OME-Zarr as other programs write it: images, labels and plates, made with zarr alone."""

from __future__ import annotations

import numpy as np
import zarr

AXES = [
    {"name": "t", "type": "time", "unit": "second"},
    {"name": "c", "type": "channel"},
    {"name": "z", "type": "space", "unit": "micrometer"},
    {"name": "y", "type": "space", "unit": "micrometer"},
    {"name": "x", "type": "space", "unit": "micrometer"},
]
OMERO = {
    "channels": [
        {
            "label": "DAPI",
            "color": "0000FF",
            "window": {"min": 0, "max": 65535, "start": 100, "end": 2000},
            "active": True,
        },
        {
            "label": "GFP",
            "color": "00FF00",
            "window": {"min": 0, "max": 65535, "start": 50.5, "end": 900},
            "active": False,
        },
    ]
}
SCALE, TRANSLATION = (2.0, 1.0, 0.5, 0.25, 0.25), (10.0, 0.0, -3.0, 100.0, 200.0)


def put(group, described, version):
    """Give a group its attributes of OME, where a version has them."""
    if version == "0.5":
        described = {"ome": {"version": version, **described}}
    group.attrs.put(described)


def make_group(path, version):
    return zarr.open_group(path, mode="w-", zarr_format=2 if version == "0.4" else 3)


def write_image(group, values, version, *, scale=SCALE, translation=TRANSLATION, omero=OMERO):
    """An image of two levels in a group, its axes the last ones of t, c, z, y, x."""
    n = values.ndim
    datasets = []
    for level, step in enumerate((1, 2)):
        planes = values[..., ::step, ::step]
        group.create_array(str(level), shape=planes.shape, dtype=planes.dtype)[...] = planes
        sizes = [s * (step if i >= 3 else 1) for i, s in enumerate(scale)][-n:]
        steps = [{"type": "scale", "scale": sizes}]
        if translation:
            steps.append({"type": "translation", "translation": list(translation[-n:])})
        datasets.append({"path": str(level), "coordinateTransformations": steps})
    image = {"axes": AXES[-n:], "datasets": datasets, "name": "cells"}
    if version == "0.4":
        image["version"] = version
    put(group, {"multiscales": [image], **({"omero": omero} if omero else {})}, version)


def write_labels(group, name, values, version):
    """Labels of an image, as they lie in its group."""
    labels = group.create_group("labels")
    put(labels, {"labels": [name]}, version)
    inner = labels.create_group(name)
    inner.create_array("0", shape=values.shape, dtype=values.dtype)[...] = values
    image = {
        "axes": AXES[-values.ndim :],
        "datasets": [
            {
                "path": "0",
                "coordinateTransformations": [{"type": "scale", "scale": [1.0] * values.ndim}],
            }
        ],
    }
    put(inner, {"multiscales": [image], "image-label": {"colors": []}}, version)


def write_plate(path, wells, version):
    """A plate; ``wells`` holds lists of images by the paths of the wells, such as "A/1"."""
    root = make_group(path, version)
    rows = sorted({well.split("/")[0] for well in wells})
    columns = sorted({well.split("/")[1] for well in wells})
    plate = {
        "name": "screen",
        "rows": [{"name": row} for row in rows],
        "columns": [{"name": column} for column in columns],
        "wells": [
            {
                "path": well,
                "rowIndex": rows.index(well.split("/")[0]),
                "columnIndex": columns.index(well.split("/")[1]),
            }
            for well in wells
        ],
        "field_count": max(map(len, wells.values())),
        "acquisitions": [{"id": 7, "name": "first"}],
    }
    plate["version"] = version
    put(root, {"plate": plate}, version)
    for well, images in wells.items():
        group = root.create_group(well)
        entry = {"images": [{"path": str(i), "acquisition": 7} for i in range(len(images))]}
        entry["version"] = version
        put(group, {"well": entry}, version)
        for number, values in enumerate(images):
            write_image(group.create_group(str(number)), values, version)


def noisy(shape, seed=0):
    """Values with something to be seen and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.meshgrid(*(np.linspace(0, 6, n) for n in shape[-2:]), indexing="ij")
    return (1000 + 500 * np.sin(y) * np.cos(x) + rng.normal(0, 30, shape)).astype(np.uint16)
