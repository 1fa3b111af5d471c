"""Denoise, inpaint, encode and estimate noise: the functions that users call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from napari_scsc._keywords import check_keywords, takes_options
from napari_scsc.cancellation import NEVER, Cancellation
from napari_scsc.checks import check_float
from napari_scsc.data.axes import Axes
from napari_scsc.data.samples import ImageSamples, open_samples
from napari_scsc.errors import Remedy, UserError
from napari_scsc.model.bank import FilterBank
from napari_scsc.model.threads import single_threaded
from napari_scsc.noise.find import find_noise, measure_empty_area
from napari_scsc.noise.model import Noise
from napari_scsc.restore.codes import Codes
from napari_scsc.restore.encode import check_output, start_encoding
from napari_scsc.restore.options import RestoreKeywords, RestoreOptions, check_bank_type
from napari_scsc.restore.restoration import start_restoration
from napari_scsc.run.partial import Output
from napari_scsc.run.updates import RestoreUpdate, Updates, run_to_end

Progress = Callable[[RestoreUpdate], None]


@takes_options(RestoreOptions)
def denoise(
    image: Any, *, progress: Progress | None = None, **options: Unpack[RestoreKeywords]
) -> Any:
    """Take the noise out of an image.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type.
    progress : callable, optional
        Called with each update of ``iter_denoise``; it may raise to cancel.
    {options}

    Returns
    -------
    array
        Like the image: the same kind of array, shape and type of values. A RestorationWarning
        tells of noise that is uncertain. With ``error=True``, the pair of it and the standard
        error of its values, an array of the same kind and shape, float32.

    Examples
    --------
    >>> from napari_scsc import denoise, samples
    >>> noisy = samples.noisy_tissue((64, 64))
    >>> clean = denoise(noisy, kind="image", quality="fast")
    >>> clean.shape, clean.dtype == noisy.dtype
    ((64, 64), True)
    >>> clean, error = denoise(noisy, kind="image", quality="fast", error=True)
    >>> error.shape, bool((error > 0).all())
    ((64, 64), True)
    """
    check_keywords("denoise", RestoreOptions, options)
    checked = RestoreOptions(**options)
    updates = _start_denoising(image, checked, progress is not None, NEVER)
    last = run_to_end(updates, progress)
    return (last.result, last.error) if checked.error else last.result


@takes_options(RestoreOptions)
def iter_denoise(
    image: Any, *, cancellation: Cancellation = NEVER, **options: Unpack[RestoreKeywords]
) -> Updates:
    """Denoise as ``denoise`` does, yielding updates; the last one holds the result.

    Wrong arguments raise at the call.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type.
    cancellation : Cancellation, optional
        Cancels it: the generator then raises ``Cancelled``.
    {options}

    Yields
    ------
    NoiseFound, FirstLook, TileLearned, RegionRestored or BlocksDone, Finished
        In this order; a first look, and learning, only where they are needed.

    Examples
    --------
    >>> from napari_scsc import iter_denoise, samples
    >>> *_, last = iter_denoise(samples.noisy_tissue((64, 64)), kind="image", quality="draft")
    >>> last.result.shape
    (64, 64)
    """
    check_keywords("iter_denoise", RestoreOptions, options)
    return _start_denoising(image, RestoreOptions(**options), True, cancellation)


def _start_denoising(
    image: Any, options: RestoreOptions, is_watched: bool, cancellation: Cancellation
) -> Updates:
    if options.saturation is not False:
        raise UserError(
            "is what inpaint fills; denoise keeps such values",
            argument="saturation",
            remedy=Remedy.FILL_MISSING,
        )
    samples = open_samples(image, None, options.kind, options.axes)
    if samples.has_missing:
        count = samples.range.n_nan + samples.range.n_masked
        raise UserError(
            f"the image has missing values (NaN or masked, {count} were counted)",
            remedy=Remedy.FILL_MISSING,
        )
    return start_restoration(
        "denoise", samples, options, is_watched=is_watched, cancellation=cancellation
    )


@takes_options(RestoreOptions)
def inpaint(
    image: Any,
    missing: Any = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[RestoreKeywords],
) -> Any:
    """Fill what is missing in an image.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type. NaN is missing.
    missing : array, optional
        True (or not zero) where the image is not known: of the shape of the image, of its last
        axes, or of its shift axes. Values there are not looked at.
    progress : callable, optional
        Called with each update of ``iter_inpaint``; it may raise to cancel.
    {options}

    Returns
    -------
    array
        Like the image: the same kind of array, shape and type of values. A RestorationWarning
        tells of holes that are wider than the filters; they are filled smoothly.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_scsc import inpaint, samples
    >>> image = samples.tissue((48, 48))
    >>> missing = np.zeros(image.shape, bool)
    >>> missing[20:23, 10:40] = True
    >>> filled = inpaint(image, missing, kind="image", quality="draft")
    >>> bool((filled == image)[~missing].all())
    True
    """
    check_keywords("inpaint", RestoreOptions, options)
    updates = _start_inpainting(
        image, missing, RestoreOptions(**options), progress is not None, NEVER
    )
    return run_to_end(updates, progress).result


@takes_options(RestoreOptions)
def iter_inpaint(
    image: Any,
    missing: Any = None,
    *,
    cancellation: Cancellation = NEVER,
    **options: Unpack[RestoreKeywords],
) -> Updates:
    """Inpaint as ``inpaint`` does, yielding updates; the last one holds the result.

    Wrong arguments raise at the call.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type. NaN is missing.
    missing : array, optional
        True (or not zero) where the image is not known; see ``inpaint``.
    cancellation : Cancellation, optional
        Cancels it: the generator then raises ``Cancelled``.
    {options}

    Yields
    ------
    NoiseFound, TileLearned, RegionRestored or BlocksDone, Finished
        In this order; learning only where it is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_scsc import iter_inpaint, samples
    >>> image = samples.tissue((48, 48))
    >>> missing = np.zeros(image.shape, bool)
    >>> missing[20:23, 10:40] = True
    >>> *_, last = iter_inpaint(image, missing, kind="image", quality="draft")
    >>> last.result.shape
    (48, 48)
    """
    check_keywords("iter_inpaint", RestoreOptions, options)
    return _start_inpainting(image, missing, RestoreOptions(**options), True, cancellation)


def _start_inpainting(
    image: Any,
    missing: Any,
    options: RestoreOptions,
    is_watched: bool,
    cancellation: Cancellation,
) -> Updates:
    samples = open_samples(image, missing, options.kind, options.axes)
    is_masked = samples.image.missing is not None
    if options.saturation is not False:
        level = samples.range.high if options.saturation is True else float(options.saturation)
        if level > samples.range.high and samples.is_known_whole:
            raise UserError(
                f"is {level:g}, but no value of the image is above {samples.range.high:g}",
                argument="saturation",
            )
        options = replace(options, saturation=float(level))
        samples = samples.without_saturated(float(level))
    if samples.is_complete:
        raise UserError(
            "nothing is missing: the mask is empty and the image holds no NaN",
            remedy=Remedy.MARK_MISSING,
        )
    _check_no_sample_is_missing(samples)
    return start_restoration(
        "inpaint",
        samples,
        options,
        is_watched=is_watched,
        is_masked=is_masked,
        cancellation=cancellation,
    )


def _check_no_sample_is_missing(samples: ImageSamples) -> None:
    """Refuse data whose samples know nothing of each other, and one of which is not known."""
    indices = samples.indices()
    if len(indices) == 1 or not samples.is_known_whole:
        return
    whole = tuple(slice(0, n) for n in samples.shift)
    for index in indices:
        if samples.missing(index, whole).all():
            raise UserError(
                f"all of sample {', '.join(map(str, index))} is missing, and {samples.axes.kind} "
                "samples are restored one by one",
                remedy=Remedy.RESTORE_TOGETHER,
            )


class EncodeKeywords(TypedDict, total=False):
    """The options of ``encode`` and ``iter_encode``, for type checkers."""

    kind: str | None
    axes: str | Sequence[str] | Axes | None
    sigma: float | None
    n_jobs: int | None
    memory: int | str | None
    resume: bool


_NOT_OF_ENCODING = (
    "bank",
    "noise",
    "noise_filters",
    "outliers",
    "saturation",
    "strength",
    "quality",
    "method",
    "seed",
    "rng",
    "out",
    "error",
)


@takes_options(RestoreOptions, without=_NOT_OF_ENCODING)
def encode(
    image: Any,
    bank: FilterBank,
    *,
    out: str | os.PathLike[str] | Output,
    missing: Any = None,
    beta: float | None = None,
    progress: Progress | None = None,
    **options: Unpack[EncodeKeywords],
) -> Codes:
    """Code an image with the paper's model, block by block, into a folder.

    What is smooth is split off, for the filters do not model it; the rest of each block is coded
    as ``B * (W Z)``, with weights W and a sparse code Z of its own. These are the codes by which
    ``denoise(method="scsc-paper")`` denoises.

    Parameters
    ----------
    image : array
        numpy, dask, zarr or xarray; any integer or float type. NaN is missing.
    bank : FilterBank
        The base filters B, and the weights from which the search begins.
    out : path or Output
        A folder whose name ends in ``.zarr``; it appears when it is whole.
    missing : array, optional
        True (or not zero) where the image is not known; it is read block by block too.
    beta : float, optional
        Price of the code, in noise levels: 2.75 unless given, 4 for base filters in balls.
        Larger is sparser.
    progress : callable, optional
        Called with each update of ``iter_encode``; it may raise to cancel.
    {options}

    Returns
    -------
    Codes
        What is in the folder; ``open_codes`` opens it again.

    Examples
    --------
    >>> import tempfile
    >>> from napari_scsc import encode, learn, samples
    >>> image = samples.noisy_tissue((64, 64))
    >>> bank = learn(image, kind="image", model="scsc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     codes = encode(image, bank, out=f"{folder}/image.codes.zarr", kind="image")
    >>> codes.n_blocks
    1
    """
    updates = _start_encoding(image, bank, out, missing, beta, options, "encode", NEVER)
    codes: Codes = run_to_end(updates, progress).result
    return codes


@takes_options(RestoreOptions, without=_NOT_OF_ENCODING)
def iter_encode(
    image: Any,
    bank: FilterBank,
    *,
    out: str | os.PathLike[str] | Output,
    missing: Any = None,
    beta: float | None = None,
    cancellation: Cancellation = NEVER,
    **options: Unpack[EncodeKeywords],
) -> Updates:
    """Code as ``encode`` does, yielding updates; the last one holds the codes.

    Wrong arguments raise at the call.

    Parameters
    ----------
    image, bank, out, missing, beta
        See ``encode``.
    cancellation : Cancellation, optional
        Cancels it: the generator then raises ``Cancelled``.
    {options}

    Yields
    ------
    NoiseFound, BlocksDone, Finished
        In this order.
    """
    return _start_encoding(image, bank, out, missing, beta, options, "iter_encode", cancellation)


def _start_encoding(
    image: Any,
    bank: Any,
    out: Any,
    missing: Any,
    beta: Any,
    options: EncodeKeywords,
    function: str,
    cancellation: Cancellation,
) -> Updates:
    for name in _NOT_OF_ENCODING:
        if name in options:
            raise TypeError(f"{function}() has no argument {name!r}")
    check_keywords(function, RestoreOptions, options)
    check_bank_type(bank, is_needed=True)
    checked = RestoreOptions(
        bank=bank,
        method="scsc-paper",
        out=check_output(out),
        **options,
    )
    if beta is not None:
        beta = check_float("beta", beta, above=0)
    samples = open_samples(image, missing, checked.kind, checked.axes)
    return start_encoding(samples, bank, beta, checked, cancellation)


def estimate_noise(
    image: Any,
    missing: Any = None,
    *,
    empty: Any = None,
    kind: str | None = None,
    axes: str | Sequence[str] | Axes | None = None,
) -> Noise:
    """Estimate the noise of an image of any kind, in its units.

    Parameters
    ----------
    image, kind, axes
        See ``denoise``.
    missing : array, optional
        True (or not zero) where the image is not known; see ``inpaint``.
    empty : array, optional
        True (or not zero) where the image shows nothing but background, in the shapes that
        ``missing`` can have: the noise is measured there, and taken to be the same elsewhere,
        unless it is seen to grow with brightness.

    Returns
    -------
    Noise
        Its level, whether it grows with brightness, what neighbouring pixels share of it, and
        whether that is sure; ``denoise(image, noise=...)`` takes it.

    Examples
    --------
    >>> from napari_scsc import estimate_noise, samples
    >>> estimate_noise(samples.noisy_tissue((128, 128)), kind="image").depends_on_signal
    True
    """
    samples = open_samples(image, missing, kind, axes)
    with single_threaded():
        if empty is None:
            return find_noise(samples)
        return find_noise(samples, measure_empty_area(samples, empty))
