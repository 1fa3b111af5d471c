"""How many files a large result is, how long its shards take, and how much memory: no restoration.

    python -m benchmarks.shards 10 --folder /somewhere/with/room

writes noise, so many 10^9 bytes, through the store of results, in the order and with the chunks of
a stack that is restored, and prints one line of JSON. ``--no-shards`` is for comparison.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from napari_scsc.io.stores import shards, store_for
from napari_scsc.io.stores.zarr_stores import _regions
from napari_scsc.run.block_grid import CHUNK_VALUES, _chunk_lengths

_PLANE = (2000, 2000)
_DTYPE = np.dtype(np.uint16)


def write(path, n_bytes):
    """Write a stack of so many bytes; return the figures."""
    depth = max(1, round(n_bytes / _DTYPE.itemsize / np.prod(_PLANE)))
    shape = (depth, *_PLANE)
    chunks = _chunk_lengths(shape, CHUNK_VALUES)
    store = store_for(path, shape, _DTYPE, chunks, labels="zyx", scale=(1, 0.25, 0.25))
    values = np.random.default_rng(0).integers(1000, 1016, chunks, _DTYPE)
    start = time.perf_counter()
    store.create()
    shard, packing, most_files = None, 0.0, 0
    for region in _regions(shape, chunks):
        place = store.shard_of(region)
        if place != shard:
            if shard is not None:
                most_files = max(most_files, count_files(path))
                packing += seconds_of(lambda place=shard: store.pack(place))
            shard = place
        lengths = tuple(slice(0, s.stop - s.start) for s in region)
        store.write(region, values[lengths])
    writing = time.perf_counter() - start
    finishing = seconds_of(store.finish)
    middle = tuple(slice(n // 2, n // 2 + 3) for n in shape)
    origin = [s.start % c for s, c in zip(middle, chunks, strict=True)]
    expected = values[tuple(slice(o, o + 3) for o in origin)]
    found = np.asarray(store.open()[middle])
    assert (found[: len(expected)] == expected[: len(found)]).all()
    return {
        "shape": shape,
        "chunks": chunks,
        "gigabytes_of_values": np.prod(shape) * _DTYPE.itemsize / 1e9,
        "gigabytes_on_disk": sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) / 1e9,
        "files": count_files(path),
        "most_files_while_written": most_files,
        "seconds_to_write": writing,
        "of_which_shards": packing,
        "seconds_to_finish": finishing,
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def count_files(path):
    return sum(len(names) for _, _, names in os.walk(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gigabytes", type=float)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--no-shards", action="store_true")
    given = parser.parse_args()
    if given.no_shards:
        shards.SHARD_BYTES = 1 << 62
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        print(json.dumps(write(Path(folder) / "a.ome.zarr", given.gigabytes * 1e9), default=int))


if __name__ == "__main__":
    main()
