"""Where a result goes: an array, a lazy one, or a file that appears when it is whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from napari_scsc.__about__ import __version__
from napari_scsc.data.fingerprint import digest
from napari_scsc.data.samples import ImageSamples
from napari_scsc.io.atomic_files import read_json, write_json
from napari_scsc.model.bank import FilterBank
from napari_scsc.noise.model import Noise
from napari_scsc.restore.options import Options


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
    ``more`` are arguments, beside the options, that must be the same when it is resumed.
    """

    def __init__(
        self, output: Output, source: ImageSamples, options: Options, task: str, **more: Any
    ) -> None:
        self.output = output
        self.path = Path(output.path)
        self.folder = self.path.with_name(self.path.name + ".partial")
        if self.path.exists():
            if options.resume:  # killed at its very end, when the file was whole
                shutil.rmtree(self.folder, ignore_errors=True)
            raise FileExistsError(f"{self.path} is there already: choose another name")
        if self.folder.exists() and not options.resume:
            raise FileExistsError(
                f"{self.folder} holds a run that broke off: resume it (resume=True), or remove it"
            )
        # Now, and not before a refusal: all of the image may have to be read for it.
        known = {"version": __version__, "task": task}
        self._request = {**known, **_fingerprint(source, options), **more}
        if self.folder.exists():
            self._check(self._request)

    def begin(self) -> None:
        """Make the folder, if it is not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "request.json").exists():
            write_json(self.folder / "request.json", self._request)

    def _check(self, request: dict[str, Any]) -> None:
        path = self.folder / "request.json"
        if not path.exists():
            self._check_begun()
            return
        theirs, mine = read_json(path), json.loads(json.dumps(request))
        other = [name for name in {**mine, **theirs} if theirs.get(name) != mine.get(name)]
        if other:
            raise ValueError(
                f"{self.folder} belongs to another request: {', '.join(other)} differ. "
                "Resume with the same arguments, or remove it"
            )

    def _check_begun(self) -> None:
        """It may have been killed between the folder and its first file; else it is not ours."""
        strangers = [
            p.name for p in self.folder.iterdir() if not p.name.startswith(".request.json")
        ]
        if strangers:
            raise ValueError(
                f"{self.folder} is no run that broke off, but holds {strangers[0]}: it would be "
                "lost. Choose another name for the result, or move it away"
            )

    # Found before the first block. Another machine, on which a run goes on, might find them a bit
    # different.
    def noise(self, find: Callable[[], Noise]) -> Noise:
        """The noise that the run found, or finds now."""
        path = self.folder / "noise.json"
        if path.exists():
            found = read_json(path)
            return Noise(**{**found, "remarks": tuple(found["remarks"])})
        noise = find()
        write_json(path, asdict(noise))
        return noise

    def bank(self) -> FilterBank | None:
        """The filters that the run learned."""
        path = self.folder / "bank.scsc"
        return FilterBank.load(path) if path.exists() else None

    def keep_bank(self, bank: FilterBank) -> None:
        """Keep the filters for a run that goes on."""
        if not (self.folder / "bank.scsc").exists():
            bank.save(self.folder / "bank.scsc")

    def publish(self, made: Path) -> None:
        """Let the result, which is whole, appear under its name."""
        os.replace(made, self.path)
        shutil.rmtree(self.folder, ignore_errors=True)


def _fingerprint(source: ImageSamples, options: Options) -> dict[str, Any]:
    axes = source.axes
    return {
        "shape": source.image.shape,
        "dtype": str(source.image.dtype),
        "axes": [axes.kind, axes.labels, axes.roles],
        "bank": None if options.bank is None else options.bank.id,
        "sigma": options.sigma,
        "strength": options.strength,
        "quality": options.quality,
        "method": options.method,
        "seed": options.seed,
        "memory": options.tile_memory,
        "image or mask": digest(source),
    }
