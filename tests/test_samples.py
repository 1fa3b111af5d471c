"""Sample data as napari opens them."""

from __future__ import annotations

import numpy as np
import pytest
from npe2 import PluginManifest
from npe2.manifest.utils import import_python_name

from napari_scsc.data import axes

KINDS = {
    "noisy_tissue": "image",
    "video": "video",
    "stack": "stack",
    "multispectral": "multispectral",
    "light_field": "light-field",
    "with_holes": "image",
}


def test_menu_names_read_well():
    manifest = PluginManifest.from_distribution("napari-scsc")
    names = [sample.display_name for sample in manifest.contributions.sample_data]
    assert len(set(names)) == len(names) == len(KINDS)
    assert all(name[0].isupper() and name.endswith(")") for name in names)


@pytest.mark.parametrize("key", KINDS)
def test_sample_opens_with_named_axes_of_its_kind(key):
    from napari.components import ViewerModel

    manifest = PluginManifest.from_distribution("napari-scsc")
    (sample,) = (s for s in manifest.contributions.sample_data if s.key == key)
    (command,) = (c for c in manifest.contributions.commands if c.id == sample.command)
    viewer = ViewerModel()
    for data, arguments, layer_type in import_python_name(command.python_name)():
        getattr(viewer, f"add_{layer_type}")(data, **arguments)
    image = viewer.layers[0]
    kind = KINDS[key]
    assert tuple(image.axis_labels) == axes.PRESETS[kind].labels == viewer.dims.axis_labels
    assert not image.rgb
    assert image.metadata["napari_scsc"]["kind"] == kind
    assert axes.resolve(image.data.shape, labels=image.axis_labels).kind == kind
    if key == "with_holes":
        (labels,) = viewer.layers[1:]
        assert type(labels).__name__ == "Labels"
        assert labels.name == "missing"
        np.testing.assert_array_equal(image.data[labels.data != 0], 0)
