from __future__ import annotations

import dataclasses
import functools
import gc
import threading

import numpy as np
import pytest
from cancelling import CallingCancellation
from scipy import ndimage

from napari_scsc import (
    FilterBank,
    LatticeSCSC,
    RestorationWarning,
    RestoreUpdate,
    denoise,
    estimate_noise,
    iter_denoise,
    learn,
    samples,
)
from napari_scsc.errors import UserError, UserTypeError
from napari_scsc.run.updates import Finished, FirstLook, NoiseFound, RegionRestored, TileLearned

denoise_alone = functools.partial(denoise, n_jobs=1, quality="fast")


def psnr(a, b):
    return -10 * np.log10(np.mean((np.asarray(a, np.float64) - np.asarray(b, np.float64)) ** 2))


def white(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@functools.cache
def tissue(seed):
    return samples.tissue(seed=seed)


def picture(shape, seed=0):
    """The middle of a large picture: small ones have little in them."""
    return tissue(seed)[60 : 60 + shape[0], 70 : 70 + shape[1]]


def bands(n, shape=(40, 40)):
    """A cube of that many mixtures of three pictures."""
    parts = np.stack([picture(shape, i) for i in range(3)])
    mixtures = np.random.default_rng(1).uniform(0, 1, (n, 3))
    return np.tensordot(mixtures / mixtures.sum(axis=1, keepdims=True), parts, axes=1)


def moving(n, shape=(32, 32)):
    """A film of a camera that moves along the diagonal."""
    large = picture((shape[0] + n, shape[1] + n))
    return np.stack([large[i : i + shape[0], i : i + shape[1]] for i in range(n)])


@functools.cache
def clean(kind):
    x = {
        "image": lambda: picture((64, 60)).copy(),
        "rgb": lambda: np.moveaxis(bands(3), 0, -1),
        "video": lambda: moving(8),
        "stack": lambda: ndimage.gaussian_filter(moving(7), (1, 0, 0)),
        "multispectral": lambda: bands(8),
        "light-field": lambda: moving(9).reshape(3, 3, 32, 32),
        "time-lapse": lambda: np.stack([picture((40, 44), i) for i in range(3)]),
    }[kind]()
    x.flags.writeable = False
    return x


KINDS = ("image", "rgb", "video", "stack", "multispectral", "light-field", "time-lapse")
# What is left of the noise at least, in dB: more than one plane says more.
GAINS = {"image": 9, "rgb": 10, "video": 11, "stack": 11, "multispectral": 13, "light-field": 12}


def noisy(kind="image", sigma=0.1, seed=0):
    x = clean(kind)
    return x, x + sigma * white(x.shape, seed)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr("napari_scsc.restore.passes.MAX_TILE_MEMORY", 1 << 12)


# --- noise goes -------------------------------------------------------------------------------


@pytest.mark.parametrize("quality", ["draft", "fast", "balanced"])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_goes_and_the_picture_stays(kind, quality):
    x, y = noisy(kind)
    result = denoise_alone(y, kind=kind, sigma=0.1, quality=quality)
    assert isinstance(result, np.ndarray)
    assert (result.shape, result.dtype) == (y.shape, np.float64)
    assert psnr(result, x) > psnr(y, x) + GAINS.get(kind, 8.5)


@pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_noise_need_not_be_known(kind):
    x, y = noisy(kind)
    assert psnr(denoise_alone(y, kind=kind), x) > psnr(y, x) + 7


@pytest.mark.parametrize(("sigma", "gain"), [(0.01, 1), (0.03, 3), (0.3, 11), (1.0, 13)])
def test_weak_and_strong_noise_goes(sigma, gain):
    x = picture((72, 72))
    y = x + sigma * white(x.shape)
    assert psnr(denoise_alone(y, sigma=sigma), x) > psnr(y, x) + gain


def test_more_effort_is_better():
    x = picture((90, 90))
    y = x + 0.1 * white(x.shape)
    draft, fast, balanced = (
        psnr(denoise_alone(y, sigma=0.1, quality=q), x) for q in ("draft", "fast", "balanced")
    )
    assert fast > draft + 0.2
    assert balanced > fast + 0.03


@pytest.mark.filterwarnings("ignore::napari_scsc.ZeroCodeWarning")
@pytest.mark.parametrize("method", ["scsc-paper", "ocsc-paper"])
@pytest.mark.parametrize("kind", ["image", "multispectral"])
def test_inference_of_the_paper_takes_noise_away_too(method, kind):
    x, y = noisy(kind)
    result = denoise_alone(y, kind=kind, sigma=0.1, method=method)
    assert psnr(result, x) > psnr(y, x) + 1.5


def test_signal_is_denoised_in_one_dimension():
    x = np.repeat([0.0, 1, 0.3, 0.8, 0.1, 0.9], 100)
    y = x + 0.1 * white(x.shape)
    assert psnr(denoise_alone(y, axes="x", sigma=0.1), x) > psnr(y, x) + 6
    several = np.stack([x, x[::-1], 1 - x]) + 0.1 * white((3, 600))
    result = denoise_alone(several, axes="cx", sigma=0.1)
    assert psnr(result[0], x) > psnr(y, x) + 6


@pytest.mark.parametrize("axes", ["tcyx", "zcyx", "ncyx", "ntyx", "uvcyx"])
def test_custom_axes_are_denoised(axes):
    shape = {5: (2, 2, 3, 24, 24), 4: (3, 4, 24, 24)}[len(axes)]
    x = np.broadcast_to(picture((24, 24)), shape)
    y = x + 0.1 * white(shape)
    assert psnr(denoise_alone(y, axes=axes, sigma=0.1), x) > psnr(y, x) + 8


def test_stronger_is_smoother_and_gentler_keeps_more():
    _, y = noisy()
    removed = [np.std(y - denoise_alone(y, sigma=0.1, strength=s)) for s in (0.3, 0.7, 1.0, 1.6)]
    assert removed == sorted(removed)
    rough = [
        np.diff(denoise_alone(y, sigma=0.1, strength=s), 2, axis=0).std() for s in (0.5, 1.0, 2.0)
    ]
    assert rough == sorted(rough, reverse=True)


def test_strength_scales_the_noise_level():
    _, y = noisy()
    bank = learn(y, kind="image", sigma=0.1)
    few = y[:32, :32]  # too few patches for filters of their own, which would depend on sigma
    np.testing.assert_array_equal(
        denoise_alone(few, sigma=0.1, strength=0.5, bank=bank),
        denoise_alone(few, sigma=0.05, bank=bank),
    )


def test_photon_noise_is_treated_by_its_brightness():
    """Where it is dark there is little noise, and where it is bright there is much."""
    x = 40 * picture((128, 128)) + 0.5
    y = np.random.default_rng(0).poisson(x).astype(float)
    noise = estimate_noise(y)
    assert noise.depends_on_signal
    estimated = psnr(denoise_alone(y), x)
    assert estimated > psnr(y, x) + 6
    for wrong in (0.5 * noise.sigma, 2 * noise.sigma):
        assert estimated > psnr(denoise_alone(y, sigma=wrong), x) + 0.3


@pytest.mark.parametrize("pedestal", [0, 1e5, 1e9])
def test_pedestal_under_photon_noise_does_no_harm(pedestal):
    x = 40 * picture((80, 80)) + 0.5
    y = np.random.default_rng(0).poisson(x) + float(pedestal)
    plain, raised = denoise_alone(y - pedestal), denoise_alone(y)
    assert np.abs((raised - pedestal) - plain).std() < 0.3
    assert psnr(raised - pedestal, x) > psnr(y - pedestal, x) + 5


def test_what_the_noise_estimate_remarks_becomes_a_warning():
    with pytest.warns(RestorationWarning, match="small"):
        denoise_alone(noisy("image")[1][:40, :40])


def test_no_noise_leaves_the_image_as_it_is():
    x = np.zeros((60, 60), np.uint8)
    x[20:40, 10:50] = 200
    with pytest.warns(RestorationWarning, match="no noise"):
        result = denoise_alone(x)
    np.testing.assert_array_equal(result, x)
    assert not np.shares_memory(result, x)


# --- any kind of array --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["u1", "i1", "u2", "i2", ">u2", "i4", "u4", "i8", "u8"])
def test_integers_stay_integers(kind):
    _, y = noisy()
    dtype = np.dtype(kind)
    span = min(2 ** (8 * dtype.itemsize) - 1, 40_000)
    low = max(np.iinfo(dtype).min, -span // 2)
    values = np.rint((np.clip(y, -0.3, 1.3) + 0.3) / 1.6 * span) + low
    whole = values.astype(dtype)
    result = denoise_alone(whole, sigma=0.1 / 1.6 * span)
    assert result.dtype == dtype.newbyteorder("=")
    expected = denoise_alone(values, sigma=0.1 / 1.6 * span)
    np.testing.assert_allclose(result.astype(float), expected, atol=0.51)


@pytest.mark.parametrize("kind", ["u1", "i2", "u8", "i8"])
def test_results_are_clipped_at_the_limits_of_the_type(kind):
    """Half of the values of a saturated image lie beyond what its type can hold."""
    info = np.iinfo(kind)
    x = picture((48, 48)) > 0.3
    noise = np.random.default_rng(0).integers(0, 40, x.shape)
    values = np.where(x, info.max - noise.astype(object), info.min + noise.astype(object))
    y = values.astype(kind)
    result = denoise_alone(y, sigma=float(info.max - info.min) / 20)
    assert result.dtype == y.dtype
    # An overflow would turn white into black.
    middle = (info.max + info.min) // 2
    assert np.mean((result > middle) == x) > 0.99


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", ">f8", "<f4"])
def test_floats_keep_their_type(kind):
    _, y = noisy()
    dtype = np.dtype(kind)
    result = denoise_alone(y.astype(dtype), sigma=0.1)
    assert result.dtype == dtype.newbyteorder("=")
    expected = denoise_alone(y, sigma=0.1)
    assert np.sqrt(np.mean((result - expected) ** 2)) < 0.06 * 0.1


@pytest.mark.parametrize("quality", ["fast", "balanced"])
def test_rounding_errors_of_the_input_stay_rounding_errors(quality):
    """As on another machine: nothing may depend on which basis of a span is chosen by chance."""
    _, y = noisy()
    single = y.astype(np.float32)
    one, other = (denoise_alone(v, sigma=0.1, quality=quality) for v in (single, y))
    assert np.sqrt(np.mean((one - other) ** 2)) < 0.005 * 0.1


@pytest.mark.parametrize("form", ["fortran", "strided", "reversed", "read-only", "big-endian"])
def test_layout_does_not_matter_and_input_is_untouched(form):
    _, y = noisy()
    base = {
        "fortran": lambda: np.asfortranarray(y),
        "strided": lambda: np.repeat(np.repeat(y, 2, 0), 3, 1),
        "reversed": lambda: y[::-1, ::-1].copy(),
        "read-only": lambda: y.copy(),
        "big-endian": lambda: y.astype(">f8"),
    }[form]()
    base.flags.writeable = form != "read-only"
    given = {"strided": base[::2, ::3], "reversed": base[::-1, ::-1]}.get(form, base)
    before = base.tobytes()
    result = denoise_alone(given, sigma=0.1)
    assert base.tobytes() == before
    np.testing.assert_array_equal(result, denoise_alone(y, sigma=0.1))
    assert not np.shares_memory(result, base)


def test_memory_map_is_read_and_left_alone(tmp_path):
    _, y = noisy()
    path = tmp_path / "image.raw"
    y.tofile(path)
    mapped = np.memmap(path, np.float64, "r+", shape=y.shape)
    result = denoise_alone(mapped, sigma=0.1)
    mapped.flush()
    assert path.read_bytes() == y.tobytes()
    np.testing.assert_array_equal(result, denoise_alone(y, sigma=0.1))


def test_dask_gives_dask():
    da = pytest.importorskip("dask.array")
    _, y = noisy()
    given = da.from_array(y, chunks=(17, 60))
    result = denoise_alone(given, sigma=0.1)
    assert isinstance(result, da.Array)
    assert result.chunks == given.chunks
    np.testing.assert_array_equal(result.compute(), denoise_alone(y, sigma=0.1))


def test_xarray_gives_xarray_with_its_coordinates():
    xr = pytest.importorskip("xarray")
    _, y = noisy("multispectral")
    given = xr.DataArray(
        np.moveaxis(y, 0, 1),
        dims=("y", "band", "x"),
        coords={"band": np.linspace(400, 700, 8), "x": np.arange(40) * 0.5},
        attrs={"units": "counts"},
        name="cube",
    )
    result = denoise_alone(given, sigma=0.1)
    assert isinstance(result, xr.DataArray)
    assert (result.dims, result.attrs, result.name) == (given.dims, given.attrs, "cube")
    xr.testing.assert_equal(result.coords.to_dataset(), given.coords.to_dataset())
    np.testing.assert_array_equal(
        np.moveaxis(result.values, 1, 0), denoise_alone(y, kind="multispectral", sigma=0.1)
    )


def test_zarr_is_read():
    zarr = pytest.importorskip("zarr")
    _, y = noisy()
    stored = zarr.create_array({}, shape=y.shape, chunks=(16, 16), dtype="f8")
    stored[...] = y
    np.testing.assert_array_equal(denoise_alone(stored, sigma=0.1), denoise_alone(y, sigma=0.1))


@pytest.mark.parametrize(
    ("kind", "axes", "order"),
    [
        ("multispectral", "yxc", (1, 2, 0)),
        ("multispectral", "ycx", (1, 0, 2)),
        ("rgb", "cyx", (2, 0, 1)),
        ("time-lapse", "yxt", (1, 2, 0)),
        ("light-field", "yuxv", (2, 0, 3, 1)),
        ("video", "yxt", (1, 2, 0)),
    ],
)
def test_order_of_the_axes_does_not_matter(kind, axes, order):
    """Filters slide the same way; along two shift axes in another order, about the same way."""
    _, y = noisy(kind)
    expected = denoise_alone(y, kind=kind, sigma=0.1)
    turned = denoise_alone(y.transpose(order), kind=kind, axes=axes, sigma=0.1)
    back = turned.transpose(np.argsort(order))
    if kind == "video":  # the filters have another shape
        assert np.std(back - expected) < 0.05
    else:
        np.testing.assert_array_equal(back, expected)


def test_transposed_image_gives_the_transposed_result():
    x, y = noisy()
    plain, turned = denoise_alone(y, sigma=0.1), denoise_alone(y.T, axes="xy", sigma=0.1)
    # The places of the reference patches are the same, and the sums are in another order.
    assert np.std(turned.T - plain) < 0.06 * 0.1
    assert psnr(turned.T, x) == pytest.approx(psnr(plain, x), abs=0.1)


# --- the same bits ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["image", "video", "multispectral", "time-lapse"])
def test_result_does_not_depend_on_the_number_of_threads(kind):
    _, y = noisy(kind)
    one, two, three = (
        denoise(y, kind=kind, sigma=0.1, n_jobs=n, quality="fast") for n in (1, 2, 3)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, three)


def test_same_seed_gives_the_same_bits():
    _, y = noisy()
    one, other = (denoise(y, sigma=0.1, seed=4) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("factor", [1e-3, 255.0, 1e4])
def test_units_do_not_matter(factor):
    _, y = noisy()
    result = denoise_alone(y * factor - 3 * factor, sigma=0.1 * factor)
    np.testing.assert_allclose(result / factor + 3, denoise_alone(y, sigma=0.1), atol=2e-3)


# --- tiles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["image", "multispectral", "video"])
def test_tiled_equals_untiled_but_for_a_fraction_of_the_noise(kind, monkeypatch):
    sigma = 0.1
    x = {
        "image": lambda: picture((120, 130)),
        "multispectral": lambda: bands(4, (90, 100)),
        "video": lambda: moving(6, (50, 54)),
    }[kind]()
    y = x + sigma * white(x.shape)
    options = {"kind": kind, "sigma": sigma}
    *_, update = iter_denoise(y, **options, n_jobs=1)
    whole = update.result
    monkeypatch.setattr("napari_scsc.restore.passes.MAX_TILE_MEMORY", 1 << 12)
    updates = list(iter_denoise(y, **options, bank=update.bank, n_jobs=1))
    regions = {str(u.region) for u in updates if isinstance(u, RegionRestored)}
    assert len(regions) > 3
    tiled = updates[-1].result
    assert np.sqrt(np.mean((tiled - whole) ** 2)) < 0.1 * sigma
    assert psnr(tiled, x) > psnr(whole, x) - 0.3


def test_no_seam_shows_where_tiles_meet(small_tiles):
    sigma, shape = 0.1, (150, 150)
    y = 0.5 + sigma * white(shape)  # nothing but noise: any line is a seam
    updates = list(iter_denoise(y, sigma=sigma, n_jobs=1))
    rows = sorted({u.region[0].start for u in updates if isinstance(u, RegionRestored)} - {0})
    ends = sorted({u.region[0].stop for u in updates if isinstance(u, RegionRestored)} - {shape[0]})
    assert rows
    assert ends
    result = updates[-1].result
    jumps = np.abs(np.diff(result, axis=0)).mean(axis=1)
    at = np.array([*(r - 1 for r in rows), *(e - 1 for e in ends)])
    others = np.delete(jumps, at)
    assert jumps[at].max() < others.max() * 1.2
    assert jumps[at].mean() < 1.3 * others.mean()


def test_tiles_do_not_depend_on_threads_either(small_tiles):
    y = picture((110, 100)) + 0.1 * white((110, 100))
    one, two = (denoise(y, sigma=0.1, n_jobs=n, quality="fast") for n in (1, 2))
    np.testing.assert_array_equal(one, two)


# --- banks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_bank_of_the_update_gives_the_same_result(kind, tmp_path):
    _, y = noisy(kind)
    *_, update = iter_denoise(y, kind=kind, sigma=0.1, quality="fast", n_jobs=1)
    assert update.bank.info["kind"] == kind
    update.bank.save(tmp_path / "bank.scsc")
    bank = FilterBank.load(tmp_path / "bank.scsc")
    np.testing.assert_array_equal(denoise_alone(y, kind=kind, sigma=0.1, bank=bank), update.result)


@pytest.mark.parametrize("method", ["scsc-paper", "ocsc-paper"])
def test_bank_of_the_paper_can_be_passed_back(method):
    x, y = noisy()
    *_, update = iter_denoise(y, sigma=0.1, method=method, n_jobs=1)
    result = denoise_alone(y, sigma=0.1, method=method, bank=update.bank)
    assert psnr(result, x) > psnr(y, x) + 1


def test_bank_learned_elsewhere_restores_as_well():
    x, y = noisy()
    elsewhere = LatticeSCSC(None, (8, 8), sigma=0.1).fit(
        [picture((90, 90), s) + 0.1 * white((90, 90), s) for s in (1, 2)]
    )
    result = denoise_alone(y, sigma=0.1, bank=elsewhere.bank)
    assert psnr(result, x) > psnr(denoise_alone(y, sigma=0.1), x) - 1


@pytest.mark.parametrize("method", ["scsc", "scsc-paper"])
def test_bank_that_does_not_fit_is_refused(method):
    def bank(*shape, n_joint=0):
        filters = np.zeros(shape, np.float32)
        filters[(slice(None), *(0,) * (len(shape) - 1))] = 1
        return FilterBank(filters, n_joint)

    x = np.random.default_rng(0).random((20, 22))
    for wrong in (bank(3, 5), bank(3, 4, 4, 4), bank(3, 2, 4, 4, n_joint=1)):
        with pytest.raises(ValueError, match="needs"):
            iter_denoise(x, bank=wrong, method=method)
    with pytest.raises(ValueError, match="smaller than the filters"):
        iter_denoise(x, bank=bank(3, 21, 4), method=method)
    cube = np.random.default_rng(0).random((3, 20, 22))
    for wrong in (bank(3, 4, 4), bank(3, 4, 4, 4, n_joint=1)):
        with pytest.raises(ValueError, match="needs"):
            iter_denoise(cube, kind="multispectral", bank=wrong, method=method)


def test_constants_alone_are_a_bank_too():
    x, y = noisy()
    bank = FilterBank(np.full((1, 4, 4), 0.25, np.float32))
    assert psnr(denoise_alone(y, sigma=0.1, bank=bank), x) > psnr(y, x)


# --- updates ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::napari_scsc.ZeroCodeWarning")
@pytest.mark.parametrize("method", ["scsc", "scsc-paper"])
@pytest.mark.parametrize("kind", ["image", "time-lapse", "multispectral"])
def test_updates_put_together_are_the_result(kind, method, small_tiles, monkeypatch):
    monkeypatch.setattr("napari_scsc.restore.paper.CODE_TILE_SIDES", {1: 64, 2: 40, 3: 16})
    y = {
        "image": lambda: picture((80, 70)) + 0.1 * white((80, 70)),
        "time-lapse": lambda: noisy("time-lapse")[1],
        "multispectral": lambda: noisy("multispectral")[1],
    }[kind]()
    canvas = np.full(y.shape, np.nan)
    done, stages = [], []
    for update in iter_denoise(y, kind=kind, sigma=0.1, n_jobs=1, quality="fast", method=method):
        assert isinstance(update, RestoreUpdate)
        assert isinstance(update.message, str)
        assert update.message
        with pytest.raises(dataclasses.FrozenInstanceError):
            update.done = 0.5
        done.append(update.done)
        if not stages or stages[-1] is not type(update):
            stages.append(type(update))
        if isinstance(update, FirstLook | RegionRestored):
            canvas[update.region] = update.values
            assert update.values.dtype == y.dtype
    looks = [FirstLook] if method == "scsc" and kind != "multispectral" else []
    assert stages == [NoiseFound, *looks, TileLearned, RegionRestored, Finished]
    assert update.bank is not None
    assert update.noise.sigma == 0.1
    assert (done[0], done[-1]) == (0, 1)
    assert done == sorted(done)
    np.testing.assert_array_equal(canvas, update.result)


def test_updates_are_not_written_to_later(small_tiles):
    y = picture((100, 90)) + 0.1 * white((100, 90))
    kept = []
    for update in iter_denoise(y, sigma=0.1, n_jobs=1, quality="fast"):
        if isinstance(update, FirstLook | RegionRestored):
            kept.append((update.values, update.values.copy()))
        if isinstance(update, TileLearned):
            kept.append((update.sample.B, update.sample.B.copy()))
    assert len(kept) > 4
    for values, copy in kept:
        np.testing.assert_array_equal(values, copy)


def test_learning_shows_filters_and_weights():
    _, y = noisy("rgb")
    learned = [
        u.sample
        for u in iter_denoise(y, kind="rgb", sigma=0.1, n_jobs=1)
        if isinstance(u, TileLearned)
    ]
    assert learned
    assert learned[-1].B.shape[1] == 3
    assert learned[-1].W.shape[0] == len(learned[-1].B)


def test_noise_comes_first_as_found_or_given():
    _, y = noisy()
    assert next(iter_denoise(y, sigma=0.2)).noise.sigma == 0.2
    first = next(iter_denoise(y))
    assert isinstance(first, NoiseFound)
    assert first.noise == estimate_noise(y)


def test_progress_sees_every_update():
    _, y = noisy()
    seen = []
    denoise_alone(y, sigma=0.1, quality="fast", progress=seen.append)
    assert isinstance(seen[0], NoiseFound)
    assert isinstance(seen[-1], Finished)


# --- cancelling ---------------------------------------------------------------------------------


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


def test_running_threads_would_be_seen(own_threads):
    updates = iter_denoise(noisy()[1], sigma=0.1, n_jobs=2, quality="fast")
    for update in updates:
        if isinstance(update, RegionRestored):
            assert own_threads()
            break
    updates.close()
    assert not own_threads()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [1, 2, 6, 14])
def test_cancelling_ends_it_and_leaves_no_thread(after, n_jobs, own_threads):
    calls = []

    def tick():
        calls.append(1)
        if len(calls) >= after:
            raise Enough

    with pytest.raises(Enough):
        list(
            iter_denoise(
                noisy()[1],
                sigma=0.1,
                n_jobs=n_jobs,
                quality="balanced",
                cancellation=CallingCancellation(tick),
            )
        )
    assert not own_threads()


@pytest.mark.parametrize("method", ["scsc-paper", "ocsc-paper"])
def test_cancelling_ends_it_the_paper_with_a_bank(method):
    """Nothing is learned, so it is while restoring that it must be checked."""
    _, y = noisy()
    bank = LatticeSCSC(8, (6, 6), sigma=0.1).fit([y]).bank

    def tick():
        raise Enough

    with pytest.raises(Enough):
        list(
            iter_denoise(
                y, sigma=0.1, bank=bank, method=method, cancellation=CallingCancellation(tick)
            )
        )


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("stage", [NoiseFound, TileLearned, RegionRestored])
def test_progress_cancels_and_leaves_no_thread(stage, n_jobs, small_tiles, own_threads):
    y = picture((100, 90)) + 0.1 * white((100, 90))

    def progress(update):
        if isinstance(update, stage):
            raise Enough

    with pytest.raises(Enough) as caught:
        denoise(y, sigma=0.1, n_jobs=n_jobs, quality="fast", progress=progress)
    assert caught.value is not None
    # Not even while somebody looks at the exception.
    assert not own_threads()


@pytest.mark.parametrize("stage", [NoiseFound, TileLearned, RegionRestored])
def test_closing_the_updates_early_leaves_no_thread(stage, small_tiles, own_threads):
    y = picture((100, 90)) + 0.1 * white((100, 90))
    updates = iter_denoise(y, sigma=0.1, n_jobs=2, quality="fast")
    for update in updates:
        if isinstance(update, stage):
            break
    updates.close()
    assert not own_threads()


def test_forgotten_updates_leave_no_thread(own_threads):
    updates = iter_denoise(noisy()[1], sigma=0.1, n_jobs=2, quality="fast")
    for update in updates:
        if isinstance(update, RegionRestored):
            break
    del updates, update
    gc.collect()
    assert not own_threads()


# --- wrong arguments ----------------------------------------------------------------------------

GOOD = np.random.default_rng(0).random((20, 22))


def with_value(value, dtype=np.float64):
    x = GOOD.astype(dtype)
    x[3, 4] = value
    return x


@pytest.mark.parametrize(
    ("image", "options", "error", "words"),
    [
        (with_value(np.nan), {}, ValueError, "inpaint"),
        (np.ma.MaskedArray(GOOD, GOOD > 0.9), {}, ValueError, "inpaint"),
        (with_value(np.inf), {}, ValueError, "infinite"),
        (with_value(-np.inf), {}, ValueError, "infinite"),
        (GOOD.astype(complex), {}, TypeError, "complex"),
        (GOOD.astype(object), {}, TypeError, "object"),
        (GOOD > 0.5, {}, TypeError, "True and False"),
        (np.array([["a", "b"]] * 5), {}, TypeError, "real numbers"),
        (np.zeros((0, 20)), {}, ValueError, "empty"),
        (np.array(1.0), {}, ValueError, "single value"),
        (None, {}, TypeError, "array"),
        ("image.tif", {}, TypeError, "array"),
        (np.full((20, 20), 7.0), {}, ValueError, "constant"),
        (np.full((20, 20), 7, np.uint8), {}, ValueError, "constant"),
        (GOOD[:3], {}, ValueError, "smaller than the smallest filter"),
        (GOOD[:, :2], {}, ValueError, "smaller than the smallest filter"),
        (GOOD[0, :3], {}, ValueError, "smaller than the smallest filter"),
        (GOOD[None], {"kind": "video"}, ValueError, "smaller than the smallest filter"),
        (GOOD[None], {"kind": "multispectral"}, ValueError, "one value only"),
        (GOOD[..., None], {"kind": "rgb"}, ValueError, "one value only"),
        (GOOD[None, None], {"kind": "light-field"}, ValueError, "one value only"),
        (np.stack([GOOD] * 5), {}, ValueError, "kind=|say which"),
        (np.zeros((2, 2, 2, 20, 20)), {}, ValueError, "axes="),
        (np.stack([[GOOD] * 3] * 3), {"axes": "t:slide,z,y,x"}, ValueError, "up to three"),
        (GOOD, {"kind": "video"}, ValueError, "video"),
        (GOOD, {"kind": "picture"}, ValueError, "kind"),
        (GOOD, {"kind": 3}, ValueError, "kind"),
        (GOOD, {"axes": "y"}, ValueError, "axes"),
        (GOOD, {"axes": 5}, UserTypeError, "axes must be labels"),
        (GOOD, {"axes": [0, 1]}, UserTypeError, "axes must be labels"),
        (GOOD, {"out": "d/a\0b.npy"}, UserError, "out has a zero byte"),
        (GOOD, {"out": f"{__file__}/x.npy"}, UserError, "would lie in .*, which is no folder"),
        (GOOD, {"axes": "yy"}, ValueError, "twice"),
        (GOOD, {"axes": "y?"}, ValueError, "not known"),
        (GOOD, {"axes": "cn"}, ValueError, "slide along"),
        (GOOD, {"sigma": 0}, ValueError, "sigma"),
        (GOOD, {"sigma": -0.1}, ValueError, "sigma"),
        (GOOD, {"sigma": np.nan}, ValueError, "sigma"),
        (GOOD, {"sigma": np.inf}, ValueError, "sigma"),
        (GOOD, {"sigma": "0.1"}, TypeError, "sigma"),
        (GOOD, {"sigma": True}, TypeError, "sigma"),
        (GOOD, {"sigma": np.array([0.1, 0.2])}, TypeError, "sigma"),
        (GOOD, {"strength": 0}, ValueError, "strength"),
        (GOOD, {"strength": -1.0}, ValueError, "strength"),
        (GOOD, {"strength": None}, TypeError, "strength"),
        (GOOD, {"quality": "perfect"}, ValueError, "quality"),
        (GOOD, {"quality": None}, ValueError, "quality"),
        (GOOD, {"method": "bm3d"}, ValueError, "method"),
        (GOOD, {"seed": -1}, ValueError, "seed"),
        (GOOD, {"seed": 1.5}, TypeError, "seed"),
        (GOOD, {"n_jobs": 0}, ValueError, "n_jobs"),
        (GOOD, {"n_jobs": 1.5}, TypeError, "n_jobs"),
        (GOOD, {"bank": GOOD}, TypeError, "bank"),
        (GOOD, {"bank": "bank.scsc"}, TypeError, "bank"),
    ],
)
def test_wrong_arguments_raise_at_the_call(image, options, error, words):
    with pytest.raises(error, match=words):
        iter_denoise(image, **options)


def test_progress_must_be_a_function(tmp_path):
    with pytest.raises(UserTypeError, match="progress must be a function"):
        denoise(GOOD, progress=5, out=tmp_path / "a.npy")
    assert not list(tmp_path.iterdir())


def test_range_that_no_float_holds_is_refused_at_the_call():
    x = np.where(GOOD > 0.5, 1.7e308, -1.7e308)
    with pytest.raises(ValueError, match="scale it"):
        iter_denoise(x, sigma=1e300)


# --- the edges of what is possible --------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")
@pytest.mark.parametrize("sigma", [0.1, None])
@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((4, 4), None),
        ((4, 5), None),
        ((8, 8), None),
        ((10, 10), None),
        ((4, 300), None),
        ((300, 5), None),
        ((4,), None),
        ((5,), None),
        ((40,), None),
        ((2, 4, 4), "video"),
        ((2, 9, 8), "stack"),
        ((4, 4, 3), "rgb"),
        ((30, 4, 4), "multispectral"),
        ((2, 2, 4, 4), "light-field"),
        ((2, 4, 4), "time-lapse"),
        ((1, 20, 20), "time-lapse"),
    ],
)
def test_smallest_images_are_denoised(shape, kind, sigma):
    y = 0.5 + 0.1 * white(shape)
    result = denoise_alone(y, kind=kind, sigma=sigma)
    assert result.shape == shape
    assert np.isfinite(result).all()
    if sigma:
        assert np.std(result - 0.5) < np.std(y - 0.5)


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("at", [(20, 20), (0, 0), (39, 39)])
def test_one_bright_pixel_stays_alone(at, kind):
    x = np.zeros((40, 40), kind)
    x[at] = 200
    result = denoise_alone(x, sigma=2.0)
    assert result.max() <= 210
    assert result[at] > 100
    other = result.astype(float)
    other[max(0, at[0] - 12) : at[0] + 13, max(0, at[1] - 12) : at[1] + 13] = 0
    assert np.abs(other).max() < 2


@pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")
def test_all_equal_but_one_value_is_no_reason_to_fail():
    x = np.full((30, 30), 5.0)
    x[7, 9] = np.nextafter(5.0, 6)
    result = denoise_alone(x, sigma=0.1)
    np.testing.assert_allclose(result, 5, atol=1e-12)


@pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("scale", [1e-80, 1e-30, 1e30, 1e80])
def test_size_of_the_values_does_not_matter(scale, given):
    x, y = noisy()
    result = denoise_alone(y * scale, sigma=0.1 * scale if given else None)
    assert psnr(result / scale, x) > psnr(y, x) + 7


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_values_whose_squares_no_float_holds_are_refused_at_the_call(scale):
    with pytest.raises(ValueError, match="scale it"):
        iter_denoise(noisy()[1] * scale)


@pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize(
    ("kind", "offset"), [("i8", 1 << 60), ("i8", -(1 << 63)), ("u8", (1 << 64) - 4000)]
)
def test_large_offsets_of_integers_lose_nothing(kind, offset, given):
    x, y = noisy()
    whole = np.rint(1000 * y + 1000).astype(int)
    raised = (whole.astype(object) + offset).astype(kind)
    result = denoise_alone(raised, sigma=100.0 if given else None)
    back = (result.astype(object) - offset).astype(float)
    assert psnr(back / 1000 - 1, x) > psnr(y, x) + 7
    if given:
        np.testing.assert_allclose(back, denoise_alone(whole, sigma=100.0), atol=1)


@pytest.mark.parametrize("quality", ["fast", "balanced"])
@pytest.mark.parametrize("sigma", [1e-3, 1e-4, 1e-5])
def test_weak_noise_does_not_grow(sigma, quality):
    """As of a camera with 16 bits: 1e-4 of the range are 6 counts."""
    x = clean("image").astype(np.float64)
    result = denoise_alone(x + sigma * white(x.shape), sigma=sigma, quality=quality)
    assert np.sqrt(np.mean((result - x) ** 2)) < sigma


@pytest.mark.parametrize("hot", [1e4, 1e12, 1e30])
def test_hot_pixel_does_not_spoil_the_rest(hot):
    """Where the noise is below what the computation resolves, an error is right too."""
    x, y = noisy()
    y = y.copy()
    y[30, 30] = hot
    try:
        result = denoise_alone(y, sigma=0.1)
    except ValueError as error:
        assert "sigma" in str(error) or "range" in str(error)  # noqa: PT017
        return
    away = np.ones(x.shape, bool)
    away[15:46, 15:46] = False
    assert psnr(result[away], x[away]) > psnr(y[away], x[away])


@pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")
@pytest.mark.parametrize("sigma", [10.0, 1e30, 1e200])
def test_absurd_noise_levels_leave_next_to_nothing(sigma):
    x, _ = noisy()
    result = denoise_alone(x, sigma=sigma)
    assert np.isfinite(result).all()
    assert np.std(result) < np.std(x)


@pytest.mark.parametrize("sigma", [1e-300, 1e-30, 1e-9])
def test_noise_that_is_nothing_beside_the_values_is_refused_at_the_call(sigma):
    with pytest.raises(ValueError, match="units of the image"):
        iter_denoise(noisy()[0], sigma=sigma)


@pytest.mark.filterwarnings("ignore::napari_scsc.RestorationWarning")
@pytest.mark.parametrize("given", [True, False])
def test_saturated_image_is_denoised(given):
    x = np.clip(2.5 * picture((80, 80)), 0, 1)
    y = np.clip(255 * x + 25 * white(x.shape), 0, 255).astype(np.uint8)
    result = denoise_alone(y, sigma=25.0 if given else None)
    assert result.dtype == np.uint8
    assert psnr(result / 255, x) > psnr(y / 255, x) + 3


@pytest.mark.parametrize("quality", ["fast", "balanced"])
def test_noise_alone_becomes_nearly_flat(quality):
    y = white((80, 80))
    assert np.std(denoise_alone(y, sigma=1.0, quality=quality)) < 0.2


def test_pieces_of_the_result_of_noise_are_centred():
    y = 100 + white((64, 64))
    result = denoise_alone(y, sigma=1.0)
    assert abs(result.mean() - y.mean()) < 0.02


# --- the noise of each kind -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_noise_of_each_kind_is_found(kind):
    _, y = noisy(kind)
    assert estimate_noise(y, kind=kind).sigma == pytest.approx(0.1, rel=0.15)
    assert estimate_noise(1000 * y, kind=kind).sigma == pytest.approx(100, rel=0.15)


def test_noise_is_found_whatever_the_order_of_axes_and_what_is_missing():
    _, y = noisy("multispectral")
    plain = estimate_noise(y, kind="multispectral").sigma
    turned = estimate_noise(np.moveaxis(y, 0, -1), kind="multispectral", axes="yxc").sigma
    assert turned == plain
    missing = np.zeros((40, 40), bool)
    missing[10:14] = True
    spoiled = np.where(missing, 1e6, y)
    masked = estimate_noise(spoiled, missing, kind="multispectral").sigma
    assert masked == pytest.approx(0.1, rel=0.15)
    with_nan = estimate_noise(np.where(missing, np.nan, y), kind="multispectral").sigma
    assert with_nan == masked


def test_noise_of_a_signal_is_found():
    y = np.repeat([0.0, 1, 0.3, 0.8], 200) + 0.1 * white(800)
    assert estimate_noise(y, axes="x").sigma == pytest.approx(0.1, rel=0.25)


@pytest.mark.parametrize(
    ("image", "error"), [(np.full((20, 20), 1.0), ValueError), (GOOD > 0.5, TypeError)]
)
def test_noise_of_what_is_no_image_is_refused(image, error):
    with pytest.raises(error):
        estimate_noise(image)


def test_noise_beyond_the_range_of_the_image_is_remarked_upon():
    with pytest.warns(RestorationWarning, match="units of the image"):
        denoise_alone(noisy()[0], sigma=25.0)


@pytest.mark.parametrize("out", [None, np.zeros((64, 64))])
def test_resuming_nothing_is_refused(out):
    with pytest.raises(ValueError, match="name the file, out="):
        denoise(np.zeros((64, 64)), out=out, resume=True)


def test_value_that_is_far_off_does_not_hide_the_noise_in_silence():
    image = samples.noisy_tissue((64, 60)).astype(np.float32)
    image[30, 30] = 1e9
    with pytest.warns(RestorationWarning, match="far beyond all others"):
        result = denoise(image, kind="image", quality="draft")
    assert result[30, 30] == image[30, 30]
    assert (result[:20] != image[:20]).mean() > 0.9
    image[30, 30] = 1e4
    assert (denoise(image, kind="image", quality="draft")[:20] != image[:20]).mean() > 0.9
