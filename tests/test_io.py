from __future__ import annotations

import subprocess
import sys

import dask.array as da
import imageio.v3 as iio
import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from npe2 import PluginManager, PluginManifest

from napari_scsc import SCSC, FileFormatError, FilterBank, LatticeSCSC, Output, denoise, samples
from napari_scsc.io import readers, writers
from napari_scsc.io.filenames import natural
from napari_scsc.io.readers import (
    cube_files,
    folders,
    get_reader,
    lenslet_to_views,
    picture_files,
    videos,
)

RNG = np.random.default_rng(0)


def read(path):
    """The layers of a path, by the way that napari takes."""
    reader = get_reader(str(path))
    assert reader is not None
    return reader(str(path))


def read_one(path):
    (layer,) = read(path)
    data, arguments, layer_type = layer
    assert layer_type == "image"
    return data, arguments


def kind(arguments):
    return arguments["metadata"]["napari_scsc"]["kind"]


def bank_of(shape=(4, 5, 7), n_joint=0, **info):
    return FilterBank(RNG.standard_normal(shape).astype(np.float32), n_joint, info=info)


def write_images(folder, names, images):
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in zip(names, images, strict=True):
        iio.imwrite(folder / name, image)
    return folder


def greys(n, shape=(6, 8), dtype=np.uint16):
    return RNG.integers(0, np.iinfo(dtype).max, (n, *shape), dtype)


# What is ours


def test_none_for_what_is_not_ours(tmp_path):
    (tmp_path / "a.tif").write_bytes(b"")
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "empty").mkdir()
    for name in ("a.tif", "a.txt", "empty", "absent.npy"):
        assert get_reader(str(tmp_path / name)) is None
    assert get_reader([str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]) is None


def test_a_path_is_taken_as_string_path_or_list_of_one(tmp_path):
    with open(tmp_path / "A.NPY", "wb") as stream:  # np.save would add an ending
        np.save(stream, np.ones((3, 4)))
    for path in (tmp_path / "A.NPY", str(tmp_path / "A.NPY"), [str(tmp_path / "A.NPY")]):
        ((data, arguments, _),) = get_reader(path)(path)
        assert data.shape == (3, 4)
        assert arguments["name"] == "A"


def test_importing_readers_and_writers_loads_no_reader_of_files():
    code = (
        "import napari_scsc, sys\n"
        "before = set(sys.modules)\n"
        "import napari_scsc.io.readers, napari_scsc.io.writers, napari_scsc.plugin.sample_data\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new & {'imageio', 'h5py', 'napari', 'qtpy', 'PIL', 'tifffile', 'av'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


# Filter banks


@pytest.mark.parametrize(
    ("shape", "n_joint", "info", "labels"),
    [
        ((4, 5, 7), 0, {}, ("filter", "y", "x")),
        ((4, 9), 0, {}, ("filter", "x")),
        ((4, 3, 5, 5), 1, {"kind": "rgb"}, ("filter", "c", "y", "x")),
        ((4, 3, 5, 5), 0, {"kind": "video"}, ("filter", "t", "y", "x")),
        ((4, 3, 3, 5, 5), 2, {"kind": "light-field"}, ("filter", "u", "v", "y", "x")),
        ((4, 5, 5), 0, {"kind": "time-lapse"}, ("filter", "y", "x")),
        ((4, 3, 5, 5), 1, {}, ("filter", "joint 1", "y", "x")),
        ((4, 3, 5, 5), 0, {"kind": "image"}, ("filter", "shift 1", "y", "x")),
    ],
)
def test_bank_opens_as_filters_and_is_saved_again(tmp_path, shape, n_joint, info, labels):
    bank = bank_of(shape, n_joint, **info)
    bank.save(tmp_path / "cells.scsc")
    data, arguments = read_one(tmp_path / "cells.scsc")
    np.testing.assert_array_equal(data, bank.filters)
    assert arguments["axis_labels"] == labels
    low, high = arguments["contrast_limits"]
    assert -low == high == pytest.approx(np.abs(bank.filters).max())
    known = arguments["metadata"]["napari_scsc"]
    assert (known["kind"], known["id"], arguments["rgb"]) == ("filter bank", bank.id, False)
    assert known["path"] == str((tmp_path / "cells.scsc").resolve())

    again = tmp_path / "again.scsc"
    assert writers.write_bank(str(again), data, arguments) == [str(again)]
    loaded = FilterBank.load(again)
    assert (loaded.id, loaded.n_joint) == (bank.id, n_joint)
    assert dict(loaded.info) | info == dict(loaded.info)


def test_bank_of_zeros_still_has_contrast(tmp_path):
    FilterBank(np.zeros((2, 3, 3), np.float32)).save(tmp_path / "a.scsc")
    assert read_one(tmp_path / "a.scsc")[1]["contrast_limits"] == (-1, 1)


def test_checkpoint_is_called_what_it_is(tmp_path):
    model = SCSC(n_base=2, n_filters=3, filter_shape=(3, 3), max_iter=2)
    sample = RNG.standard_normal((12, 12)).astype(np.float32)
    model.partial_fit(sample)
    model.checkpoint(tmp_path / "a.scsc")
    with pytest.raises(FileFormatError, match=r"is a checkpoint.* SCSC\.resume"):
        read(tmp_path / "a.scsc")
    lattice = LatticeSCSC(2, (3, 3), sigma=0.1)
    lattice.partial_fit(sample)
    lattice.checkpoint(tmp_path / "b.scsc")
    with pytest.raises(FileFormatError, match=r"is a checkpoint.* LatticeSCSC\.resume"):
        read(tmp_path / "b.scsc")


def test_wrong_bank_says_which_file_and_why(tmp_path):
    (tmp_path / "a.scsc").write_bytes(b"no bank")
    with pytest.raises(FileFormatError, match=r"a\.scsc: not a readable napari-scsc filter bank"):
        read(tmp_path / "a.scsc")


def test_only_layers_of_filters_are_written(tmp_path):
    path = tmp_path / "a.scsc"
    with pytest.raises(TypeError, match="'nuclei' is not a layer of filters"):
        writers.write_bank(str(path), np.ones((3, 3)), {"name": "nuclei", "metadata": {}})
    bank = bank_of()
    attributes = {"name": "filters", "metadata": {"napari_scsc": {"bank": bank}}}
    with pytest.raises(TypeError, match="no longer shows"):
        writers.write_bank(str(path), bank.filters + 1, attributes)
    assert list(tmp_path.iterdir()) == []


# Folders


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12, unique=True), st.text(max_size=3))
@settings(max_examples=20)
def test_natural_order_is_that_of_the_numbers(numbers, head):
    names = sorted((f"{head}_{n}.png" for n in numbers), key=natural)
    assert names == [f"{head}_{n}.png" for n in sorted(numbers)]


@pytest.mark.parametrize(
    "names",
    [
        [f"balloons_ms_{i:02}.png" for i in range(1, 32)],
        [f"scene2_ms_{i}.png" for i in range(1, 13)],  # 10 comes after 9, and 2 is no index
        [f"{i:02}.png" for i in range(1, 32)],
        [f"band{i}.tif" for i in range(5)],
    ],
)
def test_bands_become_a_multispectral_cube(tmp_path, names):
    images = greys(len(names))
    folder = write_images(tmp_path / "balloons", names, images)
    (folder / "Thumbs.db").write_bytes(b"")
    (folder / ".hidden_ms_01.png").write_bytes(b"")
    iio.imwrite(folder / "balloons_RGB.bmp", np.zeros((6, 8, 3), np.uint8))
    data, arguments = read_one(folder)
    np.testing.assert_array_equal(data, images)
    assert arguments["axis_labels"] == ("c", "y", "x")
    assert (kind(arguments), arguments["rgb"]) == ("multispectral", False)
    assert arguments["name"] == "balloons"


def test_three_bands_are_no_colours_and_wavelengths_are_kept(tmp_path):
    names = [f"cells_{n}nm.png" for n in (488, 405, 640)]
    folder = write_images(tmp_path / "a", names, greys(3))
    data, arguments = read_one(folder)
    assert data.shape == (3, 6, 8)
    assert not arguments["rgb"]
    assert arguments["metadata"]["napari_scsc"]["wavelengths"] == (405, 488, 640)


def test_a_folder_in_a_folder_is_opened_and_grey_colours_are_grey(tmp_path):
    images = greys(31, dtype=np.uint8)
    names = [f"a_ms_{i:02}.png" for i in range(1, 32)]
    write_images(tmp_path / "a_ms" / "a_ms", names, (np.stack([i] * 3, -1) for i in images))
    data, arguments = read_one(tmp_path / "a_ms")
    np.testing.assert_array_equal(data, images)
    assert kind(arguments) == "multispectral"


@pytest.mark.parametrize(
    "names",
    [
        [f"view_{u:02}_{v:02}.png" for u in range(3) for v in range(12)],
        [f"{u}_{v}.png" for u in range(3) for v in range(12)],
        [f"lf_u{u}_v{v}.png" for u in range(3) for v in range(12)],
        [f"out_{u:02}_{v:02}_-38{u}.5_110{v}.25_.png" for u in range(3) for v in range(12)],
    ],
)
def test_views_with_two_numbers_become_a_light_field(tmp_path, names):
    images = greys(36)
    data, arguments = read_one(write_images(tmp_path / "a", names, images))
    np.testing.assert_array_equal(data, images.reshape(3, 12, 6, 8))
    assert arguments["axis_labels"] == ("u", "v", "y", "x")
    assert kind(arguments) == "light-field"


def test_a_square_number_of_cameras_becomes_a_light_field_in_colour(tmp_path):
    images = RNG.integers(0, 255, (81, 6, 8, 3), np.uint8)
    folder = write_images(tmp_path / "a", [f"input_Cam{i:03}.png" for i in range(81)], images)
    iio.imwrite(folder / "valid_mask.png", np.zeros((6, 8), np.uint8))
    data, arguments = read_one(folder)
    np.testing.assert_array_equal(data, images.reshape(9, 9, 6, 8, 3))
    assert arguments["axis_labels"] == ("u", "v", "y", "x")
    assert arguments["rgb"]


@pytest.mark.parametrize(
    "names",
    [
        [f"frame_{i:02}.png" for i in range(1, 32)],
        [f"img{i:04}.png" for i in range(20)],
        [f"t{t:02}_z{z:02}.png" for t in range(3) for z in range(4)],
        [f"a_t{t:02}_{z:02}.png" for t in range(3) for z in range(4)],
        [f"tile_{y}_{x}.png" for y in range(3) for x in range(4)],
        [f"a_{i}_{i}.png" for i in range(6)],
        ["holiday.png", "cat.png"],
        [f"view_{i}.png" for i in range(7)],
        ["band_1.png", "band_1000000000000000.png"],
        [f"{side}_ms_{i}.png" for side in ("left", "right") for i in range(4)],
    ],
)
def test_other_folders_are_left_to_napari(tmp_path, names):
    for name in names:
        (tmp_path / name).write_bytes(b"never read")
    assert get_reader(str(tmp_path)) is None
    with pytest.raises(ValueError, match="neither bands"):
        readers.read_folder(tmp_path)


def test_the_odd_image_is_named(tmp_path):
    names = [f"a_ms_{i:02}.png" for i in range(1, 6)]
    write_images(tmp_path / "a", names, greys(5))
    iio.imwrite(tmp_path / "a" / names[3], np.zeros((6, 9), np.uint8))
    message = r"Most have 6 x 8 uint16, but a_ms_04\.png has 6 x 9 uint8"
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "a")
    (tmp_path / "a" / names[3]).write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"a_ms_04\.png: not a readable image"):
        read(tmp_path / "a")
    (tmp_path / "a" / names[3]).unlink()
    with pytest.raises(ValueError, match="bands are missing: 4"):
        read(tmp_path / "a")


def test_the_missing_view_is_named(tmp_path):
    names = [f"view_{u}_{v}.png" for u in range(3) for v in range(3) if (u, v) != (1, 2)]
    with pytest.raises(ValueError, match="views are missing: 1, 2"):
        read(write_images(tmp_path / "a", names, greys(8)))


def test_bands_in_colour_are_refused(tmp_path):
    images = RNG.integers(0, 255, (4, 6, 8, 3), np.uint8)
    folder = write_images(tmp_path / "a", [f"band_{i}.png" for i in range(4)], images)
    with pytest.raises(ValueError, match="is in colour"):
        read(folder)


def test_many_images_are_read_when_they_are_looked_at(tmp_path, monkeypatch):
    images = greys(9)
    names = [f"view_{u}_{v}.png" for u in range(3) for v in range(3)]
    write_images(tmp_path / "a", names, images)
    opened = []
    monkeypatch.setattr(folders, "_IN_MEMORY", 100)
    picture = picture_files.read_picture
    monkeypatch.setattr(
        picture_files, "read_picture", lambda f: opened.append(f.name) or picture(f)
    )
    data, arguments = read_one(tmp_path / "a")
    assert isinstance(data, da.Array)
    assert (data.shape, data.dtype, opened) == ((3, 3, 6, 8), np.uint16, [])
    np.testing.assert_array_equal(data[1, 2].compute(scheduler="sync"), images[5])
    assert opened == ["view_1_2.png"]
    assert kind(arguments) == "light-field"


# Lenslet images


@given(
    st.tuples(*(st.integers(1, 4) for _ in range(4))), st.sampled_from([(), (3,)]), st.integers(0)
)
@settings(max_examples=30)
def test_lenslet_pixels_go_to_their_views(shape, colours, seed):
    n_u, n_v, height, width = shape
    image = np.random.default_rng(seed).random((height * n_u, width * n_v, *colours))
    views = lenslet_to_views(image, n_u, n_v)
    assert views.shape == shape + colours
    for u, v in np.ndindex(n_u, n_v):
        np.testing.assert_array_equal(views[u, v], image[u::n_u, v::n_v])
    assert np.shares_memory(views, image)


@pytest.mark.parametrize(
    ("name", "shape", "grid"),
    [
        ("a_lenslet_3x2.png", (12, 10), (3, 2)),
        ("a_LENSLET_2x2.TIF", (8, 8), (2, 2)),
        ("b_eslf.png", (28, 42, 3), (14, 14)),
    ],
)
def test_the_name_of_a_lenslet_image_says_its_views(tmp_path, name, shape, grid):
    image = RNG.integers(0, 255, shape, np.uint8)
    iio.imwrite(tmp_path / name, image)
    data, arguments = read_one(tmp_path / name)
    np.testing.assert_array_equal(data, lenslet_to_views(image, *grid))
    assert arguments["axis_labels"] == ("u", "v", "y", "x")
    assert (kind(arguments), arguments["rgb"]) == ("light-field", len(shape) == 3)


def test_lenslet_image_of_another_size_is_refused(tmp_path):
    iio.imwrite(tmp_path / "a_lenslet_5x5.png", np.zeros((12, 10), np.uint8))
    with pytest.raises(ValueError, match="12 x 10 pixels cannot have 5 x 5 pixels behind"):
        read(tmp_path / "a_lenslet_5x5.png")
    iio.imwrite(tmp_path / "a.png", np.zeros((12, 10), np.uint8))
    assert get_reader(str(tmp_path / "a.png")) is None


# Cubes


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "labels", "kind_"),
    [
        ("a", (20, 30), "f4", "yx", "image"),
        ("cloth_yxc", (24, 20, 31), "u2", "cyx", "multispectral"),
        ("airport_tyx", (50, 14, 17), "u1", "tyx", "video"),
        ("a_ZYX", (50, 14, 17), "u1", "zyx", "stack"),
        ("lytro_uvyx", (3, 4, 20, 30), "u1", "uvyx", "light-field"),
        ("a_yxuv", (20, 30, 3, 4), "u1", "uvyx", "light-field"),
        ("a_tczyx", (2, 3, 4, 5, 6), "u1", "tzcyx", "custom"),
        ("scan_xy", (20, 30), "u1", "yx", "image"),
        ("hyperspectral", (40, 50, 8), "f4", "cyx", "multispectral"),
        ("hyperspectral", (8, 40, 50), "f4", "cyx", "multispectral"),
        ("my_video", (8, 40, 50), "f4", "tyx", "video"),
        ("timelapse", (8, 40, 50), "f4", "tyx", "time-lapse"),
        ("a", (5, 5, 40, 50), "u1", "uvyx", "light-field"),
        ("a", (40, 50, 5, 5), "u1", "uvyx", "light-field"),
        # What can be read in two ways is left to the user.
        ("a", (8, 40, 50), "f4", None, None),
        ("my_video", (50, 40, 50), "f4", None, None),
        ("hyperspectral", (31, 40, 32), "f4", None, None),
        ("a_tyx", (8, 8, 40, 50, 2), "f4", None, None),
        ("a", (4, 8, 40, 50), "u2", None, None),
    ],
)
def test_axes_are_named_where_they_are_certain(tmp_path, name, shape, dtype, labels, kind_):
    array = (100 * RNG.random(shape)).astype(dtype)
    np.save(tmp_path / f"{name}.npy", array)
    data, arguments = read_one(tmp_path / f"{name}.npy")
    assert arguments.get("axis_labels") == (tuple(labels) if labels else None)
    assert (kind(arguments), arguments["rgb"]) == (kind_, False)
    assert sorted(data.shape) == sorted(shape)
    if labels is None:
        np.testing.assert_array_equal(data, array)
    else:
        spelled = arguments["metadata"]["napari_scsc"]["axes_in_file"]
        order = [spelled.index(letter) for letter in labels]
        np.testing.assert_array_equal(data, array.transpose(order))


@pytest.mark.parametrize(
    ("array", "labels", "kind_"),
    [
        (RNG.integers(0, 255, (20, 30, 3), np.uint8), "yx", "rgb"),
        (RNG.random((20, 30, 3)), "yx", "rgb"),
        (100 * RNG.random((20, 30, 3)), None, None),
        (RNG.integers(0, 255, (3, 3, 20, 30, 3), np.uint8), "uvyx", "custom"),
    ],
)
def test_colours_are_told_from_bands(tmp_path, array, labels, kind_):
    np.save(tmp_path / "a.npy", array)
    data, arguments = read_one(tmp_path / "a.npy")
    np.testing.assert_array_equal(data, array)
    assert arguments.get("axis_labels") == (tuple(labels) if labels else None)
    assert (kind(arguments), arguments["rgb"]) == (kind_, labels is not None)


def test_large_npy_is_mapped_and_a_small_one_is_not(tmp_path, monkeypatch):
    array = RNG.integers(0, 99, (20, 30), np.int32)
    np.save(tmp_path / "a_xy.npy", array)
    data, _ = read_one(tmp_path / "a_xy.npy")
    assert not isinstance(data, np.memmap)
    monkeypatch.setattr(cube_files, "_SMALL", 100)
    data, _ = read_one(tmp_path / "a_xy.npy")
    assert isinstance(data, np.memmap)
    assert not data.flags.writeable
    np.testing.assert_array_equal(data, array.T)
    np.save(tmp_path / "big.npy", array.astype(">i4"))
    data, _ = read_one(tmp_path / "big.npy")
    assert isinstance(data, da.Array)
    assert data.dtype == np.dtype("=i4")
    np.testing.assert_array_equal(data.compute(scheduler="sync"), array)


def test_every_picture_of_an_npz_is_opened_and_nothing_else(tmp_path):
    cube = RNG.integers(0, 99, (6, 20, 30), np.uint16)
    np.savez_compressed(
        tmp_path / "a.npz",
        cube_zyx=cube,
        mask=cube[0] > 50,
        gain=np.float32(2.0),
        spectrum=np.arange(5.0),
        row=np.ones((1, 9)),
        empty=np.ones((0, 3)),
        text=np.array("words"),
        phase=np.ones((5, 5), complex),
    )
    layers = {
        arguments["name"]: (data, arguments) for data, arguments, _ in read(tmp_path / "a.npz")
    }
    assert sorted(layers) == ["a cube_zyx", "a mask"]
    np.testing.assert_array_equal(layers["a cube_zyx"][0], cube)
    assert kind(layers["a cube_zyx"][1]) == "stack"
    assert layers["a mask"][0].dtype == bool


def test_npz_may_spell_its_axes(tmp_path):
    np.savez(tmp_path / "a.npz", cube=np.ones((20, 30, 7)), axes="yxc")
    data, arguments = read_one(tmp_path / "a.npz")
    assert data.shape == (7, 20, 30)
    assert kind(arguments) == "multispectral"


class Evil:
    def __reduce__(self):
        return exec, ("raise AssertionError('code was run')",)


@pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "scsc"])
def test_no_code_is_run_and_damage_is_reported(tmp_path, suffix):
    import pickle

    evil = np.array([[Evil(), Evil()], [Evil(), Evil()]], object)
    path = tmp_path / f"evil.{suffix}"
    if suffix == "npy":
        np.save(path, evil, allow_pickle=True)
    elif suffix == "npz":
        np.savez(path, evil=evil)
    else:
        path.write_bytes(pickle.dumps(evil))
    for damage in (None, b"", b"\x93NUMPY\x01\x00", b"PK\x03\x04" + bytes(40), bytes(200)):
        if damage is not None:
            path.write_bytes(damage)
        with pytest.raises(ValueError, match=rf"evil\.{suffix}: "):
            read(path)


def test_what_a_file_without_pictures_holds_is_said(tmp_path):
    np.savez(tmp_path / "a.npz", spectrum=np.arange(5.0), gain=1)
    with pytest.raises(ValueError, match=r"it holds spectrum \(5 float64\), gain \(1 int64\)"):
        read(tmp_path / "a.npz")


def test_matlab_cube(tmp_path):
    cube = RNG.random((40, 50, 8))
    scipy.io.savemat(
        tmp_path / "a.mat",
        {"hyperspectral": cube, "wavelengths": np.arange(8.0), "note": "x", "s": {"b": cube}},
        do_compression=True,
    )
    data, arguments = read_one(tmp_path / "a.mat")
    np.testing.assert_array_equal(data, cube.transpose(2, 0, 1))
    assert arguments["axis_labels"] == ("c", "y", "x")
    scipy.io.savemat(tmp_path / "b.mat", {"note": "x"})
    with pytest.raises(ValueError, match=r"it holds note \(1 char\)"):
        read(tmp_path / "b.mat")


def test_without_h5py_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "a.h5").write_bytes(b"")
    (tmp_path / "b.mat").write_bytes(b"MATLAB 7.3 MAT-file, Platform: any")
    for name in ("a.h5", "b.mat"):
        with pytest.raises(ImportError, match=r"pip install h5py"):
            read(tmp_path / name)


def test_hdf5_is_read_region_by_region(tmp_path):
    h5py = pytest.importorskip("h5py")
    cube = RNG.integers(0, 99, (8, 40, 50), np.uint16)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        inner = file.create_dataset("group/cube", data=cube, chunks=(1, 40, 50), compression="gzip")
        for dimension, label in zip(inner.dims, ("Time", "y", "x"), strict=True):
            dimension.label = label
        file.create_dataset("bands", data=cube.T).attrs["axes"] = "xyc"
        file.create_dataset("plain", data=cube)
        file.create_dataset("names", data=["a", "b"])
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    layers = {
        arguments["name"]: (data, arguments) for data, arguments, _ in read(tmp_path / "a.h5")
    }
    assert sorted(layers) == ["a bands", "a group/cube", "a plain"]
    expected = {"a bands": ("c", "y", "x"), "a group/cube": ("t", "y", "x"), "a plain": None}
    for name, (data, arguments) in layers.items():
        assert isinstance(data, da.Array)
        assert arguments.get("axis_labels") == expected[name]
        np.testing.assert_array_equal(data[3].compute(scheduler="sync"), cube[3])


def test_matlab_7_3_has_the_axes_of_matlab(tmp_path):
    h5py = pytest.importorskip("h5py")
    cube = RNG.random((40, 50, 8))
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        file.create_dataset("cube_yxc", data=cube.T)
    with open(tmp_path / "a.mat", "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, Platform: any")
    data, arguments = read_one(tmp_path / "a.mat")
    np.testing.assert_array_equal(data.compute(scheduler="sync"), cube.transpose(2, 0, 1))
    assert arguments["axis_labels"] == ("c", "y", "x")


def test_damaged_hdf5_is_reported(tmp_path):
    pytest.importorskip("h5py")
    (tmp_path / "a.h5").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"a\.h5: not a readable HDF5 file"):
        read(tmp_path / "a.h5")


# Videos


def test_gif_in_grey_and_in_colour(tmp_path):
    frames = np.zeros((5, 20, 30), np.uint8)
    for t in range(5):
        frames[t, :, 4 * t : 4 * t + 4] = 255
    iio.imwrite(tmp_path / "a.gif", frames)
    data, arguments = read_one(tmp_path / "a.gif")
    np.testing.assert_array_equal(data, frames)
    assert arguments["axis_labels"] == ("t", "y", "x")
    assert (kind(arguments), arguments["rgb"]) == ("video", False)
    colours = np.repeat(frames[..., None], 3, axis=-1)
    colours[2:, :3] = (255, 0, 0)  # the first frames stay grey
    iio.imwrite(tmp_path / "b.gif", colours)
    data, arguments = read_one(tmp_path / "b.gif")
    np.testing.assert_array_equal(data, colours)
    assert arguments["axis_labels"] == ("t", "y", "x")
    assert arguments["rgb"]


def test_without_a_decoder_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(videos, "_decoder", lambda: None)
    (tmp_path / "a.mp4").write_bytes(bytes(100))
    with pytest.raises(ImportError, match=r'pip install "imageio\[pyav\]"'):
        read(tmp_path / "a.mp4")


def test_damaged_and_long_videos_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.gif").write_bytes(b"no gif")
    with pytest.raises(ValueError, match=r"a\.gif: not a readable video"):
        read(tmp_path / "a.gif")
    iio.imwrite(tmp_path / "b.gif", greys(9, dtype=np.uint8))
    monkeypatch.setattr(videos, "_LONGEST_VIDEO", 200)
    with pytest.raises(ValueError, match="longer than 4 frames"):
        read(tmp_path / "b.gif")


def test_mp4_where_there_is_a_decoder(tmp_path):
    pytest.importorskip("av")
    frames = np.zeros((6, 32, 48, 3), np.uint8)
    frames[3:, :16] = 200
    iio.imwrite(tmp_path / "a.mp4", frames, plugin="pyav", codec="libx264", fps=10)
    data, arguments = read_one(tmp_path / "a.mp4")
    assert data.shape[:3] == (6, 32, 48)
    assert arguments["axis_labels"] == ("t", "y", "x")
    assert kind(arguments) == "video"


# In napari


@pytest.fixture
def manager():
    manager = PluginManager()
    manager.register(PluginManifest.from_distribution("napari-scsc"))
    return manager


@pytest.mark.parametrize(
    "name", ["a.scsc", "a_lenslet_9x9.png", "a.npy", "A.NPZ", "a.mat", "a.h5", "a.mp4", "a.b.hdf5"]
)
def test_manifest_sends_our_files_to_the_reader(manager, name, tmp_path):
    assert [r.command for r in manager.iter_compatible_readers(name)] == ["napari-scsc.read"]
    assert [r.command for r in manager.iter_compatible_readers(str(tmp_path))] == [
        "napari-scsc.read"
    ]
    assert list(manager.iter_compatible_readers("a.png")) == []


def test_manifest_names_every_ending_that_is_read(manager):
    (reader,) = PluginManifest.from_distribution("napari-scsc").contributions.readers
    endings = {"." + p.rpartition(".")[2] for p in reader.filename_patterns if p.startswith("*.")}
    assert endings == set(readers._BY_SUFFIX)


def test_manifest_writes_filters_only_where_that_ending_is_asked_for(manager):
    writer, path = manager.get_writer("a.scsc", ["image"])
    assert (writer.command, path) == ("napari-scsc.write_bank", "a.scsc")
    assert manager.get_writer("a.tif", ["image"])[0] is None
    assert manager.get_writer("a.scsc", ["labels"])[0] is None


def test_layers_open_in_napari_and_filters_are_saved_from_it(tmp_path):
    from napari.components import ViewerModel

    viewer = ViewerModel()

    def add(path):
        ((data, arguments, layer_type),) = read(path)
        return getattr(viewer, f"add_{layer_type}")(data, **arguments)

    bank = bank_of((4, 3, 5, 7), 1, kind="rgb")
    bank.save(tmp_path / "cells.scsc")
    filters = add(tmp_path / "cells.scsc")
    assert tuple(filters.axis_labels) == ("filter", "c", "y", "x")
    assert filters.colormap.name == "blue white orange"
    data, attributes, layer_type = filters.as_layer_data_tuple()
    assert layer_type == "image"
    writers.write_bank(str(tmp_path / "again.scsc"), data, attributes)
    assert FilterBank.load(tmp_path / "again.scsc").id == bank.id

    write_images(tmp_path / "a", [f"a_ms_{i}.png" for i in range(3)], greys(3))
    bands = add(tmp_path / "a")
    assert (tuple(bands.axis_labels), bands.rgb, bands.ndim) == (("c", "y", "x"), False, 3)
    names = [f"view_{u}_{v}.png" for u in range(2) for v in range(2)]
    write_images(tmp_path / "b", names, RNG.integers(0, 255, (4, 6, 8, 3), np.uint8))
    views = add(tmp_path / "b")
    assert (tuple(views.axis_labels), views.rgb, views.ndim) == (("u", "v", "y", "x"), True, 4)
    np.savez(tmp_path / "c.npz", mask=np.eye(5, dtype=bool))
    assert add(tmp_path / "c.npz").name == "c"


@pytest.mark.parametrize("name", ["a.zarr", "a.ome.zarr"])
def test_own_results_open_with_their_scale_units_and_axes(name, tmp_path):
    scale, units = (2.0, 0.5, 0.25), ("second", "micrometer", "micrometer")
    video = samples.video((4, 300, 320))
    denoise(video, kind="video", quality="draft", out=Output(tmp_path / name, scale, units))
    read = get_reader(str(tmp_path / name))
    ((data, arguments, _),) = read(str(tmp_path / name))
    assert arguments["name"] == "a"
    assert arguments["scale"] == scale
    assert arguments["units"] == units
    assert arguments["axis_labels"] == ("t", "y", "x")
    assert arguments["multiscale"] is (name == "a.ome.zarr")
    finest = data[0] if arguments["multiscale"] else data
    np.testing.assert_array_equal(finest, denoise(video, kind="video", quality="draft"))
