from __future__ import annotations

import itertools
import math
import threading
import time
import tracemalloc
from collections import Counter

import dask.array as da
import h5py
import numpy as np
import pytest
import zarr

from napari_scsc.choices import DRAWS
from napari_scsc.data.image import wrap_image
from napari_scsc.data.samples import open_samples
from napari_scsc.learning import tile_grid
from napari_scsc.learning.sampler import (
    count_tiles,
    is_complete,
    measure_structure,
    permuted_index,
    read_ahead,
    read_tiles,
    tile_order,
)
from napari_scsc.learning.tile_grid import make_tile_grid

# Shape, chunks (None: not chunked), labels of the axes.
LAYOUTS = [
    ((300, 290), (40, 50), "yx"),  # chunks smaller than a tile
    ((300, 290), (150, 290), "yx"),  # and larger
    ((300, 290), (1, 290), "yx"),  # rows
    ((300, 290), (297, 288), "yx"),  # with a little left over
    ((300, 290), ((7, 250, 43), (3, 3, 284)), "yx"),
    ((300, 290), None, "yx"),
    ((5, 120, 130), (2, 50, 130), "nyx"),
    ((3, 200, 190), (1, 64, 64), "cyx"),
    ((120, 130, 3), (64, 64, 1), "yxc"),
    ((20, 90, 80), (1, 90, 80), "tyx"),
    ((20, 90, 80), (7, 16, 80), "zyx"),
    ((3, 4, 50, 50, 2), (2, 1, 50, 50, 1), "ntyxc"),
    ((5000,), (33,), "x"),
]
POINTS = 40 * 40


class Chunked:
    """An array that counts how often each of its chunks is read."""

    def __init__(self, values, chunks):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.chunks = chunks
        self.reads = Counter()

    def __getitem__(self, region):
        touched = []
        for s, n, c in zip(region, self.shape, self.chunks, strict=True):
            start, stop, _ = s.indices(n)
            lengths = c if isinstance(c, tuple) else [c] * math.ceil(n / c)
            ends = np.cumsum(lengths)
            first, last = np.searchsorted(ends, [start, stop - 1], side="right")
            touched.append(range(first, last + 1))
        self.reads.update(itertools.product(*touched))
        return self.values[region]

    def n_chunks(self):
        pairs = zip(self.chunks, self.shape, strict=True)
        return math.prod(len(c) if isinstance(c, tuple) else math.ceil(n / c) for c, n in pairs)


def numbered(shape, chunks, labels):
    """A source whose values are their own places; and what counts its reads."""
    values = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    array = values if chunks is None else Chunked(values, chunks)
    source = open_samples(array, None, None, labels)
    if chunks is not None:
        array.reads.clear()
    return source, array


def tiles_of(source, *, most=None, seed=0, draw="uniform", passes=1, start=0):
    grid = make_tile_grid(source, POINTS, draw=draw)
    draws = tile_order([grid], most, seed=seed, passes=passes)
    draws = itertools.islice(draws, start, None)
    return [tile for _, tile in read_tiles([source], [grid], draws, draw=draw)]


# --- where tiles lie ----------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "chunks", "labels"), LAYOUTS)
def test_tiles_of_a_pass_cover_the_image_once(shape, chunks, labels):
    source, _ = numbered(shape, chunks, labels)
    tiles = tiles_of(source)
    values = np.sort(np.concatenate([tile.ravel() for tile in tiles]))
    np.testing.assert_array_equal(values, np.arange(math.prod(shape)))
    assert all(len(tile) == source.n_joint for tile in tiles)


@pytest.mark.parametrize(("shape", "chunks", "labels"), LAYOUTS)
@pytest.mark.parametrize("draw", DRAWS)
def test_every_tile_is_a_box_inside_of_the_image_and_of_a_sensible_size(
    shape, chunks, labels, draw
):
    source, _ = numbered(shape, chunks, labels)
    n_shift = len(source.shift)
    for tile in tiles_of(source, draw=draw):
        places = np.array(np.unravel_index(tile.astype(int), shape))
        for axis, role in enumerate(source.axes.roles):
            length = np.ptp(places[axis]) + 1
            assert role != "sample" or length == 1
            assert role != "joint" or length == shape[axis]
        assert tile.ndim == 1 + n_shift
        assert POINTS / 4 <= tile[0].size <= 3 * POINTS or tile[0].size == math.prod(source.shift)
        assert min(tile.shape[1:]) >= min(7, *source.shift)


@pytest.mark.parametrize(("shape", "chunks", "labels"), [x for x in LAYOUTS if x[1]])
@pytest.mark.parametrize("draw", DRAWS)
def test_each_chunk_is_read_once_in_a_pass(shape, chunks, labels, draw):
    source, array = numbered(shape, chunks, labels)
    tiles_of(source, draw=draw)
    assert set(array.reads.values()) == {1}
    assert len(array.reads) == array.n_chunks()
    tiles_of(source, draw=draw, passes=2)
    assert set(array.reads.values()) == {3}


def test_few_tiles_read_few_chunks():
    source, array = numbered((600, 600), (100, 100), "yx")
    assert len(tiles_of(source, most=5)) == 5
    assert sum(array.reads.values()) <= 5


def test_whole_planes_as_chunks_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(tile_grid, "MAX_BLOCK_VALUES", 100_000)
    values = np.broadcast_to(np.arange(90 * 80, dtype=np.float32).reshape(90, 80), (60, 90, 80))
    source = open_samples(Chunked(values, (1, 90, 80)), None, None, "tyx")
    grid = make_tile_grid(source, 25**3)
    assert max(map(grid.values_of, range(grid.n_blocks))) <= 1.6 * 100_000
    assert grid.shortest[0] >= 8


@pytest.mark.parametrize("filter_shape", [(20, 20), (5, 40)])
@pytest.mark.parametrize("chunks", [None, (16, 16), (64, 200), (190, 7)])
def test_no_tile_is_shorter_than_a_filter(filter_shape, chunks):
    source, _ = numbered((200, 210), chunks, "yx")
    grid = make_tile_grid(source, 400, filter_shape=filter_shape)
    assert all(a >= b for a, b in zip(grid.shortest, filter_shape, strict=True))


@pytest.mark.parametrize("kind", ["dask", "zarr", "hdf5", "contiguous", "multiscale", "xarray"])
def test_any_kind_of_array_gives_the_same_values(kind, tmp_path):
    values = np.random.default_rng(0).normal(size=(130, 120)).astype(np.float32)
    file = h5py.File(tmp_path / "a.h5", "w")
    if kind == "dask":
        array = da.from_array(values, chunks=(50, 60))
    elif kind == "zarr":
        array = zarr.create_array(tmp_path / "a.zarr", data=values, chunks=(50, 60))
    elif kind == "multiscale":
        array = [da.from_array(values, chunks=(50, 60)), values[::2, ::2]]
    elif kind == "xarray":
        xarray = pytest.importorskip("xarray")
        array = xarray.DataArray(values, dims=("y", "x")).chunk({"y": 50, "x": 60})
    else:
        array = file.create_dataset("a", data=values, chunks=(50, 60) if kind == "hdf5" else None)
    with file:
        found = tiles_of(open_samples(array, None, "image", None))
    total = np.sort(np.concatenate([tile.ravel() for tile in found]))
    np.testing.assert_array_equal(total, np.sort(values.ravel()))


def test_what_a_mask_hides_is_masked_and_not_usable():
    values = np.random.default_rng(0).normal(size=(200, 200))
    masked = np.ma.MaskedArray(values, np.zeros(values.shape, bool))
    masked[3, 4] = np.ma.masked
    holed = np.where(np.ma.getmaskarray(masked), np.nan, values)
    for image in (masked, da.from_array(masked, chunks=100), holed):
        tiles = tiles_of(open_samples(image, None, "image", None))
        assert [is_complete(tile) for tile in tiles].count(False) == 1


# --- which and in which order -------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "chunks", "labels"), LAYOUTS)
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("most", [None, 7])
def test_same_seed_gives_the_same_tiles(shape, chunks, labels, draw, most):
    source, _ = numbered(shape, chunks, labels)
    one, same, other = (tiles_of(source, most=most, seed=s, draw=draw) for s in (3, 3, 4))
    assert [t.tobytes() for t in one] == [t.tobytes() for t in same]
    assert [t.tobytes() for t in one] != [t.tobytes() for t in other]


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("start", [1, 17, 60])
def test_beginning_later_gives_the_same_tiles_without_reading_what_was_used(draw, start):
    source, array = numbered((480, 480), (120, 120), "yx")
    whole = tiles_of(source, draw=draw, passes=2)
    array.reads.clear()
    rest = tiles_of(source, draw=draw, passes=2, start=start)
    assert [t.tobytes() for t in rest] == [t.tobytes() for t in whole[start:]]
    assert sum(array.reads.values()) <= 2 * array.n_chunks()
    array.reads.clear()
    tiles_of(source, draw=draw, passes=2, start=len(whole) - 1)
    assert len(array.reads) <= 16  # of one block


@pytest.mark.parametrize("chunks", [None, (40, 40), (160, 160), ((250, 50, 100), (130, 270))])
def test_every_tile_is_as_likely_as_any_other(chunks):
    source, _ = numbered((400, 400), chunks, "yx")
    grid = make_tile_grid(source, POINTS)
    seen, first, seeds, most = Counter(), Counter(), 400, 12
    for seed in range(seeds):
        drawn = [
            (d.visit.block, d.visit.tiles[d.turn]) for d in tile_order([grid], most, seed=seed)
        ]
        assert len(set(drawn)) == most
        seen.update(drawn)
        first.update(drawn[:1])
    assert len(seen) == grid.n_tiles
    expected = seeds * most / grid.n_tiles
    chi2 = sum((n - expected) ** 2 / expected for n in seen.values())
    assert chi2 < grid.n_tiles + 5 * math.sqrt(2 * grid.n_tiles)
    assert len(first) > grid.n_tiles / 2


def test_first_tiles_come_from_different_chunks():
    source, _ = numbered((800, 800), (200, 200), "yx")
    grid = make_tile_grid(source, POINTS)
    assert grid.n_tiles == 16 * 25
    first = itertools.islice(tile_order([grid]), 16)
    assert len({draw.visit.block for draw in first}) > 8


def test_tiles_of_several_images_are_mixed():
    sources = [numbered((200, 200), c, "yx")[0] for c in (None, (50, 50), (100, 200))]
    grids = [make_tile_grid(s, POINTS) for s in sources]
    drawn = list(tile_order(grids, 10))
    assert Counter(d.visit.image for d in drawn) == {0: 10, 1: 10, 2: 10}
    assert len({d.visit.image for d in drawn[:10]}) > 1
    assert count_tiles(grids, 10, 2) == 60
    assert count_tiles(grids, None) == sum(g.n_tiles for g in grids)


@pytest.mark.parametrize("total", [1, 2, 3, 16, 17, 100, 1000])
def test_shuffling_without_memory_is_a_permutation(total):
    orders = set()
    for seed in range(20):
        keys = np.random.default_rng(seed).integers(1 << 63, size=6).tolist()
        numbers = [permuted_index(i, total, keys) for i in range(total)]
        assert sorted(numbers) == list(range(total))
        orders.add(tuple(numbers))
    assert len(orders) >= min(15, math.factorial(min(total, 4)) // 2)


def test_shuffling_sends_numbers_anywhere():
    total, places = 1000, []
    for seed in range(300):
        keys = np.random.default_rng(seed).integers(1 << 63, size=6).tolist()
        places.append([permuted_index(i, total, keys) for i in (0, 1, 500, 999)])
    mean, spread = np.mean(places, axis=0), np.std(places, axis=0)
    np.testing.assert_allclose(mean, total / 2, atol=90)
    np.testing.assert_allclose(spread, total / math.sqrt(12), rtol=0.15)


def test_order_of_endless_data_takes_no_memory():
    class Endless:
        shape, chunks, dtype = (1 << 20, 1 << 20), (64, 64), np.dtype(np.float32)

        def __getitem__(self, region):
            raise AssertionError("nothing is to be read")

    source, _ = numbered((64, 64), None, "yx")
    endless = wrap_image(Endless())
    grid = make_tile_grid(type(source)(endless, source.axes, source.range), 128 * 128)
    assert grid.n_blocks == 1 << 26
    tracemalloc.start()
    drawn = list(itertools.islice(tile_order([grid]), 2000))
    some = list(tile_order([grid], 100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6
    assert len({d.visit.block for d in drawn}) == 2000
    assert len(some) == 100


# --- structure ----------------------------------------------------------------------------------


def test_structure_is_variance_that_neighbours_share():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(1, 64, 64))
    wave = np.sin(np.mgrid[:64, :64][0] / 5)[None]
    assert measure_structure(noise) < 0.05
    assert measure_structure(wave) == pytest.approx(wave.var(), rel=0.1)
    assert measure_structure(wave + noise) == pytest.approx(wave.var(), rel=0.2)
    assert measure_structure(np.where(wave > 0.99, np.nan, wave)) == -1


@pytest.mark.parametrize("chunks", [None, (40, 40), (200, 200)])
def test_tiles_with_structure_are_more_likely_and_cost_no_reads(chunks):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 400)).astype(np.float32)
    rows = np.mgrid[:400, :400][0]
    textured = rows // 40 % 2 == 0  # every other row of tiles
    values += np.where(textured, 6 * np.sin(rows / 3), 0).astype(np.float32)
    array = values if chunks is None else Chunked(values, chunks)
    source = open_samples(array, None, "image", None)
    if chunks:
        array.reads.clear()
    shares = {
        draw: np.mean([tile.var() > 5 for tile in tiles_of(source, draw=draw)]) for draw in DRAWS
    }
    assert shares["uniform"] == pytest.approx(0.5, abs=0.05)
    assert 0.65 < shares["structure"] < 1
    if chunks:
        assert set(array.reads.values()) == {2}


def test_tiles_with_missing_values_are_not_drawn_for_their_structure():
    values = np.random.default_rng(0).normal(size=(200, 200))
    values[:100] = np.nan
    source = open_samples(values, None, "image", None)
    assert all(map(is_complete, tiles_of(source, draw="structure")))


# --- one ahead ----------------------------------------------------------------------------------


def our_threads():
    return [t for t in threading.enumerate() if t.name.startswith("napari-scsc read")]


def test_next_item_is_made_while_this_one_is_used_and_no_other():
    made = [threading.Event() for _ in range(4)]

    def items():
        for i, event in enumerate(made):
            event.set()
            yield i

    with_one_ahead = read_ahead(items())
    assert next(with_one_ahead) == 0
    assert made[1].wait(5)
    time.sleep(0.05)
    assert not made[2].is_set()
    assert list(with_one_ahead) == [1, 2, 3]
    assert not our_threads()


def test_errors_of_the_items_reach_who_uses_them():
    def items():
        yield 1
        raise OSError("the disk is gone")

    several = read_ahead(items())
    assert next(several) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(several)
    assert not our_threads()


def test_closing_ends_the_thread_and_closes_the_items():
    closed = []

    def items():
        try:
            yield from range(100)
        finally:
            closed.append(threading.current_thread())

    several = read_ahead(items())
    assert next(several) == 0
    assert our_threads()
    several.close()
    assert closed
    assert not our_threads()
    several = read_ahead(items())
    next(several)
    with pytest.raises(InterruptedError):
        several.throw(InterruptedError())
    assert len(closed) == 2
    assert not our_threads()
