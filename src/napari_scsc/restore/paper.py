"""The paper's own inference, for comparison: a convolutional code of each tile, as it comes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from napari_scsc.bank import FilterBank
from napari_scsc.learner import SCSC
from napari_scsc.restore import job
from napari_scsc.restore.job import Options, RestoreUpdate, Updates
from napari_scsc.restore.source import Region, Source, Working, draw_tiles
from napari_scsc.results import ZeroCodeWarning

Array = NDArray[Any]

_SMOOTH = 3.0  # pixels: what is smoother than that is not coded
_PRICE = 4.0  # of the code, in noise levels
_NOISELESS = 0.002  # of the working range: the price of a code where there is no noise
_TILE = {1: 4096, 2: 128, 3: 40}
_OVERLAP = {1: 64, 2: 24, 3: 8}


def denoising(
    source: Source,
    working: Working,
    sigma: float,
    options: Options,
    common: RestoreUpdate,
    tick: job.Tick | None,
) -> Updates:
    """Denoise by coding: what the filters cannot say in few words is taken for noise."""

    def read(index: tuple[int, ...], part: Region) -> tuple[Array, Array | None]:
        return working.to_work(source.read(index, part)), None

    price = _PRICE * sigma
    yield from _restoring(source, working, read, price, options, common, tick, None)


def inpainting(
    source: Source,
    working: Working,
    sigma: float,
    options: Options,
    common: RestoreUpdate,
    tick: job.Tick | None,
    keep_known: Callable[[tuple[int, ...], Region, Array], Array],
) -> Updates:
    """Inpaint by coding what is known; the code says what is not."""

    def read(index: tuple[int, ...], part: Region) -> tuple[Array, Array | None]:
        missing = source.missing(index, part)
        values = np.where(missing, 0, working.to_work(source.read(index, part)))
        return values.astype(np.float32), ~missing

    price = max(_PRICE * sigma, _NOISELESS)
    yield from _restoring(source, working, read, price, options, common, tick, keep_known)


def _restoring(
    source: Source,
    working: Working,
    read: Any,
    beta: float,
    options: Options,
    common: RestoreUpdate,
    tick: job.Tick | None,
    finish: Callable[[tuple[int, ...], Region, Array], Array] | None,
) -> Updates:
    n_shift = len(source.shift)
    pad = (1,) if source.joint == () else source.joint
    tiles = [
        _split(*read(index, part))
        for index, part in draw_tiles(source, _TILE[n_shift] ** n_shift, 8, options.seed)
    ]
    model = yield from _model(tiles, pad, n_shift, beta, options, tick)
    bank = model.bank
    if source.joint == ():
        bank = FilterBank(bank.filters[:, 0], 0, bank.weights, info=bank.info)
    common = replace(common, stage="restore", bank=bank)

    def restore(index: tuple[int, ...], part: Region) -> Iterator[tuple[float, Array]]:
        if tick:
            tick()
        smooth, detail, known = _split(*read(index, part))
        with _silence():
            code = model.encode(
                detail.reshape(*pad, *detail.shape[1:]),
                None if known is None else known.reshape(*pad, *known.shape[1:]),
            )
        estimate = smooth + code.reconstruction.reshape(smooth.shape)
        yield 1.0, estimate

    size = tuple(min(n, _TILE[n_shift]) for n in source.shift)
    overlap = tuple(min(s - 1, _OVERLAP[n_shift]) for s in size)
    yield from job.tile_by_tile(source, working, restore, size, overlap, common, finish)


@contextmanager
def _silence() -> Iterator[None]:
    """A tile without any code is smooth: that is an answer here, not a wrong setting."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroCodeWarning)
        yield


def _model(
    tiles: list[tuple[Array, Array, Array | None]],
    joint: tuple[int, ...],
    n_shift: int,
    beta: float,
    options: Options,
    tick: job.Tick | None,
) -> Generator[RestoreUpdate, None, SCSC]:
    """A learner with filters: those of a bank, or learned from the tiles."""
    weights = "identity" if options.method == "ocsc-paper" else "sample"
    if options.bank is not None:
        bank = options.bank
        if bank.n_joint == 0:
            bank = FilterBank(bank.filters[:, None], 1, bank.weights)
        return SCSC.from_bank(bank, beta=beta, weights=weights)
    support = {1: (16,), 2: (11, 11), 3: (5, 7, 7)}[n_shift]
    shortest = [min(t[1].shape[1 + i] for t in tiles) for i in range(n_shift)]
    model = SCSC(
        n_base=32 if weights == "identity" else 10,
        n_filters=32 if weights == "identity" else 64,
        filter_shape=tuple(min(s, n) for s, n in zip(support, shortest, strict=True)),
        n_joint=len(joint),
        beta=beta,
        weights=weights,  # type: ignore[arg-type]
        max_iter=60,
        seed=options.seed,
    )
    largest = max(tiles, key=lambda t: t[1].size)[1].shape[1:]
    samples = []
    for _, detail, known in tiles:
        short = [(0, m - n) for m, n in zip(largest, detail.shape[1:], strict=True)]
        there = np.ones(detail.shape, bool) if known is None else known
        samples.append(
            tuple(np.pad(a, [(0, 0), *short]).reshape(*joint, *largest) for a in (detail, there))
        )
    for number, sample in enumerate(samples, 1):
        with _silence():
            (update,) = model.iter_fit([sample], tick=tick)
        done = job.LEARNING * number / len(samples)
        message = f"learned from tile {number} of {len(samples)}"
        yield RestoreUpdate("learn", done, message, learned=update)
    return model


def _split(values: Array, known: Array | None) -> tuple[Array, Array, Array | None]:
    """The smooth part, which the model has no filters for, the rest, and what is known."""
    width = (0.0, *(_SMOOTH,) * (values.ndim - 1))
    if known is None:
        smooth = ndimage.gaussian_filter(values, width)
        return smooth, values - smooth, None
    there = ndimage.gaussian_filter(known.astype(np.float32), width)
    smooth = ndimage.gaussian_filter(values * known, width) / np.maximum(there, 1e-6)
    return smooth, (values - smooth) * known, known
