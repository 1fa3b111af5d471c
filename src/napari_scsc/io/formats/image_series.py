"""Which images of a folder belong together: what their names tell of bands and views."""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from napari_scsc.io.filenames import natural_key

_PICTURES = (".png", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg", ".pgm", ".ppm")
_MAX_FILES = 5000  # a folder with more files is no light field, and takes long to look through
_MAX_VIEWS_PER_AXIS = 32  # along one axis

ONE_NUMBER = re.compile(r"(?P<head>.*?)(?P<n>\d+)(?P<unit> ?nm)?", re.IGNORECASE)
# Some archives add the place of the camera: out_03_07_-381.909271_1103.376221_.png
_TWO_NUMBERS = re.compile(
    r"(?P<head>.*?)(?P<u>\d+)(?P<between>\D{1,6})(?P<v>\d+)(?:_-?\d+\.\d+){0,2}_?", re.IGNORECASE
)
_BAND_WORDS = {"ms", "msi", "hs", "hsi", "band", "bands", "spectral", "wavelength", "wl", "lambda"}
_VIEW_WORDS = {"cam", "camera", "view", "views", "sai", "lf", "u"}
_OTHER_WORDS = {"t", "time", "frame", "frames", "z", "slice", "plane", "stack", "c", "ch"}
_OTHER_WORDS |= {"channel", "p", "pos", "position", "tile", "well", "site", "field", "fov"}
_OTHER_WORDS |= {"row", "r", "s"}


@dataclass(frozen=True, slots=True)
class Series:
    """Images of a folder that belong together: bands of a scene, or views of a light field.

    Attributes
    ----------
    kind : {"multispectral", "light-field"}
        Kind of data that they are together.
    files : tuple of Path
        The images in their order.
    grid : tuple of int
        How many there are along each axis that they are stacked along.
    absent : tuple of str
        Numbers of the images that are missing.
    wavelengths : tuple of int
        Nanometres of the bands, where the names say them.
    """

    kind: str
    files: tuple[Path, ...]
    grid: tuple[int, ...]
    absent: tuple[str, ...] = ()
    wavelengths: tuple[int, ...] = ()


def find_series(folder: Path) -> Series | None:
    """The largest series of bands or views in a folder; a single folder in it is looked into."""
    names = _list_names(folder)
    if names is None:
        return None
    if not any(Path(name).suffix.lower() in _PICTURES for name in names):
        inner = [folder / name for name in names if (folder / name).is_dir()]
        if len(inner) != 1 or _list_names(inner[0]) is None:
            return None
        folder, names = inner[0], _list_names(inner[0]) or []
    spoken = re.sub(r"[\W_]+", " ", folder.name.lower())
    found = [*_find_grids(folder, names), *_find_rows(folder, names, spoken)]
    found.sort(key=lambda series: -len(series.files))
    if not found or (len(found) > 1 and len(found[0].files) == len(found[1].files)):
        return None
    return found[0]


def _list_names(folder: Path) -> list[str] | None:
    """Names of the files in a folder in natural order; None if there are too many."""
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(names) == _MAX_FILES:
                return None
            if not entry.name.startswith(".") and (entry.is_file() or entry.is_dir()):
                names.append(entry.name)
    return sorted(names, key=natural_key)


def group_names(
    names: Iterable[str], pattern: re.Pattern[str]
) -> Iterator[list[tuple[str, re.Match[str]]]]:
    """Groups of names that differ in their numbers only."""
    groups: dict[tuple[str, ...], list[tuple[str, re.Match[str]]]] = defaultdict(list)
    for name in names:
        place = Path(name)
        match = pattern.fullmatch(place.stem)
        if match and place.suffix.lower() in _PICTURES:
            fixed = (match["head"], match.groupdict().get("between") or "", place.suffix)
            groups[fixed].append((name, match))
    yield from groups.values()


def _find_grids(folder: Path, names: Iterable[str]) -> Iterator[Series]:
    """Views with two numbers in their names."""
    for group in group_names(names, _TWO_NUMBERS):
        match = group[0][1]
        word = last_word(match["head"])
        if last_word(match["between"]) not in ("", "v", "x") or word in _OTHER_WORDS:
            continue
        places = {(int(m["u"]), int(m["v"])): folder / name for name, m in group}
        rows, columns = (sorted({place[i] for place in places}) for i in (0, 1))
        grid = len(rows), len(columns)
        if min(grid) < 2 or max(grid) > _MAX_VIEWS_PER_AXIS or len(places) < len(group):
            continue
        absent = [(u, v) for u in rows for v in columns if (u, v) not in places]
        if absent and (word not in _VIEW_WORDS or 2 * len(absent) > len(places)):
            continue  # two numbers, but nothing says that they count views
        yield Series(
            "light-field",
            tuple(places[place] for place in sorted(places)),
            grid,
            tuple(f"{u}, {v}" for u, v in absent),
        )


def _find_rows(folder: Path, names: Iterable[str], spoken: str) -> Iterator[Series]:
    """Bands or views with one number in their names."""
    for group in group_names(names, ONE_NUMBER):
        places = {int(m["n"]): folder / name for name, m in group}
        if len(places) < max(2, len(group)):
            continue
        numbers = sorted(places)
        files = tuple(places[n] for n in numbers)
        word, side = last_word(group[0][1]["head"]), math.isqrt(len(files))
        is_gapless = numbers[-1] - numbers[0] == len(numbers) - 1
        of_views = word in _VIEW_WORDS or "light field" in spoken or "lightfield" in spoken
        if of_views and is_gapless and 2 <= side <= _MAX_VIEWS_PER_AXIS and side**2 == len(files):
            yield Series("light-field", files, (side, side))
            continue
        in_nm = all(m["unit"] for _, m in group)
        of_bands = word in _BAND_WORDS or in_nm or bool(_BAND_WORDS & set(spoken.split()))
        of_bands |= "spectral" in spoken
        of_bands |= numbers == list(range(1, 32)) and word not in _VIEW_WORDS
        if not of_bands or word in _OTHER_WORDS:
            continue
        are_wavelengths = in_nm or (word in _BAND_WORDS and numbers[0] >= 300 and not is_gapless)
        if not are_wavelengths and numbers[-1] - numbers[0] >= 2 * len(numbers):
            continue  # numbers, but nothing that was counted
        every = numbers if are_wavelengths else range(numbers[0], numbers[-1] + 1)
        yield Series(
            "multispectral",
            files,
            (len(files),),
            tuple(str(n) for n in every if n not in places),
            tuple(numbers) if are_wavelengths else (),
        )


def last_word(text: str) -> str:
    """The last word of a text in small letters, or nothing."""
    words = re.findall(r"[a-z]+", text.lower())
    return words[-1] if words else ""
