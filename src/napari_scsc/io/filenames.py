"""Names of files, and words that messages about files share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def stem_of(path: Path) -> str:
    """The name without the end that says the format."""
    return re.sub(r"(\.ome)?\.[^.]+$", "", path.name, flags=re.IGNORECASE) or path.name


def partial_of(result: Path) -> Path:
    """Where the finished part of a result in the making is, until it is whole."""
    return result.with_name(result.name + ".partial")


def path_beside(result: Path, name: str) -> Path:
    """Where a map of a result goes: ``cells.error.zarr`` beside ``cells.zarr``."""
    stem = stem_of(result)
    return result.with_name(f"{stem}.{name}{result.name.removeprefix(stem)}")


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts names with numbers as people do: band_2 before band_10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(p), p) if p.isdecimal() else (1, 0, p.lower()) for p in parts if p]


def format_shape(shape: Sequence[int]) -> str:
    """A shape as people write it: 3 x 40 x 50."""
    return " x ".join(map(str, shape))


def format_bytes(count: int) -> str:
    """A number of bytes as people say it: 4.2 MB."""
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if count >= 10**power:
            return f"{count / 10**power:.1f} {unit}"
    return f"{count} bytes"


def shorten_list(words: Sequence[str], comma: str = ", ", most: int = 5) -> str:
    """The first of the words, and how many more there are."""
    rest = f" and {len(words) - most} more" if len(words) > most else ""
    return comma.join(words[:most]) + rest
