from __future__ import annotations

import math
import pickle
import shutil
import threading

import dask.array as da
import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from lazy_array import Lazy

from napari_scsc.data.image import wrap_image, wrap_mask
from napari_scsc.data.scaling import ValueRange, measure_range
from napari_scsc.errors import UserError

WHOLE = (slice(None), slice(None))


def sizes(regions):
    return [math.prod(s.stop - s.start for s in region) for region in regions]


# Kinds of arrays


def test_looking_at_an_array_reads_nothing_and_reading_a_region_reads_only_that():
    lazy = Lazy(np.arange(60.0).reshape(3, 4, 5))
    image = wrap_image(lazy, missing=Lazy(np.zeros((4, 5), bool)))
    assert (image.shape, image.dtype, image.labels, image.name) == ((3, 4, 5), float, None, "")
    assert lazy.read == []
    region = (slice(1, 2), slice(0, 2), slice(3, 5))
    np.testing.assert_array_equal(image.read(region), lazy.values[region])
    assert lazy.read == [region]


def test_measuring_reads_every_value_once_and_never_the_whole():
    lazy = Lazy(np.arange(3 << 21, dtype=np.int32).reshape(3, 1 << 10, 1 << 11))
    mask = Lazy(lazy.values % 8 == 0)
    found = measure_range(wrap_image(lazy, missing=mask))
    assert found == ValueRange(1, (3 << 21) - 1, 21 << 18, 0, 3 << 18)
    assert max(sizes(lazy.read)) <= 1 << 22
    assert sum(sizes(lazy.read)) == sum(sizes(mask.read)) == 3 << 21


def test_numpy_is_viewed_without_a_copy():
    x = np.asfortranarray(np.arange(20.0).reshape(4, 5))
    x.flags.writeable = False
    part = wrap_image(x).read((slice(1, 3), slice(0, 5)))
    assert np.shares_memory(part, x)
    np.testing.assert_array_equal(part, x[1:3])


def test_memory_mapped_file_is_viewed_without_a_copy(tmp_path):
    path = tmp_path / "image.raw"
    np.arange(20, dtype=np.uint16).tofile(path)
    x = np.memmap(path, np.uint16, "r", shape=(4, 5))
    part = wrap_image(x).read((slice(2, 3), slice(0, 5)))
    assert type(part) is np.ndarray
    assert np.shares_memory(part, x)
    assert part.tolist() == [[10, 11, 12, 13, 14]]
    assert measure_range(wrap_image(x)) == ValueRange(0, 19, 20)


@pytest.mark.parametrize("dtype", [">u2", "<u2", ">i8", "<f4", ">f8"])
def test_values_are_read_in_the_byte_order_of_the_machine(dtype):
    image = wrap_image(np.arange(6).reshape(2, 3).astype(dtype))
    assert image.dtype.isnative
    part = image.read(WHOLE)
    assert part.dtype == image.dtype
    assert part.tolist() == [[0, 1, 2], [3, 4, 5]]


def counted_dask(values, chunks):
    """A dask array that counts how often each of its blocks is computed."""
    computed: dict[tuple[int, ...], int] = {}
    lock = threading.Lock()

    def block(x, block_info=None):
        if block_info:
            with lock:
                place = tuple(block_info[0]["chunk-location"])
                computed[place] = computed.get(place, 0) + 1
        return x

    array = da.from_array(values, chunks=chunks)
    return array.map_blocks(block, dtype=values.dtype, meta=np.empty((0, 0))), computed


def test_of_a_dask_array_only_the_blocks_of_the_region_are_computed():
    x = np.arange(120).reshape(10, 12)
    array, computed = counted_dask(x, (5, 4))
    image = wrap_image(array)
    assert computed == {}
    np.testing.assert_array_equal(image.read((slice(5, 9), slice(3, 8))), x[5:9, 3:8])
    assert computed == {(1, 0): 1, (1, 1): 1}


def test_each_block_of_a_dask_array_is_computed_once_in_a_pass():
    array, computed = counted_dask(np.arange(120).reshape(10, 12), ((3, 7), (5, 1, 6)))
    for region in wrap_image(array).blocks(20):
        array[region].compute()
    assert set(computed.values()) == {1}
    assert len(computed) == 6


def test_result_of_a_dask_array_is_a_dask_array_with_its_chunks():
    array = da.zeros((10, 12), chunks=((3, 7), (5, 1, 6)), dtype=np.uint8)
    result = np.arange(120, dtype=np.float32).reshape(10, 12)
    back = wrap_image(array).like(result)
    assert back.chunks == array.chunks
    np.testing.assert_array_equal(back.compute(), result)
    assert wrap_image(array).name == ""
    lazy = wrap_image(array).like(da.from_array(result))
    assert lazy.chunks == array.chunks
    np.testing.assert_array_equal(lazy.compute(), result)


def test_result_of_numpy_is_the_result_and_must_have_the_shape():
    result = np.ones((2, 3), np.float32)
    assert wrap_image(np.zeros((2, 3))).like(result) is result
    assert wrap_image([np.zeros((2, 3)), np.zeros((1, 1))]).like(result) is result
    with pytest.raises(ValueError, match=r"the result has the shape \(2, 3\), the image \(3, 2\)"):
        wrap_image(np.zeros((3, 2))).like(result)


def test_finest_level_of_a_multiscale_image_is_taken():
    levels = [Lazy(np.full((8 >> i, 8 >> i), i, np.uint8)) for i in range(3)]
    for multiscale in (levels, tuple(levels), levels[:1]):
        image = wrap_image(multiscale)
        assert image.shape == (8, 8)
        assert (image.read(WHOLE) == 0).all()
    assert levels[1].read == levels[2].read == []


def test_multiscale_data_of_napari_is_taken_for_its_finest_level():
    module = pytest.importorskip("napari.layers._multiscale_data")
    image = wrap_image(module.MultiScaleData([np.ones((4, 6)), np.zeros((2, 3))]))
    assert image.shape == (4, 6)
    assert (image.read(WHOLE) == 1).all()


@pytest.mark.parametrize("shapes", [[(4, 4), (4, 4)], [(4, 4), (8, 2)], [(4, 4), (4,)]])
def test_arrays_that_do_not_shrink_are_no_multiscale_image(shapes):
    with pytest.raises(ValueError, match=r"do not shrink: \(4, 4\), .*Stack them"):
        wrap_image([np.zeros(shape) for shape in shapes])


def test_what_can_only_be_converted_is_converted():
    class Convertible:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 2], [3, 4]])

    for array in (Convertible(), [[1, 2], [3, 4]], ((1, 2), (3, 4))):
        assert wrap_image(array).read(WHOLE).tolist() == [[1, 2], [3, 4]]


def test_type_of_another_library_is_asked_of_a_single_value():
    lazy = Lazy(np.ones((5, 5), np.float32))
    lazy.dtype = "a type that numpy does not know"
    assert wrap_image(lazy).dtype == np.float32
    assert lazy.read == [(slice(0, 1), slice(0, 1))]


def test_xarray_comes_back_with_dims_coordinates_attributes_and_name():
    xr = pytest.importorskip("xarray")
    x = xr.DataArray(
        np.arange(6, dtype=np.uint8).reshape(2, 3),
        dims=("y", "x"),
        coords={"y": [0.5, 1.5], "x": [1, 2, 3], "where": ("y", ["a", "b"])},
        attrs={"unit": "counts"},
        name="cells",
    )
    x.encoding["dtype"] = np.dtype(np.uint8)
    image = wrap_image(x)
    assert (image.labels, image.name, image.shape) == (("y", "x"), "cells", (2, 3))
    assert type(image.read((slice(0, 1), slice(0, 2)))) is np.ndarray
    result = np.full((2, 3), 0.5, np.float32)
    back = image.like(result)
    assert back.identical(x.copy(data=result))
    assert back.dtype == np.float32
    assert back.encoding == {}
    assert x.encoding
    assert x.dtype == np.uint8


def test_dask_within_xarray_stays_dask_and_is_read_by_blocks():
    xr = pytest.importorskip("xarray")
    values = np.arange(120).reshape(10, 12)
    array, computed = counted_dask(values, (5, 4))
    x = xr.DataArray(array, dims=("y", "x"))
    image = wrap_image(x)
    np.testing.assert_array_equal(image.read((slice(0, 2), slice(0, 2))), values[:2, :2])
    assert computed == {(0, 0): 1}
    assert max(sizes(image.blocks(20))) == 20
    assert image.like(values).chunks == x.chunks


def test_lazy_file_within_xarray_is_read_by_regions():
    xr = pytest.importorskip("xarray")
    from xarray.backends import BackendArray
    from xarray.core import indexing

    read = []

    class Backend(BackendArray):
        shape = (10, 12)
        dtype = np.dtype(np.int64)

        def __getitem__(self, key):
            read.append(key.tuple)
            return np.arange(120).reshape(10, 12)[key.tuple]

    lazy = indexing.LazilyIndexedArray(Backend())
    image = wrap_image(xr.DataArray(xr.Variable(("y", "x"), lazy)))
    assert read == []
    assert image.read((slice(1, 2), slice(3, 5))).tolist() == [[15, 16]]
    assert len(read) == 1
    assert sizes([tuple(read[0])]) == [2]


def test_zarr_is_read_by_chunks_and_tells_its_labels():
    zarr = pytest.importorskip("zarr")
    x = zarr.create_array(
        store={},
        name="movie",
        shape=(5, 40, 50),
        chunks=(2, 16, 16),
        dtype=">u2",
        dimension_names=["t", "y", "x"],
    )
    x[:] = np.arange(10000).reshape(5, 40, 50)
    image = wrap_image(x)
    assert (image.labels, image.name, image.dtype) == (("t", "y", "x"), "movie", np.uint16)
    for region in image.blocks(2000):
        assert all(s.start % c == 0 for s, c in zip(region, (2, 16, 16), strict=True))
    assert measure_range(image) == ValueRange(0, 9999, 10000)


# Masks


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: da.from_array(x, chunks=2)])
def test_mask_of_a_masked_array_is_kept(wrap):
    x = np.ma.masked_greater(np.arange(20, dtype=np.float32).reshape(4, 5), 12)
    image = wrap_image(wrap(x))
    region = (slice(2, 3), slice(1, 5))
    assert type(image.read(region)) is np.ndarray
    assert image.read(region)[0, :2].tolist() == [11, 12]
    assert image.missing.read(region).tolist() == [[False, False, True, True]]
    assert measure_range(image) == ValueRange(0, 12, 13, 0, 7)


def test_array_without_a_mask_misses_nothing():
    assert wrap_image(np.ma.array(np.ones((2, 2)))).missing is None
    assert wrap_image(np.ones((2, 2))).missing is None


def test_given_mask_adds_to_the_mask_of_the_array():
    x = np.ma.array(np.zeros((3, 2, 2)), mask=np.zeros((3, 2, 2), bool))
    x[0, 0, 0] = np.ma.masked
    missing = wrap_image(x, missing=np.array([[0, 0], [0, 7]])).missing
    expected = np.zeros((3, 2, 2), bool)
    expected[:, 1, 1] = expected[0, 0, 0] = True
    np.testing.assert_array_equal(missing.read((slice(None),) * 3), expected)


@pytest.mark.parametrize("dtype", [bool, np.uint8, ">i4", np.int64])
def test_mask_of_the_last_axes_holds_for_all_others(dtype):
    labels = np.array([[0, 1, 3], [0, 0, 256]]).astype(dtype)
    mask = wrap_mask(labels, (4, 2, 3))
    part = mask.read((slice(1, 4), slice(0, 1), slice(1, 3)))
    assert part.dtype == bool
    np.testing.assert_array_equal(part, np.broadcast_to(labels[:1, 1:] != 0, (3, 1, 2)))


@pytest.mark.parametrize("shape", [(3, 2), (2, 1), (4, 2), (1, 2, 3), (1, 4, 2, 3)])
def test_mask_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"the mask has the shape .*, the image") as error:
        wrap_mask(np.zeros(shape, bool), (4, 2, 3))
    assert str(shape) in str(error.value)


# Blocks


@st.composite
def chunked(draw):
    shape = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    if draw(st.booleans()):
        return shape, draw(st.none() | st.tuples(*(st.integers(1, 15) for _ in shape)))
    chunks = []
    for n in shape:
        cuts = [*sorted(draw(st.sets(st.integers(1, n)))), n]
        chunks.append(tuple(int(c) for c in np.diff([0, *cuts]) if c))
    return shape, tuple(chunks)


@given(chunked(), st.integers(1, 300))
def test_blocks_cover_the_array_once_in_whole_chunks_of_bounded_size(array, n_values):
    shape, chunks = array
    regions = list(wrap_image(Lazy(np.zeros(shape), chunks)).blocks(n_values))
    count = np.zeros(shape, int)
    for region in regions:
        count[region] += 1
    assert (count == 1).all()
    chunks = chunks or (1,) * len(shape)
    longest = (min(n, np.max(c)) for n, c in zip(shape, chunks, strict=True))
    assert max(sizes(regions)) <= max(n_values, math.prod(longest))
    for axis, (n, c) in enumerate(zip(shape, chunks, strict=True)):
        allowed = {n, *(range(0, n, c) if isinstance(c, int) else np.cumsum((0, *c)).tolist())}
        assert {r[axis].start for r in regions} | {r[axis].stop for r in regions} <= allowed


def test_blocks_of_a_huge_array_come_at_once_and_are_few():
    image = wrap_image(np.broadcast_to(np.float32(1), (1000, 1000, 1000)))
    assert sizes([next(iter(image.blocks()))]) == [4 * 10**6]
    assert sum(1 for _ in image.blocks()) == 250
    assert len(list(wrap_image(np.broadcast_to(np.uint8(1), 10**9)).blocks())) == 239


# At the door


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.ones((2, 2), bool), TypeError, "a mask is not an image"),
        (np.ones((2, 2), complex), TypeError, "real numbers .* type complex128"),
        (np.ones((2, 2), object), TypeError, "real numbers .* type object"),
        (np.array(["a", "b"]), TypeError, "real numbers .* type <U1"),
        (np.array(["2020-01-01"], "M8[D]"), TypeError, "real numbers .* type datetime64"),
        (np.zeros(3, [("a", int)]), TypeError, "real numbers"),
        (np.zeros((3, 0)), ValueError, r"the image is empty: its shape is \(3, 0\)"),
        ([], ValueError, "the image is empty"),
        (np.float32(3), ValueError, "the image is a single value"),
        (np.array(3), ValueError, "the image is a single value"),
        (3.5, TypeError, "must be an array .* type float"),
        (None, TypeError, "must be an array .* type NoneType"),
        ("image.tif", TypeError, "must be an array .* type str"),
        ({"image": 1}, TypeError, "must be an array .* type dict"),
        (np.ndarray, TypeError, "must be an array .* type type"),
    ],
)
def test_what_is_no_image_is_refused(array, error, message):
    with pytest.raises(error, match=message):
        wrap_image(array)


def test_dask_array_of_unknown_length_is_refused():
    x = da.from_array(np.arange(10))
    with pytest.raises(ValueError, match=r"unknown length: call compute_chunk_sizes\(\)"):
        wrap_image(x[x > 3])


def test_block_without_values_is_refused():
    with pytest.raises(ValueError, match="at least one value"):
        next(wrap_image(np.ones(3)).blocks(0))


def test_masks_of_two_images_do_not_unite():
    with pytest.raises(ValueError, match=r"the shapes \(2, 3\) and \(3,\)"):
        _ = wrap_mask([[1, 0, 0]] * 2, (2, 3)) | wrap_mask([1, 0, 0], (3,))


def test_zarr_with_a_relative_path_is_read_from_any_folder(tmp_path, monkeypatch):
    values = np.arange(30.0).reshape(5, 6)
    monkeypatch.chdir(tmp_path)
    zarr.create_array("in.zarr", data=values)
    image = wrap_image(zarr.open_array("in.zarr", mode="r"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(image)).whole(), values)


def test_zarr_that_cannot_be_reached_says_so_to_other_processes(tmp_path):
    gone = zarr.create_array(str(tmp_path / "in.zarr"), data=np.arange(4.0))
    shutil.rmtree(tmp_path / "in.zarr")
    with pytest.raises(UserError, match="cannot be reached") as raised:
        wrap_image(gone).whole()
    assert raised.value.__cause__ is None  # those of zarr cannot be sent
