"""Readers of napari: filter banks, folders of bands or views, lenslet images, cubes and videos.

Every reader gives layers whose axes are named and lie in napari's order, so that nobody has to say
what the data are. A name is given only where it is certain; what can be read in two ways is left to
the user. Nothing that is read can run code: no pickle is ever loaded.

``get_reader`` looks at names only. What it accepts:

- ``*.scsc``: a filter bank, as a layer of filters.
- A folder of the bands of one scene: ``name_ms_01.png`` to ``name_ms_31.png``, ``band_1.tif``,
  ``scene_450nm.png``, or any name with the numbers 1 to 31. A folder of the views of a light field:
  ``view_00_07.png`` with a full grid of numbers, or ``input_Cam000.png`` with a square number of
  them. Other folders are left to napari.
- A lenslet image whose name says how many views lie behind a lens: ``name_lenslet_9x9.png``, or
  ``name_eslf.png`` for the 14 x 14 of a Lytro Illum.
- ``*.npy``, ``*.npz``, ``*.mat``, ``*.h5`` and ``*.hdf5``: all arrays of numbers with 2 to 5 axes.
  The end of a name may spell the axes, as in ``cloth_yxc.npz``.
- ``*.gif``, and with a decoder ``*.mp4``, ``*.avi``, ``*.mov``, ``*.mkv`` and ``*.webm``.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import os
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from napari_scsc import axes as axes_of

if TYPE_CHECKING:
    from napari_scsc.bank import FilterBank

Array = NDArray[Any]
LayerData = tuple[Any, dict[str, Any], str]
Reader = Callable[[Any], list[LayerData]]

# Up to here arrays are read whole: all that follows is then faster.
_SMALL = 64 << 20  # bytes of a file that could be mapped instead
_IN_MEMORY = 1 << 30  # bytes of images that would be decoded again at every look
_LONGEST_VIDEO = 4 << 30
_CHUNK = "16MiB"  # what a move of a slider may read


def get_reader(path: str | os.PathLike[str] | Sequence[str]) -> Reader | None:
    """Return the function that reads ``path`` into layers, or None if it is not ours."""
    if not isinstance(path, str | os.PathLike):
        if len(path) != 1:
            return None
        path = path[0]
    place = Path(path)
    read: Callable[[Path], list[LayerData]] | None
    if place.is_dir():
        read = read_folder if _series(place) else None
    elif not place.is_file():
        read = None
    elif _lenses(place.name):
        read = read_lenslet
    else:
        read = _BY_SUFFIX.get(place.suffix.lower())
    if read is None:
        return None
    chosen = read
    return lambda _: chosen(place)


def _image(
    data: Any,
    name: str,
    labels: Sequence[str] | None,
    kind: str | None,
    rgb: bool = False,
    known: dict[str, Any] | None = None,
) -> LayerData:
    """A layer; its labels name the axes without that of the colours, as napari wants it."""
    arguments: dict[str, Any] = {"name": name, "rgb": rgb, "multiscale": False}
    arguments["metadata"] = {"napari_scsc": {"kind": kind, **(known or {})}}
    if labels:
        arguments["axis_labels"] = tuple(labels)
    return data, arguments, "image"


# Filter banks


def read_bank(path: str | os.PathLike[str]) -> list[LayerData]:
    """A filter bank as an image layer (filter, joint axes, shift axes) that can be saved again.

    Its metadata hold the bank, its id and its path. FileFormatError says what is wrong with a file
    that is not a bank.
    """
    from napari_scsc.bank import FilterBank
    from napari_scsc.files import FileFormatError

    place = Path(path)
    try:
        bank = FilterBank.load(place)
    except FileFormatError as error:
        if "checkpoint'" not in str(error):
            raise
        learner = "LatticeSCSC" if "lattice checkpoint'" in str(error) else "SCSC"
        raise FileFormatError(
            f"{place}: this is a checkpoint, from which learning goes on, and not a filter bank. "
            f"In a script, {learner}.resume(path) reads it, and .bank.save(path) saves its filters"
        ) from None
    return [bank_layer(bank, place.stem, str(place.resolve()))]


def bank_layer(bank: FilterBank, name: str, path: str = "") -> LayerData:
    """A bank as an image layer, which can be saved as a bank and becomes that of the dock."""
    from napari_scsc import pictures

    limit = float(np.abs(bank.filters).max()) or 1.0
    known = {"bank": bank, "id": bank.id, "path": path, "n_joint": bank.n_joint}
    data, arguments, layer_type = _image(
        bank.filters, name, filter_labels(bank), "filter bank", known=known
    )
    ends = pictures.diverging(np.array([[-1.0, 0.0, 1.0]]))[0] / 255
    arguments["colormap"] = {"name": "blue white orange", "colors": ends}
    arguments["contrast_limits"] = (-limit, limit)
    arguments["interpolation2d"] = "nearest"
    return data, arguments, layer_type


def filter_labels(bank: Any) -> tuple[str, ...]:
    """Labels of the axes of the filters of a bank: "filter", the joint axes, the shift axes."""
    n_shift = len(bank.support)
    preset = axes_of.PRESETS.get(str(bank.info.get("kind")))
    if preset and (preset.count("joint"), preset.count("shift")) == (bank.n_joint, n_shift):
        order = preset.order()[preset.count("sample") :]
        return ("filter", *(preset.labels[i] for i in order))
    joint = tuple(f"joint {i + 1}" for i in range(bank.n_joint))
    plane = ("y", "x")[-n_shift:]
    return ("filter", *joint, *(f"shift {i + 1}" for i in range(n_shift - len(plane))), *plane)


# Folders of images

_PICTURES = (".png", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg", ".pgm", ".ppm")
_MOST_FILES = 5000  # a folder with more files is no light field, and takes long to look through
_MOST_VIEWS = 32  # along one axis

_ONE_NUMBER = re.compile(r"(?P<head>.*?)(?P<n>\d+)(?P<unit> ?nm)?", re.IGNORECASE)
# Some archives add the place of the camera: out_03_07_-381.909271_1103.376221_.png
_TWO_NUMBERS = re.compile(
    r"(?P<head>.*?)(?P<u>\d+)(?P<between>\D{1,6})(?P<v>\d+)(?:_-?\d+\.\d+){0,2}_?", re.IGNORECASE
)
_OF_BANDS = {"ms", "msi", "hs", "hsi", "band", "bands", "spectral", "wavelength", "wl", "lambda"}
_OF_VIEWS = {"cam", "camera", "view", "views", "sai", "lf", "u"}
_OF_OTHERS = {"t", "time", "frame", "frames", "z", "slice", "plane", "stack", "c", "ch", "channel"}
_OF_OTHERS |= {"p", "pos", "position", "tile", "well", "site", "field", "fov", "row", "r", "s"}


@dataclass(frozen=True, slots=True)
class _Series:
    """Images of one folder that belong together, in order."""

    kind: str
    files: tuple[Path, ...]
    grid: tuple[int, ...]
    absent: tuple[str, ...] = ()  # what should be there, in the user's words
    wavelengths: tuple[int, ...] = ()


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts names with numbers as people do: band_2 before band_10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(p), p) if p.isdecimal() else (1, 0, p.lower()) for p in parts if p]


def _series(folder: Path) -> _Series | None:
    """The largest series of bands or views in a folder; a single folder in it is looked into."""
    names = _names(folder)
    if names is None:
        return None
    if not any(Path(name).suffix.lower() in _PICTURES for name in names):
        inner = [folder / name for name in names if (folder / name).is_dir()]
        if len(inner) != 1 or _names(inner[0]) is None:
            return None
        folder, names = inner[0], _names(inner[0]) or []
    spoken = re.sub(r"[\W_]+", " ", folder.name.lower())
    found = [*_grids(folder, names), *_rows(folder, names, spoken)]
    found.sort(key=lambda series: -len(series.files))
    if not found or (len(found) > 1 and len(found[0].files) == len(found[1].files)):
        return None
    return found[0]


def _names(folder: Path) -> list[str] | None:
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(names) == _MOST_FILES:
                return None
            if not entry.name.startswith("."):
                names.append(entry.name)
    return sorted(names, key=natural)


def _grouped(
    names: Iterable[str], pattern: re.Pattern[str]
) -> Iterator[list[tuple[str, re.Match[str]]]]:
    """Names that differ in their numbers only."""
    groups: dict[tuple[str, ...], list[tuple[str, re.Match[str]]]] = defaultdict(list)
    for name in names:
        place = Path(name)
        match = pattern.fullmatch(place.stem)
        if match and place.suffix.lower() in _PICTURES:
            fixed = (match["head"], match.groupdict().get("between") or "", place.suffix)
            groups[fixed].append((name, match))
    yield from groups.values()


def _grids(folder: Path, names: Iterable[str]) -> Iterator[_Series]:
    """Views with two numbers in their names."""
    for group in _grouped(names, _TWO_NUMBERS):
        match = group[0][1]
        if _last_word(match["between"]) not in ("", "v", "x") or (
            _last_word(match["head"]) in _OF_OTHERS
        ):
            continue
        places = {(int(m["u"]), int(m["v"])): folder / name for name, m in group}
        rows, columns = (sorted({place[i] for place in places}) for i in (0, 1))
        grid = len(rows), len(columns)
        if min(grid) < 2 or max(grid) > _MOST_VIEWS or len(places) < len(group):
            continue
        absent = [(u, v) for u in rows for v in columns if (u, v) not in places]
        if absent and (_last_word(match["head"]) not in _OF_VIEWS or 2 * len(absent) > len(places)):
            continue  # two numbers, but nothing says that they count views
        yield _Series(
            "light-field",
            tuple(places[place] for place in sorted(places)),
            grid,
            tuple(f"{u}, {v}" for u, v in absent),
        )


def _rows(folder: Path, names: Iterable[str], spoken: str) -> Iterator[_Series]:
    """Bands or views with one number in their names."""
    for group in _grouped(names, _ONE_NUMBER):
        places = {int(m["n"]): folder / name for name, m in group}
        if len(places) < max(2, len(group)):
            continue
        numbers = sorted(places)
        files = tuple(places[n] for n in numbers)
        word, side = _last_word(group[0][1]["head"]), math.isqrt(len(files))
        whole = numbers[-1] - numbers[0] == len(numbers) - 1
        of_views = word in _OF_VIEWS or "light field" in spoken or "lightfield" in spoken
        if of_views and whole and 2 <= side <= _MOST_VIEWS and side**2 == len(files):
            yield _Series("light-field", files, (side, side))
            continue
        in_nm = all(m["unit"] for _, m in group)
        of_bands = word in _OF_BANDS or in_nm or bool(_OF_BANDS & set(spoken.split()))
        of_bands |= "spectral" in spoken
        of_bands |= numbers == list(range(1, 32)) and word not in _OF_VIEWS
        if not of_bands or word in _OF_OTHERS:
            continue
        are_wavelengths = in_nm or (word in _OF_BANDS and numbers[0] >= 300 and not whole)
        if not are_wavelengths and numbers[-1] - numbers[0] >= 2 * len(numbers):
            continue  # numbers, but nothing that was counted
        every = numbers if are_wavelengths else range(numbers[0], numbers[-1] + 1)
        yield _Series(
            "multispectral",
            files,
            (len(files),),
            tuple(str(n) for n in every if n not in places),
            tuple(numbers) if are_wavelengths else (),
        )


def _last_word(text: str) -> str:
    words = re.findall(r"[a-z]+", text.lower())
    return words[-1] if words else ""


def read_folder(path: str | os.PathLike[str]) -> list[LayerData]:
    """The bands (c, y, x) or the views (u, v, y, x) in a folder as one image layer.

    All images must have the same size and type. Views in colour make an RGB layer.
    """
    folder = Path(path)
    series = _series(folder)
    if series is None:
        raise ValueError(
            f"{folder}: neither bands of a scene (name_ms_01.png, name_ms_02.png, ...) nor views "
            "of a light field (view_00_00.png, view_00_01.png, ...): open it with napari's own "
            "reader"
        )
    if series.absent:
        what = "bands" if series.kind == "multispectral" else "views"
        raise ValueError(f"{folder}: {what} are missing: {_some(series.absent, '; ')}")
    shape, dtype = _common(series.files)
    colours = len(shape) == 3 and shape[2] in (3, 4)
    if len(shape) != 2 and not colours:
        raise ValueError(
            f"{series.files[0]}: has {_size(shape)} values, where an image with two axes is needed"
        )
    rgb = colours and series.kind == "light-field"
    read = _read_colours if rgb else _read_grey
    kept = (*shape[:2], 3) if rgb else shape[:2]
    data = _stack(series.files, read, kept, dtype, series.grid)
    labels = axes_of.PRESETS[series.kind].labels
    known = {"wavelengths": series.wavelengths} if series.wavelengths else {}
    return [_image(data, folder.name, labels, series.kind, rgb, known)]


def _common(files: Sequence[Path]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of all the images, read from their headers."""
    looks = {file: _properties(file) for file in files}
    usual, _ = Counter(looks.values()).most_common(1)[0]
    odd = [f"{file.name} has {_say(look)}" for file, look in looks.items() if look != usual]
    if odd:
        raise ValueError(
            f"{files[0].parent}: all images of one scene must have the same size and type. Most "
            f"have {_say(usual)}, but {_some(odd)}"
        )
    return usual


def _properties(file: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    import imageio.v3 as iio

    with _picture(file) as (stream, plugin):
        found = iio.improps(stream, plugin=plugin)
    return tuple(found.shape), np.dtype(found.dtype)


@contextlib.contextmanager
def _picture(file: Path) -> Iterator[tuple[BinaryIO, str]]:
    """An open image file and the one plugin to read it with; what it raises names the file.

    Left alone, imageio tries one plugin after the other on a damaged file, and leaves it open.
    """
    has_tifffile = importlib.util.find_spec("tifffile") is not None
    is_tiff = file.suffix.lower() in (".tif", ".tiff")
    with open(file, "rb") as stream:
        try:
            yield stream, "tifffile" if is_tiff and has_tifffile else "pillow"
        except Exception as error:  # the plugins raise many kinds
            raise ValueError(f"{file}: not a readable image ({error})") from error


def _stack(
    files: Sequence[Path],
    read: Callable[[Path], Array],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    grid: tuple[int, ...],
) -> Any:
    if len(files) * math.prod(shape) * dtype.itemsize <= _IN_MEMORY:
        whole = np.empty((len(files), *shape), dtype)
        for i, file in enumerate(files):
            whole[i] = read(file)
        return whole.reshape(grid + shape)
    import dask
    import dask.array

    lazily: Any = dask.delayed(read)
    from_delayed: Any = dask.array.from_delayed
    pieces = [from_delayed(lazily(file), shape, dtype) for file in files]
    stack: Any = dask.array.stack
    return stack(pieces).reshape(grid + shape)


def _read_picture(file: Path) -> Array:
    import imageio.v3 as iio

    with _picture(file) as (stream, plugin):
        return np.asarray(iio.imread(stream, plugin=plugin))


def _read_colours(file: Path) -> Array:
    return _read_picture(file)[..., :3]


def _read_grey(file: Path) -> Array:
    image = _read_picture(file)
    if image.ndim == 3 and not _is_grey(image):
        raise ValueError(f"{file}: is in colour, but a band of a scene has one value a pixel")
    return image if image.ndim == 2 else image[..., 0]


def _is_grey(image: Array) -> bool:
    return bool((image[..., 1:3] == image[..., :1]).all())


def _size(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def _say(look: tuple[tuple[int, ...], np.dtype[Any]]) -> str:
    return f"{_size(look[0])} {look[1]}"


def _some(words: Sequence[str], comma: str = ", ", most: int = 5) -> str:
    rest = f" and {len(words) - most} more" if len(words) > most else ""
    return comma.join(words[:most]) + rest


# Lenslet images

_LENSES = re.compile(r".*_lenslet_(\d{1,2})x(\d{1,2})\.(?:png|tif|tiff)", re.IGNORECASE)


def _lenses(name: str) -> tuple[int, int] | None:
    if name.lower().endswith("_eslf.png"):
        return 14, 14
    match = _LENSES.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def lenslet_to_views(image: Array, n_u: int, n_v: int) -> Array:
    """The views of a light field from an image with ``n_u`` x ``n_v`` pixels behind each lens.

    Parameters
    ----------
    image : ndarray, (y n_u, x n_v) or (y n_u, x n_v, c)
        Pixel ``(i n_u + u, j n_v + v)`` is what view ``(u, v)`` sees at ``(i, j)``.
    n_u, n_v : int
        How many views there are, from top to bottom and from left to right.

    Returns
    -------
    ndarray, (n_u, n_v, y, x) or (n_u, n_v, y, x, c)
        No copy: writing to it writes to the image.
    """
    if image.ndim not in (2, 3):
        raise ValueError(f"a lenslet image has the axes (y, x) or (y, x, c), not {image.shape}")
    height, width = image.shape[:2]
    if n_u < 1 or n_v < 1 or height % n_u or width % n_v or not image.size:
        raise ValueError(
            f"an image of {height} x {width} pixels cannot have {n_u} x {n_v} pixels behind each "
            "lens: its height and width must be multiples of them"
        )
    split = image.reshape(height // n_u, n_u, width // n_v, n_v, *image.shape[2:])
    return split.transpose(1, 3, 0, 2, *range(4, split.ndim))


def read_lenslet(path: str | os.PathLike[str]) -> list[LayerData]:
    """A lenslet image as the views that it holds, (u, v, y, x); its name says how many."""
    place = Path(path)
    lenses = _lenses(place.name)
    if lenses is None:
        raise ValueError(
            f"{place}: the name must say how many pixels lie behind a lens, as in "
            "scene_lenslet_9x9.png"
        )
    image = _read_picture(place)
    rgb = image.ndim == 3 and image.shape[2] in (3, 4)
    try:
        views = lenslet_to_views(image[..., :3] if rgb else image, *lenses)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    return [_image(views, place.stem, tuple("uvyx"), "light-field", rgb)]


# Cubes


@dataclass(frozen=True, slots=True)
class _Found:
    """An array in a file, with what the file says about its axes."""

    key: str
    array: Any
    spelled: Any = None


def read_cube(path: str | os.PathLike[str]) -> list[LayerData]:
    """All arrays of numbers with 2 to 5 axes in a .npy, .npz, .mat or HDF5 file.

    Large .npy files are mapped and HDF5 files read region by region. Axes are named, and brought
    into napari's order, where the file or a name tells them: attributes ``axes`` or dimension
    labels in HDF5, a string ``axes`` in a .npz, names that end with them (``cloth_yxc``), or a word
    such as "video" with a shape that can be read in one way only.
    """
    place = Path(path)
    skipped: list[str] = []
    found = list(_ARRAYS[place.suffix.lower()](place, skipped))
    if not found:
        inside = f"it holds {_some(skipped)}" if skipped else "it is empty"
        raise ValueError(f"{place}: no array of numbers with 2 to 5 axes: {inside}")
    layers = []
    for one in found:
        name = place.stem if len(found) == 1 else f"{place.stem} {one.key}"
        layers.append(_cube(one, place.stem, name))
    return layers


def _cube(found: _Found, stem: str, name: str) -> LayerData:
    array = _native(found.array)
    shape = tuple(array.shape)
    letters, word_kind = _letters(shape, (found.key, stem), found.spelled)
    rgb = bool(letters) and "c" in letters and _are_colours(array, letters.index("c"))
    if letters == ("y", "x", "c") and shape[2] in (3, 4) and not rgb and word_kind == "rgb":
        letters = ()  # guessed to be colours from the shape, but the values say otherwise
    if not letters:
        return _image(array, name, None, None)
    wanted = [letter for letter in "ntzcuvyx" if letter in letters and not (rgb and letter == "c")]
    order = [letters.index(letter) for letter in wanted + (["c"] if rgb else [])]
    array = array.transpose(order)
    labels = wanted + (["c"] if rgb else [])
    kind = axes_of.resolve(array.shape, axes=labels, rgb=rgb).kind
    if word_kind == "time-lapse" and kind == "video":
        kind = word_kind
    return _image(array, name, wanted, kind, rgb, {"axes_in_file": "".join(letters)})


def _letters(
    shape: tuple[int, ...], names: Sequence[str], spelled: Any
) -> tuple[tuple[str, ...], str | None]:
    """One letter an axis, or none at all, and the kind where that was what told them."""
    n = len(shape)
    hints = [spelled, *(re.split(r"[\W_]", name)[-1] for name in names)]
    for hint in hints:
        hint = hint.lower() if isinstance(hint, str) else hint
        if not hint or len(hint) != n or (isinstance(hint, str) and not {"y", "x"} <= set(hint)):
            continue
        try:
            return axes_of.resolve(shape, axes=hint).labels, None
        except (ValueError, TypeError, AttributeError):
            continue  # a name like any other
    if n == 2:
        return ("y", "x"), None
    if n == 5 and shape[4] == 3:
        four, kind = _letters(shape[:4], names, None)
        return ((*four, "c"), kind) if four[:2] == ("u", "v") else ((), None)
    try:
        kind = axes_of.resolve(shape, name=" ".join(names)).kind
    except ValueError:
        kind = "light-field" if n == 4 and _is_light_field(shape[2:] + shape[:2]) else ""
    labels = axes_of.PRESETS[kind].labels if kind else ()
    if kind == "rgb" or not labels:
        return labels, kind or None
    # Programs differ in where they put the axes that are not y and x. One order only must fit.
    outer = n - 2
    if 2 * max(shape[:outer]) <= min(shape[outer:]):
        return labels, kind
    if 2 * max(shape[2:]) <= min(shape[:2]):
        return (*labels[outer:], *labels[:outer]), kind
    return (), None


def _is_light_field(shape: tuple[int, ...]) -> bool:
    try:
        return axes_of.resolve(shape).kind == "light-field"
    except ValueError:
        return False


def _are_colours(array: Any, axis: int) -> bool:
    if array.shape[axis] not in (3, 4) or axis != array.ndim - 1:
        return False
    if array.dtype in (np.uint8, np.uint16):
        return True
    if array.dtype.kind != "f" or not isinstance(array, np.ndarray) or array.nbytes > _SMALL:
        return False
    return bool(np.all((array >= 0) & (array <= 1)))


def _native(array: Any) -> Any:
    """The array in the byte order of this machine, which graphics cards ask for."""
    if array.dtype.isnative:
        return array
    if isinstance(array, np.memmap):
        array = _lazily(array)
    return array.astype(array.dtype.newbyteorder("="))


def _is_picture(shape: Sequence[int], dtype: Any) -> bool:
    """Whether it can be a layer; a row, a column or a single value is not."""
    return (
        np.dtype(dtype).kind in "fiub"
        and 2 <= len(shape) <= 5
        and all(shape)
        and sum(n > 1 for n in shape) >= 2
    )


def _npy_arrays(place: Path, skipped: list[str]) -> Iterator[_Found]:
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
        skipped.append(f"{_size(array.shape)} {array.dtype}")
        return
    yield _Found("", array if array.nbytes > _SMALL else np.array(array))


def _npz_arrays(place: Path, skipped: list[str]) -> Iterator[_Found]:
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
                    yield _Found(key, load(key), spelled)
                else:
                    skipped.append(f"{key} ({_size(shape) or 1} {dtype})")
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, OSError) as error:
        raise ValueError(f"{place}: not a readable .npz file ({error})") from error


def _mat_arrays(place: Path, skipped: list[str]) -> Iterator[_Found]:
    from scipy import io

    with open(place, "rb") as stream:
        is_hdf5 = stream.read(19) == b"MATLAB 7.3 MAT-file"
    if is_hdf5:  # its axes are in the order of MATLAB, from the last to the first
        for one in _hdf5_arrays(place, skipped):
            yield _Found(one.key, one.array.T)
        return
    numbers = {"double", "single", "logical"}
    numbers |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    try:
        keys = []
        for key, shape, kind in io.whosmat(place):
            if kind in numbers and _is_picture(shape, np.float64):
                keys.append(key)
            else:
                skipped.append(f"{key} ({_size(shape)} {kind})")
        loaded = io.loadmat(place, variable_names=keys) if keys else {}
    except Exception as error:  # the parser raises many kinds on a damaged file
        raise ValueError(
            f"{place}: not a readable MATLAB file ({type(error).__name__}: {error})"
        ) from error
    for key in keys:
        if _is_picture(loaded[key].shape, loaded[key].dtype):
            yield _Found(key, loaded[key])
        else:
            skipped.append(f"{key} ({_size(loaded[key].shape)} {loaded[key].dtype})")


def _hdf5_arrays(place: Path, skipped: list[str]) -> Iterator[_Found]:
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
            yield _Found(key, _lazily(dataset), _hdf5_axes(dataset))
        else:
            skipped.append(f"{key} ({_size(dataset.shape or ()) or 1} {dataset.dtype})")


def _hdf5_axes(dataset: Any) -> Any:
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


def _lazily(array: Any) -> Any:
    import dask
    import dask.array

    from_array: Any = dask.array.from_array
    setting: Any = dask.config.set
    with setting({"array.chunk-size": _CHUNK}):
        # Without a name of its own, dask would hash all values to make one.
        return from_array(array, chunks="auto", name=False)


# Videos


def read_video(path: str | os.PathLike[str]) -> list[LayerData]:
    """A video as an image layer, (t, y, x); in RGB where any frame has colours."""
    import imageio.v3 as iio

    place = Path(path)
    plugin = "pillow" if place.suffix.lower() == ".gif" else _decoder()
    if plugin is None:
        raise ImportError(
            f"{place}: to open videos, install a decoder beside napari (pip install "
            '"imageio[pyav]") and start napari again'
        )
    frames: list[Array] = []
    n_bytes = 0
    with open(place, "rb") as stream:
        # FFMPEG is a program of its own, and must open the file itself.
        source: Any = place if plugin == "FFMPEG" else stream
        try:
            for frame in iio.imiter(source, plugin=plugin):
                frame = np.asarray(frame)
                if frame.ndim == 3:
                    # A copy, so that the colours of a grey frame are not kept with it.
                    frame = frame[..., 0].copy() if _is_grey(frame) else frame[..., :3]
                n_bytes += frame.nbytes
                if n_bytes > _LONGEST_VIDEO:
                    break
                frames.append(frame)
        except Exception as error:  # the plugins raise many kinds
            reason = str(error).partition("\n")[0]  # FFMPEG adds pages
            raise ValueError(f"{place}: not a readable video ({reason})") from error
    if n_bytes > _LONGEST_VIDEO:
        raise ValueError(
            f"{place}: longer than {len(frames)} frames, which take {_LONGEST_VIDEO >> 30} GiB: "
            "cut it into shorter pieces"
        )
    if not frames:
        raise ValueError(f"{place}: a video without frames")
    rgb = any(frame.ndim == 3 for frame in frames)
    if rgb:
        frames = [f if f.ndim == 3 else np.repeat(f[..., None], 3, axis=-1) for f in frames]
    if len(frames) == 1:
        return [_image(frames[0], place.stem, ("y", "x"), "rgb" if rgb else "image", rgb)]
    return [_image(np.stack(frames), place.stem, ("t", "y", "x"), "video", rgb)]


def _decoder() -> str | None:
    """The plugin of imageio that can decode videos here."""
    for module, plugin in (("av", "pyav"), ("imageio_ffmpeg", "FFMPEG")):
        if importlib.util.find_spec(module):
            return plugin
    return None


_ARRAYS: dict[str, Callable[[Path, list[str]], Iterator[_Found]]] = {
    ".npy": _npy_arrays,
    ".npz": _npz_arrays,
    ".mat": _mat_arrays,
    ".h5": _hdf5_arrays,
    ".hdf5": _hdf5_arrays,
}
_BY_SUFFIX: dict[str, Callable[[Path], list[LayerData]]] = {
    ".scsc": read_bank,
    **dict.fromkeys(_ARRAYS, read_cube),
    **dict.fromkeys((".gif", ".mp4", ".avi", ".mov", ".mkv", ".webm"), read_video),
}
