"""Sample data as napari opens them."""

from __future__ import annotations

import numpy as np
import pytest
from npe2 import PluginManifest
from npe2.manifest.utils import import_python_name

from napari_scsc.data import axes

KINDS = {
    "noisy_tissue": "image",
    "rgb": "rgb",
    "video": "video",
    "stack": "stack",
    "multispectral": "multispectral",
    "light_field": "light-field",
    "with_holes": "image",
}


def test_menu_names_read_well():
    manifest = PluginManifest.from_distribution("napari-scsc")
    names = [sample.display_name for sample in manifest.contributions.sample_data]
    assert len(set(names)) == len(names) == len(KINDS) + 1  # and one that is of no kind
    assert all(name[0].isupper() and name.endswith(")") for name in names)


def open_sample(key):
    from napari.components import ViewerModel

    manifest = PluginManifest.from_distribution("napari-scsc")
    (sample,) = (s for s in manifest.contributions.sample_data if s.key == key)
    (command,) = (c for c in manifest.contributions.commands if c.id == sample.command)
    viewer = ViewerModel()
    for data, arguments, layer_type in import_python_name(command.python_name)():
        getattr(viewer, f"add_{layer_type}")(data, **arguments)
    return viewer


@pytest.mark.parametrize("key", KINDS)
def test_sample_opens_with_named_axes_of_its_kind(key):
    viewer = open_sample(key)
    image = viewer.layers[0]
    kind = KINDS[key]
    assert image.rgb == (kind == "rgb")
    labels = (*image.axis_labels, "c") if image.rgb else tuple(image.axis_labels)
    assert labels == axes.PRESETS[kind].labels
    assert tuple(image.axis_labels) == viewer.dims.axis_labels
    assert image.metadata["napari_scsc"]["kind"] == kind
    assert axes.resolve(image.data.shape, labels=labels).kind == kind
    if key == "with_holes":
        (labels,) = viewer.layers[1:]
        assert type(labels).__name__ == "Labels"
        assert labels.name == "missing"
        np.testing.assert_array_equal(image.data[labels.data != 0], 0)


def test_five_axes_open_with_their_names_and_the_size_of_voxels():
    (image,) = open_sample("time_lapse").layers
    assert image.axis_labels == ("t", "c", "z", "y", "x")
    assert tuple(image.scale[-3:]) == (0.5, 0.2, 0.2)
    found = axes.resolve(image.data.shape, labels=image.axis_labels)
    assert found.roles == ("sample", "sample", "shift", "shift", "shift")
