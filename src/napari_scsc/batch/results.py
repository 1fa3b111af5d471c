"""The files of results: what they are called, and that nothing is lost by them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from napari_scsc.batch.inputs import STANDARD_INPUT
from napari_scsc.errors import PathExistsError, Remedy, UserError
from napari_scsc.io.filenames import partial_of, stem_of


def name_results(
    paths: Sequence[str], out: str, suffix: str | None, resume: bool, default: str = ""
) -> dict[str, Path]:
    """The file for the result of each input; in a folder, they are called like the inputs.

    ``suffix`` is the end of their names in a folder. Without it, that is ``default``, or if this
    is empty, that of the input.
    """
    from napari_scsc.io.stores import suffix_of

    is_file = bool(_result_suffix(out))
    if is_file and len(paths) > 1:
        raise UserError(f"must be a folder for {len(paths)} inputs, not {out}", argument="out")
    if is_file and suffix:
        raise UserError(f"is for results in a folder, and not for {out}", argument="format")
    names_folder = out.endswith(("/", os.sep)) or not Path(out).suffix or Path(out).is_dir()
    if len(paths) > 1 or (names_folder and not is_file):
        results = {path: Path(out) / _name_result(path, suffix or default) for path in paths}
    else:
        suffix_of(out)  # refuses what cannot be written
        results = {paths[0]: Path(out)}
    _check_nothing_is_lost(results, resume)
    return results


def _check_nothing_is_lost(results: Mapping[str, Path], resume: bool) -> None:
    inputs = {_file_id(path) for path in results if path != STANDARD_INPUT and os.path.exists(path)}
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
    name = "stdin.npy" if path == STANDARD_INPUT else Path(os.path.abspath(path)).name
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
        from napari_scsc.run.partial import check_can_go_on  # takes long to load

        check_can_go_on(partial_of(result), resume)
    return result.exists()


def check_folder(folder: Path) -> None:
    """Make the folder; one that cannot be written to says so now, and not when all is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:  # the latter for a name with a null character
        why = getattr(error, "strerror", None) or error
        raise UserError(f"nothing can be written to this folder ({why})", path=folder) from error
