"""Whole files of every kind that is read: what fuzzing starts from."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path

import h5py
import imageio.v3 as iio
import numcodecs
import numpy as np
import tifffile
import zarr
from scipy import io as scipy_io

from napari_scsc import SCSC, FilterBank, LatticeSCSC, Relative, encode
from napari_scsc.io.stores import store_for

CUBE = np.random.default_rng(0).integers(0, 60_000, (3, 16, 20), "u2")
CANARY = "canary-of-the-fuzzing"  # a folder that appears where code was run
SECRET = 0x5EC7  # what a file beside the others is full of, and no image may show


class Trap:
    """What a pickle would run."""

    def __reduce__(self):
        return os.mkdir, (CANARY,)


def _npy(path: Path) -> Path:
    np.save(path / "a.npy", CUBE)
    return path / "a.npy"


def _npy_swapped(path: Path) -> Path:
    np.save(path / "a.npy", np.asfortranarray(CUBE.astype(">f4")))
    return path / "a.npy"


def _npy_pickle(path: Path) -> Path:
    np.save(path / "a.npy", np.array([[Trap(), 1]], object), allow_pickle=True)
    return path / "a.npy"


def _npz(path: Path) -> Path:
    np.savez(path / "a.npz", cube=CUBE, axes="zyx", traps=np.array([Trap()], object))
    return path / "a.npz"


def _npz_packed(path: Path) -> Path:
    np.savez_compressed(path / "a.npz", cloth_yxc=CUBE.T, other=CUBE[0].astype("f4"))
    return path / "a.npz"


def _mat(path: Path) -> Path:
    scipy_io.savemat(path / "a.mat", {"cube": CUBE, "s": {"a": 1}, "words": "text"})
    return path / "a.mat"


def _mat_packed(path: Path) -> Path:
    scipy_io.savemat(path / "a.mat", {"cube": CUBE.astype("f8")}, do_compression=True)
    return path / "a.mat"


def _mat_4(path: Path) -> Path:
    scipy_io.savemat(path / "a.mat", {"plane": CUBE[0].astype("f8")}, format="4")
    return path / "a.mat"


def _mat_73(path: Path) -> Path:
    with h5py.File(path / "a.mat", "w", userblock_size=512) as file:
        file.create_dataset("cube", data=CUBE.T, chunks=(20, 16, 1))
    with open(path / "a.mat", "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file")
    return path / "a.mat"


def _h5(path: Path) -> Path:
    with h5py.File(path / "a.h5", "w") as file:
        file["group/plain"] = CUBE
        data = file.create_dataset("cube", data=np.repeat(CUBE, 2, 0), chunks=(2, 8, 8))
        data.attrs["axes"] = "zyx"
        file["words"] = ["a", "b"]
    return path / "a.h5"


def _h5_packed(path: Path) -> Path:
    with h5py.File(path / "a.h5", "w") as file:
        more = {"chunks": (1, 16, 16), "shuffle": True, "fletcher32": True}
        file.create_dataset("cube", data=CUBE, compression="gzip", **more)
        file.create_dataset("lzf", data=CUBE[:2], compression="lzf", chunks=(1, 16, 16))
        file.create_dataset("scaled", data=CUBE[:1], scaleoffset=16, chunks=(1, 16, 16))
    return path / "a.h5"


def _h5_new(path: Path) -> Path:
    with h5py.File(path / "a.h5", "w", libver="latest") as file:
        file.create_dataset("cube", data=CUBE, chunks=(1, 16, 20), compression="gzip")
    return path / "a.h5"


def _h5_outside(path: Path) -> Path:
    np.full(960, SECRET, "<u2").tofile(path / "secret.bin")
    with h5py.File(path / "other.h5", "w") as file:
        file["cube"] = np.full((3, 16, 20), SECRET, "u2")
    with h5py.File(path / "a.h5", "w") as file:
        outside = [(os.fspath(path / "secret.bin"), 0, 1920)]
        file.create_dataset("outside", (3, 16, 20), "<u2", external=outside)
        layout = h5py.VirtualLayout((3, 16, 20), "u2")
        layout[:] = h5py.VirtualSource(os.fspath(path / "other.h5"), "cube", (3, 16, 20))
        file.create_virtual_dataset("virtual", layout)
        file["link"] = h5py.ExternalLink("other.h5", "cube")
    return path / "a.h5"


def _tif(path: Path) -> Path:
    tifffile.imwrite(path / "a.tif", CUBE, metadata={"axes": "ZYX"}, resolution=(2, 2))
    return path / "a.tif"


def _tif_tiled(path: Path) -> Path:
    tifffile.imwrite(path / "a.tif", CUBE, tile=(16, 16), compression="zlib", bigtiff=True)
    return path / "a.tif"


def _tif_strips(path: Path) -> Path:
    tifffile.imwrite(path / "a.tif", CUBE, compression="zlib", rowsperstrip=5, predictor=True)
    return path / "a.tif"


def _tif_rgb(path: Path) -> Path:
    rgb = (CUBE >> 8).astype("u1").transpose(1, 2, 0)
    tifffile.imwrite(path / "a.tif", rgb, photometric="rgb", byteorder=">")
    return path / "a.tif"


def _tif_imagej(path: Path) -> Path:
    metadata = {"axes": "ZYX", "unit": "um", "spacing": 0.5, "Labels": ["a", "b", "c"]}
    tifffile.imwrite(path / "a.tif", CUBE, imagej=True, metadata=metadata)
    return path / "a.tif"


def _ome_tif(path: Path) -> Path:
    metadata = {"axes": "CYX", "PhysicalSizeX": 0.1, "Channel": {"Name": ["a", "b", "c"]}}
    tifffile.imwrite(path / "a.ome.tif", CUBE, ome=True, metadata=metadata, compression="zlib")
    return path / "a.ome.tif"


def _ome_tif_pyramid(path: Path) -> Path:
    with tifffile.TiffWriter(path / "a.ome.tif", ome=True) as file:
        file.write(CUBE, subifds=1, tile=(16, 16), metadata={"axes": "ZYX"})
        file.write(CUBE[:, ::2, ::2], subfiletype=1, tile=(16, 16))
    return path / "a.ome.tif"


def _ome_tif_ours(path: Path) -> Path:
    return _store(path / "a.ome.tif")


def _ome_tif_outside(path: Path) -> Path:
    (path / "inside").mkdir()
    tifffile.imwrite(path / "secret.ome.tif", np.full((16, 20), SECRET, "u2"), ome=True)
    xml = (
        '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">'
        '<Image ID="Image:0"><Pixels ID="P" DimensionOrder="XYZCT" Type="uint16" SizeX="20" '
        'SizeY="16" SizeC="1" SizeZ="2" SizeT="1"><Channel ID="C" SamplesPerPixel="1"/>'
        '<TiffData IFD="0" PlaneCount="1"/><TiffData FirstZ="1" IFD="0" PlaneCount="1">'
        '<UUID FileName="../secret.ome.tif">urn:uuid:1</UUID></TiffData></Pixels></Image></OME>'
    )
    tifffile.imwrite(path / "inside/a.ome.tif", CUBE[0], description=xml, metadata=None)
    return path / "inside/a.ome.tif"


def _picture(suffix: str, values: np.ndarray) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        iio.imwrite(path / f"a{suffix}", values)
        return path / f"a{suffix}"

    return make


def _lenslet(suffix: str) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        iio.imwrite(path / f"a_lenslet_4x4{suffix}", CUBE[0])
        return path / f"a_lenslet_4x4{suffix}"

    return make


def _gif(path: Path) -> Path:
    iio.imwrite(path / "a.gif", (CUBE >> 8).astype("u1"))
    return path / "a.gif"


def _bands(path: Path) -> Path:
    (path / "scene").mkdir()
    for number, plane in enumerate(CUBE):
        iio.imwrite(path / f"scene/x_ms_{number + 1:02d}.png", plane)
    return path / "scene"


def _numbered(path: Path) -> Path:
    (path / "run").mkdir()
    for number, plane in enumerate(CUBE):
        iio.imwrite(path / f"run/img_{number + 8}.tif", plane)
    return path / "run"


def _zarr(zarr_format: int, name: str = "a.zarr", **more: object) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of codecs that are in no specification
            zarr.create_array(
                path / name, data=CUBE, **{"chunks": (1, 8, 10), **more}, zarr_format=zarr_format
            )
        return path / name

    return make


def _zarr_pickle(path: Path) -> Path:
    made = _zarr(2, compressors=[numcodecs.Zlib(1)])(path)
    text = (made / ".zarray").read_text()
    (made / ".zarray").write_text(text.replace('"zlib"', '"pickle"'))
    for chunk in made.glob("[0-9]*"):
        chunk.write_bytes(pickle.dumps(Trap()))
    return made


def _store(path: Path, **more: object) -> Path:
    store = store_for(path, CUBE.shape, CUBE.dtype, (1, 16, 20), labels="zyx", **more)
    store.create()
    store.write(tuple(slice(0, n) for n in CUBE.shape), CUBE)
    store.finish()
    return path


def _ome_zarr(version: str) -> Callable[[Path], Path]:
    return lambda path: _store(path / "a.ome.zarr", zarr_format=version)


def _plate(path: Path) -> Path:
    plate = zarr.create_group(path / "a.zarr")
    plate.attrs["ome"] = {"version": "0.5", "plate": {"wells": [{"path": "A/1"}]}}
    well = plate.create_group("A/1")
    well.attrs["ome"] = {"version": "0.5", "well": {"images": [{"path": "0"}]}}
    image = well.create_group("0")
    image.create_array("0", data=CUBE)
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
    steps = [{"type": "scale", "scale": [1, 0.5, 0.5]}]
    levels = [{"path": "0", "coordinateTransformations": steps}]
    image.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}
    return path / "a.zarr"


def _bank(path: Path) -> Path:
    filters = np.random.default_rng(0).standard_normal((3, 5, 5)).astype("f4")
    filters /= np.linalg.norm(filters, axis=(1, 2), keepdims=True)
    bank = FilterBank(filters, weights=np.ones((3, 4), "f4"), info={"kind": "image"})
    bank.save(path / "a.scsc")
    return path / "a.scsc"


def _checkpoint(path: Path) -> Path:
    model = SCSC(3, 4, (3, 3), beta=Relative(0.1), max_iter=5)
    model.fit(CUBE[:2].astype("f4"))
    model.checkpoint(path / "a.checkpoint")
    return path / "a.checkpoint"


def _lattice(path: Path) -> Path:
    model = LatticeSCSC(3, (3, 3), sigma=1.0)
    model.fit(CUBE[:2].astype("f4"))
    model.checkpoint(path / "a.lattice")
    return path / "a.lattice"


def _codes(path: Path) -> Path:
    bank = FilterBank.load(_bank(path))
    noisy = np.random.default_rng(1).normal(CUBE[0] / 1000, 1).astype("f4")
    encode(noisy, bank, out=path / "codes.zarr", kind="image", sigma=1.0, n_jobs=1)
    return path / "codes.zarr"


SAMPLES: dict[str, Callable[[Path], Path]] = {
    "npy": _npy,
    "npy-swapped": _npy_swapped,
    "npy-pickle": _npy_pickle,
    "npz": _npz,
    "npz-packed": _npz_packed,
    "mat": _mat,
    "mat-packed": _mat_packed,
    "mat-4": _mat_4,
    "mat-7.3": _mat_73,
    "h5": _h5,
    "h5-packed": _h5_packed,
    "h5-new": _h5_new,
    "h5-outside": _h5_outside,
    "tif": _tif,
    "tif-tiled": _tif_tiled,
    "tif-strips": _tif_strips,
    "tif-rgb": _tif_rgb,
    "tif-imagej": _tif_imagej,
    "ome-tif": _ome_tif,
    "ome-tif-pyramid": _ome_tif_pyramid,
    "ome-tif-ours": _ome_tif_ours,
    "ome-tif-outside": _ome_tif_outside,
    "png": _picture(".png", CUBE[0]),
    "png-rgb": _picture(".png", (CUBE >> 8).astype("u1").transpose(1, 2, 0)),
    "jpg": _picture(".jpg", (CUBE[0] >> 8).astype("u1")),
    "bmp": _picture(".bmp", (CUBE[0] >> 8).astype("u1")),
    "pgm": _picture(".pgm", (CUBE[0] >> 8).astype("u1")),
    "ppm": _picture(".ppm", (CUBE >> 8).astype("u1").transpose(1, 2, 0)),
    "lenslet-png": _lenslet(".png"),
    "lenslet-tif": _lenslet(".tif"),
    "gif": _gif,
    "bands": _bands,
    "numbered": _numbered,
    "zarr2": _zarr(2),
    "zarr2-blosc": _zarr(2, compressors=[numcodecs.Blosc("lz4")]),
    "zarr2-gzip": _zarr(2, compressors=[numcodecs.GZip(1)]),
    "zarr2-lz4": _zarr(2, compressors=[numcodecs.LZ4()]),
    "zarr2-bz2": _zarr(2, compressors=[numcodecs.BZ2(1)]),
    "zarr2-lzma": _zarr(2, compressors=[numcodecs.LZMA(preset=1)]),
    "zarr2-filters": _zarr(
        2, filters=[numcodecs.Delta("<u2"), numcodecs.Shuffle(2)], compressors=[numcodecs.Zlib(1)]
    ),
    "zarr2-pickle": _zarr_pickle,
    "zarr3": _zarr(3),
    "zarr3-blosc": _zarr(3, compressors=[zarr.codecs.BloscCodec()]),
    "zarr3-gzip": _zarr(3, compressors=[zarr.codecs.GzipCodec()]),
    "zarr3-shards": _zarr(3, shards=(3, 16, 20)),
    "zarr3-shards-blosc": _zarr(3, shards=(3, 16, 20), compressors=[zarr.codecs.BloscCodec()]),
    "ome-zarr-0.4": _ome_zarr("0.4"),
    "ome-zarr-0.5": _ome_zarr("0.5"),
    "plate": _plate,
    "bank": _bank,
    "checkpoint": _checkpoint,
    "lattice": _lattice,
    "codes": _codes,
}
