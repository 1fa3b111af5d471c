"""What the tests of stores share: stores of small arrays, and what is in them."""

from __future__ import annotations

import itertools

import numpy as np
import zarr

from napari_scsc.io.stores import store_for

RNG = np.random.default_rng(0)
SUFFIXES = (".zarr", ".ome.zarr", ".tif", ".tiff", ".npy")
DTYPES = ("uint8", "uint16", "int32", "float32", "float64")
# Shapes that the chunks do not divide.
CASES = {1: ((23,), (5,)), 2: ((11, 13), (4, 13)), 3: ((3, 11, 13), (2, 4, 5))}
CASES |= {4: ((2, 3, 7, 9), (1, 3, 4, 9)), 5: ((2, 1, 3, 7, 5), (1, 1, 2, 3, 5))}
LABELS = "tczyx"


def values_of(shape, dtype):
    if np.dtype(dtype).kind == "f":
        return RNG.standard_normal(shape).astype(dtype)
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


def regions_of(shape, chunks):
    spans = [[slice(a, min(a + c, n)) for a in range(0, n, c)] for n, c in zip(shape, chunks)]  # noqa: B905
    return list(itertools.product(*spans))


def whole(shape):
    return tuple(slice(0, n) for n in shape)


def case(path, ndim=3, dtype="float32", **more):
    shape, chunks = CASES[ndim]
    store = store_for(path, shape, dtype, chunks, labels=LABELS[-ndim:], **more)
    store.create()
    return store, values_of(shape, dtype)


def read(store):
    return np.asarray(store.open())


def ome(path):
    return zarr.open_group(path, mode="r").attrs["ome"]
