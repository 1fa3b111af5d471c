from __future__ import annotations

import numpy as np
import pytest
from shared_noise import blurred, psnr, striped, white

from napari_scsc import UserError, denoise, estimate_noise, inpaint, samples
from napari_scsc.noise.model import Noise

pytestmark = pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")


def tissue(shape=(160, 160), seed=0):
    return samples.tissue(shape, seed).astype(np.float32)


def noisy_bands(levels, shared=0.0):
    clean = np.stack([tissue() * (0.5 + 0.1 * i) for i in range(len(levels))])
    noise = np.sqrt(1 - shared) * white(clean.shape) + np.sqrt(shared) * white(clean.shape[1:], 9)
    return clean, clean + np.array(levels, np.float32)[:, None, None] * noise.astype(np.float32)


def test_bands_have_noise_of_their_own():
    levels = [0.2] * 3 + [0.05] * 3
    clean, noisy = noisy_bands(levels)
    found = estimate_noise(noisy, kind="multispectral")
    assert [part.sigma for part in found.joint] == pytest.approx(levels, rel=0.2)
    result = denoise(noisy, kind="multispectral", quality="fast")
    mean = float(np.sqrt(np.mean(np.square(levels))))
    pooled = denoise(noisy, kind="multispectral", quality="fast", sigma=mean)
    assert psnr(clean, result) > psnr(clean, pooled) + 2


def test_bands_with_the_same_noise_share_one_model():
    _, noisy = noisy_bands([0.1] * 4)
    found = estimate_noise(noisy, kind="multispectral")
    assert not found.joint
    assert not found.shared
    assert found.sigma == pytest.approx(0.1, rel=0.06)


def test_a_grey_image_as_rgb_is_denoised_as_a_grey_one():
    clean = tissue()
    noisy = clean + np.float32(0.1) * white(clean.shape)
    found = estimate_noise(np.stack([noisy] * 3, -1), kind="rgb")
    assert np.array(found.shared).min() > 0.95
    result = denoise(np.stack([noisy] * 3, -1), kind="rgb", quality="fast")
    grey = denoise(noisy, kind="image", quality="fast")
    assert psnr(clean[..., None], result) > psnr(clean, grey) - 0.3


def test_samples_have_noise_of_their_own():
    levels = np.array([0.02, 0.2], np.float32)
    clean = np.stack([tissue(seed=0), tissue(seed=1)])
    noisy = clean + levels[:, None, None] * white(clean.shape)
    found = estimate_noise(noisy, kind="time-lapse")
    assert [part.sigma for part in found.samples] == pytest.approx(levels.tolist(), rel=0.1)
    result = denoise(noisy, kind="time-lapse", quality="fast")
    for i, sigma in enumerate(levels.tolist()):
        alone = denoise(noisy[i], kind="image", quality="fast", sigma=sigma)
        assert psnr(clean[i], result[i]) > psnr(clean[i], alone) - 0.4


def test_a_sample_without_noise_stays_beside_noisy_ones():
    clean = np.stack([tissue(seed=0), tissue(seed=1), np.zeros((160, 160), np.float32)])
    noisy = clean.copy()
    noisy[1] += np.float32(0.1) * white(clean[1].shape)
    noisy[0] += np.float32(0.02) * white(clean[0].shape)
    result = denoise(noisy, kind="time-lapse", quality="fast")
    np.testing.assert_allclose(result[2], 0, atol=1e-3)
    assert psnr(clean[1], result[1]) > psnr(clean[1], noisy[1]) + 5


def test_correlated_noise_is_found_and_taken_away():
    clean = tissue((200, 200))
    noisy = clean + np.float32(0.1) * blurred(clean.shape)
    found = estimate_noise(noisy, kind="image")
    assert found.correlated
    assert found.sigma == pytest.approx(0.1, rel=0.1)
    assert found.lags[0][1] == pytest.approx(0.6, abs=0.08)
    result = denoise(noisy, kind="image", quality="fast")
    as_white = denoise(noisy, kind="image", quality="fast", noise="white")
    assert psnr(clean, result) > psnr(clean, as_white) + 2


def test_stripes_are_found_and_taken_away():
    clean = tissue((200, 200))
    noisy = clean + np.float32(0.1) * striped(clean.shape, 0.5)
    found = estimate_noise(noisy, kind="image")
    assert found.rows == pytest.approx(0.05, rel=0.3)
    assert found.columns == 0
    assert found.sure
    turned = estimate_noise(noisy.T, kind="image")
    assert turned.columns == pytest.approx(found.rows, rel=0.05)
    result = denoise(noisy, kind="image", quality="fast")
    as_white = denoise(noisy, kind="image", quality="fast", noise="white")
    assert psnr(clean, result) > psnr(clean, as_white) + 1


@pytest.fixture(scope="module")
def still_video():
    return np.repeat(tissue((72, 72))[None], 32, axis=0)


def test_noise_along_time_is_found(still_video):
    noisy = still_video + np.float32(0.1) * blurred(still_video.shape, axes=[0])
    found = estimate_noise(noisy, kind="video")
    assert found.depth[1] == pytest.approx(0.6, abs=0.1)
    assert not found.lags


def test_a_fixed_pattern_is_found_and_taken_away(still_video):
    pattern = np.float32(0.06) * white(still_video.shape[1:], 5)
    noisy = still_video + pattern + np.float32(0.1) * white(still_video.shape)
    found = estimate_noise(noisy, kind="video")
    assert found.frames == pytest.approx(0.06, rel=0.2)
    result = denoise(noisy, kind="video", quality="draft")
    as_white = denoise(noisy, kind="video", quality="draft", noise="white")
    assert psnr(still_video, result) > psnr(still_video, as_white) + 1
    clean = estimate_noise(noisy - pattern, kind="video")
    assert not clean.frames
    assert not clean.correlated


def test_white_noise_is_called_white():
    for seed in range(3):
        clean = tissue(seed=seed)
        found = estimate_noise(clean + np.float32(0.1) * white(clean.shape, seed), kind="image")
        assert not found.correlated
        assert not found.lags
        assert not found.rows


def test_noise_of_an_empty_area_is_measured():
    clean = tissue((160, 160))
    clean[:60] = 0.1
    noisy = clean + np.float32(0.05) * blurred(clean.shape)
    empty = np.zeros(clean.shape, bool)
    empty[:60] = True
    found = estimate_noise(noisy, empty=empty, kind="image")
    assert found.sigma == pytest.approx(0.05, rel=0.06)
    assert found.lags[0][1] == pytest.approx(0.6, abs=0.05)
    assert found.sure
    with pytest.raises(UserError, match="marks nothing"):
        estimate_noise(noisy, empty=np.zeros(clean.shape, bool), kind="image")
    with pytest.raises(UserError, match="needed"):
        estimate_noise(noisy, empty=np.eye(160, dtype=bool), kind="image")


def test_noise_can_be_given_in_every_form():
    clean = tissue((96, 96))
    noisy = clean + np.float32(0.1) * white(clean.shape)
    by_sigma = denoise(noisy, kind="image", quality="draft", sigma=0.1)
    np.testing.assert_array_equal(
        denoise(noisy, kind="image", quality="draft", noise=0.1), by_sigma
    )
    given = Noise(0.1, 0.0, 0.01, correlated=False, sure=True, remarks=())
    np.testing.assert_array_equal(
        denoise(noisy, kind="image", quality="draft", noise=given), by_sigma
    )
    dark = 0.3 + np.float32(0.1) * white((4, 96, 96), 7)
    from_dark = denoise(noisy, kind="image", quality="draft", noise=dark)
    assert psnr(clean, from_dark) == pytest.approx(psnr(clean, by_sigma), abs=0.3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"noise": "pink"}, "must be one of"),
        ({"noise": 0.0}, "above 0"),
        ({"noise": -1.0}, "above 0"),
        ({"noise": [1, 2, 3]}, "dark frame"),
        ({"noise": np.full((40, 40), np.nan)}, "NaN"),
        ({"noise": 0.1, "sigma": 0.1}, "twice"),
        ({"noise": "white", "sigma": 0.1}, "so does sigma"),
        ({"outliers": "perhaps"}, "must be one of"),
    ],
)
def test_wrong_noise_is_refused(wrong, words):
    with pytest.raises(UserError, match=words):
        denoise(tissue((64, 64)), kind="image", **wrong)


def test_a_dark_frame_tells_read_noise_and_gain():
    rng = np.random.default_rng(0)
    photons = 200 * tissue((200, 200))
    image = 2.0 * rng.poisson(photons) + 100 + 5 * rng.standard_normal(photons.shape)
    dark = 100 + 5 * rng.standard_normal((3, 200, 200))
    found = Noise.from_json(_noise_by(image, dark).to_json())
    assert found.gain == pytest.approx(2, rel=0.25)
    assert found.variance(np.array(100.0)) == pytest.approx(25, rel=0.1)


def test_a_calibrated_camera_is_believed():
    rng = np.random.default_rng(0)
    clean = 2.0 * 60 * tissue() + 100
    image = 2.0 * rng.poisson((clean - 100) / 2) + 100 + 3 * rng.standard_normal(clean.shape)
    camera = Noise.of_camera(gain=2.0, black=100, read_noise=1.5)
    np.testing.assert_allclose(camera.variance(np.array([100.0, 200.0])), [9, 209])
    result = denoise(image, kind="image", quality="fast", noise=camera)
    found = denoise(image, kind="image", quality="fast")
    assert psnr(clean, result) > psnr(clean, found) - 0.3
    with pytest.raises(UserError, match="gain"):
        Noise.of_camera(gain=0)


def _noise_by(image, dark):
    from napari_scsc import iter_denoise

    updates = iter_denoise(image, kind="image", quality="draft", noise=dark)
    noise = next(updates).noise
    updates.close()
    return noise


def test_holes_in_an_image_with_correlated_noise_are_filled_and_denoised():
    clean = tissue((160, 160))
    noisy = clean + np.float32(0.05) * blurred(clean.shape)
    missing = np.zeros(clean.shape, bool)
    missing[60:64, 20:140] = True
    found = estimate_noise(noisy, missing, kind="image")
    result = inpaint(noisy, missing, kind="image", quality="fast", noise=found)
    as_white = inpaint(noisy, missing, kind="image", quality="fast", sigma=0.05)
    assert psnr(clean, result) > psnr(clean, as_white) + 1


def test_photons_are_counted():
    rng = np.random.default_rng(1)
    photons = 50 * tissue((200, 200)) + 2
    found = estimate_noise((3.0 * rng.poisson(photons) + 90).astype(np.float32), kind="image")
    assert found.gain == pytest.approx(3, rel=0.2)
    assert found.black == pytest.approx(90, abs=12)
    assert found.photons == pytest.approx(photons.mean(), rel=0.35)
    assert found.read_noise == 0
