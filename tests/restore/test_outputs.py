"""Every method ends in every output, with noise and without: the result is the same."""

from __future__ import annotations

import json

import dask.array as da
import numpy as np
import pytest
import zarr
from reference_cases import holes, noisy

from napari_scsc import Output, denoise, inpaint, iter_denoise, iter_inpaint, learn
from napari_scsc.learning import loop
from napari_scsc.restore.methods import METHODS
from napari_scsc.run.updates import BlocksDone, Finished, NoiseFound, TileLearned

FILES = ("a.npy", "a.tif", "a.ome.tif", "a.zarr", "a.ome.zarr")
ARRAYS = ("new array", "numpy array", "zarr array", "dask array")

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")


def noiseless():
    """A ramp, in which no noise is found."""
    return np.tile(np.linspace(0, 1, 60, dtype=np.float32), (60, 1))


def run(function, image, where, folder, *arguments, **options):
    """The result, restored into an array or a file of that name."""
    out = None
    if where == "numpy array":
        out = np.zeros(image.shape, image.dtype)
    elif where == "zarr array":
        out = zarr.create_array(folder / "out.zarr", shape=image.shape, dtype=image.dtype)
    elif where == "dask array":
        image = da.from_array(image, chunks=25)
    elif where != "new array":
        out = Output(folder / where, scale=(0.5, 0.5), units=("um", "um"))
    result = function(image, *arguments, kind="image", out=out, n_jobs=1, **options)
    if where in ("numpy array", "zarr array"):
        assert result is out
    if where == "dask array":
        assert isinstance(result, da.Array)
    if where in FILES:
        assert (folder / where).exists()
        assert not (folder / f"{where}.partial").exists()
    return np.asarray(result)


def list_until_blocks(updates):
    """The updates until the first blocks are reported; then the run breaks off."""
    seen = []
    for update in updates:
        seen.append(update)
        if isinstance(update, BlocksDone):
            break
    updates.close()
    return seen


@pytest.mark.parametrize("where", ARRAYS + FILES)
@pytest.mark.parametrize("method", METHODS)
def test_result_does_not_depend_on_where_it_goes(method, where, tmp_path):
    image = noisy("image")
    options = {"method": method, "quality": "fast"}
    expected = denoise(image, kind="image", n_jobs=1, **options)
    np.testing.assert_array_equal(run(denoise, image, where, tmp_path, **options), expected)


@pytest.mark.parametrize("where", ["new array", "a.npy", "a.zarr"])
@pytest.mark.parametrize("method", METHODS)
def test_filled_image_does_not_depend_on_where_it_goes(method, where, tmp_path):
    image, missing = noisy("image"), holes("image")
    options = {"method": method, "quality": "draft"}
    expected = inpaint(image, missing, kind="image", n_jobs=1, **options)
    found = run(inpaint, image, where, tmp_path, missing, **options)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("where", ARRAYS + FILES)
@pytest.mark.parametrize("method", METHODS)
def test_image_without_noise_stays_as_it_is(method, where, tmp_path):
    image = noiseless()
    found = run(denoise, image, where, tmp_path, method=method)
    np.testing.assert_array_equal(found, image)


def test_image_without_noise_is_not_learned_from():
    first, *_, last = iter_denoise(noiseless(), kind="image")
    assert isinstance(first, NoiseFound)
    assert first.noise.sigma == 0
    assert isinstance(last, Finished)
    assert last.bank is None


def test_lazy_image_without_noise_is_copied_block_by_block():
    reads = []

    def note(block):
        reads.append(block.size)
        return block

    ramp = np.tile(np.linspace(0, 1, 2400, dtype=np.float32), (2400, 1))
    image = da.from_array(ramp, chunks=400).map_blocks(note, meta=ramp[:0, :0])
    result = denoise(image, kind="image")
    assert isinstance(result, da.Array)
    reads.clear()
    np.testing.assert_array_equal(result[:10, :10], ramp[:10, :10])
    assert 0 < sum(reads) < ramp.size / 2


@pytest.mark.parametrize("method", METHODS)
def test_resumed_run_does_not_learn_again(method, tmp_path, monkeypatch):
    image = noisy("image")
    options = {"kind": "image", "method": method, "quality": "fast", "n_jobs": 1}
    expected = denoise(image, **options)
    updates = list_until_blocks(iter_denoise(image, out=tmp_path / "b.npy", **options))
    assert any(isinstance(u, TileLearned) for u in updates)

    def refuse(*_arguments, **_options):
        raise AssertionError("it learns again")

    monkeypatch.setattr(loop, "_learn_batches", refuse)
    result = denoise(image, out=tmp_path / "b.npy", resume=True, **options)
    np.testing.assert_array_equal(np.asarray(result), expected)


def test_resumed_run_of_inpainting_does_not_learn_again(tmp_path, monkeypatch):
    image, missing = noisy("image"), holes("image")
    options = {"kind": "image", "quality": "draft", "n_jobs": 1, "out": tmp_path / "a.npy"}
    updates = list_until_blocks(iter_inpaint(image, missing, **options))
    assert any(isinstance(u, TileLearned) for u in updates)
    monkeypatch.setattr(loop, "_learn_batches", None)
    result = inpaint(image, missing, resume=True, **options)
    assert np.asarray(result).shape == image.shape


def test_filters_that_were_given_are_kept_in_no_other_form(tmp_path):
    image = noisy("image")
    bank = learn(image, kind="image")
    *_, last = iter_denoise(image, kind="image", bank=bank, quality="draft", out=tmp_path / "a.npy")
    assert last.bank.id == bank.id


def test_request_in_the_folder_says_what_it_is(tmp_path):
    updates = iter_denoise(noisy("image"), kind="image", quality="draft", out=tmp_path / "a.npy")
    next(updates)
    request = json.loads((tmp_path / "a.npy.partial" / "request.json").read_text())
    updates.close()
    assert request["task"] == "denoise"
    assert request["quality"] == "draft"
