from __future__ import annotations

import dask.array as da
import imageio.v3 as iio
import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from layer_tools import RNG, greys, kind, read, read_one, write_images

from napari_scsc.io.filenames import natural_key
from napari_scsc.io.formats import image_folders, open_file, pictures
from napari_scsc.io.layers import get_reader


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12, unique=True), st.text(max_size=3))
@settings(max_examples=20)
def test_natural_order_is_that_of_the_numbers(numbers, head):
    names = sorted((f"{head}_{n}.png" for n in numbers), key=natural_key)
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
    with pytest.raises(ValueError, match="no one image"):
        open_file(tmp_path)


def test_bands_in_tiff_have_the_scale_of_the_first(tmp_path):
    how = {"resolution": (4, 2), "imagej": True, "metadata": {"unit": "um"}}
    for i, image in enumerate(greys(3)):
        tifffile.imwrite(tmp_path / f"a_ms_{i}.tif", image, **how)
    _, arguments = read_one(tmp_path)
    assert arguments["scale"] == (1, 0.5, 0.25)
    assert arguments["units"] == ("pixel", "micrometer", "micrometer")


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
    monkeypatch.setattr(image_folders.ImageFiles, "max_bytes_in_viewer", 100)
    picture = pictures.read_picture
    monkeypatch.setattr(pictures, "read_picture", lambda f: opened.append(f.name) or picture(f))
    data, arguments = read_one(tmp_path / "a")
    assert isinstance(data, da.Array)
    assert (data.shape, data.dtype, opened) == ((3, 3, 6, 8), np.uint16, [])
    np.testing.assert_array_equal(data[1, 2].compute(scheduler="sync"), images[5])
    assert opened == ["view_1_2.png"]
    assert kind(arguments) == "light-field"
