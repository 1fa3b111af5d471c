"""What the command line reads and writes: inputs and what they are, and the names of results."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from napari_scsc.cli.messages import naming_inputs
from napari_scsc.errors import PathExistsError, PathNotFoundError, Remedy, UserError
from napari_scsc.io.filenames import partial_of

if TYPE_CHECKING:
    from napari_scsc.data.axes import Axes
    from napari_scsc.io.formats.opened_file import OpenedFile
    from napari_scsc.model.bank import FilterBank


@dataclass(frozen=True, kw_only=True)
class FileRequest:
    """Which files a command reads and writes, and how: the options that are no job's business."""

    inputs: tuple[str, ...]
    kind: str | None
    axes: str | None
    key: str | None
    as_json: bool
    out: str = ""
    format: str | None = None  # the end of the names of results in a folder
    scheduler: str | None = None


def split_options(given: Mapping[str, Any]) -> tuple[FileRequest, dict[str, Any]]:
    """The options of a command: those about files, and those that are the job's."""
    names = {field.name for field in fields(FileRequest)}
    request = FileRequest(**{name: given[name] for name in given if name in names})
    return request, {name: given[name] for name in given if name not in names}


def find_inputs(request: FileRequest) -> list[str]:
    """The files that are meant, each once: patterns are for shells that do not know them."""
    found: list[str] = []
    for item in request.inputs:
        is_name = item == "-" or os.path.exists(item)
        matches = [item] if is_name else sorted(glob.glob(item, recursive=True))
        if not matches:
            raise PathNotFoundError("there is no such file or folder", path=item)
        found += matches
    return list(dict.fromkeys(found))


def make_temporary_folder() -> Path:
    """A folder that is there until the command ends."""
    return Path(click.get_current_context().with_resource(tempfile.TemporaryDirectory()))


def is_terminal(stream: Any) -> bool:
    """Whether somebody looks at it, or types."""
    return stream is not None and stream.isatty()  # a closed one is None


def open_array(path: str, key: str | None = None) -> OpenedFile:
    """An input as a lazy array; what comes from a pipe is kept in a file meanwhile."""
    from napari_scsc.io.formats import open_file

    if path != "-":
        if holds_codes(path):
            raise UserError("holds codes, not an image", path=path)
        return open_file(path, key)
    return open_file(_keep_standard_input(), key)


def _keep_standard_input() -> Path:
    """A file with what is piped in: it may be larger than the memory, and other processes read."""
    if is_terminal(sys.stdin):
        raise UserError("is a terminal, and '-' reads an array from a pipe or a file")
    place = make_temporary_folder() / "standard input.npy"
    with open(place, "wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    if place.stat().st_size == 0:
        raise UserError("nothing came from it")
    return place


def holds_codes(path: str) -> bool:
    """Whether these are codes; of what is no zarr, nothing is opened."""
    if not Path(path, "zarr.json").exists():
        return False
    from napari_scsc.io.codes import is_codes

    return is_codes(path)


def open_input(path: str, request: FileRequest) -> tuple[OpenedFile, Axes]:
    """An input, and what its axes are."""
    image = open_array(path, request.key)
    return image, find_axes(image, request.kind, request.axes)


def find_axes(image: OpenedFile, kind: str | None, axes: str | None) -> Axes:
    """What the axes are: as the user says, else as the file does; those of length 1 put aside."""
    from napari_scsc.data.axes import letter_of, long_axes, resolve, split_axes, with_short_axes

    shape, labels, found = tuple(image.array.shape), image.labels, None
    kept = long_axes(shape)
    lengths = [shape[i] for i in kept]
    if axes is not None:
        said = split_axes(axes)
        if len(said) == len(shape):
            labels = labels or tuple(letter_of(item.partition(":")[0]) for item in said)
            said = tuple(said[i] for i in kept)
        found = resolve(lengths, kind, said)
    elif labels is not None:
        with suppress(ValueError):  # names that say nothing, or not what the user says
            found = resolve(lengths, kind, [labels[i] for i in kept])
    if found is None:
        found = resolve(lengths, kind, name=image.name)
    return with_short_axes(found, shape, labels)


def open_alike(paths: list[str], request: FileRequest) -> tuple[list[OpenedFile], Axes]:
    """Inputs that are learned from together, and the axes that all of them have."""
    images: list[OpenedFile] = []
    shared: Axes | None = None
    for path in paths:
        with naming_inputs([path]):
            image, axes = open_input(path, request)
            shared = shared or axes
            if axes != shared:
                raise UserError(
                    f"the axes are {', '.join(axes.labels)} ({axes.kind}), but of the first "
                    f"input {', '.join(shared.labels)} ({shared.kind})",
                    remedy=Remedy.NAME_AXES,
                )
            images.append(image)
    assert shared is not None
    return images, shared


def name_results(
    paths: list[str], request: FileRequest, resume: bool, default: str = ""
) -> dict[str, Path]:
    """The file for the result of each input; in a folder, they are called like the inputs.

    ``default`` is their end if no format is given; without it, that of the input.
    """
    from napari_scsc.io.stores import suffix_of

    out, suffix = request.out, request.format or default
    is_file = out == "-" or bool(_result_suffix(out))
    if is_file and len(paths) > 1:
        raise click.UsageError(f"--out must be a folder for {len(paths)} inputs, not {out}")
    if is_file and request.format:
        raise click.UsageError(f"--format is for results in a folder, and --out is {out}")
    if out == "-":
        return {paths[0]: make_temporary_folder() / "standard output.npy"}
    names_folder = out.endswith(("/", os.sep)) or not Path(out).suffix or Path(out).is_dir()
    if len(paths) > 1 or (names_folder and not is_file):
        results = {path: Path(out) / _name_result(path, suffix) for path in paths}
    else:
        suffix_of(out)  # refuses what cannot be written
        results = {paths[0]: Path(out)}
    _check_nothing_is_lost(results, resume)
    return results


def _check_nothing_is_lost(results: Mapping[str, Path], resume: bool) -> None:
    inputs = {_file_id(path) for path in results if path != "-"}
    writers: dict[Path, str] = {}
    for path, result in results.items():
        if result in writers:
            raise UserError(f"{writers[result]} and {path} would both be written to {result}")
        writers[result] = path
        if result.exists() and _file_id(result) in inputs:
            raise UserError(
                f"{result} is an input, and would be the result", remedy=Remedy.CHOOSE_ANOTHER_NAME
            )
        is_done(result, resume)


def _file_id(path: str | Path) -> tuple[int, int]:
    """What is the same for all names of a file."""
    facts = os.stat(path)
    return facts.st_dev, facts.st_ino


def _name_result(path: str, suffix: str) -> str:
    """What the result of an input is called in a folder: like it, if its format can be written."""
    from napari_scsc.io.filenames import stem_of

    name = "stdin.npy" if path == "-" else Path(os.path.abspath(path)).name
    if _result_suffix(name) and not suffix:
        return name
    return stem_of(Path(name)) + (suffix or ".tif")


def _result_suffix(path: str) -> str:
    """The end of a name that says its format; empty if that cannot be written."""
    from napari_scsc.io.stores import suffix_of

    with suppress(ValueError):
        return suffix_of(path)
    return ""


def is_done(result: Path, resume: bool) -> bool:
    """Whether a run that is resumed has made this file before; without resuming, refuse it."""
    if result.exists() and not resume:
        raise PathExistsError("is there already", path=result, remedy=Remedy.CHOOSE_ANOTHER_NAME)
    if partial_of(result).exists() and not resume:
        raise PathExistsError(
            "holds a run that broke off", path=partial_of(result), remedy=Remedy.RESUME
        )
    return result.exists()


def load_bank(path: str | None) -> FilterBank | None:
    """The filters of a file, if one is given."""
    from napari_scsc import FilterBank

    return None if path is None else FilterBank.load(path)


def load_mask(path: str | None) -> Any:
    """Where something is missing, if a mask is given."""
    if path is None:
        return None
    with naming_inputs([path]):
        return open_array(path).array


def load_frames(path: str) -> Any:
    """Dark frames, all of them in memory."""
    import numpy as np

    with naming_inputs([path]):
        return np.asarray(open_array(path).array)
