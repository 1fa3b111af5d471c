"""Denoise an image of any kind, in memory, tile by tile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from napari_scsc.axes import Axes
from napari_scsc.bank import FilterBank
from napari_scsc.general import general_bank_for
from napari_scsc.restore import job, learning, paper, plan
from napari_scsc.restore.basis import Basis
from napari_scsc.restore.chain import Chain, Passes
from napari_scsc.restore.job import Options, RestoreUpdate, Updates
from napari_scsc.restore.output import Workspace, open_workspace, restoring
from napari_scsc.restore.source import Region, Source, Working, check_sigma, open_image

Array = NDArray[Any]

_LOOK = 1 << 22  # values that a first look takes no time for


def denoise(
    image: Any,
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    bank: FilterBank | None = None,
    sigma: float | None = None,
    strength: float = 1.0,
    quality: plan.Quality = "balanced",
    method: str = "scsc",
    seed: int = 0,
    n_jobs: int | None = None,
    out: Any = None,
    memory: int | str | None = None,
    resume: bool = False,
    progress: Callable[[RestoreUpdate], None] | None = None,
) -> Any:
    """Take the noise out of an image.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type.
    kind : str, optional
        "image", "rgb", "video", "stack", "multispectral", "light-field" or "time-lapse".
        Guessed from labels and shape where that is possible.
    axes : str, sequence of str or Axes, optional
        Labels of the axes in the image's own order, such as "yxc"; ``Axes`` also says what each
        is for.
    bank : FilterBank, optional
        Filters learned elsewhere. Without it they are learned from the image.
    sigma : float, optional
        Standard deviation of the noise, in the units of the image. Without it the noise is
        estimated, and may depend on brightness.
    strength : float
        1 takes away the noise that is there; less is gentler, more is smoother.
    quality : {"draft", "fast", "balanced", "best"}
        What to spend: about 1/50 : 1 : 3 : 8 in time. A draft thresholds each patch by itself,
        and is some 3 dB behind the others.
    method : {"scsc", "scsc-paper", "ocsc-paper"}
        "scsc" groups similar patches, each group with weights of its own. The others are the
        inference of the paper, and of its predecessor, for comparison.
    seed : int
        The same seed gives the same result.
    n_jobs : int, optional
        Threads; all cores unless given. The result does not depend on it.
    out : path, Output or array, optional
        Where the result goes. A path that ends in .zarr, .ome.zarr, .tif or .npy: it is computed
        block by block in bounded memory, by whatever scheduler dask has, and the file appears
        when it is whole; returned is a lazy array of it. An array of the shape and type of the
        image (numpy, zarr): it is filled, and returned. Without it, the result is like the image:
        of a dask array, a lazy dask array, for which only noise and filters were found.
    memory : int or str, optional
        How much to take for a result that goes to a file, such as "2 GB".
    resume : bool
        Go on with a file that was begun, and broke off.
    progress : callable, optional
        Called with each update of ``iter_denoise``; it may raise to cancel.

    Returns
    -------
    array
        Like the image: the same kind of array, shape and type of values.
    """
    options = Options.checked(
        bank=bank,
        sigma=sigma,
        strength=strength,
        quality=quality,
        method=method,
        seed=seed,
        n_jobs=n_jobs,
        out=out,
        memory=memory,
        resume=resume,
    )
    return job.last(_begin(image, kind, axes, options, progress is not None, None), progress)


def iter_denoise(
    image: Any,
    *,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
    bank: FilterBank | None = None,
    sigma: float | None = None,
    strength: float = 1.0,
    quality: plan.Quality = "balanced",
    method: str = "scsc",
    seed: int = 0,
    n_jobs: int | None = None,
    out: Any = None,
    memory: int | str | None = None,
    resume: bool = False,
    tick: job.Tick | None = None,
) -> Updates:
    """Denoise as ``denoise`` does, yielding updates; the last one holds the result.

    Wrong arguments raise at the call. ``tick`` is called often, also from other threads; it may
    raise to cancel.
    """
    options = Options.checked(
        bank=bank,
        sigma=sigma,
        strength=strength,
        quality=quality,
        method=method,
        seed=seed,
        n_jobs=n_jobs,
        out=out,
        memory=memory,
        resume=resume,
    )
    return _begin(image, kind, axes, options, True, tick)


def _begin(
    image: Any, kind: Any, axes: Any, options: Options, watched: bool, tick: job.Tick | None
) -> Updates:
    """``watched``: somebody wants to see something soon."""
    source = open_image(image, None, kind, axes)
    check_sigma(options.sigma, source)
    if source.has_missing:
        raise ValueError(
            "the image has missing values (NaN or masked, "
            f"{source.range.n_nan + source.range.n_masked} were counted): "
            "inpaint(image, None) fills them, and denoises with sigma=..."
        )
    if options.bank is not None:
        job.check_bank(options.bank, source)
    job.check_out(options.out, source)
    workspace = open_workspace(source, options, "denoise")
    return job.one_thread_each(_updates(source, options, workspace, watched, tick))


def _updates(
    source: Source,
    options: Options,
    workspace: Workspace | None,
    watched: bool,
    tick: job.Tick | None,
) -> Updates:
    if workspace:
        workspace.begin()
    find = partial(job.find_noise, source, options.sigma)
    noise = workspace.noise(find) if workspace else find()
    found = RestoreUpdate(
        "noise", 0.0, f"noise level {noise.sigma:.3g}", noise=noise, remarks=noise.remarks
    )
    yield found
    if noise.sigma == 0 and workspace is None:
        # Without noise the image is its own best estimate.
        result = options.out
        if result is None:
            result = source.image.like(np.array(source.image.whole()))
        else:
            result[...] = source.image.whole()
        yield replace(found, stage="done", done=1.0, message="no noise found", result=result)
        return
    working = Working(source, noise)
    sigma = working.sigma * options.strength
    if options.method != "scsc":
        coder, learned = yield from paper.denoising(source, working, sigma, options, tick)
        common = replace(found, stage="restore", bank=learned)
        yield from restoring(source, coder, common, options, workspace, tick)
        return
    bank = options.bank or (workspace.bank() if workspace else None)
    if bank is None:
        if watched and workspace is None and not (options.out is None and source.image.is_lazy):
            yield from _first_look(source, working, sigma, found, tick)
        tiles = [
            working.to_work(source.read(*place))
            for place in learning.places_to_learn_from(source, options.seed)
        ]
        bank = yield from learning.learning(tiles, source, sigma, options.seed, tick)
    if workspace:
        workspace.keep_bank(bank)
    memory = options.tile_memory
    restorer = Denoiser.of(bank, source, working, sigma, options.quality, memory)
    common = replace(found, stage="restore", bank=bank)
    yield from restoring(source, restorer, common, options, workspace, tick)


def _first_look(
    source: Source, working: Working, sigma: float, found: RestoreUpdate, tick: job.Tick | None
) -> Updates:
    """A draft with general filters, where it is a matter of moments."""
    bank = general_bank_for(source.joint, source.shift)
    if bank is None or math.prod(source.image.shape) > _LOOK:
        return
    restorer = Denoiser.of(bank, source, working, sigma, "draft")
    whole = tuple(slice(0, n) for n in source.shift)
    for index in source.samples():
        *_, (_, estimate) = restorer.estimates(source, index, whole, None, tick)
        values = restorer.finished(source, index, whole, estimate)
        region = source.region(index, whole)
        yield replace(found, stage="look", message="a first look", region=region, values=values)


@dataclass(frozen=True)
class Denoiser(job.Restorer):
    """Groups of similar patches, in one basis or in the mean of several."""

    working: Working
    size: tuple[int, ...]
    overlap: tuple[int, ...]
    memory: int
    bases: tuple[Basis, ...]
    passes: tuple[Passes, ...]
    sigma: float

    @classmethod
    def of(
        cls,
        bank: FilterBank,
        source: Source,
        working: Working,
        sigma: float,
        quality: plan.Quality,
        memory: int | None = None,
    ) -> Denoiser:
        """What suits a bank and a source; ``sigma`` is in working values."""
        bases = tuple(job.bases(bank, quality))
        passes = tuple(plan.passes(basis.patch, quality) for basis in bases)
        size, overlap = plan.tile_shape(source.shift, bases[0], passes[0], memory)
        takes = plan.tile_memory(size, bases[0], passes[0])
        return cls(working, size, overlap, takes, bases, passes, sigma)

    def estimates(
        self,
        source: Source,
        index: tuple[int, ...],
        part: Region,
        executor: Executor | None = None,
        tick: job.Tick | None = None,
    ) -> Iterator[tuple[float, Array]]:
        """The mean of the bases so far, after each pass."""
        work = self.working.to_work(source.read(index, part))
        if not np.isfinite(work).all():
            raise ValueError(
                f"values are missing or infinite in {source.region(index, part)}: inpaint fills "
                "them, and denoises with sigma=..."
            )
        mixed = self.bases[0].project(work)
        done: list[Array] = []
        total = sum(own.n_passes for own in self.passes)
        seen = 0
        for basis, passes in zip(self.bases, self.passes, strict=True):
            chain = Chain(basis, passes, executor, tick)
            for estimate in chain.estimates(mixed, self.sigma):
                seen += 1
                yield seen / total, self.bases[0].back(np.mean([*done, estimate], axis=0))
            done.append(estimate)
