"""Learn base filters from images: the functions that users call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from napari_scsc._keywords import check_keywords, takes_options
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.data.samples import ImageSamples, open_samples
from napari_scsc.errors import UserError
from napari_scsc.learning.loop import carry_out
from napari_scsc.learning.options import LearnKeywords, LearnOptions
from napari_scsc.learning.plan import plan_learning
from napari_scsc.model.bank import FilterBank
from napari_scsc.run.updates import RestoreUpdate, Updates, hold_to_one_thread, run_to_end


@takes_options(LearnOptions)
def learn(
    images: Any,
    *,
    progress: Callable[[RestoreUpdate], None] | None = None,
    **options: Unpack[LearnKeywords],
) -> FilterBank:
    """Learn base filters from one image, or from several of one kind.

    Tiles are read when it is their turn, chunk by chunk, and not kept: the images may be larger
    than the memory. ``denoise(image, bank=learn(image))`` is ``denoise(image)``, to the bit.

    Parameters
    ----------
    images : array, or list or tuple of arrays
        numpy, dask, zarr or xarray, in any range of values; NaN is left out.
    progress : callable, optional
        Called with each update of ``iter_learn``; it may raise to cancel.
    {options}

    Returns
    -------
    FilterBank
        The filters, to restore with, to save, or to go on from.

    Examples
    --------
    >>> from napari_scsc import learn, samples
    >>> bank = learn(samples.noisy_tissue((96, 96)), kind="image")
    >>> bank.support
    (10, 10)
    """
    check_keywords("learn", LearnOptions, options)
    bank: FilterBank = run_to_end(_start(images, LearnOptions(**options), NEVER), progress).result
    return bank


@takes_options(LearnOptions)
def iter_learn(
    images: Any,
    *,
    cancellation: Cancellation = NEVER,
    **options: Unpack[LearnKeywords],
) -> Updates:
    """Learn as ``learn`` does, yielding an update after each tile.

    Wrong arguments raise at the call.

    Parameters
    ----------
    images : array, or list or tuple of arrays
        numpy, dask, zarr or xarray, in any range of values; NaN is left out.
    cancellation : Cancellation, optional
        Cancels it: the generator then raises ``Cancelled``, and the last update before that holds
        the filters so far.
    {options}

    Yields
    ------
    NoiseFound, TileLearned, Finished
        In this order; the last one holds the bank.

    Examples
    --------
    >>> from napari_scsc import iter_learn, samples
    >>> for update in iter_learn(samples.noisy_tissue((96, 96)), kind="image"):
    ...     print(type(update).__name__)
    NoiseFound
    TileLearned
    Finished
    """
    check_keywords("iter_learn", LearnOptions, options)
    return _start(images, LearnOptions(**options), cancellation)


def _start(images: Any, options: LearnOptions, cancellation: Cancellation) -> Updates:
    arrays = list(images) if isinstance(images, list | tuple) else [images]
    if not arrays:
        raise UserError("must be an image, or a list of at least one", argument="images")
    opened = [_open_image(array, options, i, len(arrays)) for i, array in enumerate(arrays, 1)]
    return hold_to_one_thread(carry_out(plan_learning(opened, options), cancellation))


def _open_image(array: Any, options: LearnOptions, number: int, total: int) -> ImageSamples:
    try:
        return open_samples(array, None, options.kind, options.axes)
    except UserError as error:
        if total > 1:
            error.about(item=number)
        raise
