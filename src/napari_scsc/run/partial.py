"""The folder of a result in the making, and the request that it belongs to."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_scsc.__about__ import __version__
from napari_scsc.errors import PathExistsError, Remedy, UserError
from napari_scsc.io.atomic_files import read_json, write_json
from napari_scsc.io.filenames import partial_of, path_beside, stem_of
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.model import Noise


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
    """

    path: str | os.PathLike[str]
    scale: tuple[float, ...] | None = None
    units: tuple[str, ...] | None = None


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
        if self.path.exists():
            if resume:  # killed at its very end, when the file was whole
                shutil.rmtree(self.folder, ignore_errors=True)
            raise PathExistsError(
                "is there already", path=self.path, remedy=Remedy.CHOOSE_ANOTHER_NAME
            )
        if self.folder.exists() and not resume:
            raise PathExistsError(
                "holds a run that broke off", path=self.folder, remedy=Remedy.RESUME
            )
        for name in beside:
            self._free(name, resume)
        request = {"version": __version__, **fingerprint()}
        self._request: dict[str, Any] = json.loads(json.dumps(request))
        if self.folder.exists():
            self._check_same_request()

    @property
    def _request_file(self) -> Path:
        return self.folder / "request.json"

    def begin(self) -> None:
        """Make the folder, if it is not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._request_file.exists():
            write_json(self._request_file, self._request)

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
            p.name for p in self.folder.iterdir() if not p.name.startswith(".request.json")
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

    def _free(self, name: str, resume: bool) -> None:
        """Refuse the name of a map that is taken; one of this run, killed at its end, goes back."""
        path = path_beside(self.path, name)
        if not path.exists():
            return
        if not (resume and self.folder.exists()):
            raise PathExistsError("is there already", path=path, remedy=Remedy.CHOOSE_ANOTHER_NAME)
        os.replace(path, self.path_in_making(name, path.name.removeprefix(f"{stem_of(path)}")))

    def publish(self, made: Path, beside: Mapping[str, Path] | None = None) -> None:
        """Let the result, which is whole, and its maps appear under their names: it comes last."""
        for name, path in (beside or {}).items():
            os.replace(path, path_beside(self.path, name))
        os.replace(made, self.path)
        shutil.rmtree(self.folder, ignore_errors=True)
