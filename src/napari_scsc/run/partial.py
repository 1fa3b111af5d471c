"""The folder of a result in the making, and the request that it belongs to."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_scsc.__about__ import __version__
from napari_scsc.checks import check_choice, check_file_name
from napari_scsc.choices import ZARR_FORMATS
from napari_scsc.errors import PathExistsError, Remedy, UserError, UserTypeError
from napari_scsc.io.atomic_files import (
    WAIT_OR_STOP,
    exclusive_lock,
    is_locked,
    read_json,
    write_json,
)
from napari_scsc.io.channels import Channel
from napari_scsc.io.filenames import partial_of, path_beside, stem_of
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.model import Noise
from napari_scsc.renaming import rename_exclusively
from napari_scsc.run.origin import Origin
from napari_scsc.run.updates import Updates

_REQUEST, _PUBLISHED = "request.json", "published.json"
BLOCK_FILE = re.compile(r"\d+\.npy(\.[0-9a-f]{8})?")
_PARTS_FILE = re.compile(r"(blocks|done)-.*-\d+\.txt")
_BEGUN_STORES = re.compile(r"\.(result|error)\.[a-z.]+\.[0-9a-f]{8}")  # when a run was killed
_STORES = re.compile(rf"{_BEGUN_STORES.pattern}|(result|error)\.[a-z.]+")
_FILES_OF_A_RUN = re.compile(
    r"(\.?(request|noise|grid|published)\.json|\.?(bank|span|second)\.scsc)(\.[0-9a-f]{8})?"
    r"|lock|stop|created|(blocks|done|reads)-.*-\d+\.txt"
)


@dataclass(frozen=True)
class Output:
    """A file for a result, and what is to be said in it.

    Parameters
    ----------
    path : path
        Its ending says what it is: ``.zarr``, ``.ome.zarr``, ``.tif``, ``.tiff`` or ``.npy``.
    scale : sequence of float, optional
        Size of a pixel along each axis of the image.
    units : sequence of str, optional
        Units of these sizes.
    translation : sequence of float, optional
        Where the first pixel lies along each axis.
    channels : sequence of Channel, optional
        Names, colours and windows of the channels.
    zarr_format : {"0.4", "0.5"}, optional
        The version of OME-Zarr, and with it of zarr: 2 or 3, which is what there is without it.
    origin : Origin, optional
        Which files the image comes from, for the recipe in the result.
    """

    path: str | os.PathLike[str]
    scale: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None
    translation: tuple[float, ...] | None = None
    channels: tuple[Channel, ...] = ()
    zarr_format: str | None = None
    origin: Origin | None = None

    def __post_init__(self) -> None:
        if self.zarr_format is not None:
            check_choice("zarr_format", self.zarr_format, ZARR_FORMATS)
        _check_path(self.path)


def _check_path(path: Any) -> None:
    """Refuse what no file can be called, before the work and not when its folder is made."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise UserTypeError(f"must be a path, but is {path!r:.80}", argument="out")
    check_file_name(path, "out")
    for folder in Path(path).parents:
        if os.path.lexists(folder):
            if not folder.is_dir():
                raise UserError(
                    f"would lie in {folder}, which is no folder",
                    path=path,
                    remedy=Remedy.CHOOSE_ANOTHER_NAME,
                )
            return


class PartialFolder:
    """The folder beside a result in the making: what is finished, and what a later run needs.

    It is called like the result with ``.partial`` after it, and is gone when that is whole.

    Parameters
    ----------
    output : Output
        Where the result goes.
    fingerprint : callable
        Gives all that the result depends on, as JSON has it: what must be the same when the run
        is resumed. Called once the names are free, since it may read all of the image.
    resume : bool
        Whether to go on with a run that broke off.
    beside : sequence of str
        Names of maps that appear together with the result, in files of their own.
    """

    def __init__(
        self,
        output: Output,
        fingerprint: Callable[[], Mapping[str, Any]],
        resume: bool,
        beside: Sequence[str] = (),
    ) -> None:
        self.output = output
        self.path = Path(output.path)
        self.folder = partial_of(self.path)
        self._resume, self._lock = resume, ExitStack()
        self._check_name_is_free()
        if os.path.lexists(self.folder):
            check_can_go_on(self.folder, resume)
        for name in beside:
            self._free(name)
        request = {"version": __version__, "zarr_format": output.zarr_format, **fingerprint()}
        self._request: dict[str, Any] = json.loads(json.dumps(request))
        if self.folder.exists():
            self._check_same_request()

    @property
    def _request_file(self) -> Path:
        return self.folder / _REQUEST

    def hold_during(self, updates: Updates) -> Updates:
        """The same updates, with the folder made and held until they end."""
        with self._held(), closing(updates):
            yield from updates

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Make the folder, if it is not there, and have it for oneself.

        What is refused before anything of the result is made cannot be resumed, and leaves nothing.
        """
        is_new = not self.folder.exists()
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock:
            lock = exclusive_lock(_lock_file(self.folder), _is_running(self.folder))
            self._lock.enter_context(lock)
            self._check_name_is_free()  # another process may have come to its end meanwhile
            if not self._request_file.exists():
                write_json(self._request_file, self._request)
            elif not self._resume:
                raise _broke_off(self.folder)
            try:
                yield
            except UserError:
                if is_new and not _has_finished_parts(self.folder):
                    self._lock.close()
                    _remove_run(self.folder, _STORES)
                raise

    def _check_name_is_free(self) -> None:
        """Refuse the name of a file that is there; end a run that was killed at its very end."""
        if not os.path.lexists(self.path):
            return
        if self._resume and self._was_published("", self.path):
            self._remove()
        elif self._resume and self._has_result():
            raise PathExistsError(
                f"is there already, and the finished part of another result in {self.folder} stays",
                path=self.path,
                remedy="move the file away and resume, or choose another name",
            )
        raise PathExistsError("is there already", path=self.path, remedy=Remedy.CHOOSE_ANOTHER_NAME)

    def _has_result(self) -> bool:
        return self._request_file.exists() and any(self.folder.glob("result.*"))

    def _check_same_request(self) -> None:
        if not self._request_file.exists():
            self._check_is_ours()
            return
        wanted, written = self._request, read_json(self._request_file)
        others = [name for name in {**wanted, **written} if written.get(name) != wanted.get(name)]
        if others:
            raise UserError(
                f"belongs to another request: {', '.join(others)} differ",
                path=self.folder,
                remedy=Remedy.RESUME_WITH_SAME_ARGUMENTS,
            )

    def _check_is_ours(self) -> None:
        """It may have been killed between the folder and its first file; else it is not ours."""
        strangers = [
            p.name
            for p in self.folder.iterdir()
            if not p.name.startswith(".request.json") and (p.name != "lock" or p.stat().st_size)
        ]
        if strangers:
            raise UserError(
                f"is no run that broke off, but holds {strangers[0]}, which would be lost",
                path=self.folder,
                remedy="choose another name for the result, or move it away",
            )

    # Kept before the first block: another machine, on which a run goes on, might find noise and
    # filters a bit different.
    def noise(self, find: Callable[[], Noise]) -> Noise:
        """The noise that the run found, or finds now."""
        path = self.folder / "noise.json"
        if path.exists():
            return Noise.from_json(read_json(path))
        noise = find()
        write_json(path, noise.to_json())
        return noise

    def bank(self, name: str = "bank.scsc") -> FilterBank | None:
        """Filters that the run learned."""
        path = self.folder / name
        return FilterBank.load(path) if path.exists() else None

    def keep_bank(self, bank: FilterBank, name: str = "bank.scsc") -> None:
        """Keep filters for a run that goes on."""
        if not (self.folder / name).exists():
            bank.save(self.folder / name)

    def path_in_making(self, name: str | None, suffix: str) -> Path:
        """Where the result, or one of its maps, is written until it is whole."""
        return self.folder / f"{name or 'result'}{suffix}"

    def _free(self, name: str) -> None:
        """Refuse the name of a map that is taken; one of this run, killed at its end, goes back."""
        path = path_beside(self.path, name)
        if not os.path.lexists(path):
            return
        if not (self._resume and self._was_published(name, path)):
            raise PathExistsError("is there already", path=path, remedy=Remedy.CHOOSE_ANOTHER_NAME)
        suffix = path.name.removeprefix(stem_of(path))
        rename_exclusively(path, self.path_in_making(name, suffix))

    def publish(self, made: Path, beside: Mapping[str, Path] | None = None) -> None:
        """Let the result, which is whole, and its maps appear under their names: it comes last.

        What has one of the names by now stays, and so does the result, in its folder.
        """
        names = {**{n: (p, path_beside(self.path, n)) for n, p in (beside or {}).items()}}
        names[""] = (made, self.path)
        known = {name: _identity(source) for name, (source, _) in names.items()}
        write_json(self._published_file, known)
        moved: list[tuple[Path, Path]] = []
        try:
            for source, target in names.values():
                rename_exclusively(source, target)
                moved.append((source, target))
        except OSError as error:
            for source, target in reversed(moved):
                rename_exclusively(target, source)
            if not isinstance(error, FileExistsError):
                raise
            raise PathExistsError(
                f"appeared while the result was made, which is finished and kept in {self.folder}",
                path=target,
                remedy="move it away, and resume",
            ) from None
        self._lock.close()
        self._remove()

    @property
    def _published_file(self) -> Path:
        return self.folder / _PUBLISHED

    def _was_published(self, name: str, path: Path) -> bool:
        """Whether what is at a path is what a run that was killed had made."""
        return _was_published(self.folder, name, path)

    def _remove(self) -> None:
        _remove_run(self.folder)


def check_can_go_on(folder: Path, resume: bool) -> None:
    """Refuse the folder of a run that goes on elsewhere, or that broke off and is not resumed."""
    if is_locked(_lock_file(folder)):
        raise UserError(_is_running(folder), remedy=WAIT_OR_STOP)
    if not resume:
        raise _broke_off(folder)


def _lock_file(folder: Path) -> Path:
    return folder / "lock"


def _is_running(folder: Path) -> str:
    return f"another run is working on {folder}"


def _broke_off(folder: Path) -> PathExistsError:
    return PathExistsError("holds a run that broke off", path=folder, remedy=Remedy.RESUME)


def clear_finished(result: Path) -> None:
    """Remove the folder of a run that was killed when its result had just got its name."""
    folder = partial_of(result)
    with suppress(OSError):
        folder.rmdir()  # if nothing is left in it but to go itself
    if _was_published(folder, "", result) and not is_locked(_lock_file(folder)):
        _remove_run(folder)


def _was_published(folder: Path, name: str, path: Path) -> bool:
    if not (folder / _PUBLISHED).exists():
        return False
    return bool(read_json(folder / _PUBLISHED).get(name) == _identity(path))


def _has_finished_parts(folder: Path) -> bool:
    """Whether some block was made, or some chunk written."""
    return any(_PARTS_FILE.fullmatch(path.name) for path in folder.glob("*.txt"))


def _remove_run(folder: Path, stores: re.Pattern[str] = _BEGUN_STORES) -> None:
    """Remove what a run writes, by its names; the folder stays if it holds anything else.

    Its stores go if their names are like ``stores``.
    """
    with suppress(OSError):
        for path in (folder / "blocks").glob("*"):
            if BLOCK_FILE.fullmatch(path.name):
                path.unlink()
        if (folder / "blocks").exists():
            (folder / "blocks").rmdir()
    with suppress(OSError):
        for path in sorted(folder.iterdir(), key=lambda path: path.name == _PUBLISHED):
            is_store = stores.fullmatch(path.name)
            if is_store and path.is_dir():
                shutil.rmtree(path)
            elif (_FILES_OF_A_RUN.fullmatch(path.name) or is_store) and not path.is_dir():
                path.unlink()
        folder.rmdir()


def _identity(path: Path) -> list[int]:
    """What tells a file or folder from another of its name."""
    facts = os.lstat(path)
    return [facts.st_dev, facts.st_ino]
