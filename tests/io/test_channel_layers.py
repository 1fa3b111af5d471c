from __future__ import annotations

import dask.array
import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Layer

from napari_scsc.io.channels import Channel
from napari_scsc.io.formats.opened_file import OpenedFile
from napari_scsc.io.layers import to_layers

DYES = (
    Channel("DAPI", "0000FF", (10.0, 200.0)),
    Channel("", "FF8000", (0.0, 50.0)),
    Channel("GFP"),
)


def opened_image(shape=(2, 3, 4, 5), labels="tcyx", **more):
    array = np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)
    return OpenedFile(array, tuple(labels), name="cells", **more)


def layers_of(opened):
    return [Layer.create(*layer) for layer in to_layers(opened)]


def test_each_channel_is_a_layer_with_its_name_colour_and_window():
    opened = opened_image(channels=DYES)
    first, second, third = layers_of(opened)
    assert [layer.name for layer in (first, second, third)] == [
        "cells: DAPI",
        "cells: 1",
        "cells: GFP",
    ]
    for number, layer in enumerate((first, second, third)):
        np.testing.assert_array_equal(layer.data, opened.array[:, number])
        assert layer.axis_labels == ("t", "y", "x")
    assert first.colormap.name == "blue"
    np.testing.assert_allclose(second.colormap.colors[-1][:3], (1, 128 / 255, 0), atol=0.01)
    assert list(first.contrast_limits) == [10, 200]
    assert third.contrast_limits[1] > 50
    assert [layer.blending for layer in (first, second, third)] == [
        "translucent_no_depth",
        "additive",
        "additive",
    ]


def test_channels_lie_where_the_file_says():
    opened = opened_image(
        channels=DYES,
        scale=(2.0, 1.0, 0.5, 0.25),
        units=("second", "pixel", "micrometer", "micrometer"),
        translation=(7.0, 0.0, 30.0, 40.0),
    )
    for layer in layers_of(opened):
        assert tuple(layer.scale) == (2, 0.5, 0.25)
        assert tuple(layer.translate) == (7, 30, 40)
        assert [str(unit) for unit in layer.units] == ["second", "micrometer", "micrometer"]


def test_channels_of_a_lazy_image_with_levels_stay_lazy():
    fine = dask.array.zeros((3, 64, 64), chunks=(1, 64, 64))
    opened = OpenedFile(
        fine, tuple("cyx"), channels=DYES, coarser=(fine[:, ::2, ::2],), name="cells"
    )
    for data, arguments, _ in to_layers(opened):
        assert arguments["multiscale"]
        assert [level.shape for level in data] == [(64, 64), (32, 32)]
        assert all(isinstance(level, dask.array.Array) for level in data)


def test_an_image_of_one_channel_is_one_layer_that_looks_like_it():
    one = (Channel("DAPI", "00FF00", (3.0, 9.0)),)
    (without_axis,) = layers_of(opened_image((4, 5), "yx", channels=one))
    assert without_axis.colormap.name == "green"
    assert list(without_axis.contrast_limits) == [3, 9]
    (with_axis,) = layers_of(opened_image((1, 4, 5), "cyx", channels=one))
    assert with_axis.data.shape == (4, 5)


@pytest.mark.parametrize(
    ("labels", "channels"), [("tcyx", ()), ("tcyx", DYES[:2]), ("tzyx", DYES), (None, DYES)]
)
def test_what_does_not_say_which_values_are_channels_stays_one_layer(labels, channels):
    opened = OpenedFile(
        np.zeros((2, 3, 4, 5)), labels and tuple(labels), channels=channels, name="cells"
    )
    ((data, arguments, _),) = to_layers(opened)
    assert data.shape == (2, 3, 4, 5)
    assert arguments["name"] == "cells"


def test_colours_of_pixels_are_no_channels():
    opened = OpenedFile(np.zeros((4, 5, 3), np.uint8), tuple("yxc"), channels=DYES, rgb=True)
    ((_, arguments, _),) = to_layers(opened)
    assert arguments["rgb"]


def test_napari_takes_the_layers():
    viewer = ViewerModel()
    for layer in to_layers(opened_image(channels=DYES)):
        viewer.add_layer(Layer.create(*layer))
    assert len(viewer.layers) == 3
