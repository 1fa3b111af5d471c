"""What is written is valid OME-Zarr, and opens in the programs that others read it with."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from napari.layers import Layer
from ome_tools import noisy, write_plate

from napari_scsc import Output, denoise
from napari_scsc.batch.job import iter_batch
from napari_scsc.batch.request import BatchRequest
from napari_scsc.io.channels import Channel
from napari_scsc.io.stores import shards, store_for

VERSIONS = ("0.4", "0.5")
STORED = (("0.4", False), ("0.5", False), ("0.5", True))  # the version, and whether in shards
LABELS = ("yx", "cyx", "tyx", "czyx", "tczyx")
LENGTHS = {"t": 2, "c": 2, "z": 4, "y": 40, "x": 300}
SCALE = {"t": 2.0, "c": 1.0, "z": 0.5, "y": 0.25, "x": 0.25}
PLACE = {"t": 10.0, "c": 0.0, "z": -3.0, "y": 100.0, "x": 200.0}
UNITS = {"t": "second", "c": "pixel"}
DYES = (Channel("DAPI", "0000FF", (10.0, 200.0)), Channel("GFP", "00FF00"))


def written(path, labels, version, **more):
    """A result with all that can be said of it."""
    shape = tuple(LENGTHS[label] for label in labels)
    values = noisy(shape)
    chunks = tuple({"y": 20, "x": 128}.get(label, 1) for label in labels)
    store = store_for(
        path,
        shape,
        values.dtype,
        chunks,
        labels=labels,
        scale=[SCALE[label] for label in labels],
        units=[UNITS.get(label, "micrometer") for label in labels],
        translation=[PLACE[label] for label in labels],
        channels=DYES if "c" in labels else (Channel("phase"),),
        recipe={"version": "1"},
        zarr_format=version,
        **more,
    )
    store.create()
    for start in np.ndindex(*(-(-n // c) for n, c in zip(shape, chunks, strict=True))):
        region = tuple(
            slice(s * c, min((s + 1) * c, n)) for s, c, n in zip(start, chunks, shape, strict=True)
        )
        store.write(region, values[region])
    store.finish()
    return values


@pytest.fixture(params=STORED, ids=["0.4", "0.5", "0.5 in shards"])
def version(request, monkeypatch):
    version, in_shards = request.param
    if in_shards:
        monkeypatch.setattr(shards, "SHARD_BYTES", 1 << 14)
    return version


def model_of(version, name):
    """A class of ome-zarr-models, which checks metadata and the arrays that they name."""
    models = pytest.importorskip(
        "ome_zarr_models.v04" if version == "0.4" else "ome_zarr_models.v05"
    )
    return getattr(models, name)


@pytest.mark.parametrize("labels", LABELS)
def test_images_are_valid(tmp_path, labels, version):
    image_model = model_of(version, "Image")
    written(tmp_path / "a.ome.zarr", labels, version)
    model = image_model.from_zarr(zarr.open_group(tmp_path / "a.ome.zarr", mode="r"))
    attributes = model.attributes if version == "0.4" else model.ome_attributes
    (image,) = attributes.multiscales
    assert [axis.name for axis in image.axes] == list(labels)
    assert len(image.datasets) == 2
    if version == "0.4":  # of the other, nobody checks the channels
        assert [channel.color for channel in attributes.omero.channels] == (
            ["0000FF", "00FF00"] if "c" in labels else ["FFFFFF"]
        )


def test_a_restored_image_is_valid(tmp_path, version):
    image_model = model_of(version, "Image")
    denoise(
        noisy((40, 300)),
        kind="image",
        quality="draft",
        sigma=30.0,
        out=Output(tmp_path / "a.ome.zarr", zarr_format=version),
    )
    image_model.from_zarr(zarr.open_group(tmp_path / "a.ome.zarr", mode="r"))


@pytest.fixture(params=VERSIONS)
def plate(tmp_path, request):
    """A plate that was restored, and the version that it is of."""
    images = [noisy((2, 1, 16, 16), seed=i) for i in range(3)]
    write_plate(tmp_path / "in.ome.zarr", {"A/1": images[:1], "B/2": images[1:]}, request.param)
    job = BatchRequest(
        inputs=(str(tmp_path / "in.ome.zarr"),),
        out=str(tmp_path / "plate.ome.zarr"),
        key="all",
        options={"quality": "draft", "sigma": 30.0},
    )
    list(iter_batch(job))
    return tmp_path / "plate.ome.zarr", request.param


def test_plates_are_valid(plate):
    path, version = plate
    group = zarr.open_group(path, mode="r")
    model_of(version, "HCS").from_zarr(group)
    for well in ("A/1", "B/2"):
        model_of(version, "Well").from_zarr(group[well])


def layers_of(path):
    """The layers that napari-ome-zarr makes of a path."""
    reader = pytest.importorskip("napari_ome_zarr")
    from napari.layers.utils.stack_utils import split_channels

    layers = []
    for data, arguments, kind in reader.napari_get_reader(str(path))(str(path)):
        if "channel_axis" in arguments:  # as the viewer does with it
            layers += [Layer.create(*layer) for layer in split_channels(data, **arguments)]
        else:
            layers.append(Layer.create(data, arguments, kind))
    return layers


@pytest.mark.parametrize("labels", LABELS)
def test_images_open_in_napari_ome_zarr(tmp_path, labels, version):
    pytest.importorskip("napari_ome_zarr")
    values = written(tmp_path / "a.ome.zarr", labels, version)
    layers = layers_of(tmp_path / "a.ome.zarr")
    shown = labels.replace("c", "")
    assert len(layers) == (2 if "c" in labels else 1)
    for number, layer in enumerate(layers):
        channel = values.take(number, labels.index("c")) if "c" in labels else values
        np.testing.assert_array_equal(np.asarray(layer.data[0]), channel)
        assert len(layer.data) == 2
        assert tuple(layer.axis_labels) == tuple(shown)
        assert [str(unit) for unit in layer.units] == [
            UNITS.get(label, "micrometer") for label in shown
        ]
        # It takes no notice of translations (0.10).
        np.testing.assert_allclose(layer.scale, [SCALE[label] for label in shown])
        if "c" in labels:
            assert DYES[number].name in layer.name
            assert layer.colormap.name == ("blue", "green")[number]
            assert number or list(layer.contrast_limits) == [10, 200]


def test_plates_open_in_napari_ome_zarr(plate):
    path, _ = plate
    layers = layers_of(path)
    assert [np.shape(layer.data) for layer in layers] == [(1, 32, 32)] * 2
    corner = zarr.open_array(path / "A/1/0/0", mode="r")[0, 0]
    np.testing.assert_array_equal(np.asarray(layers[0].data)[0, :16, :16], corner)


@pytest.mark.parametrize("labels", LABELS)
def test_images_open_in_ome_zarr_py(tmp_path, labels, version):
    io = pytest.importorskip("ome_zarr.io")
    reader = pytest.importorskip("ome_zarr.reader")
    values = written(tmp_path / "a.ome.zarr", labels, version)
    (node,) = reader.Reader(io.parse_url(tmp_path / "a.ome.zarr"))()
    np.testing.assert_array_equal(np.asarray(node.data[0]), values)
    assert len(node.data) == 2
    assert [axis["name"] for axis in node.metadata["axes"]] == list(labels)
    steps = node.metadata["coordinateTransformations"][0]
    assert steps[0]["scale"] == [SCALE[label] for label in labels]
    assert steps[1]["translation"] == [PLACE[label] for label in labels]
    if "c" in labels:
        assert node.metadata["channel_names"] == ["DAPI", "GFP"]


def test_plates_open_in_ome_zarr_py(plate, caplog):
    # Some of its lines cannot be formatted.
    caplog.set_level("WARNING", logger="ome_zarr")
    io = pytest.importorskip("ome_zarr.io")
    reader = pytest.importorskip("ome_zarr.reader")
    nodes = list(reader.Reader(io.parse_url(plate[0]))())
    assert nodes[0].data[0].shape == (2, 1, 32, 32)  # two rows and columns of wells
