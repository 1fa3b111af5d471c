"""Which images of a folder belong together: what their names tell of bands and views."""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from napari_scsc.io.filenames import natural

_PICTURES = (".png", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg", ".pgm", ".ppm")
_MOST_FILES = 5000  # a folder with more files is no light field, and takes long to look through
_MOST_VIEWS = 32  # along one axis

ONE_NUMBER = re.compile(r"(?P<head>.*?)(?P<n>\d+)(?P<unit> ?nm)?", re.IGNORECASE)
# Some archives add the place of the camera: out_03_07_-381.909271_1103.376221_.png
_TWO_NUMBERS = re.compile(
    r"(?P<head>.*?)(?P<u>\d+)(?P<between>\D{1,6})(?P<v>\d+)(?:_-?\d+\.\d+){0,2}_?", re.IGNORECASE
)
_OF_BANDS = {"ms", "msi", "hs", "hsi", "band", "bands", "spectral", "wavelength", "wl", "lambda"}
_OF_VIEWS = {"cam", "camera", "view", "views", "sai", "lf", "u"}
_OF_OTHERS = {"t", "time", "frame", "frames", "z", "slice", "plane", "stack", "c", "ch", "channel"}
_OF_OTHERS |= {"p", "pos", "position", "tile", "well", "site", "field", "fov", "row", "r", "s"}


@dataclass(frozen=True, slots=True)
class Series:
    """Images of one folder that belong together, in order."""

    kind: str
    files: tuple[Path, ...]
    grid: tuple[int, ...]
    absent: tuple[str, ...] = ()  # what should be there, in the user's words
    wavelengths: tuple[int, ...] = ()


def find_series(folder: Path) -> Series | None:
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


def grouped(
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


def _grids(folder: Path, names: Iterable[str]) -> Iterator[Series]:
    """Views with two numbers in their names."""
    for group in grouped(names, _TWO_NUMBERS):
        match = group[0][1]
        if last_word(match["between"]) not in ("", "v", "x") or (
            last_word(match["head"]) in _OF_OTHERS
        ):
            continue
        places = {(int(m["u"]), int(m["v"])): folder / name for name, m in group}
        rows, columns = (sorted({place[i] for place in places}) for i in (0, 1))
        grid = len(rows), len(columns)
        if min(grid) < 2 or max(grid) > _MOST_VIEWS or len(places) < len(group):
            continue
        absent = [(u, v) for u in rows for v in columns if (u, v) not in places]
        if absent and (last_word(match["head"]) not in _OF_VIEWS or 2 * len(absent) > len(places)):
            continue  # two numbers, but nothing says that they count views
        yield Series(
            "light-field",
            tuple(places[place] for place in sorted(places)),
            grid,
            tuple(f"{u}, {v}" for u, v in absent),
        )


def _rows(folder: Path, names: Iterable[str], spoken: str) -> Iterator[Series]:
    """Bands or views with one number in their names."""
    for group in grouped(names, ONE_NUMBER):
        places = {int(m["n"]): folder / name for name, m in group}
        if len(places) < max(2, len(group)):
            continue
        numbers = sorted(places)
        files = tuple(places[n] for n in numbers)
        word, side = last_word(group[0][1]["head"]), math.isqrt(len(files))
        whole = numbers[-1] - numbers[0] == len(numbers) - 1
        of_views = word in _OF_VIEWS or "light field" in spoken or "lightfield" in spoken
        if of_views and whole and 2 <= side <= _MOST_VIEWS and side**2 == len(files):
            yield Series("light-field", files, (side, side))
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
