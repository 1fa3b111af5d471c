"""The brightness of regions before and after: figures by hand, and verdicts that they follow."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from napari_scsc import Noise, UserError, audit, denoise, estimate_noise, samples

EVEN = Noise(2.0, 0.0, 4.0, correlated=False, sure=True, remarks=())
PHOTONS = Noise(3.0, 0.5, 1.0, correlated=False, sure=True, remarks=())


def squares():
    """Two regions of 100 and of 6 pixels."""
    labels = np.zeros((20, 20), np.uint8)
    labels[:10, :10] = 3
    labels[12:14, 12:15] = 1
    return labels


def test_figures_are_those_by_hand():
    before = np.full((20, 20), 10.0, np.float32)
    before[0, 0] = 50
    after = np.full((20, 20), 10.5, np.float32)
    error = np.full((20, 20), 0.25, np.float32)
    small, large = audit(before, after, squares(), EVEN, error)
    assert (small.label, small.n_pixels, small.verdict) == (1, 6, "too few pixels")
    assert (large.label, large.n_pixels) == (3, 100)
    assert large.sum_before == pytest.approx(1040)
    assert large.sum_after == pytest.approx(1050)
    assert large.mean_before == pytest.approx(10.4)
    assert large.mean_after == pytest.approx(10.5)
    assert large.difference == pytest.approx(0.1)
    assert large.standard_error == pytest.approx(0.2)  # 2 / sqrt(100)
    assert large.difference_in_errors == pytest.approx(0.5)
    assert large.pixel_error == pytest.approx(0.25)
    assert large.verdict == "preserved"


def test_noise_of_photons_is_that_of_the_pixels():
    before = np.full((20, 20), 38.0)
    before[:10, :5] = 6.0
    _, large = audit(before, before, squares(), PHOTONS)
    # Variances 20 and 4, of 50 pixels each.
    assert large.standard_error == pytest.approx(np.sqrt(12 / 100))
    assert large.difference_in_errors == 0


@pytest.mark.parametrize(("shift", "verdict"), [(0.39, "preserved"), (-0.41, "changed")])
def test_mean_is_preserved_within_two_standard_errors(shift, verdict):
    before = np.full((20, 20), 10.0)
    _, large = audit(before, before + shift, squares(), EVEN)
    assert large.verdict == verdict
    assert large.pixel_error is None


def test_without_noise_every_change_counts():
    none = Noise(0.0, 0.0, 0.0, correlated=False, sure=True, remarks=())
    before = np.full((20, 20), 10.0)
    assert audit(before, before, squares(), none)[1].verdict == "preserved"
    assert audit(before, before + 1e-3, squares(), none)[1].verdict == "changed"


def test_table_has_a_row_a_region(tmp_path):
    before = np.full((20, 20), 10.0)
    table = audit(before, before, squares(), EVEN)
    text = table.to_csv(tmp_path / "audit.csv")
    rows = list(csv.DictReader((tmp_path / "audit.csv").read_text().splitlines()))
    assert text.splitlines()[0].startswith("label,n_pixels,mean_before,mean_after")
    assert [row["label"] for row in rows] == ["1", "3"]
    assert [row["verdict"] for row in rows] == ["too few pixels", "preserved"]
    assert len(table) == 2
    assert table[:1] == (table[0],)


def test_no_regions_make_an_empty_table():
    before = np.full((20, 20), 10.0)
    table = audit(before, before, np.zeros((20, 20), int), EVEN)
    assert len(table) == 0
    assert table.to_csv().count("\n") == 1


@pytest.mark.parametrize("name", ["after", "labels", "error"])
def test_other_shapes_are_refused_by_name(name):
    arrays = {part: np.ones((8, 8), int) for part in ("before", "after", "labels", "error")}
    arrays[name] = np.ones((8, 9), int)
    with pytest.raises(UserError, match=rf"{name} has the shape \(8, 9\)"):
        audit(noise=EVEN, **arrays)


def test_labels_are_whole_numbers():
    image = np.ones((8, 8))
    with pytest.raises(UserError, match="labels must hold whole numbers"):
        audit(image, image, image, EVEN)


@pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")
def test_denoising_preserves_the_brightness_of_regions():
    noisy = samples.noisy_tissue((128, 128))
    tiles = np.arange(1, 17).reshape(4, 4).repeat(32, 0).repeat(32, 1)
    table = audit(noisy, denoise(noisy, kind="image"), tiles, estimate_noise(noisy, kind="image"))
    preserved = [region.verdict == "preserved" for region in table]
    assert np.mean(preserved) > 0.9
