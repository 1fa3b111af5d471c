from __future__ import annotations

import imageio.v3 as iio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layer_tools import RNG, greys, kind, read, read_one

from napari_scsc.io.formats import videos
from napari_scsc.io.formats.lenslets import lenslet_to_views
from napari_scsc.io.layers import get_reader

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
    monkeypatch.setattr(videos, "_MAX_VIDEO_BYTES", 200)
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
