"""Chunks of HDF5 files, looked at before the library unpacks them, however large they become."""

from __future__ import annotations

import math
import os
from typing import Any

from napari_scsc.io.formats.unpacking import (
    HARMLESS_BYTES,
    MAX_DEFLATE_RATIO,
    check_memory,
    inflates_within,
)

_DEFLATE, _LZF = 1, 32000  # the numbers of the filters
_MAX_RATIOS = {_DEFLATE: MAX_DEFLATE_RATIO, _LZF: 90}


def check_packed_chunks(dataset: Any, index: tuple[Any, ...]) -> None:
    """Raise ValueError if a chunk of a region unpacks to far more than was declared."""
    if dataset.chunks is None:
        return
    plan = dataset.id.get_create_plist()
    filters = [plan.get_filter(i)[0] for i in range(plan.get_nfilters())]
    packers = [number for number in filters if number in _MAX_RATIOS]
    declared = math.prod(dataset.chunks) * dataset.dtype.itemsize
    check_memory(declared, "a chunk")
    if not packers:
        return
    if len(packers) > 1:
        raise ValueError("it is compressed twice, which can unpack to any size")
    allowed = max(HARMLESS_BYTES, 2 * declared)
    ratio = _MAX_RATIOS[packers[0]]
    if os.path.getsize(dataset.file.filename) * ratio <= allowed:
        return
    for chunk in dataset.iter_chunks(_as_slices(index, dataset.shape)):
        start = tuple(
            part.start // length * length
            for part, length in zip(chunk, dataset.chunks, strict=True)
        )
        n_packed = dataset.id.get_chunk_info_by_coord(start).size
        if n_packed * ratio > allowed:
            _check_packed_chunk(dataset, start, filters, declared)


def _check_packed_chunk(
    dataset: Any, start: tuple[int, ...], filters: list[int], declared: int
) -> None:
    mask, packed = dataset.id.read_direct_chunk(start)
    place = next(i for i, number in enumerate(filters) if number in _MAX_RATIOS)
    if mask >> place & 1:  # this chunk was not packed
        return
    if filters[place] != _DEFLATE or not inflates_within(packed, 2 * declared + HARMLESS_BYTES):
        raise ValueError(f"a chunk unpacks to far more than the {declared} bytes declared")


def _as_slices(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The region without its steps, as iterating over chunks takes it."""
    spans = []
    for part, length in zip(index, shape, strict=True):
        if isinstance(part, slice):
            start, stop, _ = part.indices(length)
            spans.append(slice(start, max(stop, start)))
        else:
            at = int(part) % length
            spans.append(slice(at, at + 1))
    return tuple(spans)
