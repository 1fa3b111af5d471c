"""The filters that come with the package, and the first look that they give."""

from __future__ import annotations

from importlib import resources

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
def test_filters_are_an_orthonormal_basis(kind):
    filters = general_bank(kind).filters
    flat = filters.reshape(len(filters), -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(len(flat)), atol=1e-5)


def test_they_are_small_and_say_where_they_come_from():
    folder = resources.files("napari_scsc") / "banks"
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) < 200_000
    for kind in GENERAL_BANK_KINDS:
        assert "synthetic" in general_bank(kind).info["learned_from"]


def test_other_kinds_are_refused_by_name():
    with pytest.raises(ValueError, match=r"image.*rgb.*video"):
        general_bank("light-field")


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
