"""The standard error of a result: its units, its place beside the result, and who tells it."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

from napari_scsc import UserError, denoise, inpaint, iter_denoise, samples
from napari_scsc.data.synthetic import tissue
from napari_scsc.io.filenames import partial_of
from napari_scsc.run import blocks

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")


def noisy_picture(shape=(96, 88), sigma=0.1, seed=0):
    clean = tissue(shape)
    noise = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return clean, clean + np.float32(sigma) * noise


def finish(image, **options):
    *_, last = iter_denoise(image, kind="image", quality="fast", **options)
    return last


def test_pair_has_the_result_that_comes_without_it():
    _, noisy = noisy_picture()
    result, error = denoise(noisy, kind="image", quality="fast", sigma=0.1, error=True)
    np.testing.assert_array_equal(result, denoise(noisy, kind="image", quality="fast", sigma=0.1))
    assert error.shape == noisy.shape
    assert error.dtype == np.float32
    assert (error > 0).all()
    assert (error <= np.float32(0.1)).all()


def test_nothing_is_told_that_was_not_asked_for():
    last = finish(noisy_picture()[1], sigma=0.1)
    assert last.error is None
    assert last.support is None


@pytest.mark.parametrize("quality", ["draft", "fast", "balanced"])
def test_truth_lies_within_two_errors(quality):
    clean, noisy = noisy_picture((128, 128))
    result, error = denoise(noisy, kind="image", quality=quality, sigma=0.1, error=True)
    away = np.abs(result - clean) / error
    assert (away < 1).mean() > 0.6
    assert (away < 2).mean() > 0.9


@pytest.mark.parametrize("factor", [0.01, 300.0])
def test_error_is_in_the_units_of_the_image(factor):
    _, noisy = noisy_picture()
    one = finish(noisy, sigma=0.1, error=True)
    other = finish(np.float32(factor) * noisy + 7, sigma=0.1 * factor, error=True)
    np.testing.assert_allclose(other.error, factor * one.error, rtol=0.02)


def test_error_of_photons_grows_with_brightness():
    rng = np.random.default_rng(0)
    levels = np.repeat([50.0, 800.0], 64) * np.ones((96, 1))
    last = finish(rng.poisson(levels).astype(np.uint16), error=True)
    assert last.noise.depends_on_signal
    assert last.result.dtype == np.uint16
    dark, bright = last.error[:, :48].mean(), last.error[:, -48:].mean()
    assert 2.5 < bright / dark < 6  # the root of 16, about


def test_error_tiled_is_about_that_of_the_whole(monkeypatch):
    _, noisy = noisy_picture((160, 150))
    whole = finish(noisy, sigma=0.1, error=True)
    monkeypatch.setattr("napari_scsc.restore.passes.MAX_TILE_MEMORY", 1 << 23)
    tiled = finish(noisy, sigma=0.1, error=True)
    assert np.median(np.abs(tiled.error / whole.error - 1)) < 0.05
    assert np.corrcoef(tiled.error.ravel(), whole.error.ravel())[0, 1] > 0.9
    assert np.corrcoef(tiled.support.ravel(), whole.support.ravel())[0, 1] > 0.9


def test_joint_values_have_their_own_error():
    rng = np.random.default_rng(0)
    colours = tissue((48, 48))[..., None] * np.float32([1, 0.6, 0.3])
    noisy = colours + np.float32(0.05) * rng.standard_normal(colours.shape).astype(np.float32)
    _, error = denoise(noisy, kind="rgb", sigma=0.05, quality="fast", error=True)
    assert error.shape == noisy.shape
    assert (error <= np.float32(0.05) * 1.001).all()


def test_image_without_noise_has_no_error():
    steps = np.repeat(np.arange(8, dtype=np.uint8), 8) * np.ones((48, 1), np.uint8)
    last = finish(steps, error=True)
    assert last.noise.sigma == 0
    assert not last.error.any()
    assert (last.support == 1).all()


@pytest.mark.parametrize("name", ["cells.zarr", "cells.ome.zarr", "cells.tif", "cells.npy"])
def test_file_of_the_error_lies_beside_that_of_the_result(name, tmp_path):
    _, noisy = noisy_picture()
    expected = finish(noisy, sigma=0.1, error=True)
    result, error = denoise(
        noisy, kind="image", quality="fast", sigma=0.1, error=True, out=tmp_path / name
    )
    names = {name, name.replace("cells.", "cells.error.")}
    assert {path.name for path in tmp_path.iterdir()} == names
    np.testing.assert_array_equal(np.asarray(result), expected.result)
    np.testing.assert_array_equal(np.asarray(error), expected.error)


def test_file_of_the_error_is_not_overwritten(tmp_path):
    (tmp_path / "cells.error.zarr").mkdir()
    with pytest.raises(UserError, match=r"cells\.error\.zarr.*is there already"):
        denoise(noisy_picture()[1], kind="image", error=True, out=tmp_path / "cells.zarr")


def test_both_files_appear_or_none(tmp_path, monkeypatch):
    """A run that breaks off in its last chunk shows neither; one that goes on has both."""
    _, noisy = noisy_picture()
    out = tmp_path / "cells.zarr"
    options = {"kind": "image", "quality": "fast", "sigma": 0.1, "error": True, "out": out}
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "blend_chunk", lambda *_: 1 / 0)
        with pytest.raises(Exception, match="division"):
            denoise(noisy, **options)
    assert [path.name for path in tmp_path.iterdir()] == [partial_of(out).name]
    denoise(noisy, **options, resume=True)
    assert {path.name for path in tmp_path.iterdir()} == {"cells.zarr", "cells.error.zarr"}


def test_run_that_was_killed_between_its_two_files_goes_on(tmp_path, monkeypatch):
    _, noisy = noisy_picture()
    out = tmp_path / "cells.zarr"
    options = {"kind": "image", "quality": "fast", "sigma": 0.1, "error": True, "out": out}
    with monkeypatch.context() as patch:
        patch.setattr("napari_scsc.run.partial.PartialFolder._remove", lambda _: None)
        denoise(noisy, **options)
        out.rename(partial_of(out) / "result.zarr")
    _, error = denoise(noisy, **options, resume=True)
    np.testing.assert_array_equal(np.asarray(error), finish(noisy, sigma=0.1, error=True).error)
    assert {path.name for path in tmp_path.iterdir()} == {"cells.zarr", "cells.error.zarr"}


def test_pair_of_a_dask_array_is_lazy():
    _, noisy = noisy_picture()
    pair = denoise(
        da.from_array(noisy, chunks=48), kind="image", quality="fast", sigma=0.1, error=True
    )
    expected = finish(noisy, sigma=0.1, error=True)
    for found, whole in zip(pair, (expected.result, expected.error), strict=True):
        assert isinstance(found, da.Array)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found.compute(), whole)


def test_other_tasks_and_methods_say_who_tells_it():
    image = samples.tissue((48, 48))
    with pytest.raises(UserError, match=r"error is not known of inpaint.*denoise\("):
        inpaint(image, image > 0.2, kind="image", error=True)
    with pytest.raises(UserError, match="error is not known of denoise with the method 'scsc-pap"):
        denoise(image, kind="image", method="scsc-paper", error=True)
