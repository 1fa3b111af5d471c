"""The first look that the filters of the package give."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

from napari_scsc import denoise, general_bank, iter_denoise, samples
from napari_scsc.model.general_banks import GENERAL_BANK_KINDS

IMAGES = {
    "image": samples.noisy_tissue((96, 96)),
    "rgb": np.stack([samples.noisy_tissue((96, 96), seed) for seed in range(3)], axis=-1),
    "video": samples.video((12, 48, 48)),
}


def first_look(image, **options):
    updates = iter_denoise(image, quality="fast", **options)
    found = [u for u in updates if u.stage == "look"]
    updates.close()
    return found


@pytest.mark.parametrize("kind", GENERAL_BANK_KINDS)
def test_first_look_is_better_than_nothing_and_changes_nothing(kind):
    image = IMAGES[kind]
    (look,) = first_look(image, kind=kind)
    assert look.values.dtype == image.dtype
    assert look.values.shape == image[look.region].shape
    result = denoise(image, kind=kind, quality="fast")
    seen = denoise(image, kind=kind, quality="fast", progress=lambda _: None)
    np.testing.assert_array_equal(result, seen)
    difference = np.asarray(look.values, float) - result
    assert np.std(difference) < 0.7 * np.std(np.asarray(image, float) - result)


def test_every_frame_of_a_time_lapse_is_looked_at():
    looks = first_look(IMAGES["video"], kind="time-lapse")
    assert [u.region[0] for u in looks] == [slice(t, t + 1) for t in range(12)]


@pytest.mark.parametrize(
    ("image", "options"),
    [
        (samples.multispectral((8, 48, 48)), {"kind": "multispectral"}),  # no general filters
        (IMAGES["image"][:6, :6], {"kind": "image", "sigma": 3.0}),  # smaller than the filters
        (da.from_array(IMAGES["image"]), {"kind": "image"}),  # lazily
        (IMAGES["image"], {"kind": "image", "bank": general_bank()}),  # no need
    ],
    ids=["joint", "small", "lazy", "bank"],
)
def test_no_look_where_there_is_none(image, options):
    assert first_look(image, **options) == []
