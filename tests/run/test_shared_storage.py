"""A result is never written to what is read for it."""

from __future__ import annotations

import os

import dask.array as da
import numpy as np
import pytest
import zarr

from napari_scsc import denoise, inpaint, samples

OPTIONS = {"kind": "image", "quality": "draft", "sigma": 0.1, "n_jobs": 1}


@pytest.fixture
def image():
    return samples.noisy_tissue((64, 60)).astype(np.float32)


def refuses(image, out, before, **options):
    with pytest.raises(ValueError, match=r"out is .*image"):
        denoise(image, out=out, **OPTIONS, **options)
    np.testing.assert_array_equal(np.asarray(image[:, :]), before)


def test_array_is_not_its_own_result(image):
    refuses(image, image, image.copy())


def test_overlapping_views_are_refused_and_interleaved_ones_are_not(image):
    both = np.concatenate([image, image])
    refuses(both[:64], both[10:74], image)
    refuses(both[:64], both[:64][::-1], image)
    rows = np.stack([image, image], axis=1)
    expected = denoise(image, **OPTIONS)
    denoise(rows[:, 0], out=rows[:, 1], **OPTIONS)
    np.testing.assert_array_equal(rows[:, 1], expected)
    np.testing.assert_array_equal(rows[:, 0], image)


def test_mask_is_not_the_result(image):
    missing = np.zeros(image.shape, np.float32)
    missing[10:12, 10] = 1
    with pytest.raises(ValueError, match=r"out is .*image"):
        inpaint(image, missing, out=missing, kind="image", quality="draft")
    assert missing.sum() == 2


def test_maps_of_one_file_are_known_by_whatever_name(image, tmp_path):
    np.save(tmp_path / "a.npy", image)
    os.symlink(tmp_path / "a.npy", tmp_path / "soft.npy")
    os.link(tmp_path / "a.npy", tmp_path / "hard.npy")
    source = np.load(tmp_path / "a.npy", mmap_mode="r")
    for name in ("a.npy", "soft.npy", "hard.npy"):
        refuses(source, np.load(tmp_path / name, mmap_mode="r+"), image)
        refuses(np.asarray(source), np.load(tmp_path / name, mmap_mode="r+")[...], image)


def test_parts_of_one_file_are_told_apart(image, tmp_path):
    both = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (2, *image.shape))
    both[0] = image
    denoise(both[0], out=both[1], **OPTIONS)
    np.testing.assert_array_equal(both[1], denoise(image, **OPTIONS))


def test_zarr_is_not_its_own_result(image, tmp_path):
    array = zarr.create_array(str(tmp_path / "a.zarr"), data=image, chunks=(32, 32))
    os.symlink(tmp_path / "a.zarr", tmp_path / "b.zarr")
    again = zarr.open_array(str(tmp_path / "b.zarr"), mode="r+")
    for source in (array, da.from_zarr(array), da.from_zarr(array).map_blocks(lambda b: b + 0)):
        refuses(source, again, image)
    in_memory = zarr.create_array(zarr.storage.MemoryStore(), data=image, chunks=(32, 32))
    refuses(in_memory, in_memory, image)


def test_arrays_of_one_group_are_told_apart(image, tmp_path):
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    source = group.create_array("raw", data=image, chunks=(32, 32))
    out = group.create_array("clean", shape=image.shape, dtype=image.dtype, chunks=(32, 32))
    denoise(source, out=out, **OPTIONS)
    np.testing.assert_array_equal(out[:], denoise(image, **OPTIONS))


class Window:
    """What some library might make of an array."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim

    def __getitem__(self, region):
        return self.array[region]


def test_what_looks_at_the_result_from_afar_is_refused(image):
    refuses(Window(image), image, image.copy())
    refuses(da.from_array(Window(image), chunks=32, name=False) * 1, image, image.copy())


def test_result_does_not_go_into_the_folder_of_its_image(image, tmp_path):
    zarr.create_array(str(tmp_path / "in.zarr"), data=image, chunks=(32, 32))
    source = zarr.open_array(str(tmp_path / "in.zarr"), mode="r")
    os.symlink(tmp_path / "in.zarr", tmp_path / "link")
    names = {p.name for p in (tmp_path / "in.zarr").iterdir()}
    for folder in ("in.zarr", "link"):
        refuses(source, tmp_path / folder / "clean.zarr", image)
    assert {p.name for p in (tmp_path / "in.zarr").iterdir()} == names


@pytest.mark.parametrize("out", [5, b"a.npy", [[1.0]], np.float32(1)])
def test_what_nothing_can_be_written_to_fails_before_the_work(image, out):
    began = []
    with pytest.raises(TypeError, match="out must be a path or an array"):
        denoise(image, out=out, progress=began.append, **OPTIONS)
    assert not began


def test_read_only_result_fails_before_the_work(image, tmp_path):
    zarr.create_array(str(tmp_path / "a.zarr"), shape=image.shape, dtype="f4", chunks=(32, 32))
    fixed = np.zeros_like(image)
    fixed.flags.writeable = False
    began = []
    for out in (fixed, zarr.open_array(str(tmp_path / "a.zarr"), mode="r")):
        with pytest.raises(ValueError, match="out can only be read"):
            denoise(image, out=out, progress=began.append, **OPTIONS)
    assert not began
