"""A chunk that was cut off or changed is an error that names the file, never other values."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import zarr

from napari_scsc.io.formats import open_file
from napari_scsc.io.stores import shards, store_for

SHAPE = (64, 300)


@pytest.fixture(params=["0.4", "0.5", "shards", "not compressed"])
def made(tmp_path, request, monkeypatch):
    """A result, and the files of its finest values."""
    if request.param == "shards":
        monkeypatch.setattr(shards, "SHARD_BYTES", 1 << 14)
    store = store_for(
        tmp_path / "a.ome.zarr",
        SHAPE,
        "f4",
        (64, 100),
        labels="yx",
        zarr_format="0.4" if request.param == "0.4" else "0.5",
        compressed=request.param != "not compressed",
    )
    store.create()
    values = np.random.default_rng(0).standard_normal(SHAPE).astype("f4")
    for start in range(0, SHAPE[1], 100):
        region = (slice(0, 64), slice(start, start + 100))
        store.write(region, values[region])
    store.finish()
    files = [f for f in (store.path / "0").rglob("*") if f.is_file() and f.name[0].isdigit()]
    assert files
    return store.path, files


def test_compression_is_one_that_tells_damage(made):
    path, _ = made
    array = zarr.open_array(path, path="0", mode="r")
    described = str(array.metadata.to_dict()).lower()
    assert "blosc" not in described
    assert "crc32c" in described or "zlib" in described


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.1, 0.5, 0.9, 0.9999])
def test_a_truncated_chunk_is_an_error(made, kept):
    path, files = made
    for file in files:
        data = file.read_bytes()
        file.write_bytes(data[: int(kept * len(data))])
    with pytest.raises(ValueError, match=r"a\.ome\.zarr: not a readable zarr"):
        open_file(path).array[...]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_changed_byte_is_an_error(made, share):
    path, files = made
    for file in files:
        data = bytearray(file.read_bytes())
        data[int(share * len(data))] ^= 0x55
        file.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"a\.ome\.zarr: not a readable zarr"):
        open_file(path).array[...]


def test_the_process_goes_on_after_each(made):
    path, files = made
    data = [file.read_bytes() for file in files]
    program = (
        "import sys\n"
        "from napari_scsc.io.formats import open_file\n"
        "try:\n"
        "    open_file(sys.argv[1]).array[...]\n"
        "except ValueError as error:\n"
        "    print('refused:', error)\n"
    )
    for file, whole in zip(files, data, strict=True):
        file.write_bytes(whole[: len(whole) // 3])
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused:")
