from __future__ import annotations

import functools
import threading
import warnings

import numpy as np
import pytest
from cancelling import CallingCancellation
from scipy import ndimage

from napari_scsc import LatticeSCSC, RestorationWarning, inpaint, iter_inpaint, samples
from napari_scsc.restore import fill
from napari_scsc.run.updates import Finished, NoiseFound, RegionRestored, TileLearned

inpaint_alone = functools.partial(inpaint, n_jobs=1, quality="fast")


def psnr(a, b):
    return -10 * np.log10(np.mean((np.asarray(a, np.float64) - np.asarray(b, np.float64)) ** 2))


def white(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@functools.cache
def tissue(seed):
    return samples.tissue(seed=seed).astype(np.float64)


def picture(shape, seed=0):
    """The middle of a large picture: small ones have little in them."""
    return tissue(seed)[60 : 60 + shape[0], 70 : 70 + shape[1]]


def bands(n, shape=(36, 40)):
    """A cube of that many mixtures of three pictures."""
    parts = np.stack([picture(shape, i) for i in range(3)])
    mixtures = np.random.default_rng(1).uniform(0, 1, (n, 3))
    return np.tensordot(mixtures / mixtures.sum(axis=1, keepdims=True), parts, axes=1)


def moving(n, shape=(32, 32)):
    large = picture((shape[0] + n, shape[1] + n))
    return np.stack([large[i : i + shape[0], i : i + shape[1]] for i in range(n)])


def views(n=3, shape=(32, 32)):
    """Views of a plane from n x n places."""
    large = picture((shape[0] + n, shape[1] + n))
    return np.array(
        [[large[u : u + shape[0], v : v + shape[1]] for v in range(n)] for u in range(n)]
    )


def missing_at_random(shape, share=0.5, seed=0):
    return np.random.default_rng([seed, 1]).random(shape) < share


def nearest(x, missing):
    places = ndimage.distance_transform_edt(missing, return_distances=False, return_indices=True)
    return x[tuple(places)]


def first_guess(x, missing, n_joint):
    """Linear interpolation along the axes of (*joint, *shift): the rounds begin with it."""
    shift = x.shape[n_joint:]
    values = np.where(missing, 0, x).reshape(-1, *shift).astype(np.float32)
    known = ~missing.reshape(-1, *shift)
    errors = fill.AxisErrors.of([(values, known)])
    return fill.first_fill(values, known, errors).reshape(x.shape)


def lines(shape, every=6, width=1, axis=1):
    missing = np.zeros(shape, bool)
    along = np.moveaxis(missing, axis, 0)
    for offset in range(width):
        along[2 + offset :: every] = True
    return missing


def scratches(shape, seed=0):
    """Thin lines in all directions."""
    rng = np.random.default_rng(seed)
    missing = np.zeros(shape, bool)
    for _ in range(6):
        a, b = rng.uniform(0, 1, (2, 2)) * np.array(shape)
        for t in np.linspace(0, 1, 3 * max(shape)):
            r, c = np.rint(a + t * (b - a)).astype(int)
            missing[max(0, r) : r + 2, max(0, c) : c + 2] = True
    return missing


# --- holes are filled ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holes", "quality", "gain"),
    [
        ("random", "fast", 2.5),
        ("random", "balanced", 4),
        ("columns", "fast", 2),
        ("rows", "fast", 0.2),
        ("rows", "balanced", 3),
        ("stripes", "fast", 0.7),
        ("scratches", "fast", 3),
    ],
)
def test_picture_is_filled_better_than_by_interpolation(holes, quality, gain):
    x = picture((64, 60))
    missing = {
        "random": lambda: missing_at_random(x.shape),
        "columns": lambda: lines(x.shape),
        "rows": lambda: lines(x.shape, axis=0),
        "stripes": lambda: lines(x.shape, 12, 3),
        "scratches": lambda: scratches(x.shape),
    }[holes]()
    spoiled = np.where(missing, 0.0, x)
    result = inpaint_alone(spoiled, missing, quality=quality)
    np.testing.assert_array_equal(result[~missing], x[~missing])
    ours = psnr(result[missing], x[missing])
    assert ours > psnr(nearest(x, missing)[missing], x[missing]) + gain + 3
    assert ours > psnr(first_guess(x, missing, 0)[missing], x[missing]) + gain


@pytest.mark.parametrize(
    ("kind", "x", "n_joint", "gain"),
    [
        ("video", moving(8), 0, 3),
        ("stack", ndimage.gaussian_filter(moving(7), (1, 0, 0)), 0, 3),
        ("multispectral", bands(8), 1, 5),
        ("light-field", views(), 2, 1),
    ],
)
def test_every_kind_is_filled_better_than_the_first_guess(kind, x, n_joint, gain):
    missing = missing_at_random(x.shape)
    result = inpaint_alone(np.where(missing, np.nan, x), kind=kind)
    np.testing.assert_array_equal(result[~missing], x[~missing])
    guess = first_guess(x, missing, n_joint)
    assert psnr(result[missing], x[missing]) > psnr(guess[missing], x[missing]) + gain


def test_colours_are_filled_from_each_other():
    x = np.moveaxis(bands(3), 0, -1)
    missing = missing_at_random(x.shape)
    result = inpaint_alone(np.where(missing, 0, x), missing, kind="rgb")
    alone = np.stack(
        [inpaint_alone(np.where(missing, 0, x)[..., c], missing[..., c]) for c in range(3)], -1
    )
    assert psnr(result[missing], x[missing]) > psnr(alone[missing], x[missing]) + 1


def test_frames_of_a_time_lapse_are_filled_one_by_one():
    x = np.stack([picture((40, 44), i) for i in range(3)])
    missing = missing_at_random(x.shape)
    result = inpaint_alone(np.where(missing, np.nan, x), kind="time-lapse")
    for frame, there, holes in zip(result, x, missing, strict=True):
        guess = first_guess(there, holes, 0)
        assert psnr(frame[holes], there[holes]) > psnr(guess[holes], there[holes]) + 1


def test_dropped_frame_of_a_video_is_filled_from_its_neighbours():
    x = np.stack([ndimage.gaussian_filter(f, 1) for f in moving(9)])
    missing = np.zeros(x.shape, bool)
    missing[4] = True
    result = inpaint_alone(np.where(missing, np.nan, x), kind="video")
    np.testing.assert_array_equal(result[~missing], x[~missing])
    between = 0.5 * (x[3] + x[5])
    assert psnr(result[4], x[4]) > psnr(between, x[4]) - 0.5
    assert psnr(result[4], x[4]) > psnr(x[3], x[4]) + 2


def test_dropped_band_is_filled_smoothly_along_the_spectrum():
    parts = np.stack([picture((36, 40), i) for i in range(2)])
    wave = np.linspace(0, 1, 9)
    x = np.einsum("pc,pyx->cyx", np.stack([1 - wave, wave]), parts)
    missing = np.zeros(x.shape, bool)
    missing[4] = True
    result = inpaint_alone(np.where(missing, np.nan, x), kind="multispectral")
    np.testing.assert_array_equal(result[~missing], x[~missing])
    assert psnr(result[4], x[4]) > psnr(x[3], x[4]) + 2
    assert psnr(result[4], x[4]) > 30


def test_missing_views_of_a_light_field_are_filled():
    x = views()
    missing = np.zeros(x.shape, bool)
    missing[1, 1] = missing[0, 2] = True
    result = inpaint_alone(np.where(missing, np.nan, x), kind="light-field")
    np.testing.assert_array_equal(result[~missing], x[~missing])
    # The neighbouring view, moved by no pixel, is the simplest guess.
    assert psnr(result[1, 1], x[1, 1]) > psnr(x[1, 0], x[1, 1])
    assert psnr(result[0, 2], x[0, 2]) > 30  # a corner has neighbours on one side only


def test_signal_is_filled():
    x = np.sin(np.arange(600) / 7) * np.cos(np.arange(600) / 41)
    missing = missing_at_random(x.shape)
    result = inpaint_alone(np.where(missing, np.nan, x), axes="x")
    interpolated = np.interp(np.arange(600), np.flatnonzero(~missing), x[~missing])
    assert psnr(result[missing], x[missing]) > psnr(interpolated[missing], x[missing]) + 2


@pytest.mark.parametrize("method", ["scsc-paper", "ocsc-paper"])
def test_inference_of_the_paper_fills_and_keeps_what_is_known(method):
    x = picture((48, 44))
    missing = missing_at_random(x.shape, 0.3)
    result = inpaint_alone(np.where(missing, 0, x), missing, method=method)
    np.testing.assert_array_equal(result[~missing], x[~missing])
    mean = np.full(missing.sum(), x[~missing].mean())
    assert psnr(result[missing], x[missing]) > psnr(mean, x[missing]) + 6


# --- what is known ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["u1", "u2", ">i2", "i8", "f2", "f4", "f8", ">f4"])
def test_known_values_are_kept_to_the_bit(kind):
    dtype = np.dtype(kind)
    x = picture((48, 44)) + 0.02 * white((48, 44))
    top = min(np.iinfo(dtype).max, 2**53) if dtype.kind in "iu" else 1
    given = (np.clip(x, 0, 1) * top).astype(dtype)
    if kind == "i8":
        given += 2**60 + 1  # no float holds these
    missing = missing_at_random(x.shape, 0.3)
    before = given.tobytes()
    result = inpaint_alone(given, missing)
    assert given.tobytes() == before
    assert result.dtype == dtype.newbyteorder("=")
    np.testing.assert_array_equal(result[~missing], given[~missing])
    offset = 2**60 + 1 if kind == "i8" else 0
    filled = (result - result.dtype.type(offset)).astype(float) / top
    assert psnr(filled[missing], np.clip(x, 0, 1)[missing]) > 25


def test_known_values_are_denoised_with_a_noise_level():
    x = picture((64, 60))
    y = x + 0.1 * white(x.shape)
    missing = missing_at_random(x.shape, 0.3)
    result = inpaint_alone(np.where(missing, np.nan, y), sigma=0.1)
    known = ~missing
    assert psnr(result[known], x[known]) > psnr(y[known], x[known]) + 5
    kept = inpaint_alone(np.where(missing, np.nan, y))
    np.testing.assert_array_equal(kept[known], y[known])
    assert psnr(result[missing], x[missing]) > psnr(kept[missing], x[missing])


@pytest.mark.parametrize("kind", ["rgb", "video", "multispectral", "time-lapse", "light-field"])
def test_noise_goes_from_every_kind_as_holes_are_filled(kind):
    x = {
        "rgb": lambda: np.moveaxis(bands(3), 0, -1),
        "video": lambda: moving(8),
        "multispectral": lambda: bands(6),
        "time-lapse": lambda: np.stack([picture((40, 44), i) for i in range(2)]),
        "light-field": views,
    }[kind]()
    y = x + 0.1 * white(x.shape)
    missing = missing_at_random(x.shape, 0.3)
    result = inpaint_alone(np.where(missing, np.nan, y), kind=kind, sigma=0.1)
    assert psnr(result, x) > psnr(y, x) + 5


@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf, 1e30, 1e300, 0.0])
@pytest.mark.parametrize("kind", ["image", "multispectral"])
@pytest.mark.parametrize("sigma", [None, 0.05])
def test_what_lies_under_the_mask_has_no_influence(kind, garbage, sigma):
    x = {"image": picture((40, 44)), "multispectral": bands(3, (24, 24))}[kind]
    missing = missing_at_random(x.shape, 0.3)
    expected = inpaint_alone(x, missing, kind=kind, sigma=sigma)
    result = inpaint_alone(np.where(missing, garbage, x), missing, kind=kind, sigma=sigma)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("garbage", [np.nan, np.inf, 1e30])
def test_what_lies_under_the_mask_has_no_influence_in_the_paper_either(garbage):
    x, method = picture((32, 34)), "scsc-paper"
    missing = missing_at_random(x.shape, 0.3)
    expected = inpaint_alone(x, missing, method=method)
    result = inpaint_alone(np.where(missing, garbage, x), missing, method=method)
    np.testing.assert_array_equal(result, expected)


def test_nan_masked_array_and_mask_say_the_same():
    x = picture((40, 44))
    missing = missing_at_random(x.shape, 0.3)
    expected = inpaint_alone(x, missing)
    np.testing.assert_array_equal(inpaint_alone(np.where(missing, np.nan, x)), expected)
    np.testing.assert_array_equal(inpaint_alone(np.ma.MaskedArray(x, missing)), expected)
    half = missing & (np.arange(44) < 20)
    both = np.where(missing & ~half, np.nan, x)
    np.testing.assert_array_equal(inpaint_alone(both, half), expected)


def test_infinite_values_can_be_marked_as_missing():
    x = picture((40, 44)).copy()
    x[5:9, 7] = np.inf
    with pytest.raises(ValueError, match="isfinite"):
        iter_inpaint(x, x > 1e9 * np.inf)
    assert np.isfinite(inpaint_alone(x, ~np.isfinite(x))).all()


# --- masks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [bool, np.uint8, np.int32, np.uint64, "labels", "list"])
def test_masks_of_several_types_say_the_same(form):
    x = picture((40, 44))
    missing = missing_at_random(x.shape, 0.3)
    expected = inpaint_alone(x, missing)
    if form == "labels":
        given = ndimage.label(missing)[0]
        assert given.max() > 5
    elif form == "list":
        given = missing.tolist()
    else:
        given = missing.astype(form)
    np.testing.assert_array_equal(inpaint_alone(x, given), expected)


@pytest.mark.parametrize(
    ("kind", "axes", "shape", "where"),
    [
        ("video", None, (6, 20, 24), (1, 2)),
        ("multispectral", None, (3, 20, 24), (1, 2)),
        ("light-field", None, (2, 2, 20, 24), (2, 3)),
        ("time-lapse", None, (2, 20, 24), (1, 2)),
        ("rgb", None, (20, 24, 3), (0, 1)),
        ("multispectral", "ycx", (20, 3, 24), (0, 2)),
        ("time-lapse", "yxt", (20, 24, 2), (0, 1)),
    ],
)
def test_one_mask_of_the_shift_or_last_axes_holds_for_all(kind, axes, shape, where):
    short = tuple(shape[i] for i in where)
    missing = missing_at_random(short, 0.2)
    x = 0.1 * white(shape) + np.linspace(0, 1, shape[where[1]]).reshape(
        [-1 if i == where[1] else 1 for i in range(len(shape))]
    )
    full = np.broadcast_to(
        missing.reshape([shape[i] if i in where else 1 for i in range(len(shape))]), shape
    )
    options = {"kind": kind, "axes": axes}
    expected = inpaint_alone(x, full, **options)
    np.testing.assert_array_equal(inpaint_alone(x, missing, **options), expected)
    np.testing.assert_array_equal(expected[~full], x[~full])


def test_dask_and_xarray_are_filled_and_stay_what_they_are():
    da = pytest.importorskip("dask.array")
    xr = pytest.importorskip("xarray")
    x = picture((40, 44))
    missing = missing_at_random(x.shape, 0.3)
    expected = inpaint_alone(x, missing)
    lazy = inpaint_alone(da.from_array(x, chunks=15), da.from_array(missing, chunks=10))
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), expected)
    labelled = xr.DataArray(x, dims=("y", "x"), coords={"x": np.arange(44) * 0.3})
    filled = inpaint_alone(labelled, xr.DataArray(missing, dims=("y", "x")))
    assert isinstance(filled, xr.DataArray)
    np.testing.assert_array_equal(filled.values, expected)
    np.testing.assert_array_equal(filled.x, labelled.x)


GOOD = np.random.default_rng(0).random((20, 22))
HOLE = np.zeros(GOOD.shape, bool)
HOLE[3:5, 4] = True
FRAMES = np.random.default_rng(0).random((3, 20, 22))
NO_FRAME = np.zeros(FRAMES.shape, bool)
NO_FRAME[1] = True


@pytest.mark.parametrize(
    ("image", "missing", "options", "error", "words"),
    [
        (GOOD, None, {}, ValueError, "nothing is missing"),
        (GOOD, np.zeros_like(HOLE), {}, ValueError, "nothing is missing"),
        (GOOD, np.ones_like(HOLE), {}, ValueError, "all of the image is missing"),
        (np.full(GOOD.shape, np.nan), None, {}, ValueError, "all of the image is missing"),
        (GOOD, HOLE[1:], {}, ValueError, "shape"),
        (GOOD, HOLE.T, {}, ValueError, "shape"),
        (GOOD, HOLE[None], {}, ValueError, "shape"),
        (FRAMES, HOLE.T, {"kind": "video"}, ValueError, "shape"),
        (GOOD, HOLE * 0.5, {}, ValueError, "the mask holds"),
        (GOOD, HOLE.astype(complex), {}, TypeError, "mask"),
        (GOOD, "mask.tif", {}, (TypeError, ValueError), "mask"),
        (GOOD, True, {}, (TypeError, ValueError), "mask"),
        (FRAMES, NO_FRAME, {"kind": "time-lapse"}, ValueError, "sample 1"),
        (np.where(HOLE, np.inf, GOOD), None, {}, ValueError, "infinite"),
        (np.where(HOLE, np.inf, GOOD), HOLE.T[:22, :20].T[::-1], {}, ValueError, "infinite"),
        (np.where(HOLE, 1.0, 2.0), HOLE, {}, ValueError, "constant"),
        (GOOD[:3], HOLE[:3], {}, ValueError, "smallest filter|nothing is missing"),
        (GOOD > 0.5, HOLE, {}, TypeError, "True and False"),
        (GOOD.astype(complex), HOLE, {}, TypeError, "real"),
        (GOOD, HOLE, {"sigma": 0}, ValueError, "sigma"),
        (GOOD, HOLE, {"sigma": -1}, ValueError, "sigma"),
        (GOOD, HOLE, {"sigma": np.nan}, ValueError, "sigma"),
        (GOOD, HOLE, {"strength": 0}, ValueError, "strength"),
        (GOOD, HOLE, {"quality": "perfect"}, ValueError, "quality"),
        (GOOD, HOLE, {"method": "magic"}, ValueError, "method"),
        (GOOD, HOLE, {"kind": "film"}, ValueError, "kind"),
        (GOOD, HOLE, {"n_jobs": 0}, ValueError, "n_jobs"),
        (GOOD, HOLE, {"seed": -1}, ValueError, "seed"),
        (GOOD, HOLE, {"bank": 3}, TypeError, "bank"),
    ],
)
def test_wrong_arguments_raise_at_the_call(image, missing, options, error, words):
    with pytest.raises(error, match=words):
        iter_inpaint(image, missing, **options)


def test_bank_that_does_not_fit_is_refused():
    bank = LatticeSCSC(6, (4, 4), 1).fit([FRAMES]).bank
    with pytest.raises(ValueError, match="needs"):
        iter_inpaint(GOOD, HOLE, bank=bank)


# --- wide holes ---------------------------------------------------------------------------------


def test_wide_hole_is_filled_smoothly_and_remarked_upon():
    x = picture((80, 80))
    missing = np.zeros(x.shape, bool)
    missing[20:60, 18:62] = True
    with pytest.warns(RestorationWarning, match="more than 8 points from any known"):
        result = inpaint_alone(np.where(missing, np.nan, x), missing)
    np.testing.assert_array_equal(result[~missing], x[~missing])
    inside = result[30:50, 28:52]
    margin = 0.05 * np.ptp(x)
    assert x.min() - margin < result.min()
    assert result.max() < x.max() + margin
    assert np.abs(np.diff(inside, axis=0)).max() < 0.05 * np.ptp(x)
    assert np.abs(np.diff(inside, axis=1)).max() < 0.05 * np.ptp(x)


def test_number_of_points_too_far_away_is_right(monkeypatch):
    """Also where tiles overlap."""
    x = picture((110, 100))
    missing = np.zeros(x.shape, bool)
    missing[30:70, 30:70] = True
    expected = int((ndimage.distance_transform_cdt(missing, "chessboard") > 8).sum())
    for coefficients in (1 << 24, 1 << 8):
        monkeypatch.setattr("napari_scsc.restore.passes.MAX_TILE_MEMORY", 16 * coefficients)
        with pytest.warns(RestorationWarning, match=f"^{expected} missing"):
            inpaint_alone(x, missing)


def test_holes_narrower_than_the_filters_are_not_remarked_upon():
    x = picture((48, 44))
    missing = np.zeros(x.shape, bool)
    missing[10:16, 10:16] = True
    inpaint_alone(x, missing)  # warnings are errors


def test_half_an_image_is_filled_within_the_range_of_the_other():
    x = picture((48, 60))
    missing = np.zeros(x.shape, bool)
    missing[:, 30:] = True
    with pytest.warns(RestorationWarning):
        result = inpaint_alone(x, missing)
    known = x[~missing]
    margin = 0.1 * np.ptp(known)
    assert result.min() > known.min() - margin
    assert result.max() < known.max() + margin


def test_hole_larger_than_a_tile_has_no_seam(monkeypatch):
    monkeypatch.setattr("napari_scsc.restore.passes.MAX_TILE_MEMORY", 1 << 12)
    rows, columns = np.mgrid[:150, :145] / 150
    x = rows + columns + 0.01 * white(rows.shape)
    missing = np.zeros(x.shape, bool)
    missing[20:130, 18:125] = True
    with pytest.warns(RestorationWarning):
        result = inpaint_alone(x, missing)
    # Filled smoothly, so no line may be seen: this ramp rises by 0.007 a pixel.
    inside = result[40:110, 40:105]
    assert np.abs(np.diff(inside, axis=0)).max() < 0.1
    assert np.abs(np.diff(inside, axis=1)).max() < 0.1
    assert x.min() - 0.1 < result.min()
    assert result.max() < x.max() + 0.1


@pytest.mark.parametrize("corner", [0, 54, 108])
def test_little_that_is_known_of_a_large_image_is_enough(corner, monkeypatch):
    """Of the many tiles of a large image, those that are learned from may hold nothing."""
    monkeypatch.setattr("napari_scsc.restore.inpaint.MAX_TILE_POINTS", 16 * 16)
    x = 0.5 + 0.1 * white((120, 120))
    missing = np.ones(x.shape, bool)
    missing[corner : corner + 12, corner : corner + 12] = False
    with pytest.warns(RestorationWarning):
        result = inpaint_alone(x, missing)
    np.testing.assert_array_equal(result[~missing], x[~missing])
    assert np.isfinite(result).all()
    assert result.min() > 0
    assert result.max() < 1


# --- the same bits, tiles, updates ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["image", "multispectral", "video"])
def test_result_does_not_depend_on_the_number_of_threads(kind):
    x = {"image": picture((40, 44)), "multispectral": bands(3), "video": moving(5, (24, 24))}[kind]
    missing = missing_at_random(x.shape, 0.4)
    one, two = (inpaint(x, missing, kind=kind, quality="fast", n_jobs=n, seed=2) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_tiled_is_as_good_as_untiled(monkeypatch):
    x = picture((110, 100))
    missing = missing_at_random(x.shape)
    *_, update = iter_inpaint(x, missing, quality="fast", n_jobs=1)
    monkeypatch.setattr("napari_scsc.restore.passes.MAX_TILE_MEMORY", 1 << 12)
    *updates, last = iter_inpaint(x, missing, quality="fast", n_jobs=1, bank=update.bank)
    assert len({str(u.region) for u in updates if isinstance(u, RegionRestored)}) > 2
    np.testing.assert_array_equal(last.result[~missing], x[~missing])
    whole = psnr(update.result[missing], x[missing])
    assert psnr(last.result[missing], x[missing]) > whole - 0.3
    error = np.sqrt(np.mean((update.result - x)[missing] ** 2))
    assert np.sqrt(np.mean((update.result - last.result)[missing] ** 2)) < 0.6 * error


def test_bank_of_the_update_gives_the_same_result():
    x = bands(3)
    missing = missing_at_random(x.shape)
    options = {"kind": "multispectral", "quality": "fast", "n_jobs": 1}
    *_, update = iter_inpaint(x, missing, **options)
    again = inpaint(x, missing, **options, bank=update.bank)
    np.testing.assert_allclose(again, update.result, atol=1e-5)


@pytest.mark.parametrize("tiled", [True, False])
@pytest.mark.parametrize("kind", [None, "time-lapse"])
def test_updates_show_parts_in_which_the_known_values_are_exact(kind, tiled, monkeypatch):
    if tiled:
        monkeypatch.setattr("napari_scsc.restore.passes.MAX_TILE_MEMORY", 1 << 12)
    x = picture((100, 90)) if kind is None else np.stack([picture((40, 44), i) for i in (0, 1)])
    missing = missing_at_random(x.shape)
    canvas = np.full(x.shape, np.nan)
    done, stages, errors = [], [], []
    for update in iter_inpaint(x, missing, kind=kind, quality="fast", n_jobs=1):
        done.append(update.done)
        if not stages or stages[-1] is not type(update):
            stages.append(type(update))
        if isinstance(update, RegionRestored):
            there, holes = x[update.region], missing[update.region]
            np.testing.assert_array_equal(update.values[~holes], there[~holes])
            errors.append(np.mean((update.values - there)[holes] ** 2))
            canvas[update.region] = update.values
    assert stages == [NoiseFound, TileLearned, RegionRestored, Finished]
    assert (done[0], done[-1]) == (0, 1)
    assert done == sorted(done)
    np.testing.assert_array_equal(canvas, update.result)
    if not tiled and kind is None:
        assert len(errors) > 5
        assert errors[-1] < 0.5 * errors[0]


@pytest.fixture
def own_threads():
    """A function that lists the threads that the test started and that still live."""
    before = set(threading.enumerate())

    def living():
        started = set(threading.enumerate()) - before
        return [t for t in started if t.name.startswith("napari-scsc")]

    return living


class Enough(Exception):
    pass


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [1, 5, 30])
def test_cancelling_ends_it_and_leaves_no_thread(after, n_jobs, own_threads):
    calls = []

    def tick():
        calls.append(1)
        if len(calls) >= after:
            raise Enough

    x = picture((48, 44))
    with pytest.raises(Enough):
        list(
            iter_inpaint(
                x, missing_at_random(x.shape), n_jobs=n_jobs, cancellation=CallingCancellation(tick)
            )
        )
    assert not own_threads()


@pytest.mark.parametrize("stage", [NoiseFound, TileLearned, RegionRestored])
def test_closing_the_updates_early_leaves_no_thread(stage, own_threads):
    x = picture((48, 44))
    updates = iter_inpaint(x, missing_at_random(x.shape), n_jobs=2, quality="fast")
    for update in updates:
        if isinstance(update, stage):
            break
    updates.close()
    assert not own_threads()


# --- the edges of what is possible --------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((4, 4), None),
        ((5, 9), None),
        ((8, 8), None),
        ((4, 120), None),
        ((12,), None),
        ((60,), None),
        ((2, 4, 4), "video"),
        ((4, 4, 3), "rgb"),
        ((3, 4, 4), "multispectral"),
        ((2, 2, 4, 4), "light-field"),
        ((2, 4, 4), "time-lapse"),
    ],
)
def test_smallest_images_are_filled(shape, kind):
    x = 0.5 + 0.1 * white(shape)
    missing = np.zeros(shape, bool)
    missing[..., 1] = True
    result = inpaint_alone(x, missing, kind=kind)
    np.testing.assert_array_equal(result[~missing], x[~missing])
    assert np.isfinite(result).all()
    assert result.min() > 0
    assert result.max() < 1


@pytest.mark.parametrize("share", [0.001, 0.9, 0.98])
def test_nearly_everything_and_nearly_nothing_can_be_missing(share):
    x = picture((64, 60))
    missing = missing_at_random(x.shape, share)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RestorationWarning)
        result = inpaint_alone(x, missing)
    np.testing.assert_array_equal(result[~missing], x[~missing])
    mean = np.full(missing.sum(), x[~missing].mean())
    assert psnr(result[missing], x[missing]) > psnr(mean, x[missing])


def test_two_known_values_are_enough():
    x = np.zeros((20, 20))
    missing = np.ones(x.shape, bool)
    missing[3, 4] = missing[15, 12] = False
    x[15, 12] = 1
    with np.errstate(all="raise"), pytest.warns(RestorationWarning):
        result = inpaint_alone(x, missing)
    assert (result[3, 4], result[15, 12]) == (0, 1)
    assert result.min() > -0.2
    assert result.max() < 1.2


def test_one_missing_value_is_filled():
    x = picture((48, 44))
    missing = np.zeros(x.shape, bool)
    missing[20, 20] = True
    result = inpaint_alone(np.where(missing, np.nan, x))
    assert abs(result[20, 20] - x[20, 20]) < 0.05


def test_ramp_goes_on_under_a_hole():
    rows, columns = np.mgrid[:48, :44]
    x = 0.01 * rows + 0.02 * columns
    missing = np.zeros(x.shape, bool)
    missing[20:25, 15:20] = True
    np.testing.assert_allclose(inpaint_alone(x, missing), x, atol=0.01)


@pytest.mark.parametrize("scale", [1e-80, 1e-30, 1e30, 1e80])
def test_size_of_the_values_does_not_matter(scale):
    x = picture((40, 44))
    missing = missing_at_random(x.shape, 0.3)
    result = inpaint_alone(scale * x, missing) / scale
    np.testing.assert_allclose(result, inpaint_alone(x, missing), atol=1e-3)


def test_values_all_equal_but_one_are_no_reason_to_fail():
    x = np.full((30, 30), 5.0)
    x[7, 9] = 6
    missing = np.zeros(x.shape, bool)
    missing[20:23, 20:23] = True
    result = inpaint_alone(x, missing)
    np.testing.assert_allclose(result[missing], 5, atol=0.01)


def test_saturated_image_stays_within_its_limits():
    x = np.where(picture((60, 60)) > 0.2, 255, 0).astype(np.uint8)
    missing = missing_at_random(x.shape, 0.3)
    result = inpaint_alone(x, missing)
    assert result.dtype == np.uint8
    # A value that overflowed would be black where all around is white.
    middle = ndimage.minimum_filter(x, 9) == 255
    assert result[middle & missing].min() > 200


# --- the first guess ------------------------------------------------------------------------------


def test_first_guess_keeps_what_is_known_and_stays_within_its_range():
    x = bands(3).astype(np.float32)
    missing = missing_at_random(x.shape, 0.6)
    guess = first_guess(x, missing, 1)
    np.testing.assert_array_equal(guess[~missing], x[~missing])
    assert x[~missing].min() - 1e-6 <= guess.min()
    assert guess.max() <= x[~missing].max() + 1e-6


def test_best_axis_counts_most():
    """Bands that are all the same say exactly what a missing pixel is."""
    x = np.broadcast_to(white((30, 30)).astype(np.float32), (4, 30, 30)).copy()
    missing = missing_at_random(x.shape, 0.2)
    guess = first_guess(x, missing, 1)
    several = missing.sum(axis=0) < 3
    assert np.abs(guess - x)[:, several].max() < 0.2


def test_distance_counts_the_points_to_the_nearest_known():
    known = np.zeros((2, 9, 9), bool)
    known[0, 4, 4] = True
    rows, columns = np.mgrid[:9, :9]
    expected = np.maximum(abs(rows - 4), abs(columns - 4))
    np.testing.assert_array_equal(fill.distance_to_known(known), expected)
    assert fill.distance_to_known(np.zeros((1, 5, 9), bool)).min() >= 9


@pytest.mark.parametrize("shape", [(1,), (7,), (6, 9), (5, 4, 7)])
def test_smooth_fill_fills_everything_from_one_point(shape):
    known = np.zeros((1, *shape), bool)
    known[(0,) * known.ndim] = True
    values = np.where(known, 3.0, np.nan).astype(np.float32)
    np.testing.assert_allclose(fill.smooth_fill(np.nan_to_num(values), known), 3, atol=1e-6)


def test_rounds_do_not_read_the_image_again():
    """It may lie on a disk, or be computed."""
    x = picture((48, 44))
    x = np.where(missing_at_random(x.shape, 0.3), np.nan, x)

    class Counting:
        shape, dtype, ndim, reads = x.shape, x.dtype, x.ndim, 0

        def __getitem__(self, region):
            Counting.reads += 1
            return x[region]

    reads = []
    for quality in ("fast", "balanced"):  # 8 rounds, and 14
        Counting.reads = 0
        inpaint(Counting(), quality=quality, n_jobs=1)
        reads.append(Counting.reads)
    assert reads[0] == reads[1]


def test_mask_that_seems_to_be_inverted_is_remarked():
    image = samples.tissue((64, 64))
    missing = np.random.default_rng(0).random(image.shape) > 0.04
    with pytest.warns(RestorationWarning, match="invert it"):
        inpaint(image, missing, quality="fast")
