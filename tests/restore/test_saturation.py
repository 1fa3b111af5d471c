from __future__ import annotations

import numpy as np
import pytest

from napari_scsc import RestorationWarning, UserError, denoise, inpaint, samples


@pytest.fixture(scope="module")
def clipped():
    clean = (samples.tissue((96, 96)) * 4000).astype(np.uint16)
    level = int(np.quantile(clean, 0.97))
    return clean, np.minimum(clean, level).astype(np.uint16), level


@pytest.mark.parametrize("given", [True, "level"])
def test_fill_is_no_less_than_what_was_clipped(clipped, given):
    clean, image, level = clipped
    saturation = True if given is True else float(level)
    result = inpaint(image, kind="image", quality="fast", saturation=saturation)
    is_clipped = image >= level
    assert result[is_clipped].min() >= level
    assert (result[is_clipped] > level).any()
    np.testing.assert_array_equal(result[~is_clipped], image[~is_clipped])
    errors = (np.abs(x[is_clipped].astype(float) - clean[is_clipped]) for x in (result, image))
    assert next(errors).mean() < 1.2 * next(errors).mean()


def test_a_mask_and_saturation_go_together(clipped):
    _, image, level = clipped
    missing = np.zeros(image.shape, bool)
    missing[10:14, 20:60] = True
    result = inpaint(image, missing, kind="image", quality="draft", saturation=True)
    assert result[image >= level].min() >= level
    assert (result[missing & (image < level)] != image[missing & (image < level)]).any()


def test_a_type_that_holds_no_more_is_told_of(clipped):
    clean, _, _ = clipped
    image = np.clip(clean * (255 / np.quantile(clean, 0.97)), 0, 255).astype(np.uint8)
    assert (image == 255).any()
    with pytest.warns(RestorationWarning, match="holds nothing above"):
        result = inpaint(image, kind="image", quality="draft", saturation=True)
    assert result[image == 255].min() == 255


def test_denoise_takes_no_saturation(clipped):
    with pytest.raises(UserError, match="saturation"):
        denoise(clipped[1], kind="image", saturation=True)


def test_a_level_that_nothing_reaches_leaves_nothing_to_fill(clipped):
    with pytest.raises(UserError, match=r"saturation|missing"):
        inpaint(clipped[1], kind="image", saturation=1e6)
