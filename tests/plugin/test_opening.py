"""What can be dropped on napari and on the dock: every row of the tables in the docs."""

from __future__ import annotations

import h5py
import imageio.v3 as iio
import numpy as np
import pytest
import scipy.io
import tifffile
from napari.components import ViewerModel
from napari.errors import MultipleReaderError
from napari.plugins import _initialize_plugins
from napari.settings import get_settings
from npe2 import PluginManager
from qtpy.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from qtpy.QtGui import QDragEnterEvent, QDropEvent
from qtpy.QtWidgets import QApplication, QFileDialog

from napari_scsc import FilterBank
from napari_scsc.io.channels import Channel
from napari_scsc.io.stores import store_for
from napari_scsc.plugin import commands
from napari_scsc.plugin.opening import open_path, open_paths

RNG = np.random.default_rng(0)
CUBE = RNG.integers(0, 255, (3, 12, 16), "u1")
PLACE = {"scale": (1.0, 0.5, 0.25), "units": ("pixel", "micrometer", "micrometer")}
CHANNELS = tuple(
    Channel(name, colour) for name, colour in (("a", "FF0000"), ("b", ""), ("c", "00FF00"))
)


@pytest.fixture
def viewer():
    known = {manifest.name for manifest in PluginManager.instance().iter_manifests()}
    if not {"napari", "napari-scsc"} <= known:  # another test may have done it
        _initialize_plugins()
    return ViewerModel()


def stored(path):
    store = store_for(path, CUBE.shape, "u1", CUBE.shape, labels="cyx", channels=CHANNELS, **PLACE)
    store.create()
    store.write(tuple(slice(0, n) for n in CUBE.shape), CUBE)
    store.finish()
    return path


def bank(path):
    FilterBank(RNG.standard_normal((4, 5, 5)).astype("f4")).save(path)
    return path


def npz(path):
    np.savez(path, a=CUBE, b=CUBE[0])
    return path


def npy(path):
    np.save(path, CUBE)
    return path


def mat(path):
    scipy.io.savemat(path, {"cube": CUBE.transpose(1, 2, 0)})
    return path


def hdf5(path):
    with h5py.File(path, "w") as file:
        file["cube"] = CUBE
    return path


def lenslet(path):
    iio.imwrite(path, RNG.integers(0, 255, (27, 36), "u1"))
    return path


def tiff(path):
    tifffile.imwrite(path, CUBE, photometric="minisblack")
    return path


def picture(path):
    iio.imwrite(path, CUBE[0])
    return path


def gif(path):
    iio.imwrite(path, np.repeat(CUBE, 2, 1))
    return path


def folder(names):
    def make(path):
        path.mkdir()
        for name in names:
            iio.imwrite(path / name, CUBE[0])
        return path

    return make


bands = folder([f"scene_ms_{i:02d}.png" for i in range(1, 6)])
views = folder([f"view_{u:02d}_{v:02d}.png" for u in range(3) for v in range(3)])


def open_dropped(viewer, path):
    """What a drop on the viewer does: no reader is named."""
    return viewer.open(str(path), plugin=None)


# File, how many layers, and what napari does where the file is dropped on it: opens it with us,
# with its own reader, or asks which of the two.
ROWS = [
    (bank, "a.scsc", 1, "ours"),
    (mat, "a.mat", 1, "ours"),
    (stored, "a.ome.tif", 3, "asks"),
    (stored, "a.ome.tiff", 3, "asks"),
    (npz, "a.npz", 2, "asks"),
    (hdf5, "a.h5", 1, "asks"),
    (hdf5, "a.hdf5", 1, "asks"),
    (lenslet, "a_lenslet_9x9.png", 1, "asks"),
    (tiff, "a.tif", 1, "napari"),
    (picture, "a.png", 1, "napari"),
    (npy, "a.npy", 1, "napari"),
    (gif, "a.gif", 1, "napari"),
    (bands, "scene", 1, "napari"),
    (views, "field", 1, "napari"),
    (stored, "a.zarr", 3, "napari"),
    (stored, "a.ome.zarr", 3, "napari"),
]


rows = pytest.mark.parametrize(("make", "name", "n_layers", "who"), ROWS, ids=[r[1] for r in ROWS])


@rows
def test_dropped_on_napari(viewer, tmp_path, make, name, n_layers, who):
    path = make(tmp_path / name)
    if who == "asks":
        with pytest.raises(MultipleReaderError):
            open_dropped(viewer, path)
        added = viewer.open(str(path), plugin="napari-scsc")
    else:
        added = open_dropped(viewer, path)
    reader = "napari" if who == "napari" else "napari-scsc"
    assert {layer.source.reader_plugin for layer in added} == {reader}
    if who != "napari":
        assert len(added) == n_layers


@rows
def test_dropped_on_the_dock(viewer, tmp_path, make, name, n_layers, who):
    path = make(tmp_path / name)
    added = open_path(viewer, str(path))
    assert len(added) == n_layers
    assert {layer.source.path for layer in added} == {str(path)}
    assert {layer.source.reader_plugin for layer in added} == {"napari-scsc"}
    if make is stored and n_layers == 3:
        assert [layer.name for layer in added] == ["a: a", "a: b", "a: c"]
        assert added[0].colormap.name == "red"
        assert tuple(added[0].scale) == (0.5, 0.25)
        assert tuple(map(str, added[0].units)) == ("micrometer", "micrometer")


def test_the_dock_takes_files_and_nothing_else(make_light_dock, tmp_path):
    viewer, dock = make_light_dock()
    paths = [npy(tmp_path / "a.npy"), bands(tmp_path / "scene")]
    files, words = QMimeData(), QMimeData()
    files.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    words.setText("words")
    mouse, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    for dropped in (words, files):
        enter = QDragEnterEvent(QPoint(9, 9), Qt.DropAction.CopyAction, dropped, mouse, keys)
        enter.ignore()
        QApplication.sendEvent(dock, enter)
        assert enter.isAccepted() == (dropped is files)
        drop = QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, dropped, mouse, keys)
        QApplication.sendEvent(dock, drop)
    assert [layer.name for layer in viewer.layers] == ["a", "scene"]


def test_a_file_that_cannot_be_read_is_told_by_the_dock(make_light_dock, tmp_path):
    viewer, dock = make_light_dock()
    (tmp_path / "a.npy").write_bytes(b"no array")
    dock.attempt(lambda: open_paths(viewer, [str(tmp_path / "a.npy")]))
    assert "a.npy" in dock.message
    assert len(viewer.layers) == 0


def test_a_preference_for_ome_tiff_spares_the_question(viewer, tmp_path, monkeypatch):
    preference = {"*.ome.tif": "napari-scsc"}
    monkeypatch.setattr(get_settings().plugins, "extension2reader", preference)
    assert len(open_dropped(viewer, stored(tmp_path / "a.ome.tif"))) == 3
    (plain,) = open_dropped(viewer, tiff(tmp_path / "a.tif"))
    assert plain.source.reader_plugin == "napari"


def test_menu_entries_open_files_and_folders(viewer, tmp_path, monkeypatch):
    paths = [str(npy(tmp_path / "a.npy")), str(stored(tmp_path / "a.ome.tif"))]
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: (paths, ""))
    commands.open_files(viewer)
    assert len(viewer.layers) == 4
    folder = str(stored(tmp_path / "b.ome.zarr"))
    for chosen, n_layers in ((folder, 7), ("", 7)):
        monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_, path=chosen: path)
        commands.open_folder(viewer)
        assert len(viewer.layers) == n_layers
