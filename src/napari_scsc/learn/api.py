"""Learn base filters: the functions that users call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_choice, check_float, check_int
from napari_scsc.data.axes import Axes
from napari_scsc.data.samples import check_bank
from napari_scsc.learn.checkpoint import Keeper
from napari_scsc.learn.loop import (
    TILES,
    _opened,
    _tile_points,
    executor_for,
    explain_failures,
    updates_of,
)
from napari_scsc.learn.request import Request
from napari_scsc.learn.sampler import (
    DRAWS,
    make_tile_grid,
)
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.lattice import LatticeSCSC
from napari_scsc.model.settings import filter_lengths
from napari_scsc.model.solver.prox import Ball
from napari_scsc.noise.working import check_sigma
from napari_scsc.run.updates import Updates, hold_to_one_thread


def learn(images: Sequence[Any], **options: Any) -> FilterBank:
    """Learn base filters from images of one kind; see ``iter_learn`` for the options."""
    for update in iter_learn(images, **options):
        bank = update.bank
    assert bank is not None
    return bank


def iter_learn(
    images: Sequence[Any],
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    bank: FilterBank | None = None,
    n_base: int | None = None,
    filter_shape: Sequence[int] | None = None,
    sigma: float | None = None,
    tiles: int | None = TILES,
    draw: str = "uniform",
    passes: int = 1,
    model: str = "lattice",
    n_filters: int | None = None,
    beta: float | None = None,
    ball: Ball = "l2",
    seed: int = 0,
    batch: int = 1,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int | None = 50,
    every_seconds: float | None = 60.0,
    resume: bool = False,
    cancellation: Cancellation = NEVER,
) -> Updates:
    """Learn base filters online from tiles of images, yielding an update after each tile.

    Tiles are read when it is their turn, chunk by chunk, and not kept: the images may be larger
    than the memory.

    Parameters
    ----------
    images : sequence of array
        Images of one kind, in any range of values; NaN is left out.
    kind, axes
        See ``denoise``.
    bank : FilterBank, optional
        Filters to go on from, learned by this function or ``LatticeSCSC``.
    n_base : int, optional
        R, the number of base filters. Without it, those that stand above the noise.
    filter_shape : tuple of int, optional
        Lengths of the filters on the shift axes. Without it, what suits the kind of data.
    sigma : float, optional
        Noise level in the units of the images; estimated for each unless given.
    tiles : int or None
        How many tiles of an image are learned from, at most; None for all.
    draw : {"uniform", "structure"}
        "uniform": each tile is as likely as any other. "structure": of those that are in memory
        anyway, tiles that hold more than noise are more likely.
    passes : int
        How often to go through them.
    model : {"lattice", "paper"}
        "lattice": the orthonormal filters of ``LatticeSCSC``, which restore best. "paper": those
        of ``SCSC``, whose few base filters each sample mixes into many; ``denoise`` with
        ``method="scsc-paper"`` codes with them.
    n_filters, beta, ball
        Of the model "paper": K, the price of the code in noise levels, and the ball of the
        weights; see ``SCSC``.
    seed : int
        The same seed gives the same filters.
    batch : int
        How many tiles are coded, at the same time, before the filters are updated.
    n_jobs : int, optional
        Threads that code the tiles of a batch. Unless given, the workers of the dask.distributed
        client that is active, if there is one, or else as many threads as there are cores. The
        result does not depend on it.
    checkpoint : path, optional
        A file in which the state is kept while learning, and after it.
    every, every_seconds : int, float, optional
        It is written after so many tiles, or so many seconds, whichever comes first.
    resume : bool
        Whether to go on from the checkpoint, if it is there: with the same arguments the result
        has the same bits as if learning had not stopped.
    tick : callable, optional
        Called before each tile; it may raise to cancel. The last update then holds the filters
        so far.
    """
    if not isinstance(images, list | tuple) or not images:
        raise ValueError("images must be a list of at least one image, as in learn([image])")
    sources = [_opened(image, kind, axes, i, len(images)) for i, image in enumerate(images, 1)]
    for source in sources[1:]:
        if source.joint != sources[0].joint or len(source.shift) != len(sources[0].shift):
            raise ValueError(
                f"images of the shapes {sources[0].image.shape} and {source.image.shape} "
                f"({sources[0].axes.kind}) cannot share filters: their joint axes differ"
            )
    if sigma is not None:
        sigma = check_float("sigma", sigma, above=0)
    if n_base is not None:
        n_base = check_int("n_base", n_base, 1)
    for source in sources:
        check_sigma(sigma, source)
    shape = None if filter_shape is None else filter_lengths(filter_shape)
    if tiles is not None:
        tiles = check_int("tiles", tiles, 1)
    draw = check_choice("draw", draw, DRAWS)
    paper_only = {"n_filters": n_filters, "beta": beta}
    if check_choice("model", model, ("lattice", "paper")) == "lattice":
        for name, value in paper_only.items():
            if value is not None:
                raise ValueError(f"{name} belongs to the paper's model: learn with model='paper'")
    if bank is not None:
        given = {"n_base": n_base, "filter_shape": filter_shape, "n_filters": n_filters}
        for name, own in given.items():
            if own is not None:
                raise ValueError(f"{name} is that of the bank: leave it out, or learn without bank")
        for source in sources:
            check_bank(bank, source)
        if model == "lattice":
            LatticeSCSC.from_bank(bank)  # refuses a bank that it cannot go on from
    support = shape if bank is None else bank.support
    request = Request(
        sources=sources,
        grids=[
            make_tile_grid(s, _tile_points(s), draw=draw, filter_shape=support) for s in sources
        ],
        bank=bank,
        n_base=n_base,
        filter_shape=shape,
        sigma=sigma,
        tiles=tiles,
        draw=draw,
        passes=check_int("passes", passes, 1),
        model=model,
        n_filters=n_filters,
        beta=beta,
        ball=ball,
        seed=check_int("seed", seed, 0),
        batch=check_int("batch", batch, 1),
    )
    keeper = None
    if checkpoint is not None:
        keeper = Keeper(request, Path(checkpoint), every, every_seconds, resume)
    run = executor_for(n_jobs, request.batch)
    return hold_to_one_thread(
        explain_failures(updates_of(request, run, keeper, cancellation), keeper)
    )
