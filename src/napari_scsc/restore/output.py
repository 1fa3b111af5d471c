"""Where a result goes: an array, a lazy one, or a file that appears when it is whole."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from napari_scsc import files
from napari_scsc.__about__ import __version__
from napari_scsc.bank import FilterBank
from napari_scsc.restore import blocks, job
from napari_scsc.restore.identity import digest
from napari_scsc.restore.job import Options, Restorer, RestoreUpdate, Updates
from napari_scsc.restore.noise import Noise
from napari_scsc.restore.source import Source


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
        self, output: Output, source: Source, options: Options, task: str, **more: Any
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
            files.write_json(self.folder / "request.json", self._request)

    def _check(self, request: dict[str, Any]) -> None:
        path = self.folder / "request.json"
        if not path.exists():
            self._check_begun()
            return
        theirs, mine = files.read_json(path), json.loads(json.dumps(request))
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
            found = files.read_json(path)
            return Noise(**{**found, "remarks": tuple(found["remarks"])})
        noise = find()
        files.write_json(path, asdict(noise))
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


class Workspace(PartialFolder):
    """The folder of an image in the making."""

    def __init__(self, output: Output, source: Source, options: Options, task: str) -> None:
        from napari_scsc.io import stores  # zarr takes long to load

        self.suffix = stores.suffix_of(output.path)
        self._source = source
        super().__init__(output, source, options, task)
        self._store(source.image.shape)  # refuses axes that the format cannot hold

    def restoring(
        self, restorer: Restorer, common: RestoreUpdate, options: Options, tick: job.Tick | None
    ) -> Updates:
        """Fill the file block by block; it appears under its name when it is whole."""
        updates = blocks.into_store(
            self._source,
            restorer,
            common,
            self.folder,
            self._store,
            options.at_a_time(restorer.memory),
            tick,
        )
        for update in updates:
            if update.stage != "done":
                yield update
                continue
            store = update.result
            self.publish(store.path)
            yield replace(update, result=replace(store, path=self.path).open())

    def _store(self, chunks: tuple[int, ...]) -> Any:
        from napari_scsc.io import stores

        return stores.store_for(
            self.folder / f"result{self.suffix}",
            self._source.image.shape,
            self._source.image.dtype,
            chunks,
            labels=self._source.axes.labels,
            scale=self.output.scale,
            units=self.output.units,
            name=self.path.name.removesuffix(self.suffix),
        )


def open_workspace(source: Source, options: Options, task: str) -> Workspace | None:
    """The folder for a result that goes to a file; None for others."""
    out = options.out
    if isinstance(out, str | os.PathLike):
        out = Output(out)
    return Workspace(out, source, options, task) if isinstance(out, Output) else None


def restoring(
    source: Source,
    restorer: Restorer,
    common: RestoreUpdate,
    options: Options,
    workspace: Workspace | None,
    tick: job.Tick | None,
) -> Updates:
    """Restore to where the options say: a file, an array, or a dask array for a dask array."""
    if workspace is not None:
        yield from workspace.restoring(restorer, common, options, tick)
    elif options.out is None and source.image.is_lazy:
        yield job.finished(common, source.image.like(blocks.lazy(source, restorer)), Counter())
    else:
        with job.workers(options.n_jobs) as executor:
            yield from job.tile_by_tile(
                source, restorer, common, out=options.out, executor=executor, tick=tick
            )


def _fingerprint(source: Source, options: Options) -> dict[str, Any]:
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
