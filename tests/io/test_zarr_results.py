from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile
import zarr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from store_tools import DTYPES, RNG, case, ome, whole

from napari_scsc.io.stores import store_for, zarr_stores

# Zarr


def test_zarr_knows_names_scale_and_units(tmp_path):
    store, _ = case(tmp_path / "a.zarr", scale=(2, 0.5, 0.5), units=("s", "µm", "pixel"))
    array = zarr.open_array(store.path, mode="r")
    assert array.metadata.zarr_format == 3
    assert array.metadata.dimension_names == ("z", "y", "x")
    assert array.attrs["scale"] == [2, 0.5, 0.5]
    assert array.attrs["units"] == ["second", "micrometer", "pixel"]
    assert array.chunks == store.chunks


def test_names_that_are_only_numbers_are_none(tmp_path):
    store = store_for(tmp_path / "a.zarr", (4, 4), "f4", (2, 2), labels=("-2", "-1"))
    assert store.labels is None


def test_compression_is_a_choice(tmp_path):
    sizes = []
    for compressed in (True, False):
        store = store_for(
            tmp_path / f"{compressed}.zarr", (64, 64), "f4", (64, 64), compressed=compressed
        )
        store.create()
        store.write(whole((64, 64)), np.ones((64, 64), "f4"))
        sizes.append(sum(f.stat().st_size for f in store.path.rglob("c/*/*")))
    assert sizes[0] < sizes[1] == 64 * 64 * 4 + 4  # a checksum


def test_two_openings_have_different_names(tmp_path):
    store, _ = case(tmp_path / "a.zarr")
    assert store.open().name != store.open().name


# OME-Zarr


UNITS = {"space": {"micrometer", "nanometer", "meter"}, "time": {"second", "millisecond"}}


def check_ome(path):
    """What version 0.5 of the specification demands of an image, and what it recommends."""
    with open(path / "zarr.json") as stream:
        node = json.load(stream)
    assert (node["zarr_format"], node["node_type"]) == (3, "group")
    assert node["attributes"]["ome"]["version"] == "0.5"
    (image,) = node["attributes"]["ome"]["multiscales"]
    assert {"name", "type", "metadata"} <= set(image)
    axes, datasets = image["axes"], image["datasets"]
    names = [axis["name"] for axis in axes]
    kinds = [axis.get("type") for axis in axes]
    assert 2 <= len(axes) <= 5
    assert len(set(names)) == len(names)
    assert kinds.count("space") in (2, 3)
    assert kinds.count("time") <= 1
    order = [{"time": 0, "space": 2}.get(kind, 1) for kind in kinds]
    assert order == sorted(order)
    assert order.count(1) <= 1
    for axis in axes:
        if "unit" in axis:
            assert axis["unit"] in UNITS[axis["type"]]
    sizes = []
    for dataset in datasets:
        array = zarr.open_array(path / dataset["path"], mode="r")
        assert array.metadata.zarr_format == 3
        assert array.ndim == len(axes)
        assert list(array.metadata.dimension_names) == names
        kinds = [step["type"] for step in dataset["coordinateTransformations"]]
        assert kinds in (["scale"], ["scale", "translation"])
        for step in dataset["coordinateTransformations"]:
            assert len(step[step["type"]]) == len(axes)
            assert all(isinstance(x, int | float) for x in step[step["type"]])
        sizes.append(array.size)
    assert sizes == sorted(sizes, reverse=True)
    return image


@pytest.mark.parametrize("labels", ["yx", "zyx", "tyx", "cyx", "tcyx", "czyx", "tczyx", "nyx"])
def test_metadata_are_as_specified_before_and_after_finishing(tmp_path, labels):
    shape = tuple({"y": 100, "x": 520, "z": 4}.get(label, 2) for label in labels)
    store = store_for(
        tmp_path / "a.ome.zarr",
        shape,
        "u1",
        tuple(min(n, 200) for n in shape),
        labels=labels,
        scale=[0.5] * len(shape),
        units=["s" if label == "t" else "um" for label in labels],
    )
    store.create()
    assert len(check_ome(store.path)["datasets"]) == 1
    for _ in range(2):
        store.finish()
        image = check_ome(store.path)
        assert image["name"] == "a"
        assert [axis["name"] for axis in image["axes"]] == list(labels)
        assert len(image["datasets"]) == 3
    units = [axis.get("unit") for axis in image["axes"]]
    wanted = {**dict.fromkeys("zyx", "micrometer"), "t": "second"}
    assert units == [wanted.get(label) for label in labels]


@pytest.mark.parametrize(
    ("labels", "ndim"),
    [("yxc", 3), ("uvyx", 4), ("ctyx", 4), ("ncyx", 4), ("x", 1), (None, 4), ("nzc", 3)],
)
def test_axes_that_the_format_has_no_place_for_are_refused(tmp_path, labels, ndim):
    with pytest.raises(ValueError, match=r"a\.ome\.zarr.*\.zarr, which holds any"):
        store_for(tmp_path / "a.ome.zarr", (4,) * ndim, "f4", (2,) * ndim, labels=labels)


def test_one_axis_of_an_unknown_kind_has_its_place(tmp_path):
    store = store_for(tmp_path / "a.ome.zarr", (3, 4, 5), "f4", (1, 4, 5))
    store.create()
    assert [axis.get("type") for axis in check_ome(store.path)["axes"]] == [None, "space", "space"]


def test_the_image_is_called_as_it_is_told(tmp_path):
    for name in ("a.ome.zarr", "a.ome.tif"):
        store_for(tmp_path / name, (4, 5), "f4", (4, 5), name="cells").create()
    assert check_ome(tmp_path / "a.ome.zarr")["name"] == "cells"
    assert 'Name="cells"' in tifffile.tiffcomment(tmp_path / "a.ome.tif")


def test_words_become_the_letters_that_viewers_know(tmp_path):
    store = store_for(
        tmp_path / "a.ome.zarr", (2, 3, 4, 5), "f4", (1, 1, 4, 5), labels=("time", "ch", "row", "x")
    )
    store.create()
    assert [axis["name"] for axis in check_ome(store.path)["axes"]] == list("tcyx")


def mean_of_blocks(values, steps):
    """The mean of each block, the last ones of which may be shorter, by another way."""
    blocks = [np.arange(0, n, step) for n, step in zip(values.shape, steps, strict=True)]
    total, count = values.astype(float), np.ones(values.shape)
    for axis, starts in enumerate(blocks):
        total = np.add.reduceat(total, starts, axis)
        count = np.add.reduceat(count, starts, axis)
    return total / count


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "chunks"), [((2, 66, 70, 514), (1, 33, 70, 128))])
def test_levels_are_means_of_the_one_before(tmp_path, shape, chunks, dtype):
    store = store_for(
        tmp_path / "a.ome.zarr", shape, dtype, chunks, labels="tzyx", scale=(3, 2, 0.5, 0.25)
    )
    store.create()
    before = RNG.integers(0, 200, shape).astype(dtype)
    store.write(whole(shape), before)
    store.finish()
    datasets = ome(store.path)["multiscales"][0]["datasets"]
    scale, middle = np.array(store.scale), np.zeros(4)
    assert len(datasets) == 3
    for level, dataset in enumerate(datasets):
        values = zarr.open_array(store.path / dataset["path"], mode="r")[:]
        steps = dataset["coordinateTransformations"]
        if level == 0:
            np.testing.assert_array_equal(values, before)
            assert len(steps) == 1
        else:
            halved = np.array([1, 2, 2, 2] if level == 1 else [1, 1, 1, 2])
            wanted = mean_of_blocks(before, halved)
            if np.dtype(dtype).kind in "iu":
                wanted = np.rint(wanted)
            np.testing.assert_allclose(values, wanted, rtol=1e-6)
            middle = middle + scale * (halved - 1) / 2
            scale = scale * halved
            np.testing.assert_allclose(steps[1]["translation"], middle)
        np.testing.assert_allclose(steps[0]["scale"], scale)
        assert values.dtype == dtype
        before = values
    assert max(before.shape[-2:]) <= 256


def slack(dtype, value):
    """How far a mean may lie beyond, for its last digit or where it is next to nothing."""
    if dtype.kind == "f":
        info = np.finfo(dtype)
        return float(abs(value) * info.eps + 8 * info.smallest_subnormal)
    return abs(value) * 1e-15 if dtype.itemsize == 8 else 0.0


@given(
    hnp.arrays(st.sampled_from(("u1", "i2", "i8", "u8", "f4", "f8")), hnp.array_shapes(max_dims=3)),
    st.data(),
)
def test_means_stay_between_the_values_of_their_block(values, data):
    steps = [data.draw(st.sampled_from((1, 2))) for _ in values.shape]
    values = np.nan_to_num(values, posinf=1, neginf=1)
    means = zarr_stores._means(values, steps)
    assert means.dtype == values.dtype
    assert means.shape == tuple(-(-n // s) for n, s in zip(values.shape, steps, strict=True))
    for index in np.ndindex(means.shape):
        block = values[tuple(slice(i * s, i * s + s) for i, s in zip(index, steps, strict=True))]
        low, high = float(block.min()), float(block.max())
        assert low - slack(values.dtype, low) <= float(means[index])
        assert float(means[index]) <= high + slack(values.dtype, high)


def test_a_region_written_after_finishing_is_in_the_levels_after_the_next(tmp_path):
    store = store_for(tmp_path / "a.ome.zarr", (300, 300), "f4", (150, 300))
    store.create()
    store.finish()
    store.write(np.s_[0:150, :], np.ones((150, 300), "f4"))
    store.finish()
    level = zarr.open_array(store.path / "1", mode="r")[:]
    assert (level[:75] == 1).all()
    assert not level[75:].any()


def test_finishing_reads_a_few_chunks_at_a_time(tmp_path, monkeypatch):
    store = store_for(tmp_path / "a.ome.zarr", (1000, 1200), "u1", (100, 100))
    store.create()
    sizes = []
    means = zarr_stores._means
    monkeypatch.setattr(
        zarr_stores,
        "_means",
        lambda values, steps: sizes.append(values.size) or means(values, steps),
    )
    store.finish()
    assert max(sizes) <= 4 * 100 * 100
