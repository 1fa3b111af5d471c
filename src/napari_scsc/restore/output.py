"""Where a result goes: an array, a lazy one, or a file that appears when it is whole."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

from napari_scsc.cancellation import Cancellation
from napari_scsc.data.samples import ImageSamples
from napari_scsc.restore.options import Options
from napari_scsc.run.blending import lazy_result
from napari_scsc.run.blocks import restore_into_store
from napari_scsc.run.partial import Output, PartialFolder
from napari_scsc.run.tile_restorer import TileRestorer, restore_tile_by_tile, thread_pool
from napari_scsc.run.updates import RestoreUpdate, Updates, finished


class ResultFolder(PartialFolder):
    """The folder of an image in the making."""

    def __init__(self, output: Output, source: ImageSamples, options: Options, task: str) -> None:
        from napari_scsc.io import stores

        self.suffix = stores.suffix_of(output.path)
        self._source = source
        super().__init__(output, source, options, task)
        self._store(source.image.shape)  # refuses axes that the format cannot hold

    def write_result(
        self,
        restorer: TileRestorer,
        common: RestoreUpdate,
        options: Options,
        cancellation: Cancellation,
    ) -> Updates:
        """Fill the file block by block; it appears under its name when it is whole."""
        updates = restore_into_store(
            self._source,
            restorer,
            common,
            self.folder,
            self._store,
            options.at_a_time(restorer.memory),
            cancellation,
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


def open_result_folder(source: ImageSamples, options: Options, task: str) -> ResultFolder | None:
    """The folder for a result that goes to a file; None for others."""
    out = options.out
    if isinstance(out, str | os.PathLike):
        out = Output(out)
    return ResultFolder(out, source, options, task) if isinstance(out, Output) else None


def write_result(
    source: ImageSamples,
    restorer: TileRestorer,
    common: RestoreUpdate,
    options: Options,
    workspace: ResultFolder | None,
    cancellation: Cancellation,
) -> Updates:
    """Restore to where the options say: a file, an array, or a dask array for a dask array."""
    if workspace is not None:
        yield from workspace.restoring(restorer, common, options, cancellation)
    elif options.out is None and source.image.is_lazy:
        yield finished(common, source.image.like(lazy_result(source, restorer)), Counter())
    else:
        with thread_pool(options.n_jobs) as executor:
            yield from restore_tile_by_tile(
                source,
                restorer,
                common,
                out=options.out,
                executor=executor,
                cancellation=cancellation,
            )
