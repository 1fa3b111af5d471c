"""Files that a stranger made on purpose: read right or refused, in little time and memory."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import h5py
import numcodecs
import numpy as np
import pytest
import tifffile
import zarr
from cli_tools import succeed
from file_tools import CUBE
from numcodecs.zstd import Zstd

from napari_scsc import denoise
from napari_scsc.data.axes import resolve
from napari_scsc.data.image import wrap_image
from napari_scsc.data.samples import ImageSamples, draw_tiles
from napari_scsc.data.scaling import ValueRange
from napari_scsc.errors import FileFormatError, UserError
from napari_scsc.io.codes import is_codes
from napari_scsc.io.formats import open_all, open_file, tiff_guard
from napari_scsc.io.formats.unpacking import inflates_within, unpack_within
from napari_scsc.model import container, lattice
from napari_scsc.model.container import read_kind

LIMIT_MB = 700
BOMB_BYTES = 1 << 30
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of processes")


def read_in_process(path, memory_mb=LIMIT_MB):
    """What became of a file in a process that may not grow by more than so much."""
    program = (
        "import resource, sys, psutil, h5py, zarr, tifffile\n"
        "from napari_scsc.io.formats import open_all, open_file\n"
        "import napari_scsc.io.formats.zarr_files, napari_scsc.io.formats.tiff_files\n"
        f"most = psutil.Process().memory_info().vms + ({memory_mb} << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "for reader in (lambda p: open_file(p).array[:4], open_all):\n"
        "    try:\n"
        "        reader(sys.argv[1])\n"
        "        print('read')\n"
        "    except ValueError as error:\n"
        "        print('refused:', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, os.fspath(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def bomb(wbits=zlib.MAX_WBITS):
    """What unpacks to a gigabyte of zeros, but for the checksum at its end."""
    packer, zeros = zlib.compressobj(1, wbits=wbits), bytes(1 << 24)
    first = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * (BOMB_BYTES // len(zeros) - 1) + packer.flush()


# Chunks


def foreign_zarr(path, zarr_format, codec):
    zarr.create_array(
        path / "a.zarr",
        data=CUBE,
        chunks=(1, 30, 40),
        zarr_format=zarr_format,
        compressors=[codec],
    )
    files = [f for f in (path / "a.zarr").rglob("*") if f.is_file() and f.name[0].isdigit()]
    return path / "a.zarr", files


CODECS = [
    (2, numcodecs.Blosc("lz4")),
    (2, numcodecs.Blosc("zstd", shuffle=2)),
    (3, zarr.codecs.BloscCodec()),
    (2, numcodecs.LZ4()),
    (2, Zstd()),
    (3, zarr.codecs.ZstdCodec()),
    (2, numcodecs.GZip(1)),
    (3, zarr.codecs.GzipCodec()),
    (2, numcodecs.BZ2(1)),
    (2, numcodecs.LZMA(preset=1)),
]


@pytest.mark.parametrize(("zarr_format", "codec"), CODECS)
def test_a_foreign_chunk_that_is_cut_off_is_an_error(tmp_path, zarr_format, codec):
    path, files = foreign_zarr(tmp_path, zarr_format, codec)
    array = open_file(path).array
    np.testing.assert_array_equal(array[:], CUBE)
    whole = files[0].read_bytes()
    for kept in (0, 1, 3, 15, 16, 17, len(whole) // 2, len(whole) - 1):
        files[0].write_bytes(whole[:kept])
        with pytest.raises(FileFormatError, match=r"a\.zarr: not a readable zarr"):
            array[:]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_blosc_is_not_asked_for_more_than_there_is(tmp_path, zarr_format):
    codec = numcodecs.Blosc("lz4") if zarr_format == 2 else zarr.codecs.BloscCodec(cname="lz4")
    path, files = foreign_zarr(tmp_path, zarr_format, codec)
    whole = files[0].read_bytes()
    for place, number in ((4, 1 << 31), (4, 9999), (12, 1 << 30), (12, 16), (8, 0)):
        files[0].write_bytes(whole[:place] + struct.pack("<I", number) + whole[place + 4 :])
        with pytest.raises(FileFormatError, match="not a readable zarr"):
            open_file(path).array[:]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_chunk_never_unpacks_to_more_than_was_declared(tmp_path, zarr_format):
    codec = numcodecs.GZip(1) if zarr_format == 2 else zarr.codecs.GzipCodec()
    path, files = foreign_zarr(tmp_path, zarr_format, codec)
    files[0].write_bytes(bomb(31))
    assert files[0].stat().st_size < BOMB_BYTES // 200
    assert "unpacks to more than" in read_in_process(path)


@pytest.mark.parametrize("kind", ["zlib", "gzip", "bz2", "lzma", "zstd", "blosc", "lz4"])
def test_what_unpacks_to_too_much_is_refused_before_it_does(kind):
    codec = {
        "zlib": numcodecs.Zlib(),
        "gzip": numcodecs.GZip(),
        "bz2": numcodecs.BZ2(),
        "lzma": numcodecs.LZMA(),
        "zstd": Zstd(),
        "blosc": numcodecs.Blosc(),
        "lz4": numcodecs.LZ4(),
    }[kind]
    packed = bytes(codec.encode(np.zeros(100_000, "u1")))
    with pytest.raises(ValueError, match="unpacks to"):
        unpack_within(kind, packed, 99_999, codec)
    unpacked = unpack_within(kind, packed, 100_000, codec)
    assert unpacked is None or unpacked == bytes(100_000)


def test_what_is_inflated_is_counted_and_not_kept():
    packed = zlib.compress(bytes(400 << 20), 1)
    assert not inflates_within(packed, 300 << 20)
    assert inflates_within(packed, 400 << 20)


def test_a_chunk_of_hdf5_that_unpacks_to_gigabytes_is_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        data = file.create_dataset("a", (64, 64), "u2", chunks=(64, 64), compression="gzip")
        data.id.write_direct_chunk((0, 0), bomb())
    assert "unpacks to far more" in read_in_process(tmp_path / "a.h5")


def test_a_tile_of_tiff_that_unpacks_to_gigabytes_is_refused(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, iter([bomb()]), shape=(64, 64), dtype="u2", compression="zlib")
    assert "far more than" in read_in_process(path)


# Declared sizes


def test_a_tile_of_tiff_far_larger_than_its_page_is_refused():
    path = Path(__file__).parents[1] / "faults" / "corpus" / "tile.tif"
    with pytest.raises(FileFormatError, match="one of its tiles has 287310336 bytes"):
        open_file(path)


def test_tiny_chunks_in_a_huge_array_are_told_at_once(tmp_path):
    array = zarr.create_array(tmp_path / "a.zarr", shape=(10**6, 10**6), chunks=(1, 1), dtype="u2")
    array[0, 0] = 1
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", (10**7, 10**7), "u2", chunks=(1, 1))
    for name in ("a.zarr", "a.h5"):
        assert "chunks of 1 x 1 make that slow" in succeed("info", tmp_path / name).output
        with pytest.raises(UserError, match="cannot be read at once"):
            open_file(tmp_path / name).array[:1000, :1000]


def test_blocks_and_tiles_of_a_huge_array_are_not_listed():
    class Huge:
        shape, dtype, chunks, ndim = (10**9, 10**9), np.dtype("u1"), (1, 1), 2

        def __getitem__(self, index):
            raise AssertionError("nothing is to be read")

    image = wrap_image(Huge())
    assert image.blocks(1).count == 10**18
    assert image.blocks(1)[10**18 - 1] == (slice(10**9 - 1, 10**9),) * 2
    samples = ImageSamples(image, resolve(image.shape, "image", None), ValueRange())
    places = list(draw_tiles(samples, 1 << 10, 20, seed=0))
    assert len(set(map(str, places))) == 20


@pytest.mark.parametrize("shape", [[10**30, 16], [10**6, 10**6, 10**6, 10**6]])
def test_more_values_than_can_be_are_refused(tmp_path, shape):
    zarr.create_array(
        tmp_path / "a.zarr", shape=(4,) * len(shape), chunks=(4,) * len(shape), dtype="f8"
    )
    document = tmp_path / "a.zarr" / "zarr.json"
    described = json.loads(document.read_text())
    document.write_text(json.dumps({**described, "shape": shape}))
    for reader in (open_file, open_all):
        with pytest.raises(UserError, match=r"a\.zarr"):
            reader(tmp_path / "a.zarr")


def test_a_large_strip_is_decoded_once(tmp_path, monkeypatch):
    values = np.add.outer(np.arange(3000), np.arange(3000)).astype("u2")
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, values, compression="zlib", rowsperstrip=3000)
    array, decoded = open_file(path).array, []
    monkeypatch.setattr(tiff_guard, "inflates_within", lambda *_: decoded.append(1) or True)
    for start in (0, 1000, 2900):
        region = slice(start, start + 50), slice(0, 60)
        np.testing.assert_array_equal(array[region], values[region])
    assert len(decoded) == 1


# Pipes and other files


def with_pipe(folder, name):
    folder.mkdir(exist_ok=True)
    os.mkfifo(folder / name)
    return folder


def test_pipes_are_never_waited_for(tmp_path):
    bands = with_pipe(tmp_path / "bands", "band_0.tif")
    for number in range(1, 4):
        os.mkfifo(bands / f"band_{number}.tif")
    document = with_pipe(tmp_path / "a.zarr", "zarr.json")
    path, files = foreign_zarr(tmp_path / "b", 2, numcodecs.Zlib(1))
    os.mkfifo(path.parent / "x.ome.tif")
    files[0].unlink()
    os.mkfifo(files[0])
    for place in (bands, document, path):
        with pytest.raises(ValueError, match=place.name):
            open_file(place).array[:]
    assert not is_codes(document)
    assert read_kind(bands / "band_0.tif") is None


SECRET = np.full((5, 30, 40), 0x5EC7, "u2")


@pytest.fixture
def secretive(tmp_path):
    """A file of HDF5 whose datasets lie in other files."""
    SECRET.tofile(tmp_path / "secret.bin")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["cube"] = SECRET
    with h5py.File(tmp_path / "a.h5", "w") as file:
        outside = [(os.fspath(tmp_path / "secret.bin"), 0, SECRET.nbytes)]
        file.create_dataset("outside", SECRET.shape, "u2", external=outside)
        layout = h5py.VirtualLayout(SECRET.shape, "u2")
        layout[:] = h5py.VirtualSource(os.fspath(tmp_path / "other.h5"), "cube", SECRET.shape)
        file.create_virtual_dataset("virtual", layout)
        file["link"] = h5py.ExternalLink("other.h5", "cube")
        file["own"] = CUBE
    return tmp_path / "a.h5"


def test_hdf5_shows_no_other_file_without_the_users_word(secretive, monkeypatch):
    for key in ("outside", "virtual"):
        with pytest.raises(UserError, match=r"which were not read: .*(secret\.bin|other\.h5)"):
            open_file(secretive, key)
    with pytest.raises(UserError, match="no array 'link'"):
        open_file(secretive, "link")
    np.testing.assert_array_equal(open_file(secretive, "own").array[:], CUBE)
    monkeypatch.setenv("NAPARI_SCSC_FOLLOW", "1")
    for key in ("outside", "virtual"):
        np.testing.assert_array_equal(open_file(secretive, key).array[:], SECRET)


def test_what_is_inside_a_hdf5_file_opens_beside_what_is_not(secretive):
    (opened,) = open_all(secretive)
    np.testing.assert_array_equal(opened.array, CUBE)
    assert {"outside", "virtual"} <= {
        word for m in opened.remarks for word in ("outside", "virtual") if word in str(m)
    }


def test_a_virtual_dataset_of_the_same_file_is_read(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["cube"] = CUBE[0]
        layout = h5py.VirtualLayout((2, 30, 40), "u2")
        for number in range(2):
            layout[number] = h5py.VirtualSource(file["cube"])
        file.create_virtual_dataset("both", layout)
    values = open_file(tmp_path / "a.h5", "both").array[:]
    np.testing.assert_array_equal(values, [CUBE[0], CUBE[0]])


def multi_file_ome(folder, other):
    folder.mkdir()
    xml = (
        '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">'
        '<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" '
        'SizeX="40" SizeY="30" SizeC="1" SizeZ="2" SizeT="1">'
        '<Channel ID="Channel:0" SamplesPerPixel="1"/><TiffData IFD="0" PlaneCount="1"/>'
        f'<TiffData FirstZ="1" IFD="0" PlaneCount="1"><UUID FileName="{other}">urn:uuid:1</UUID>'
        "</TiffData></Pixels></Image></OME>"
    )
    path = folder / "a.ome.tif"
    tifffile.imwrite(path, CUBE[0], description=xml, metadata=None)
    return path


def test_ome_tiff_names_files_of_its_own_folder_only(tmp_path, monkeypatch):
    path = multi_file_ome(tmp_path / "one", "b.ome.tif")
    tifffile.imwrite(path.with_name("b.ome.tif"), CUBE[1])
    np.testing.assert_array_equal(open_file(path).array[:], CUBE[:2])
    path = multi_file_ome(tmp_path / "two", "../secret.ome.tif")
    tifffile.imwrite(tmp_path / "secret.ome.tif", SECRET[0])
    for reader in (open_file, open_all):
        with pytest.raises(UserError, match=r"not read: \.\./secret\.ome\.tif"):
            reader(path)
    monkeypatch.setenv("NAPARI_SCSC_FOLLOW", "1")
    np.testing.assert_array_equal(open_file(path).array[:], [CUBE[0], SECRET[0]])


def put_pages_in_a_circle(path):
    with tifffile.TiffFile(path) as file:
        offsets = [page.offset for page in file.pages]
        after_tags = offsets[-1] + 2 + 12 * len(file.pages[len(offsets) - 1].tags)
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, after_tags, offsets[0])
    path.write_bytes(content)


def test_pages_that_follow_each_other_in_a_circle_are_refused(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, CUBE, photometric="minisblack", metadata=None, byteorder="<")
    put_pages_in_a_circle(path)
    for reader in (open_file, open_all):
        with pytest.raises(UserError, match=r"a\.tif.*circle"):
            reader(path)


def test_ome_tiff_names_no_file_whose_pages_are_a_circle(tmp_path):
    path = multi_file_ome(tmp_path / "one", "b.ome.tif")
    other = path.with_name("b.ome.tif")
    tifffile.imwrite(other, CUBE, photometric="minisblack", metadata=None, byteorder="<")
    put_pages_in_a_circle(other)
    with pytest.raises(UserError, match="circle"):
        open_file(path)


@pytest.mark.parametrize("attribute", ['PlaneCount="1"', 'IFD="0"'])
def test_ome_tiff_cannot_ask_for_more_planes_than_can_be(tmp_path, attribute):
    path = multi_file_ome(tmp_path / "one", "b.ome.tif")
    word = attribute.partition("=")[0]
    xml = tifffile.tiffcomment(path).replace(attribute, f'{word}="9999999999"')
    tifffile.imwrite(path, CUBE[0], description=xml, metadata=None)
    with pytest.raises(UserError, match=word):
        open_file(path)


# One wrapper around every reader


def test_every_error_of_a_reader_names_the_file(tmp_path, monkeypatch):
    from napari_scsc.io.formats import zarr_files

    zarr.create_array(tmp_path / "a.zarr", data=CUBE, chunks=(1, 30, 40))
    array = open_file(tmp_path / "a.zarr").array
    kinds = [RuntimeError, KeyError, ZeroDivisionError, RecursionError, MemoryError, struct.error]
    kinds += [zlib.error, AttributeError, OverflowError, TypeError, IndexError, AssertionError]
    for kind in kinds:

        def fail(*_, kind=kind):
            raise kind("inner words")

        with monkeypatch.context() as patched:
            patched.setattr(zarr_files, "describe", fail)
            patched.setattr(zarr_files.ZarrArray, "_read", fail)
            for reader in (open_file, open_all, lambda _: array[:2]):
                with pytest.raises(FileFormatError, match=r"a\.zarr"):
                    reader(tmp_path / "a.zarr")


def test_threads_that_fail_together_do_not_wait_for_each_other(tmp_path):
    path, files = foreign_zarr(tmp_path, 2, numcodecs.Zlib(1))
    for file in files:
        file.write_bytes(b"no chunk")
    array, refused = open_file(path).array, []

    def read():
        for _ in range(20):
            try:
                array[:]
            except FileFormatError:
                refused.append(1)

    threads = [threading.Thread(target=read, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(refused) == 80


def test_a_damaged_matlab_file_does_not_end_the_process(tmp_path):
    from scipy import io

    io.savemat(tmp_path / "a.mat", {"cube": CUBE, "s": {"a": 1}, "words": "text"})
    whole = (tmp_path / "a.mat").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        spoiled = bytearray(whole)
        for place in rng.integers(0, 400, 3):
            spoiled[place] = rng.choice([0, 1, 5, 14, 0x7F, 0xFF])
        (tmp_path / "a.mat").write_bytes(spoiled)
        try:
            open_file(tmp_path / "a.mat").array[:]
        except UserError as error:
            assert "a.mat" in str(error)  # noqa: PT017 - others are let through


def test_notes_that_are_none_name_the_checkpoint(tmp_path):
    path = tmp_path / "a.checkpoint"
    container.write(path, lattice._FILE_KIND, lattice._FILE_VERSION, {"notes": ["x"]}, {})
    with pytest.raises(FileFormatError, match=r"a\.checkpoint"):
        lattice.LatticeSCSC.notes(path)


# Arguments


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("strength", 1e300),
        ("strength", []),
        ("memory", float("inf")),
        ("memory", []),
        ("memory", "1e400 GB"),
    ],
)
def test_arguments_that_make_no_sense_are_named(option, value):
    with pytest.raises(UserError, match=f"^{option} must be"):
        denoise(np.eye(20), kind="image", **{option: value})


def test_a_memoryview_is_an_image():
    image = np.random.default_rng(0).normal(100, 5, (40, 40)).astype("f4")
    options = {"kind": "image", "sigma": 5.0, "quality": "draft"}
    np.testing.assert_array_equal(denoise(memoryview(image), **options), denoise(image, **options))
