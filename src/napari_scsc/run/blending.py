"""Estimates of blocks, blended into chunks of the result; the result as a lazy array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from napari_scsc._types import Array, Region
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.foreign_arrays import in_task
from napari_scsc.data.samples import ImageSamples
from napari_scsc.data.tiles import Blend, Tile
from napari_scsc.run.block_grid import BlockGrid, ResultChunk, TileBlock, image_chunks
from napari_scsc.run.proof import Proof
from napari_scsc.run.tile_restorer import TileRestorer


def estimate_block(
    samples: ImageSamples,
    restorer: TileRestorer,
    block: TileBlock,
    cancellation: Cancellation = NEVER,
) -> Array:
    """The estimate (C, *tile) of a block, in working values, and below it its maps.

    ``samples`` are for this call alone: other threads have a memory of the last read of their own.
    """
    with in_task():
        *_, (_, estimate) = restorer.estimates(
            samples, block.index, block.tile.region, None, cancellation
        )
    return np.ascontiguousarray(estimate, np.float32)


def blend_chunk(
    samples: ImageSamples,
    restorer: TileRestorer,
    grid: BlockGrid,
    chunk: ResultChunk,
    pieces: Sequence[Array],
) -> list[Array]:
    """The values of a chunk as the image has them, and each of its maps."""
    lengths = tuple(s.stop - s.start for s in chunk.part)
    n_rows = (1 + len(restorer.maps)) * samples.n_joint
    blend = Blend((n_rows, *lengths))
    for number, piece in zip(chunk.blocks, pieces, strict=True):
        tile = grid.block(number).tile
        shared = [
            slice(max(a.start, b.start), min(a.stop, b.stop))
            for a, b in zip(tile.region, chunk.part, strict=True)
        ]
        in_chunk = _shift_origin(shared, chunk.part)
        in_tile = _shift_origin(shared, tile.region)
        ramps = tuple(ramp[s] for ramp, s in zip(tile.ramps, in_tile, strict=True))
        joint = (np.ones(n_rows), *ramps)
        blend.add(Tile((slice(None), *in_chunk), joint), piece[(slice(None), *in_tile)])
    return restorer.split(samples, chunk.index, chunk.part, blend.result)


def _shift_origin(region: Sequence[slice], origin: Sequence[slice]) -> Region:
    return tuple(
        slice(s.start - o.start, s.stop - o.start) for s, o in zip(region, origin, strict=True)
    )


_Shared = tuple[ImageSamples, TileRestorer, BlockGrid, Proof | None]


def lazy_results(
    samples: ImageSamples, restorer: TileRestorer, proof: Proof | None = None
) -> list[Any]:
    """The result and each of its maps as dask arrays, of which nothing is computed yet.

    With a proof, every process that computes some of it has to see the same image.
    """
    import dask.array
    from dask import delayed

    grid = BlockGrid.of(samples, restorer)
    shared = delayed((samples, restorer, grid, proof), pure=False)
    estimate, blend = delayed(_lazy_block, pure=False), delayed(_lazy_chunk, pure=False)
    blocks = [estimate(shared, n) for n in range(grid.n_blocks)]
    chunks = image_chunks(samples, grid)
    spans = [range(0, n, c) for n, c in zip(samples.image.shape, chunks, strict=True)]
    types = [samples.image.dtype] + [np.dtype(np.float32)] * len(restorer.maps)
    parts = np.empty([len(types), *(len(s) for s in spans)], object)
    for number in range(grid.n_chunks):
        chunk = grid.chunk_at(number)
        region = samples.region(chunk.index, chunk.part)
        lengths = [
            len(range(*s.indices(n))) for s, n in zip(region, samples.image.shape, strict=True)
        ]
        starts = [s.indices(n)[0] for s, n in zip(region, samples.image.shape, strict=True)]
        value = blend(shared, number, [blocks[b] for b in chunk.blocks])
        place = tuple(a // c for a, c in zip(starts, chunks, strict=True))
        for i, dtype in enumerate(types):
            parts[(i, *place)] = dask.array.from_delayed(value[i], lengths, dtype)
    return [dask.array.block(part.tolist()) for part in parts]


def _lazy_block(shared: _Shared, number: int) -> Array:
    samples, restorer, grid, proof = shared
    if proof is not None:
        with in_task():
            proof.check(samples)
    return estimate_block(samples.without_cache(), restorer, grid.block(number))


def _lazy_chunk(shared: _Shared, number: int, pieces: Sequence[Array]) -> list[Array]:
    samples, restorer, grid, _ = shared
    with in_task():
        return blend_chunk(samples.without_cache(), restorer, grid, grid.chunk_at(number), pieces)
