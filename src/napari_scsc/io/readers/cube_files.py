"""The arrays in .npy, .npz, .mat and HDF5 files."""

from __future__ import annotations

import importlib
import math
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.io.filenames import lengths

Array = NDArray[Any]

_SMALL = 64 << 20  # bytes of a file that is read whole, not mapped: all that follows is faster
_CHUNK = "16MiB"  # what a move of a slider may read


@dataclass(frozen=True, slots=True)
class Found:
    """An array in a file, with what the file says about its axes."""

    key: str
    array: Any
    spelled: Any = None


def _npy_arrays(place: Path, skipped: list[str]) -> Iterator[Found]:
    try:
        with open(place, "rb") as stream:  # numpy would try to read it as something else
            if stream.read(6) != b"\x93NUMPY":
                raise ValueError("it does not begin as .npy files do")
        array = np.load(place, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(
            f"{place}: not an array of numbers that can be opened. Files with Python objects are "
            f"not, since loading them could run code ({error})"
        ) from error
    if not _is_picture(array.shape, array.dtype):
        skipped.append(f"{lengths(array.shape)} {array.dtype}")
        return
    yield Found("", array if array.nbytes > _SMALL else np.array(array))


def _npz_arrays(place: Path, skipped: list[str]) -> Iterator[Found]:
    from numpy.lib import format as npy

    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        with zipfile.ZipFile(place) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            looks = {}
            for member in members:
                with archive.open(member) as stream:
                    header = headers.get(npy.read_magic(stream))
                    shape, _, dtype = header(stream) if header else ((), False, np.dtype("O"))
                if math.prod(shape) * dtype.itemsize > member.file_size:
                    raise ValueError(f"{member.filename} is cut off")
                looks[member.filename.removesuffix(".npy")] = member, shape, dtype

            def load(key: str) -> Array:
                with archive.open(looks[key][0]) as stream:
                    return np.asarray(npy.read_array(stream, allow_pickle=False))

            spelled = None
            if "axes" in looks and looks["axes"][1] == () and looks["axes"][2].kind == "U":
                spelled = str(load("axes"))
            for key, (_, shape, dtype) in looks.items():
                if _is_picture(shape, dtype):
                    yield Found(key, load(key), spelled)
                else:
                    skipped.append(f"{key} ({lengths(shape) or 1} {dtype})")
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, OSError) as error:
        raise ValueError(f"{place}: not a readable .npz file ({error})") from error


def _mat_arrays(place: Path, skipped: list[str]) -> Iterator[Found]:
    from scipy import io

    with open(place, "rb") as stream:
        is_hdf5 = stream.read(19) == b"MATLAB 7.3 MAT-file"
    if is_hdf5:  # its axes are in the order of MATLAB, from the last to the first
        for one in _hdf5_arrays(place, skipped):
            yield Found(one.key, one.array.T)
        return
    numbers = {"double", "single", "logical"}
    numbers |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    try:
        keys = []
        for key, shape, kind in io.whosmat(place):
            if kind in numbers and _is_picture(shape, np.float64):
                keys.append(key)
            else:
                skipped.append(f"{key} ({lengths(shape)} {kind})")
        loaded = io.loadmat(place, variable_names=keys) if keys else {}
    except Exception as error:  # the parser raises many kinds on a damaged file
        raise ValueError(
            f"{place}: not a readable MATLAB file ({type(error).__name__}: {error})"
        ) from error
    for key in keys:
        if _is_picture(loaded[key].shape, loaded[key].dtype):
            yield Found(key, loaded[key])
        else:
            skipped.append(f"{key} ({lengths(loaded[key].shape)} {loaded[key].dtype})")


def _hdf5_arrays(place: Path, skipped: list[str]) -> Iterator[Found]:
    try:
        h5py = importlib.import_module("h5py")
    except ImportError:
        raise ImportError(
            f"{place}: this is an HDF5 file. To open it, install h5py beside napari (pip install "
            "h5py) and start napari again"
        ) from None
    try:
        file = h5py.File(place, "r")
    except OSError as error:
        raise ValueError(f"{place}: not a readable HDF5 file ({error})") from error
    datasets: list[tuple[str, Any]] = []

    def visit(key: str, node: Any) -> None:  # links to other files are not followed
        if isinstance(node, h5py.Dataset):
            datasets.append((key, node))

    file.visititems(visit)
    for key, dataset in datasets:
        # The dataset keeps the file open for as long as the layer lives.
        if dataset.shape is not None and _is_picture(dataset.shape, dataset.dtype):
            yield Found(key, _lazily(dataset), hdf5_axes(dataset))
        else:
            skipped.append(f"{key} ({lengths(dataset.shape or ()) or 1} {dataset.dtype})")


def hdf5_axes(dataset: Any) -> Any:
    """What a dataset says of its axes: a string, a list of names, or None."""
    labels = [dimension.label for dimension in dataset.dims]
    if all(labels):
        return labels
    for key in ("axes", "axis_labels"):
        value = dataset.attrs.get(key)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if isinstance(value, np.ndarray):
            return [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in value]
        if isinstance(value, str):
            return value
    return None


def _is_picture(shape: Sequence[int], dtype: Any) -> bool:
    """Whether it can be a layer; a row, a column or a single value is not."""
    return (
        np.dtype(dtype).kind in "fiub"
        and 2 <= len(shape) <= 5
        and all(shape)
        and sum(n > 1 for n in shape) >= 2
    )


def native(array: Any) -> Any:
    """The array in the byte order of this machine, which graphics cards ask for."""
    if array.dtype.isnative:
        return array
    if isinstance(array, np.memmap):
        array = _lazily(array)
    return array.astype(array.dtype.newbyteorder("="))


def _lazily(array: Any) -> Any:
    import dask
    import dask.array

    from_array: Any = dask.array.from_array
    setting: Any = dask.config.set
    with setting({"array.chunk-size": _CHUNK}):
        # Without a name of its own, dask would hash all values to make one.
        return from_array(array, chunks="auto", name=False)


ARRAYS: dict[str, Callable[[Path, list[str]], Iterator[Found]]] = {
    ".npy": _npy_arrays,
    ".npz": _npz_arrays,
    ".mat": _mat_arrays,
    ".h5": _hdf5_arrays,
    ".hdf5": _hdf5_arrays,
}
