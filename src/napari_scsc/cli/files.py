"""What the command line reads and writes: inputs and what they are, and the names of results."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from napari_scsc.cli.words import is_terminal, naming

if TYPE_CHECKING:
    from napari_scsc.data.axes import Axes
    from napari_scsc.io.formats.opened_file import OpenedFile


def expanded(inputs: tuple[str, ...]) -> list[str]:
    """The files that are meant, each once: patterns are for shells that do not know them."""
    found: list[str] = []
    for item in inputs:
        is_there = item == "-" or os.path.exists(item)
        matches = [item] if is_there else sorted(glob.glob(item, recursive=True))
        if not matches:
            raise FileNotFoundError(f"{item}: there is no such file or folder")
        found += matches
    return list(dict.fromkeys(found))


def temporary_folder() -> Path:
    """A folder that is there until the command ends."""
    return Path(click.get_current_context().with_resource(tempfile.TemporaryDirectory()))


def opened(path: str, key: str | None = None) -> OpenedFile:
    """An input as a lazy array; what comes from a pipe is kept in a file meanwhile."""
    from napari_scsc.io.formats import open_file

    if path != "-":
        _refuse_codes(path)
        return open_file(path, key)
    if is_terminal(sys.stdin):
        raise ValueError("'-' reads an array from a pipe or a file, and this is a terminal")
    # In a file it may be larger than the memory, and other processes can read it.
    place = temporary_folder() / "standard input.npy"
    with open(place, "wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    if place.stat().st_size == 0:
        raise ValueError("nothing came from standard input")
    return open_file(place, key)


def _refuse_codes(path: str) -> None:
    if holds_codes(path):
        raise ValueError(f"{path}: holds codes, not an image")


def holds_codes(path: str) -> bool:
    """Whether these are codes; of what is no zarr, nothing is opened."""
    if not Path(path, "zarr.json").exists():
        return False
    from napari_scsc.io.codes import is_codes

    return is_codes(path)


def open_input(
    path: str, key: str | None, kind: str | None, axes: str | None, **_: Any
) -> tuple[OpenedFile, Axes]:
    """An input, and what its axes are."""
    image = opened(path, key)
    return image, meaning_of(image, kind, axes)


def meaning_of(image: OpenedFile, kind: str | None, axes: str | None) -> Axes:
    """What the axes are: as the user says, else as the file does; those of length 1 put aside."""
    from napari_scsc.data.axes import long_axes, resolve, with_short_axes

    shape, own, found = tuple(image.array.shape), image.labels, None
    kept = long_axes(shape)
    lengths = [shape[i] for i in kept]
    if axes is not None:
        if len(axes) == len(shape):
            axes = "".join(axes[i] for i in kept)
        found = resolve(lengths, kind, axes)
    elif own is not None:
        with suppress(ValueError):  # names that say nothing, or not what the user says
            found = resolve(lengths, kind, [own[i] for i in kept])
    if found is None:
        found = resolve(lengths, kind, name=image.name)
    return with_short_axes(found, shape, own)


def targets_of(
    paths: list[str], out: str, format: str | None, resume: bool, default: str = "", **_: Any
) -> dict[str, Path]:
    """The file for the result of each input; in a folder, they are called like the inputs.

    ``default`` is their end if no format is given; without it, that of the input.
    """
    from napari_scsc.io import stores

    is_file = out == "-" or bool(_suffix(out))
    if is_file and len(paths) > 1:
        raise click.UsageError(f"--out must be a folder for {len(paths)} inputs, not {out}")
    if is_file and format:
        raise click.UsageError(f"--format is for results in a folder, and --out is {out}")
    if out == "-":
        return {paths[0]: temporary_folder() / "standard output.npy"}
    names_folder = out.endswith(("/", os.sep)) or not Path(out).suffix or Path(out).is_dir()
    if len(paths) > 1 or (names_folder and not is_file):
        targets = {path: Path(out) / _name(path, format or default) for path in paths}
    else:
        stores.suffix_of(out)  # refuses what cannot be written
        targets = {paths[0]: Path(out)}
    taken: dict[Path, str] = {}
    inputs = {_file_id(path) for path in paths if path != "-"}
    for path, target in targets.items():
        if target in taken:
            raise ValueError(f"{taken[target]} and {path} would both be written to {target}")
        taken[target] = path
        if target.exists() and _file_id(target) in inputs:
            raise ValueError(f"{target} is an input, and would be the result: choose another")
        is_done(target, resume)
    return targets


def _file_id(path: str | Path) -> tuple[int, int]:
    """What is the same for all names of a file."""
    facts = os.stat(path)
    return facts.st_dev, facts.st_ino


def _name(path: str, suffix: str) -> str:
    """What the result of an input is called in a folder: like it, if its format can be written."""
    from napari_scsc.io.filenames import stem_of

    name = "stdin.npy" if path == "-" else Path(os.path.abspath(path)).name
    return name if _suffix(name) and not suffix else stem_of(Path(name)) + (suffix or ".tif")


def _suffix(path: str) -> str:
    """The end of a name that says its format; empty if that cannot be written."""
    from napari_scsc.io import stores

    with suppress(ValueError):
        return stores.suffix_of(path)
    return ""


def checkpoint_of(target: Path) -> Path:
    """Where the finished part of a result in the making is."""
    return target.with_name(target.name + ".partial")


def is_done(target: Path, is_resumed: bool) -> bool:
    """Whether a run that is resumed has made this file before; without resuming, refuse it."""
    if target.exists() and not is_resumed:
        raise FileExistsError(f"{target} is there already: choose another name, or remove it")
    if checkpoint_of(target).exists() and not is_resumed:
        raise FileExistsError(
            f"{checkpoint_of(target)} holds a run that broke off: go on with --resume, or remove it"
        )
    return target.exists()


def load_bank(bank: str | None) -> Any:
    """The filters of a file, if one is given."""
    from napari_scsc import FilterBank

    return None if bank is None else FilterBank.load(bank)


def load_mask(mask: str | None) -> Any:
    """Where something is missing, if a mask is given."""
    if mask is None:
        return None
    with naming(mask):
        return opened(mask).array
