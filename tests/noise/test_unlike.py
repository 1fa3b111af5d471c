"""Frames, samples and channels whose noise differs, and values that are far off."""

from __future__ import annotations

import json

import numpy as np
import pytest
import zarr
from shared_noise import white

from napari_scsc import UserError, denoise, estimate_noise, inpaint, iter_denoise, samples
from napari_scsc.cli.info import noise_facts
from napari_scsc.noise.model import Noise
from napari_scsc.noise.rough_levels import classes_of, rough_level

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")


def tissue(side=128, seed=0):
    return samples.tissue((side, side), seed).astype(np.float32)


def error(clean, values):
    return float(np.sqrt(np.mean((np.asarray(clean, float) - values) ** 2)))


def noisy_video(levels):
    clean = samples.video((len(levels), 64, 64), clean=True).astype(np.float32)
    clean /= clean.std()
    return clean, clean + np.float32(levels)[:, None, None] * white(clean.shape)


def test_frames_of_a_video_have_noise_of_their_own():
    levels = np.repeat([0.05, 0.5], 8)
    clean, noisy = noisy_video(levels)
    found = estimate_noise(noisy, kind="video")
    assert found.frame_levels == pytest.approx(levels, rel=0.1)
    assert found.sigma == pytest.approx(np.sqrt(np.mean(levels**2)), rel=0.05)
    result = denoise(noisy, kind="video", quality="fast")
    for part in (np.s_[:8], np.s_[8:]):
        alone = denoise(noisy[part], kind="video", quality="fast")
        assert error(clean[part], result[part]) < 1.1 * error(clean[part], alone)


@pytest.mark.parametrize("noisy_ones", [np.s_[1::2], np.s_[3::8]], ids=["in turn", "a few"])
def test_noisy_frames_among_others_are_restored_as_they_would_be_alone(noisy_ones):
    levels = np.full(16, 0.05)
    levels[noisy_ones] = 0.5
    clean, noisy = noisy_video(levels)
    result = denoise(noisy, kind="video", quality="fast")
    for part in (levels < 0.1, levels > 0.1):
        alone = denoise(noisy[part], kind="video", quality="fast")
        assert error(clean[part], result[part]) < 1.1 * error(clean[part], alone)


def test_a_noisy_frame_has_an_error_and_a_support_of_its_own(tmp_path):
    levels = np.full(9, 0.05)
    levels[4] = 0.5
    _, noisy = noisy_video(levels)
    *_, whole = iter_denoise(noisy, kind="video", quality="draft", error=True)
    out = tmp_path / "out.zarr"
    *_, written = iter_denoise(noisy, kind="video", quality="draft", error=True, out=out)
    np.testing.assert_array_equal(np.asarray(written.result), whole.result)
    np.testing.assert_array_equal(np.asarray(written.error), whole.error)
    assert np.isfinite(whole.error).all()
    assert (whole.support >= 1).all()
    others = np.delete(whole.error, 4, axis=0)
    assert np.median(whole.error[4]) > 2 * np.median(others)


def test_frames_that_hide_their_noise_do_not_hide_that_of_others():
    _, noisy = noisy_video(np.repeat([0.0, 0.5], 8))
    rng = np.random.default_rng(3)
    noisy[:8] += rng.choice([-0.1, 0.1], (1, *noisy.shape[1:])).repeat(8, axis=0)
    quiet = estimate_noise(noisy[:8], kind="video")
    assert not quiet.sure
    found = estimate_noise(noisy, kind="video")
    assert found.frame_levels[8:] == pytest.approx([0.5] * 8, rel=0.1)
    assert max(found.frame_levels[:8]) < 0.2


def test_frames_on_disk_between_unlike_ones_are_looked_at(tmp_path):
    levels = np.full(200, 0.05)
    levels[[0, 66, 130, 131, 199]] = 0.5
    noisy = np.tile(noisy_video(np.full(1, 1e-6))[0], (200, 1, 1))
    noisy = noisy + np.float32(levels)[:, None, None] * white(noisy.shape)
    image = zarr.create_array(str(tmp_path / "in.zarr"), data=noisy, chunks=(8, 64, 64))
    looked_at = set(np.linspace(0, 199, 64).astype(int))
    assert {0, 66, 199} < looked_at  # what is between these and their neighbours is not
    found = np.array(estimate_noise(image, kind="video").frame_levels)
    known = np.isin(np.arange(200), [0, 66, 199]) | (levels < 0.1)
    np.testing.assert_allclose(found[known], levels[known], rtol=0.15)


def test_frames_with_the_same_noise_share_one_level():
    _, noisy = noisy_video(np.full(12, 0.2))
    assert not estimate_noise(noisy, kind="video").frame_levels


def test_levels_of_frames_are_those_of_that_many_frames():
    _, noisy = noisy_video(np.repeat([0.05, 0.5], 4))
    found = estimate_noise(noisy, kind="video")
    with pytest.raises(UserError, match="levels of 8 frames, but the image has 6"):
        denoise(noisy[:6], kind="video", quality="draft", noise=found)


def test_a_few_noisy_frames_of_many_are_found():
    levels = np.where(np.arange(40) % 5 == 4, 0.2, 0.02).astype(np.float32)
    clean = np.stack([tissue(64, seed % 3) for seed in range(40)])
    noisy = clean + levels[:, None, None] * white(clean.shape)
    found = estimate_noise(noisy, kind="time-lapse")
    assert [part.sigma for part in found.samples] == pytest.approx(levels.tolist(), rel=0.25)
    told = json.loads(json.dumps(found.to_json()))
    assert len(told["samples"]) < 40
    assert Noise.from_json(told) == found
    result = denoise(noisy, kind="time-lapse", quality="draft")
    for number in (3, 4, 39):
        alone = denoise(noisy[number], kind="image", quality="draft")
        assert error(clean[number], result[number]) < 1.15 * error(clean[number], alone)


@pytest.mark.parametrize("seeds", [(0, 1), (0, 0)], ids=["two scenes", "one scene"])
@pytest.mark.parametrize(
    ("levels", "factor"),
    [((0.05, 0.2), 1), ((0.1, 0.1), 1000)],
    ids=["unlike noise", "unlike size"],
)
def test_a_channel_does_not_drag_the_other(levels, factor, seeds):
    clean = np.stack([tissue(seed=seed) for seed in seeds])
    noisy = clean + np.float32(levels)[:, None, None] * white(clean.shape)
    for image in (clean, noisy):
        image[1] *= factor
    result = denoise(noisy, kind="multispectral", quality="fast")
    for i in range(2):
        alone = denoise(noisy[i], kind="image", quality="fast")
        assert error(clean[i], result[i]) < 1.1 * error(clean[i], alone)


def test_a_clean_channel_stays_to_the_bit_beside_a_noisy_one():
    clean = np.stack([tissue(seed=0), tissue(seed=1)])
    noisy = clean.copy()
    noisy[1] += np.float32(0.1) * white(noisy[1].shape)
    found = estimate_noise(noisy, kind="multispectral")
    assert found.joint[0].sigma == 0
    result = denoise(noisy, kind="multispectral", quality="fast")
    np.testing.assert_array_equal(result[0], noisy[0])
    alone = denoise(noisy[1], kind="image", quality="fast")
    assert error(clean[1], result[1]) < 1.1 * error(clean[1], alone)


def test_holes_of_a_clean_channel_are_filled_nevertheless():
    clean = np.stack([tissue(96), tissue(96)])
    noisy = clean.copy()
    noisy[1] += np.float32(0.1) * white(noisy[1].shape)
    holes = np.random.default_rng(0).random(noisy.shape) < 0.1
    broken = np.where(holes, 99, noisy).astype(np.float32)
    noise = estimate_noise(noisy, kind="multispectral")
    assert noise.joint[0].sigma == 0
    result = inpaint(broken, holes, kind="multispectral", quality="draft", noise=noise)
    np.testing.assert_array_equal(result[0][~holes[0]], noisy[0][~holes[0]])
    assert error(clean[0], result[0]) < 0.05


@pytest.mark.parametrize("value", [1e6, 1e9, -1e9])
def test_a_value_far_off_hides_no_noise(value):
    clean = tissue()
    noisy = clean + np.float32(0.1) * white(clean.shape)
    alone = denoise(noisy, kind="image", quality="fast")
    noisy[64, 64] = value
    found = estimate_noise(noisy, kind="image")
    assert found.sigma == pytest.approx(0.1, rel=0.05)
    assert "far beyond" in str(found.remarks[-1])
    result = denoise(noisy, kind="image", quality="fast")
    assert result[64, 64] == np.float32(value)
    away = np.s_[:50]
    assert error(clean[away], result[away]) < 1.05 * error(clean[away], alone[away])
    filled = denoise(noisy, kind="image", quality="fast", outliers="fill")
    assert abs(filled[64, 64] - clean[64, 64]) < 0.2


def test_rough_levels_follow_the_noise():
    known = np.ones((64, 64), bool)
    assert rough_level(3 * white((64, 64)), known) == pytest.approx(3, rel=0.1)
    assert np.isnan(rough_level(white((64, 64)), ~known))


def test_like_levels_are_of_one_class():
    numbers = classes_of(np.array([1, 1.05, np.nan, 2, 2.1, 1.02]))
    assert numbers.tolist() == [0, 0, -1, numbers[3], numbers[3], 0]
    assert numbers[3] > 0


def test_levels_of_each_are_told():
    _, noisy = noisy_video(np.repeat([0.05, 0.5], 4))
    found = estimate_noise(noisy, kind="video")
    assert found.levels == found.frame_levels
    assert noise_facts(found)["sigma_of_frames"] == found.frame_levels
