"""Files of microscopes: through bioio's packages where they are, else through a stand-in."""

from __future__ import annotations

import pickle
import sys
import types
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from file_tools import equals
from layer_tools import read
from vendor_tools import write_czi

from napari_scsc.errors import MissingPackageError
from napari_scsc.io.channels import Channel
from napari_scsc.io.formats import open_file, vendor_files

RNG = np.random.default_rng(0)
VALUES = RNG.integers(0, 60_000, (2, 2, 3, 20, 30), "u2")


class StandIn:
    """What bioio's readers are asked for, over arrays in memory."""

    scenes = ("left", "right", "1")
    dims = "TCZYX"
    channel_names = ("DAPI", "GFP")
    scale = SimpleNamespace(T=2.0, C=None, Z=0.5, Y=0.2, X=0.1)
    metadata = None
    images = (VALUES, VALUES[:1, :, :1], VALUES[0, 0])

    def __init__(self, path):
        if path.read_text() == "damaged":
            raise KeyError("no header")
        self.scene = 0

    def set_scene(self, number):
        self.scene = number

    @property
    def xarray_dask_data(self):
        values = self.images[self.scene]
        dims = self.dims[-values.ndim :]
        chunks = (1,) * (values.ndim - 2) + values.shape[-2:]
        return xr.DataArray(da.from_array(values, chunks), dims=list(dims))


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    reader = type("Reader", (StandIn,), {})
    module = types.ModuleType("stand_in_for_bioio")
    module.Reader = reader
    monkeypatch.setitem(sys.modules, module.__name__, module)
    package = vendor_files._Package(module.__name__, "bioio-nd2")
    monkeypatch.setitem(vendor_files._PACKAGES, ".nd2", package)
    (tmp_path / "a.nd2").write_text("")
    return tmp_path / "a.nd2", reader


def test_a_scene_has_axes_sizes_and_channels(stand_in):
    opened = open_file(stand_in[0])
    equals(opened.array, VALUES)
    assert opened.labels == tuple("tczyx")
    assert opened.scale == (2.0, 1.0, 0.5, 0.2, 0.1)
    assert opened.units == ("second", "pixel", *["micrometer"] * 3)
    assert opened.channels == (Channel("DAPI"), Channel("GFP"))
    assert "3 scenes" in str(opened.remarks[0])
    assert opened.array.chunks == (1, 1, 1, 20, 30)


@pytest.mark.parametrize(
    ("key", "labels"), [("right", "cyx"), (1, "cyx"), (2, "zyx"), ("1", "zyx")]
)
def test_scenes_have_keys_and_axes_of_length_1_go(stand_in, key, labels):
    opened = open_file(stand_in[0], key)
    assert "".join(opened.labels) == labels
    assert opened.channels == ((Channel("DAPI"), Channel("GFP")) if labels == "cyx" else ())
    assert opened.remarks == ()
    assert opened.array.shape == opened.array[...].shape


def test_what_is_read_can_be_sent_to_other_processes(stand_in):
    array = pickle.loads(pickle.dumps(open_file(stand_in[0]).array))
    np.testing.assert_array_equal(array[1, :, 2, 5:9], VALUES[1, :, 2, 5:9])


def test_units_of_the_file_come_before_what_is_usual(stand_in):
    path, reader = stand_in
    properties = {letter: SimpleNamespace(unit="nanometer") for letter in "ZYX"}
    reader.dimension_properties = SimpleNamespace(T=SimpleNamespace(unit="ms"), **properties)
    assert open_file(path).units == ("second", "pixel", *["nanometer"] * 3)
    reader.scale = SimpleNamespace(T=None, C=None, Z=None, Y=np.nan, X=0)
    assert open_file(path).scale is None


def test_axes_that_nobody_knows_have_no_labels(stand_in):
    path, reader = stand_in
    reader.dims = "HCZYX"
    opened = open_file(path)
    assert opened.labels is None
    assert opened.scale == (1.0, 1.0, 0.5, 0.2, 0.1)


def test_colours_come_along_where_the_package_tells_them(stand_in):
    path, reader = stand_in
    channels = [SimpleNamespace(color=65535), SimpleNamespace(color=0x00FF00FF)]
    image = SimpleNamespace(pixels=SimpleNamespace(channels=channels))
    reader.ome_metadata = SimpleNamespace(images=[image])
    assert [channel.colour for channel in open_file(path).channels] == ["0000FF", "00FF00"]


def test_in_napari_each_channel_is_a_layer(stand_in):
    layers = read(stand_in[0])
    assert [arguments["name"] for _, arguments, _ in layers] == ["a: DAPI", "a: GFP"]
    assert layers[0][1]["scale"] == (2.0, 0.5, 0.2, 0.1)


def test_a_wrong_scene_and_a_damaged_file_are_told(stand_in):
    path, _ = stand_in
    with pytest.raises(ValueError, match=r"'left', 'right', '1'"):
        open_file(path, "middle")
    path.write_text("damaged")
    with pytest.raises(ValueError, match=r"a\.nd2.*no header"):
        open_file(path)


@pytest.mark.parametrize("suffix", sorted(vendor_files._PACKAGES))
def test_without_the_package_a_pip_line_is_given(tmp_path, monkeypatch, suffix):
    monkeypatch.setitem(sys.modules, vendor_files._PACKAGES[suffix].module, None)
    (tmp_path / f"a{suffix}").write_text("")
    with pytest.raises(MissingPackageError, match=rf"pip install bioio-{suffix[1:]}, or"):
        open_file(tmp_path / f"a{suffix}")


# Real files


def test_a_czi_file_is_read_lazily_with_channels_and_sizes(tmp_path):
    path = tmp_path / "a.czi"
    write_czi(path, VALUES)
    opened = open_file(path)
    assert opened.labels == tuple("tczyx")
    assert opened.scale == pytest.approx((1, 1, 0.5, 0.2, 0.1))
    assert opened.units == ("pixel", "pixel", *["micrometer"] * 3)
    assert opened.channels == (Channel("DAPI", "0000FF"), Channel("GFP", "00FF7F"))
    equals(opened.array, VALUES)
    np.testing.assert_array_equal(opened.array[1, 0, 2, 3:9], VALUES[1, 0, 2, 3:9])
